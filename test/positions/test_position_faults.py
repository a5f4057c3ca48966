# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is wrong with positions is said, left out, refused by an updater, and not learned."""

from zlib import crc32

import numpy as np
from position_faults import POSITION_FAULTS
import pytest
from scipy.spatial import cKDTree

from two_manifold_ros.adapting.references import ReferenceMonitor
from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.inspecting import inspect_recording
from two_manifold_ros.recordings.recording import PositionStream, Recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.typing import Bools, Floats

SETTINGS = TrainingSettings(rate_hz=10.0, window=20, horizons=(0, 5))

WRONG_M = 0.5
"""Distance from the true position from which a position is wrong; rows move theirs by a metre."""

LEAST_ERROR_M, LEAST_KNOWN = 0.05, 0.9
"""The same is learned of places as near, if as many are known: the car drives 0.2 m in a tick."""


@pytest.fixture(scope='module')
def clean() -> Recording:
    run = simulate(SlotCarSettings(seed=5, rate_hz=50.0), laps=10)
    return run_to_recording(run).between(None, 0.75 * float(np.ptp(run.stamps_ns)) / 1e9)


@pytest.fixture(scope='module')
def codes(clean: Recording) -> set[str]:
    return {each.code for each in inspect_recording(clean).findings}


def wrong_of(stream: PositionStream, clean: PositionStream) -> Bools:
    """Return which positions are not where the car was at their stamp."""
    elapsed, known = (each.stamps - clean.stamps[0] for each in (stream, clean))
    true = [np.interp(elapsed, known, axis) for axis in clean.positions.T]
    away = np.linalg.norm(stream.positions - np.stack(true, axis=1), axis=1)
    return np.asarray(~(away < WRONG_M))


def places_of(recording: Recording) -> Floats:
    """Return the place at each tick of a training."""
    return np.concatenate(build_dataset([recording], SETTINGS).tracks)


def is_reached(faulty: Recording, clean: Recording) -> bool:
    """Return whether a training gets other places, or too few."""
    given, right = places_of(faulty), places_of(clean)
    known = np.isfinite(given).all(axis=1)
    if len(given) == len(right):
        away = np.linalg.norm(given - right, axis=1)
    else:
        # Behind a gap the ticks are others: each has to be of some place of the drive.
        away = np.full(len(given), np.nan)
        away[known] = cKDTree(clean.positions.positions).query(given[known])[0]
    few = known.sum() < LEAST_KNOWN * np.isfinite(right).all(axis=1).sum()
    return bool(few or away[known].max() > LEAST_ERROR_M)


@pytest.mark.parametrize('fault', POSITION_FAULTS, ids=lambda fault: fault.name)
def test_position_fault(fault, clean, codes):
    faulty = fault.change(clean, np.random.default_rng(crc32(fault.name.encode())))
    findings = inspect_recording(faulty).findings
    new = {each.code: each.severity for each in findings if each.code not in codes}
    assert {*fault.says} <= {*new}
    assert {code for code, severity in new.items() if severity == 'warning'} <= {*fault.says}
    stream = faulty.positions
    left = stream.left_out
    wrong = wrong_of(stream, clean.positions)
    assert np.count_nonzero(wrong & ~left) <= fault.wrong
    assert np.count_nonzero(left & ~wrong) <= fault.right * len(left)
    if fault.refused:
        with pytest.raises(InputError, match=fault.refused):
            build_dataset([faulty], SETTINGS)
    else:
        assert is_reached(faulty, clean) == fault.reaches
    if fault.updater is None:
        return
    monitor = ReferenceMonitor()
    rows = [*zip(stream.stamps.tolist(), *stream.positions.T.tolist(), strict=True)]
    used = [fix for row in rows if monitor.add(*row) for fix in monitor.taken]
    wrongly = {row for row, is_wrong in zip(rows, wrong, strict=True) if is_wrong}
    assert len(wrongly & {*used}) <= fault.updater
    right = {row[0] for row in {*rows} - wrongly}
    refused = right - {fix.stamp_ns for fix in used}
    assert len(refused) <= max(0.02, fault.right) * len(right)
    # Neither is a position of its own; the newest may wait.
    events = sum(monitor.counters[key] for key in ('moved', 'jumps_back'))
    counted = sum(monitor.counters.values()) - events
    assert len(rows) - 1 <= counted <= len(rows)
