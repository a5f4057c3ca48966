# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is wrong with positions is said, left out, refused by an updater, and not learned."""

from collections.abc import Callable
import math
from types import SimpleNamespace
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
from numpy.random import Generator
from other_recordings import with_imu, with_positions
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
from two_manifold_ros.typing import Bools, Floats, Ints

Streams: TypeAlias = tuple[Ints, Floats]

DAY_S = 86_400.0


POSITION_FAULTS: list[SimpleNamespace] = []
USUAL: dict[str, Any] = {
    # Codes of findings of `inspect` that it has to give beside those of the clean drive, and of
    # nothing else may it warn.
    'says': '',
    # Wrong positions that may stay in the drive; infinite where all are by their stamps.
    'wrong': 0,
    'right': 0.0,  # largest share of right positions that may be left out
    # Wrong positions that an updater may use; of right ones it may refuse one in fifty, or the
    # share `right`. None where not tried.
    'updater': 0,
    # Whether a training gets other places than of the clean drive, or too few.
    'reaches': False,
    'refused': '',  # part of the sentence by which training refuses; empty where it trains
}
"""What has to hold of a fault that states nothing else."""


def fault(name: str, *options: Any, **facts: Any) -> Callable[..., Any]:  # noqa: ANN401
    """Make a row of a function that changes stamps (M,) and places (M, 2), or a recording."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def change(recording: Recording, rng: Generator) -> Recording:
            if 'recording' in function.__annotations__:
                changed: Recording = function(recording, rng, *options)
                return changed
            stream = recording.positions
            stamps, places = function(stream.stamps.copy(), stream.positions.copy(), rng, *options)
            return with_positions(recording, stamps=stamps, positions=places)

        POSITION_FAULTS.append(SimpleNamespace(name=name, change=change, **(USUAL | facts)))
        return function

    return register


@fault('2 % of the positions off by 1 m to 100 km, each alone', says='positions_left_out')
def glitches(stamps: Ints, places: Floats, rng: Generator) -> Streams:
    # Never two in a row.
    chosen = 2 * rng.choice(len(places) // 2, 24, replace=False)
    metres = np.exp(rng.uniform(0.0, np.log(1e5), 24))
    angle = rng.uniform(0.0, 2.0 * np.pi, 24)
    places[chosen] += np.stack([metres * np.cos(angle), metres * np.sin(angle)], axis=1)
    return stamps, places


# Of the reference it is known for a second only that it was moved.
@fault('one burst of 3 s off by 100 m', says='positions_left_out', updater=100)
def burst(stamps: Ints, places: Floats, rng: Generator) -> Streams:
    begin = stamps[0] + int(rng.uniform(0.1, 0.6) * np.ptp(stamps))
    places[(stamps >= begin) & (stamps < begin + 3_000_000_000)] += [60.0, 80.0]
    return stamps, places


@fault(
    'localisation moved for good by 1 m',
    says='position_jumps', updater=1419, wrong=1419, reaches=True,
)  # fmt: skip
def moved_for_good(stamps: Ints, places: Floats, _: Generator) -> Streams:
    places[3 * len(places) // 5 :] += [1.0, 0.0]
    return stamps, places


@fault('95 % of the positions missing', says='position_gaps positions_missing', reaches=True)
def missing(stamps: Ints, places: Floats, rng: Generator) -> Streams:
    kept = rng.random(len(stamps)) >= 0.95
    return stamps[kept], places[kept]


@fault('throttled half-way, from 50 Hz to 2 Hz', reaches=True)
def throttled(stamps: Ints, places: Floats, _: Generator) -> Streams:
    rows = np.arange(len(stamps))
    kept = (rows < len(rows) // 2) | (rows % 25 == 0)
    return stamps[kept], places[kept]


# As after a bridge: each is given for 0.1 s, so that they are late by half of that.
@fault('positions at 10 Hz, each given five times', says='time_offset')
def repeated(stamps: Ints, places: Floats, _: Generator) -> Streams:
    return stamps, places[np.arange(len(places)) // 5 * 5]


@fault('parked for five minutes first', says='standing')
def parked_first(recording: Recording, rng: Generator) -> Recording:
    imu, positions = recording.imu, recording.positions
    earlier, sooner = (
        each[0] - np.arange(300_000_000_000, 0, -int(np.median(np.diff(each))))
        for each in (imu.stamps, positions.stamps)
    )
    still = rng.normal([0.0, 0.0, 9.81, 0.0, 0.0, 0.0], 0.02, size=(len(earlier), 6))
    stamps, samples = np.r_[earlier, imu.stamps], np.r_[still, imu.samples]
    there = positions.positions[0] + rng.normal(scale=0.005, size=(len(sooner), 2))
    return with_positions(
        with_imu(recording, stamps=stamps, receive_stamps=stamps, samples=samples),
        stamps=np.r_[sooner, positions.stamps],
        positions=np.r_[there, positions.positions],
    )


# A stamp is a moment by which positions are compared with the truth, so those of a clock that was
# set are all wrong by it, and right for the IMU.
BY_STAMP: dict[str, Any] = {'wrong': math.inf, 'updater': None}


@fault('the first position stamped a day back', 0, -DAY_S, says='position_wild', wrong=1)
@fault(
    'five positions in a row stamped a day ahead', slice(500, 505), DAY_S,
    says='position_backward', wrong=5, updater=5,
)  # fmt: skip
@fault(
    'all positions stamped 0.3 s late', slice(None), 0.3,
    says='time_offset', reaches=True, **BY_STAMP,
)  # fmt: skip
@fault(
    'positions stamped an hour late throughout', slice(None), 3600.0,
    says='time_offset', refused='no position falls into the time of the IMU', **BY_STAMP,
)  # fmt: skip
def stamped(
    stamps: Ints, places: Floats, _: Generator, where: slice | int, by_s: float
) -> Streams:
    stamps[where] += round(1e9 * by_s)
    return stamps, places


@fault('every fiftieth position stamped 0', says='position_zero', wrong=math.inf)
def unstamped(stamps: Ints, places: Floats, _: Generator) -> Streams:
    stamps[::50] = 0
    return stamps, places


@fault(
    'a few positions stamped up to a day ahead or back, each alone',
    says='position_wild', wrong=10,
)  # fmt: skip
def wild(stamps: Ints, places: Floats, rng: Generator) -> Streams:
    chosen = 2 * rng.choice(len(stamps) // 2, 10, replace=False)
    off_s = np.exp(rng.uniform(0.0, np.log(DAY_S), 10))
    stamps[chosen] += np.round(1e9 * off_s * rng.choice([-1.0, 1.0], 10)).astype(np.int64)
    return stamps, places


@fault(
    'every tenth position delivered 0.3 s late, rightly stamped',
    says='position_backward', right=0.11,
)  # fmt: skip
def delivered_late(stamps: Ints, places: Floats, _: Generator) -> Streams:
    rows = np.arange(len(stamps))
    order = np.argsort(np.where(rows % 10 == 0, rows + 15.5, rows), kind='stable')
    return stamps[order], places[order]


@fault(
    'all clocks set twelve hours ahead after a quarter (NTP)', 0.25, DAY_S / 2,
    says='imu_gaps position_gaps', **BY_STAMP,
)  # fmt: skip
@fault(
    'all clocks set two seconds back after a quarter (NTP)', 0.25, -2.0,
    says='imu_backward position_backward', **BY_STAMP,
)  # fmt: skip
@fault(
    'the clock of the positions alone set a day ahead near the end', 0.8, DAY_S, False,
    says='positions_missing position_gaps', reaches=True, **BY_STAMP,
)  # fmt: skip
def clock_set(
    recording: Recording, _: Generator, share: float, by_s: float, both: bool = True
) -> Recording:
    imu, positions = recording.imu, recording.positions
    at = positions.stamps[int(share * len(positions.stamps))]
    moved, later = (
        np.where(each >= at, each + round(1e9 * by_s), each)
        for each in (imu.stamps, positions.stamps)
    )
    if both:
        recording = with_imu(recording, stamps=moved, receive_stamps=moved)
    return with_positions(recording, stamps=later)


SETTINGS = TrainingSettings(rate_hz=10.0, window=20, horizons=(0, 5))

WRONG_M = 0.5
"""Distance from the true position from which a position is wrong; rows move theirs by a metre."""

LEAST_ERROR_M, LEAST_KNOWN = 0.05, 0.9
"""The same is learned of places as near, if as many are known: the car drives 0.2 m in a tick."""


@pytest.fixture(scope='module')
def clean() -> Recording:
    run = simulate(SlotCarSettings(seed=5, rate_hz=50.0), laps=10)
    return run_to_recording(run).between(None, 0.75 * float(np.ptp(run.stamps_ns)) / 1e9)


def wrong_of(stream: PositionStream, clean: PositionStream) -> Bools:
    """Return which positions are not where the car was at their stamp."""
    elapsed, known = (each.stamps - clean.stamps[0] for each in (stream, clean))
    true = [np.interp(elapsed, known, axis) for axis in clean.positions.T]
    away = np.linalg.norm(stream.positions.T - true, axis=0)
    return np.asarray(~(away < WRONG_M))


@pytest.mark.parametrize('fault', POSITION_FAULTS, ids=lambda fault: fault.name)
def test_position_fault(fault, clean):
    codes = {each.code for each in inspect_recording(clean).findings}
    faulty = fault.change(clean, np.random.default_rng(crc32(fault.name.encode())))
    findings = inspect_recording(faulty).findings
    new = {each.code: each.severity for each in findings if each.code not in codes}
    says = {*fault.says.split()}
    assert says <= {*new}
    assert {code for code, severity in new.items() if severity == 'warning'} <= says
    stream = faulty.positions
    left = stream.left_out
    wrong = wrong_of(stream, clean.positions)
    assert np.count_nonzero(wrong & ~left) <= fault.wrong
    assert np.count_nonzero(left & ~wrong) <= fault.right * len(left)
    if fault.refused:
        with pytest.raises(InputError, match=fault.refused):
            build_dataset([faulty], SETTINGS)
    else:
        given, right = (
            np.concatenate(build_dataset([each], SETTINGS).tracks) for each in (faulty, clean)
        )
        known = np.isfinite(given).all(axis=1)
        if len(given) == len(right):
            away = np.linalg.norm(given - right, axis=1)[known]
        else:
            # Behind a gap the ticks are others: each has to be of some place of the drive.
            away, _ = cKDTree(clean.positions.positions).query(given[known])
        few = known.sum() < LEAST_KNOWN * np.isfinite(right).all(axis=1).sum()
        assert bool(few or away.max() > LEAST_ERROR_M) == fault.reaches
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
