# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The gauntlet: cases, spliced drives and rates of ticks."""

from dataclasses import replace

from gauntlet_drives import Drive, make_case, spliced
from gauntlet_networks import NETWORKS
from gauntlet_scores import follow, moves, right_one
import numpy as np
import pytest

from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

PAUSE_NS = 600 * 10**9
"""Between drives."""


@pytest.fixture(scope='module')
def both_ways() -> Drive:
    return NETWORKS['both_ways']().day(3)


def test_of_several_routes_each_is_a_drive_of_its_own(both_ways):
    there, back = both_ways.by_route()
    assert (there.routes, back.routes) == (('there',), ('back',))
    assert len(there.stamps) + len(back.stamps) == len(both_ways.stamps)
    assert back.stamps[0] - there.stamps[-1] == PAUSE_NS
    assert (np.diff(both_ways.stamps) > 0).all()
    # The one is driven to the left, the other to the right, on the same road.
    areas = [
        (np.roll(x, -1) - x) @ (np.roll(y, -1) + y) for x, y in (there.truths.T, back.truths.T)
    ]
    assert areas[0] * areas[1] < 0.0
    assert np.abs(there.truths.min(axis=0) - back.truths.min(axis=0)).max() < 10.0


def test_nothing_is_spliced_where_another_drive_begins(both_ways):
    made = list(spliced(both_ways, 30, 20.0, 10.0, 20.0, seed=1))
    assert len(made) == 30
    assert all(np.diff(each.stamps).max() < PAUSE_NS for each, _ in made)


def test_every_route_is_followed_from_a_cold_start_and_has_to_be_named(kart_atlas, kart_drives):
    parts = [kart_drives[name][1].imu for name in ('hall', 'ring')]
    stamps = [each.stamps - each.first_stamp + at * 10**12 for at, each in enumerate(parts)]
    samples = np.concatenate([each.samples for each in parts])
    right = Drive(
        'both', np.concatenate(stamps) + 10**18, samples, np.zeros((len(samples), 2)),
        np.ones(len(samples), dtype=np.bool_), routes=('hall', 'ring'), begins=(len(stamps[0]),),
    )  # fmt: skip
    case = replace(make_case('slot_car'), routes=('hall', 'ring'))
    following = follow(kart_atlas, right)
    found = right_one(case, right, following)
    assert found is not None
    assert found['right'] > 0.95
    assert found['wrong'] < 0.01
    # Neither part counts before a window and a half of driving, nor before a window is full.
    starts = np.searchsorted(following.stamps, [right.stamps[0], right.stamps[right.begins[0]]])
    for start in starts:
        assert not following.filled[start : start + 25].any()
        assert not following.found[start : start + 70].any()
    assert following.found.sum() == found['ticks'] > 0.8 * len(following.stamps)
    wrong = replace(right, routes=('ring', 'hall'))
    mistaken = right_one(case, wrong, follow(kart_atlas, wrong))
    assert mistaken is not None
    assert mistaken['right'] < 0.05
    assert mistaken['wrong'] > 0.99


@pytest.mark.slow
def test_one_drive_is_followed_alike_at_any_rate() -> None:
    case = make_case('slot_car')
    found = []
    for rate_hz in (20, 50):
        settings = TrainingSettings(
            rate_hz=rate_hz, window=3 * rate_hz, horizons=(0, rate_hz, 2 * rate_hz)
        )
        model = train_model(case.training, settings)
        moved, run = moves(model, case), follow(model, case.followed)
        assert moved['found'] == 1.0
        known = run.known()
        errors = run.errors()[known]
        sizes = np.median(errors), np.sqrt(np.square(errors).mean())
        inside = [
            run.inside(horizon, level)[run.known(horizon) & run.published].mean()
            for horizon, level in np.ndindex(3, 2)
        ]
        seconds = 3.0 * moved['found_median_windows']
        found.append((seconds, sizes, run.published[known].mean(), inside))
    usual, fast = found
    assert fast[0] == pytest.approx(usual[0], abs=0.4)
    assert fast[1] == pytest.approx(usual[1], rel=0.2)
    assert fast[2] == pytest.approx(usual[2], abs=0.03)
    assert fast[3] == pytest.approx(usual[3], abs=0.1)
