# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The time of one filter step: one IMU sample in, eight horizons with covariances out.

Run `./run bench filter`. First the default, then the spectral filter; beside it, measured in the
same run, a copy of the bytes that the step has to read (the memory bound).
"""

from __future__ import annotations

import time
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.model.model import Model, RouteModel
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.model.head import ModelHead, TrainedModel
    from two_manifold_ros.typing import Floats

TICKS = 2_000
STATES = 20
HORIZONS = (0, 1, 2, 5, 10, 20, 50, 100)
WINDOWS = (150, 600)
RATE_HZ = 10.0
STEPS = 1_500
ROUTE_WINDOW = 60


def make_model(window: int, method: str) -> tuple[TrainedModel, Floats]:
    """Train on just enough ticks for TICKS training ticks; return it and unseen samples."""
    needed = TICKS + 2 * window
    settings = SlotCarSettings(seed=0, rate_hz=RATE_HZ)
    recording = run_to_recording(simulate(settings, samples=needed + STEPS + window + 10))
    own: dict[str, Any] = {} if method == 'tpsr' else {'dimension': 60}
    chosen = TrainingSettings(
        rate_hz=RATE_HZ, window=window, states=STATES, horizons=HORIZONS, method=method, **own
    )
    model = train_model([recording.between(None, (needed + 1.5) / RATE_HZ)], chosen)
    return model, recording.imu.samples[needed:]


def median_us(function: Callable[[int], object], steps: int) -> tuple[float, float]:
    times = np.empty(steps)
    for index in range(steps):
        began = time.perf_counter()
        function(index)
        times[index] = time.perf_counter() - began
    return 1e6 * float(np.median(times)), 1e6 * float(np.quantile(times, 0.99))


def filter_us(model: ModelHead, samples: Floats, steps: int) -> tuple[float, float]:
    """Return the median and the 99 % quantile of the step of the live filter."""
    live = Filter(model)
    live.warm_up()
    stamps = [1_000_000_000 + i * model.period_ns for i in range(len(samples))]
    offset = model.window + 5
    for index in range(offset):
        live.push(stamps[index], samples[index])
    return median_us(lambda i: live.push(stamps[offset + i], samples[offset + i]), steps)


def measure_route() -> None:
    model, samples = make_model(ROUTE_WINDOW, 'route')
    assert isinstance(model, RouteModel)  # noqa: S101 - which the method makes
    ours_us, ours_p99 = filter_us(model, samples, STEPS)
    print(
        f'route: P = {model.route.places}, d = {len(model.series)}, k = {model.states}, '
        f'{len(HORIZONS)} horizons: ours {ours_us:6.1f} us (99 %: {ours_p99:.1f})'
    )


def measure(window: int) -> None:
    model, samples = make_model(window, 'spectral')
    assert isinstance(model, Model)  # noqa: S101 - which the method makes
    read = np.zeros(
        model.tables.weights.size * 2
        + model.operator.kernel_points.size
        + model.series.size
        + model.series.shape[1] * 2
    )
    target = np.empty_like(read)

    def bound(_: int) -> None:
        np.copyto(target, read)

    bound_us, _ = median_us(bound, 300)
    ours_us, ours_p99 = filter_us(model, samples, STEPS)
    print(
        f'spectral: w = {window:4d}, n = {len(model.starts)}, d = {len(model.series)}, '
        f'k = {model.states}, {len(HORIZONS)} horizons: '
        f'ours {ours_us:6.1f} us (99 %: {ours_p99:.1f}), '
        f'copying the {read.nbytes / 1e6:.1f} MB read {bound_us:.1f} us '
        f'(ours is {ours_us / bound_us:.1f} x that)'
    )


def main() -> None:
    print('filter step; to reach: 30 us at w = 150')
    measure_route()
    for window in WINDOWS:
        measure(window)


if __name__ == '__main__':
    main()
