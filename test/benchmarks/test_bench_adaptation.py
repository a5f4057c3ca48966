# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The benchmark of learning on the robot: targets and laps."""

from typing import Any

from adaptation_tables import judged, TARGETS
from adaptation_trials import (
    ERROR,
    feed,
    FILLED,
    joined,
    LAP,
    laps_until_back,
    longest_run,
    MEAN,
    VALID,
)
import numpy as np
import pytest
from worlds.drive import drive
from worlds.table import world_named

from two_manifold_ros.adapting.stream_learner import make_learner
from two_manifold_ros.names import LEARNERS


def row(
    block: str, learner: str = 'map', seed: int | None = None, **found: object
) -> dict[str, Any]:
    return {'block': block, 'case': 'slot_car', 'learner': learner, 'seed': seed, **found}


def followed(rmse_m: float | None, in_95: float = 0.95, published: float = 0.96) -> dict[str, Any]:
    horizon = {'ticks_ahead': 0, 'rmse_m': rmse_m, 'in_68': 0.7, 'in_95': in_95}
    found = {'ticks': 900, 'published': published, 'rmse_m': rmse_m}
    found |= {'median_m': 0.02, 'mean_m': 1.5}
    return {
        'laps': 12.0,
        'accuracy': {**found, 'horizons': [horizon]},
        'offline': {'rmse_m': 0.04, 'published': 1.0},
    }


def change(back: int | None, worse: int = 0, old_m: float = 0.1) -> dict[str, Any]:
    return {'back': back, 'worse': worse, 'old_m': old_m, 'mean_m': 1.0}


ROWS = [
    row('gauntlet', **followed(0.046)),
    row('gauntlet', 'tpsr', **followed(0.046)),
    row(
        'curve', mean_m=2.0, rmse_m=[2.0, 1.0, 0.5, 0.3, 0.2, 0.13, 0.1, 0.1], published=[1.0] * 8
    ),
    row('changes', seed=0, changes={'none': change(0), 'bias': change(3), 'rebuilt': change(4)}),
    row('cost', lap_s=7.0, first_core=0.03, core=0.015, kept_mb=5.0, grown_mb=60.0),
    row('cost', 'tpsr', lap_s=7.0, first_core=0.2, core=0.16, kept_mb=51.0, grown_mb=10.0),
]


def verdicts(rows: list[dict[str, Any]], learner: str) -> dict[str, tuple[int, int, bool]]:
    found = {}
    for target in TARGETS:
        each = judged(rows, target, learner)
        if each.checks and learner in target.learners:
            found[target.words] = each.met, each.checks, each.enough
    return found


def test_targets_of_the_map():
    assert verdicts(ROWS, 'map') == {
        'IMU alone: RMSE <= 1.15 x offline': (1, 1, True),
        'IMU alone: published >= 95 %': (1, 1, True),
        'IMU alone: ellipses 90-99 %, 60-78 %': (1, 1, True),
        'lap 3: <= 0.25 x mean': (1, 1, True),
        'lap 6: <= 1.3 x the last two': (1, 1, True),
        'changes: back in 3 laps >= 95 %': (1, 2, False),
        'changes: worse than frozen <= 1 lap': (2, 2, True),
        'cost: ten minutes <= 2 % of a core': (1, 1, True),
    }


def test_targets_of_the_tpsr():
    assert verdicts(ROWS, 'tpsr') == {
        'IMU alone: RMSE <= 2 x spectral': (1, 1, True),
        'IMU alone: RMSE <= 0.25 x mean': (1, 1, True),
        'cost: ten minutes <= 15 % of a core': (0, 1, False),
        'cost: memory <= 50 MB': (0, 1, False),
    }


def test_laps_until_back_take_two_together():
    limits = np.ones(4)
    assert laps_until_back(np.array([0.5, 2.0, 0.9, 0.9]), limits) == 2
    assert laps_until_back(np.array([0.9, 0.9, 2.0, 2.0]), limits) == 0
    assert laps_until_back(np.full(4, 2.0), limits) is None
    assert longest_run([True, False, True, True]) == 2


@pytest.mark.parametrize('name', LEARNERS)
def test_what_is_reported_is_judged_before_positions_are_given(name):
    made = drive(world_named('slot_car'), seconds=8.0).recording
    stream = joined([made, made], 7.0)
    assert stream.laps[0] == pytest.approx(0.0, abs=0.1)
    assert (np.diff(stream.laps) > -0.01).all()
    learner = make_learner(name)
    ticks = feed(learner, stream, 0, len(made.imu.stamps))
    learner.close()
    # All but the first three of eight seconds.
    assert ticks[:, FILLED].mean() == pytest.approx(5 / 8, abs=0.02)
    # It knows nothing yet, so that the mean position stands for it.
    assert len(ticks) > 100
    assert not ticks[:, VALID].any()
    np.testing.assert_array_equal(ticks[:, ERROR], ticks[:, MEAN])
    assert ticks[-1, LAP] <= stream.laps[-1]
    assert learner.reference.counters['used'] > 100
