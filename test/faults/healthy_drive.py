# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The drive that all faults are put into, and how well it is followed without them."""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.simulation.slot_car_run import SlotCarRun

RATE_HZ = 50.0
TICK_NS = 100_000_000
FRAME = 'imu_link'


class Sample(NamedTuple):
    """One message of a driver."""

    at_ns: int  # when it is sent, on the clock of the drive
    # When it was taken on the drive, which shows where the car was; None if not in our car.
    taken_ns: int | None
    stamp_ns: int  # what its header says
    values: np.ndarray  # (6,), specific force in m/s^2, angular rate in rad/s
    frame: str = FRAME
    refused: str = ''  # cause under which the node has to count it; empty if it has to use it
    raw: bytes = b''  # bytes that are sent in its place
    clock_ns: int | None = 0  # what `/clock` is ahead of its stamp; None if it stops
    source: int = 0  # which of two publishers sends it


class HealthyDrive:
    """
    The samples of a run, where the car was, and what the filter makes of them undisturbed.

    The run is on the track of the model and not in its training.
    """

    def __init__(self, run: SlotCarRun, estimates: list[Estimate]) -> None:
        self.run = run
        self.begin_ns = int(run.stamps_ns[0])
        self._tick_ends = np.array([each.stamp_ns for each in estimates])
        means = np.array([each.positions[0] for each in estimates])
        self._errors = np.linalg.norm(means - self.places(self._tick_ends), axis=1)
        self._errors[[not each.valid for each in estimates]] = np.nan

    def between(self, begin_s: float, end_s: float) -> list[Sample]:
        """Return the samples of a part of the drive, both ends in seconds from its start."""
        begin, end = (round(each * RATE_HZ) for each in (begin_s, end_s))
        assert 0 <= begin <= end <= len(self.run.stamps_ns)
        stamps = self.run.stamps_ns[begin:end].tolist()
        rows = zip(stamps, self.run.imu[begin:end], strict=True)
        return [Sample(stamp, stamp, stamp, values) for stamp, values in rows]

    def places(self, taken_ns: np.ndarray) -> np.ndarray:
        """Return the (n, 2) true positions at some times of the drive."""
        elapsed = np.asarray(taken_ns) - self.begin_ns
        known = self.run.stamps_ns - self.begin_ns
        xy = [np.interp(elapsed, known, self.run.positions[:, axis]) for axis in (0, 1)]
        return np.stack(xy, axis=1)

    @property
    def usual_error(self) -> float:
        """The undisturbed filter's root mean square error, metres."""
        return float(np.sqrt(np.nanmean(np.square(self._errors))))

    def error(self, taken_ns: np.ndarray) -> float:
        """Return the undisturbed filter's root mean square error at some times, metres."""
        errors = np.interp(
            np.asarray(taken_ns) - self.begin_ns, self._tick_ends - self.begin_ns, self._errors
        )
        return float(np.sqrt(np.mean(np.square(errors))))
