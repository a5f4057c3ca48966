# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Errors of the gauntlet have not grown since docs/gauntlet.json was written."""

import json
from pathlib import Path
from typing import Any

from bench_gauntlet import merged
from gauntlet_drives import is_absent, make_case, trained_as_stint
from gauntlet_scores import run_case
from gauntlet_tables import show_all
import numpy as np
import pytest

CHECKOUT = Path(__file__).resolve().parents[2]

HEADLINES = ('f1tenth_ipz10', 'f1tenth_ipz20', 'slot_car', 'rc_car')

WORSE = 1.02
"""An error may grow by that with rounding and versions; what more is has a reason."""


@pytest.fixture(scope='module')
def cases() -> dict[str, Any]:
    """Return what `./run bench gauntlet --json docs/gauntlet.json` wrote."""
    found: dict[str, Any] = json.loads((CHECKOUT / 'docs/gauntlet.json').read_text())['cases']
    return found


@pytest.mark.parametrize('name', HEADLINES)
def test_no_headline_figure_gets_worse(name, cases):
    if is_absent(name):
        pytest.skip(f'the recordings of {name} are not beside the checkout')
    before = cases[name]['route']['accuracy']
    now = run_case(make_case(name), 'route', ('accuracy',))['accuracy']
    assert now['ticks'] == before['ticks']
    assert now['published'] >= before['published'] - 0.005
    for old, new in zip(before['horizons'], now['horizons'], strict=True):
        assert new['ticks_ahead'] == old['ticks_ahead']
        assert new['rmse_m'] <= WORSE * old['rmse_m'], old['ticks_ahead']


def test_a_block_alone_is_shown_and_keeps_the_others(cases, capsys):
    """As `./run bench gauntlet kart --blocks stint --json docs/gauntlet.json` does."""
    stint = {'stint': cases['kart']['route']['stint'], 'accuracy': {}, 'training_s': 99.0}
    show_all({'kart': {'route': stint}})
    assert 'kart' in capsys.readouterr().out
    before = {'kart': {'route': {**cases['kart']['route'], 'stint': None}}}
    assert merged(before, {'kart': {'route': stint}}, {'stint'}) == {
        'kart': {'route': cases['kart']['route']}
    }
    failed = {'kart': {'route': {'failed': 'why'}}}
    assert merged(before, failed, {'stint'}) == failed


def test_a_training_that_is_refused_is_shown(capsys):
    show_all({'kart': {'route': {'stint': {'refused': 'too short'}}}})
    assert 'too short' in capsys.readouterr().out


def test_a_stint_is_the_same_laps_some_of_them_slow():
    case = make_case('slot_car')
    (usual,), (stint,) = case.training, trained_as_stint(case)
    lengths = [each.imu.stamps[-1] - each.imu.stamps[0] for each in (usual, stint)]
    assert 1.0 < lengths[1] / lengths[0] < 1.3
    if not is_absent('f1tenth_ipz10'):
        assert not trained_as_stint(make_case('f1tenth_ipz10'))
    assert np.isfinite(stint.imu.samples).all()
