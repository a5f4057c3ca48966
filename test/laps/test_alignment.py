# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laps aligned by marks: the path against a naive one, halts, gaps and bad laps."""

from lap_drives import driven, phases_driven, RATE_HZ, recorded, signal, wrong_by
import numpy as np
import pytest

from two_manifold_ros.laps import alignment
from two_manifold_ros.laps.alignment import align_marks, drive_series, find_path, Grid
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.typing import Floats

SMALL = Grid(6, 2, np.array([0, 1, 2, 3, 4]))


def cost_of(seen: Floats, means: Floats, variances: Floats, start: int, gears: list[int]) -> float:
    """Return what a way costs, as the module says it: gears are indices, the first of tick 1."""
    unlike = 0.5 * alignment.TEMPER * alignment.UNLIKE * seen.shape[1]

    def emission(t: int, at: int) -> float:
        away = np.square(seen[t] - means[at % SMALL.bins])
        return min(float((0.5 * alignment.TEMPER * away / variances).sum()), unlike)

    at, total = start, emission(0, start)
    for t, gear in enumerate(gears, start=1):
        at += int(SMALL.gears[gear])
        if gear == 0:
            total += alignment.STANDING + min(emission(t, at), 0.4 * unlike)
        else:
            ratio = SMALL.gears[gear] / SMALL.bins_a_step - 1.0
            total += emission(t, at) + alignment.UNUSUAL * ratio**2
        if t > 1 and gear != gears[t - 2]:
            before = gears[t - 2]
            if 0 in (gear, before):
                total += alignment.HALT
            elif abs(gear - before) == 1:
                total += alignment.CHANGE
            else:
                return float('inf')
    return total


@pytest.mark.parametrize('seed', range(4))
def test_the_path_is_the_cheapest_of_all(seed: int) -> None:
    random = np.random.default_rng(seed)
    seen = random.standard_normal((5, 2))
    template = random.standard_normal((SMALL.bins, 2)), np.array([0.5, 0.2])
    ways = [
        (start, list(gears))
        for start in range(SMALL.bins)
        for gears in np.ndindex(*(len(SMALL.gears),) * 4)
    ]
    costs = [cost_of(seen, *template, *each) for each in ways]
    start, gears = ways[int(np.argmin(costs))]
    wanted = start + np.concatenate([[0], np.cumsum(SMALL.gears[gears])])
    assert (
        find_path(seen, *template, np.zeros(5, dtype=np.int64), SMALL.bins, SMALL).tolist()
        == wanted.tolist()
    )


def test_without_evidence_the_speed_is_the_usual_one() -> None:
    nothing, low = np.full((9, 2), np.nan), np.zeros(9, dtype=np.int64)
    path = find_path(nothing, np.zeros((SMALL.bins, 2)), np.ones(2), low, SMALL.bins, SMALL)
    assert np.diff(path).tolist() == [SMALL.bins_a_step] * 8


def aligned(seen: Recording, phases: Floats) -> Floats:
    """Return the phases that marks at the passages of the line give."""
    marks = np.interp(np.arange(1, int(phases[-1]) + 1), phases, np.arange(len(phases)))
    return align_marks(drive_series(seen), marks, np.arange(float(len(marks))))


@pytest.mark.parametrize('seed', range(3))
def test_marks_give_phases_to_one_per_cent(seed: int) -> None:
    recording, phases = driven(laps=10.5, seed=seed)
    found = aligned(recording, phases)
    assert (np.diff(found) >= -1e-9).all()
    assert wrong_by(found, phases[: len(found)]) < 0.01


def test_a_halt_a_gap_and_a_bad_lap_do_not_disturb_the_others() -> None:
    phases = phases_driven(9.5, 20.0, 1)
    rest = int(3.4 * 20.0 * RATE_HZ)
    phases = np.concatenate([phases[:rest], np.full(200, phases[rest]), phases[rest:]])
    seen = signal(phases, 1)
    seen[rest : rest + 200] = 0.0
    random = np.random.default_rng(0)
    seen += 0.3 * random.standard_normal(seen.shape)
    bad = (phases > 6.0) & (phases < 6.5)
    seen[bad] = random.standard_normal((int(bad.sum()), 6))
    seen[(phases > 7.2) & (phases < 7.4)] = np.nan
    found = aligned(recorded(seen), phases + 1e-9 * np.arange(len(phases)))
    usual = ~bad & ((phases < 3.3) | (phases > 3.8))
    assert wrong_by(found[usual[: len(found)]], phases[: len(found)][usual[: len(found)]]) < 0.01
    stands = found[rest + 40 : rest + 160]
    assert np.ptp(stands) < 0.05
