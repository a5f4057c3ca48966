# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Errors on the recordings and the simulator, beside the figures to reach.

What `two-manifold train` makes by default, and the spectral filter with each kernel.

Run `python benchmarks/bench_accuracy.py`; the real recordings are looked for in
`shared/recordings` beside the checkout and passed over where they are absent.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from two_manifold_ros.evaluation.scores import HorizonScore
    from two_manifold_ros.recordings.recording import Recording

RECORDINGS = Path(__file__).resolve().parents[2] / 'shared' / 'recordings'
METHODS: dict[str, dict[str, object]] = {
    'default': {},
    'eigenmap': {'method': 'spectral', 'kernel': 'laplacian-eigenmap'},
    'gaussian': {'method': 'spectral', 'kernel': 'gaussian'},
}
SEEDS = range(5)


@dataclass(frozen=True)
class Case:
    name: str
    training: list[Recording]
    test: Recording
    settings: dict[str, object]
    wanted: tuple[float | None, ...]


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
        (0.12, None, 0.17, 0.24),
    )
    runs = [read_recording(RECORDINGS / 'f1tenth_ipz20' / f'run_{run}') for run in range(1, 8)]
    yield Case(
        'f1tenth_ipz20, run_1..6 -> run_7, 25 Hz, w = 75',
        runs[:6],
        runs[6],
        {'rate_hz': 25.0, 'window': 75, 'horizons': (0, 25, 50)},
        (0.28, 0.40, 0.50),
    )


def slot_car_case(seed: int, window: int, states: int) -> Case:
    """Return 3,000 samples at 10 Hz, 2,000 to train and the last 500 to test, as in the paper."""
    whole = run_to_recording(simulate(SlotCarSettings(seed=seed, rate_hz=10.0), samples=3000))
    return Case(
        f'slot car, w = {window}, k = {states}',
        [whole.between(None, 200.0)],
        whole.between(250.0, None),
        {'rate_hz': 10.0, 'window': window, 'states': states},
        (),
    )


def scores_of(case: Case, changes: dict[str, object]) -> tuple[HorizonScore, ...]:
    settings = TrainingSettings(**case.settings, **changes)  # type: ignore[arg-type]
    return evaluate(train_model(case.training, settings), [case.test]).scores


def show_real(case: Case) -> None:
    print(f'\n{case.name}')
    for name, changes in METHODS.items():
        scores = scores_of(case, changes)
        show_line(name, [each.model.all.rmse_m for each in scores])
        show_ellipses(scores)
    show_line('mean', [each.mean.all.rmse_m for each in scores])
    show_line('previous', [each.previous.all.rmse_m for each in scores])
    show_line('to reach', case.wanted)


def show_slot_car(window: int, states: int) -> None:
    print(f'\nslot car, w = {window}, k = {states}: mean over seeds {SEEDS[0]} to {SEEDS[-1]}')
    found: dict[str, list[list[float]]] = {}
    for seed in SEEDS:
        case = slot_car_case(seed, window, states)
        for name, changes in METHODS.items():
            scores = scores_of(case, changes)
            found.setdefault(name, []).append([each.model.all.rmse_m or np.nan for each in scores])
            if name == 'default':
                show_ellipses(scores)
        for name in ('mean', 'previous'):
            row = [getattr(each, name).all.rmse_m for each in scores]
            found.setdefault(name, []).append(row)
    means = {name: np.mean(rows, axis=0) for name, rows in found.items()}
    for name, values in means.items():
        show_line(name, values)
    show_line('gaussian / eigenmap', means['gaussian'] / means['eigenmap'])


def show_ellipses(scores: Iterable[HorizonScore]) -> None:
    inside = ((each.model.coverage68 or 0.0, each.model.coverage95 or 0.0) for each in scores)
    cells = (f'{100 * narrow:4.0f}/{100 * wide:3.0f}' for narrow, wide in inside)
    print(f'  {"  in 68/95 % ellipse":20s}' + ''.join(cells))


def show_line(name: str, values: Iterable[float | None]) -> None:
    cells = ('     -  ' if value is None else f'{value:8.3f}' for value in values)
    print(f'  {name:20s}' + ''.join(cells))


def main() -> None:
    print('RMSE in metres at the horizons of each model (0, 10, 50, 100 ticks unless named)')
    for case in real_cases():
        show_real(case)
    for window, states in ((150, 20), (150, 6), (25, 20), (25, 6)):
        show_slot_car(window, states)


if __name__ == '__main__':
    main()
