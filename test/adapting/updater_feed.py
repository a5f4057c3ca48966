# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A small updater session without ROS, and a drive to feed it with."""

from collections.abc import Callable

from raw_imu import raw_imu

from two_manifold_ros.adapting.stream_learner import StreamLearner
from two_manifold_ros.adapting.stream_memory import make_head
from two_manifold_ros.adapting.updater_session import UpdaterSession
from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.model.model import ModelHead
from two_manifold_ros.simulation.slot_car_run import SlotCarRun
from two_manifold_ros.training.settings import TpsrSettings

SMALL = TpsrSettings(
    rate_hz=10.0, window=20, horizons=(0, 5, 10), states=30, bandwidth_factor=1.4, features=200
)
"""Learns six laps of the slot car in some seconds."""

LEARNED = 2000
"""Samples of the drive after which estimates come."""


def tpsr_session(head: ModelHead, clock_ns: Callable[[], int] | None = None) -> UpdaterSession:
    """Return a session whose samples wait for its trainings."""
    return UpdaterSession(StreamLearner(head, SMALL, at_once=True), clock_ns)


def small_session() -> UpdaterSession:
    return tpsr_session(make_head(SMALL.horizons))


def feed(
    session: UpdaterSession, drive: SlotCarRun, part: slice, *, positions: bool = True
) -> list[Estimate]:
    estimates = []
    rows = zip(drive.stamps_ns.tolist(), drive.imu, drive.positions.tolist(), strict=True)
    for index, (stamp, sample, position) in list(enumerate(rows))[part]:
        estimates += session.take(raw_imu(stamp, sample))
        if positions and index % 5 == 0:
            session.take_position(stamp, 'map', *position[:2])
    return estimates
