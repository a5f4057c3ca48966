# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Errors of the gauntlet have not grown since docs/gauntlet.json was written."""

import json
from pathlib import Path
from typing import Any

from gauntlet_drives import is_absent, make_case
from gauntlet_scores import run_case
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
