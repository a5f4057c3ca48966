# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Errors on the recordings and the simulator, beside the figures to reach.

Run `python benchmarks/bench_accuracy.py`; the real recordings are looked for in
`shared/recordings` beside the checkout and passed over where they are absent.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation.slot_car_bag import run_to_recording
from two_manifold_ros.simulation.slot_car_run import simulate
from two_manifold_ros.simulation.slot_car_settings import SlotCarSettings
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from two_manifold_ros.recordings.recording import Recording

RECORDINGS = Path(__file__).resolve().parents[2] / 'shared' / 'recordings'
KERNELS = ('laplacian-eigenmap', 'gaussian')


@dataclass(frozen=True)
class Case:
    name: str
    training: list[Recording]
    test: Recording
    settings: dict[str, object]
    wanted: tuple[float, ...]


def seconds_of(recording: Recording) -> float:
    return int(recording.imu.stamps[-1] - recording.imu.stamps[0]) * 1e-9


def real_cases() -> Iterator[Case]:
    if not RECORDINGS.is_dir():
        print('the real recordings are not beside the checkout; only the simulator is run')
        return
    whole = read_recording(RECORDINGS / 'f1tenth_ipz10')
    cut = 0.7 * seconds_of(whole)
    yield Case(
        'f1tenth_ipz10, 20 Hz, w = 60, first 70 %',
        [whole.between(None, cut)],
        whole.between(cut, None),
        {'rate_hz': 20.0, 'window': 60},
        (0.25, 0.28, 0.32, 0.40),
    )
    runs = [read_recording(RECORDINGS / 'f1tenth_ipz20' / f'run_{run}') for run in range(1, 8)]
    yield Case(
        'f1tenth_ipz20, run_1..6 -> run_7, 25 Hz, w = 75',
        runs[:6],
        runs[6],
        {'rate_hz': 25.0, 'window': 75, 'horizons': (0, 25, 50)},
        (0.45, 0.60, 0.85),
    )


def slot_car_cases() -> Iterator[Case]:
    """3,000 samples at 10 Hz, 2,000 to train, last 500 to test, as in the paper."""
    for seed in range(3):
        whole = run_to_recording(simulate(SlotCarSettings(seed=seed, rate_hz=10.0), samples=3000))
        for window, states in ((150, 20), (150, 6), (25, 20)):
            yield Case(
                f'slot car, seed {seed}, w = {window}, k = {states}',
                [whole.between(None, 200.0)],
                whole.between(250.0, None),
                {'rate_hz': 10.0, 'window': window, 'states': states},
                (),
            )


def show(case: Case) -> None:
    print(f'\n{case.name}')
    for kernel in KERNELS:
        settings = TrainingSettings(kernel=kernel, **case.settings)  # type: ignore[arg-type]
        model = train_model(case.training, settings)
        scores = evaluate(model, [case.test]).scores
        print(f'  {kernel:20s}' + _line([each.model.rmse_m for each in scores]))
    print(f'  {"mean":20s}' + _line([each.mean.rmse_m for each in scores]))
    print(f'  {"previous":20s}' + _line([each.previous.rmse_m for each in scores]))
    if case.wanted:
        print(f'  {"to reach":20s}' + _line(case.wanted))


def _line(values: object) -> str:
    return ''.join('     -  ' if value is None else f'{value:8.3f}' for value in values)  # type: ignore[attr-defined]


def main() -> None:
    print('RMSE in metres at the horizons of each model (0, 10, 50, 100 ticks unless named)')
    for case in (*real_cases(), *slot_car_cases()):
        show(case)


if __name__ == '__main__':
    main()
