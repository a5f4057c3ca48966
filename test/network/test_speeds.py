# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Usual speeds are those of who does not brake, and one stop in a bend is not usual."""

from grid_drives import driven, line_of, passes_of, PERIOD_S
import numpy as np
import pytest

from two_manifold_ros.network.learning import driving_speeds, with_usual_speeds
from two_manifold_ros.route.merging import Places
from two_manifold_ros.route.visits import Passes

ALONG = 8
"""Visits each way over which a speed is measured."""

CLASSES, FAST = 20, 0.9
NODES = [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (3, 2), (3, 3), (4, 3), (4, 4), (5, 4)]
"""Of a street that bends at each crossing, to the left and to the right."""


def laid(*strides: np.ndarray | float, nodes: list[tuple[int, int]] = NODES) -> Passes:
    """Lay out drives along a street by these strides, each in a tick."""
    drives = [driven(line_of(nodes), each, seed=seed) for seed, each in enumerate(strides)]
    return passes_of([each.seen for each in drives], [each.track for each in drives])


def slowed(begin_m: float, end_m: float, stride: float) -> np.ndarray:
    """Return strides of one metre, and others on a stretch."""
    before = np.ones(round(begin_m))
    return np.concatenate(
        [before, np.full(round((end_m - begin_m) / stride), stride), [1.0] * 400]
    )


def alike(places: Places, speeds: np.ndarray) -> np.ndarray:
    """Return the mean over visits of the median speed where roads bend as much, at each place."""
    bends = np.empty(len(speeds))
    for visit, run in enumerate(places.runs):
        low, high = max(visit - ALONG, 0), min(visit + ALONG, len(speeds) - 1)
        while places.runs[low] != run:
            low += 1
        while places.runs[high] != run:
            high -= 1
        before, behind = places.headings[places.visited[[low, high]]]
        bends[visit] = np.arccos(np.clip(before @ behind, -1.0, 1.0))
    usual = np.empty(len(speeds))
    for part in np.array_split(np.argsort(bends, kind='stable'), CLASSES):
        usual[part] = np.median(speeds[part])
    return np.array([usual[places.visited == place].mean() for place in range(len(places))])


def test_usual_is_what_nine_tenths_of_the_visits_and_one_of_like_bends_are_below():
    passes = laid(0.6, 0.8, 1.0, slowed(70.0, 90.0, 0.3), 0.9)
    speeds, _ = driving_speeds(passes.places, PERIOD_S)
    others = alike(passes.places, speeds)
    found, usual_mps = with_usual_speeds(passes)
    visited = passes.places.visited
    expected = [
        np.quantile([*speeds[visited == place], other], FAST) for place, other in enumerate(others)
    ]
    assert np.allclose(usual_mps, expected, rtol=1e-12)
    ratios = np.log(speeds / usual_mps[visited]).clip(-1.0, 1.0)
    assert np.allclose(found.log_ratios, ratios, rtol=1e-12)
    # As far from place to place as a drive gets in half a tick.
    ticks = 0.5 * passes.places.usual_mps / usual_mps
    assert np.median(np.abs(found.stays / ticks - 1.0)) < 0.05


def pulls_away(stands_s: float, gains_mps2: float, ticks: int) -> np.ndarray:
    """Return strides of a drive that stands, and gains speed up to 10 m/s."""
    seconds = np.arange(ticks) * PERIOD_S - stands_s
    return (gains_mps2 * seconds).clip(0.0, 10.0) * PERIOD_S


@pytest.mark.parametrize('stands_s', [5.0, 20.0])
def test_around_a_standstill_at_a_start_the_speed_is_that_four_seconds_later(stands_s):
    passes = laid(pulls_away(stands_s, 1.0, 500), 1.0)
    places = passes.places
    speeds, _ = driving_speeds(places, PERIOD_S)
    mine = places.segments == 0
    left = np.flatnonzero(~places.standing[0])[0]
    near = mine & (places.times < left + 4.0 / PERIOD_S)
    assert near.sum() > 10
    # Ticks later it is the speed at which it then drives, about the one metre away.
    assert np.ptp(speeds[near]) < 0.5
    assert speeds[near].mean() == pytest.approx(4.0 + left * PERIOD_S - stands_s, abs=1.0)
    assert speeds[mine][-1] == pytest.approx(10.0, rel=0.05)
    assert np.allclose(speeds[~mine], 10.0, rtol=0.3)
