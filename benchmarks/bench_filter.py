# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The time of one filter step: one IMU sample in, eight horizons with covariances out.

Run `python benchmarks/bench_filter.py`. First the default, compiled and in the NumPy
forms that run where there is no numba. Then the spectral filter; beside it, measured in the
same run: the same step written in plain NumPy with window distances computed again (naive), and a
copy of the bytes that the step has to read (the memory bound).
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


def naive_step(model: Model) -> Callable[[Floats, Floats], None]:
    """Return the step in NumPy as one would write it down, on an observation and a window."""
    weights, states = model.tables.weights, model.tables.states
    observations, bandwidth = model.operator.kernel_points, model.operator.bandwidth
    targets = model.readout.targets  # type: ignore[union-attr]
    pasts = np.stack([model.series[:, s : s + model.window] for s in model.starts])
    pasts = pasts.reshape(len(pasts), -1)
    belief = np.eye(STATES)[0]

    def step(observation: Floats, window: Floats) -> None:
        nonlocal belief
        squared = np.square(observations - observation).sum(axis=1)
        reweighted = np.exp(squared / (-2.0 * bandwidth**2)) * (weights @ belief)
        reweighted /= reweighted.sum()
        belief = states.T @ reweighted
        belief /= belief[0]
        sharp = np.maximum(reweighted, 0.0) ** 6
        for column in range(targets.shape[1]):
            known = np.isfinite(targets[:, column, 0])
            shares = sharp[known] / sharp[known].sum()
            mean = shares @ targets[known, column]
            spread = targets[known, column] - mean
            (spread * shares[:, None]).T @ spread
        np.square(pasts - window).sum(axis=1).min()

    return step


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
    step = naive_step(model)
    observations = model.channels.standardise(samples)
    flat = np.ascontiguousarray(observations[:window].T).reshape(-1)

    def naive(index: int) -> None:
        step(observations[index], flat)

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
    naive_us, _ = median_us(naive, 60)
    print(
        f'spectral: w = {window:4d}, n = {len(model.starts)}, d = {len(model.series)}, '
        f'k = {model.states}, {len(HORIZONS)} horizons: '
        f'ours {ours_us:6.1f} us (99 %: {ours_p99:.1f}), '
        f'naive {naive_us:8.1f} us ({naive_us / ours_us:.0f} x ours), '
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
