# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Errors where few positions are known: the read-outs of the spectral filter, and the default with
and without the positions that the read-out mkdr estimates.

Of each training recording random pairs of neighbouring positions are kept, so many that a share
of the ticks has one, as from a camera that sees the vehicle now and then; or one a second.

Run `python benchmarks/bench_few_positions.py [SEED ...]`: slot cars of seeds 0 to 4 unless named
otherwise, and the real recording where it is beside the checkout.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
import sys
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.ticks.segments import positions_at
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from two_manifold_ros.recordings.recording import PositionStream, Recording
    from two_manifold_ros.typing import Bools, Ints

RECORDINGS = Path(__file__).resolve().parents[2] / 'shared' / 'recordings'
READERS: dict[str, dict[str, Any]] = {
    'ridge': {'method': 'spectral', 'readout': 'ridge'},
    'sharpened': {'method': 'spectral', 'readout': 'sharpened'},
    'mkdr': {'method': 'spectral', 'readout': 'mkdr'},
    'default': {},
    'default, mkdr': {'readout': 'mkdr'},
}
SHARES = (0.2, 0.05)
DRAWS = 5
"""Of the positions that are kept of the one real recording."""


@dataclass(frozen=True)
class Case:
    training: Recording
    test: Recording
    settings: TrainingSettings
    draw: int


def real_cases() -> list[Case]:
    whole = read_recording(RECORDINGS / 'f1tenth_ipz10')
    cut = 0.7e-9 * int(whole.imu.stamps[-1] - whole.imu.stamps[0])
    settings = TrainingSettings(rate_hz=20.0, window=60)
    training, test = whole.between(None, cut), whole.between(cut, None)
    return [Case(training, test, settings, draw) for draw in range(DRAWS)]


def slot_car_case(seed: int) -> Case:
    """Return 2,000 samples at 10 Hz to train and 500 to test, as in the paper."""
    whole = run_to_recording(simulate(SlotCarSettings(seed=seed, rate_hz=10.0), samples=3000))
    settings = TrainingSettings(rate_hz=10.0, window=150, states=20)
    return Case(whole.between(None, 200.0), whole.between(250.0, None), settings, seed)


def stream_of(recording: Recording) -> PositionStream:
    if recording.positions is None:
        msg = f'{recording.name} has no positions'
        raise ValueError(msg)
    return recording.positions


def in_pairs(case: Case, share: float) -> Recording:
    """Keep pairs of neighbouring positions so that this share of the ticks has one."""
    stream = stream_of(case.training)
    segments = build_dataset([case.training], case.settings).segments
    ticks = np.concatenate([segment.stamps for segment in segments])
    order = np.random.default_rng(case.draw).permutation(len(stream.stamps) - 1)
    few, many = 1, len(order)
    while many - few > 1:
        count = (few + many) // 2
        kept = stream.select(pairs(order[:count], len(stream.stamps)))
        known = np.isfinite(positions_at(kept, ticks)).all(axis=1).mean()
        few, many = (few, count) if known > share else (count, many)
    kept = stream.select(pairs(order[:few], len(stream.stamps)))
    return replace(case.training, positions=kept)


def pairs(firsts: Ints, count: int) -> Bools:
    mask = np.zeros(count, dtype=np.bool_)
    mask[firsts] = mask[firsts + 1] = True
    return mask


def once_a_second(case: Case) -> Recording:
    stream = stream_of(case.training)
    seconds = (stream.stamps - stream.stamps[0]) // 1_000_000_000
    kept = np.diff(seconds, prepend=-1) > 0
    return replace(case.training, positions=stream.select(kept))


def show(title: str, cases: list[Case], thinned: Callable[[Case], Recording]) -> None:
    print(f'  {title}', flush=True)
    for name, changes in READERS.items():
        rows = []
        for case in cases:
            settings = replace(case.settings, **changes)
            scores = evaluate(train_model([thinned(case)], settings), [case.test]).scores
            rows.append([each.model.all.rmse_m or np.nan for each in scores])
        show_line(name, np.mean(rows, axis=0), np.std(rows, axis=0, ddof=min(1, len(rows) - 1)))


def show_line(name: str, means: Iterable[float], spreads: Iterable[float]) -> None:
    cells = [f'{mean:8.3f} ({spread:.3f})' for mean, spread in zip(means, spreads, strict=True)]
    print(f'    {name:20s}' + ''.join(cells), flush=True)


def show_all(title: str, cases: list[Case]) -> None:
    print(f'\n{title}')
    show('all positions', cases, lambda case: case.training)
    for share in SHARES:
        show(f'{share:.0%} of the ticks', cases, partial(in_pairs, share=share))
    show('one position a second', cases, once_a_second)


def main() -> None:
    seeds = [int(seed) for seed in sys.argv[1:]] or list(range(5))
    print('RMSE in metres 0, 10, 50 and 100 ticks ahead; mean (deviation) over seeds or draws')
    show_all(f'slot car, w = 150, k = 20, seeds {seeds}', [slot_car_case(seed) for seed in seeds])
    if RECORDINGS.is_dir():
        show_all(f'f1tenth_ipz10, 20 Hz, w = 60, last 30 %, {DRAWS} draws', real_cases())
    else:
        print('the real recordings are not beside the checkout; only the simulator is run')


if __name__ == '__main__':
    main()
