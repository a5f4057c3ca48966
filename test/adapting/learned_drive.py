# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A small adapting filter that has learned from the slot car, for tests that go on from there."""

from __future__ import annotations

import copy
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.adapting.adapting_head import make_head
from two_manifold_ros.adapting.adaptive_filter import AdaptiveFilter
from two_manifold_ros.adapting.settings import AdaptingSettings
from two_manifold_ros.simulation.slot_car_run import simulate
from two_manifold_ros.simulation.slot_car_settings import SlotCarSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.simulation.slot_car_run import SlotCarRun

SETTINGS = AdaptingSettings(
    rate_hz=20.0,
    window_s=2.0,
    horizons=(0, 10),
    features=300,
    observation_features=40,
    states=40,
    rank=50,
    quarantine_s=6.0,
    warm_up_s=10.0,
)
LEARNED = 1900
"""Samples that the learned filter has seen."""


@cache
def make_run() -> SlotCarRun:
    """Drive for a good two minutes."""
    return simulate(SlotCarSettings(seed=5, rate_hz=SETTINGS.rate_hz, noise=0.4), samples=2700)


def push(
    adaptive: AdaptiveFilter,
    first: int,
    stop: int,
    *,
    change: Callable[[int, np.ndarray], np.ndarray] | None = None,
    reference: bool = True,
    later_ns: int = 0,
) -> list[Estimate]:
    """Push samples of the run, changed or not, and the true positions if there is a reference."""
    run, estimates = make_run(), []
    for index in range(first, stop):
        stamp = int(run.stamps_ns[index]) + later_ns
        sample = run.imu[index] if change is None else change(index, run.imu[index].copy())
        estimates += adaptive.push(stamp, sample)
        if reference:
            adaptive.add_reference(stamp, *run.positions[index, :2])
    return estimates


def rms_error(estimates: list[Estimate], later_ns: int = 0) -> float:
    """Return the error at horizon 0 of the valid estimates, metres."""
    run = make_run()
    valid = [each for each in estimates if each.valid]
    index = np.searchsorted(run.stamps_ns, [each.stamp_ns - later_ns for each in valid])
    told = np.array([each.positions[0] for each in valid])
    return float(np.sqrt(np.square(told - run.positions[index, :2]).sum(axis=1).mean()))


@cache
def _learned() -> AdaptiveFilter:
    adaptive = AdaptiveFilter(make_head(SETTINGS))
    push(adaptive, 0, LEARNED)
    return adaptive


def learned_filter() -> AdaptiveFilter:
    """Return a copy of a filter that has learned."""
    return copy.deepcopy(_learned())
