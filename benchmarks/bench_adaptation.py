# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
How soon an adapting filter is back after a change, and how well it learns on a real car.

Run `python benchmarks/bench_adaptation.py [SEED ...]`. The slot car drives for some twenty laps,
during which the filter learns from nothing, with a reference. Then something changes for good: the
speed, the noise, or the sign of a channel. From then on the filter that goes on learning is held
against what it had learned until then, frozen: errors at horizon 0, in metres, before the change
and in each lap after it, and after how many laps that of two in a row is at most 1.5 times the old
one. The error is told whether the filter says that it is valid or not. A figure is written to
`adaptation.png` in the working folder, if matplotlib is there.

Last, it learns online from the first 70 % of `f1tenth_ipz10`, looked for in `shared/recordings`
beside the checkout; errors are told before the truth is known.
"""

from __future__ import annotations

import copy
from pathlib import Path
import sys
from time import process_time

from changed_drive import AFTER_S, BEFORE_S, Change, Drive, drive, EVERY, RATE_HZ
import numpy as np

from two_manifold_ros.adapting.adapting_head import make_head
from two_manifold_ros.adapting.adaptive_filter import AdaptiveFilter
from two_manifold_ros.adapting.settings import AdaptingSettings
from two_manifold_ros.adapting.snapshot import snapshot
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.recordings.reading import read_recording

SEEDS = tuple(int(seed) for seed in sys.argv[1:]) or (0, 1, 2)
LAPS = 6
OLD_LAPS = 8
BACK = 1.5

RECORDINGS = Path(__file__).resolve().parents[2] / 'shared' / 'recordings'
LEARNED_SHARE = 0.7
QUICK = AdaptingSettings(
    rate_hz=40.0, window_s=1.0, warm_up_s=5.0, states=40, rank=60, horizons=(0, 20, 40)
)
"""For a recording of less than a minute."""

CHANGES = {
    'speed +12 %': Change(throttle=1.12),
    'speed -12 %': Change(throttle=0.88),
    'noise x 2': Change(noise=2.0),
    'sign of lateral acceleration': Change(reversed_channel=1),
    'sign of yaw rate': Change(reversed_channel=5),
}


def push(adaptive: AdaptiveFilter, course: Drive, first: int, stop: int) -> np.ndarray:
    """Return the sample and the error at horizon 0 of each estimate: (n, 2)."""
    rows = []
    for index in range(first, stop):
        for estimate in adaptive.push(int(course.stamps[index]), course.imu[index]):
            error = np.linalg.norm(estimate.positions[0] - course.positions[index])
            rows.append((index, float(error)))
        if index % EVERY == 0:
            place = course.seen[index // EVERY]
            adaptive.add_reference(int(course.stamps[index]), *place)
    return np.array(rows)


def push_frozen(frozen: Filter, course: Drive, first: int, stop: int) -> np.ndarray:
    rows = [
        (index, float(np.linalg.norm(estimate.positions[0] - course.positions[index])))
        for index in range(first, stop)
        for estimate in frozen.push(int(course.stamps[index]), course.imu[index])
    ]
    return np.array(rows)


def by_lap(rows: np.ndarray, course: Drive) -> np.ndarray:
    """Return the root mean square error of each lap after the change."""
    laps = course.laps[rows[:, 0].astype(int)]
    return np.array([np.sqrt(np.mean(rows[laps == lap, 1] ** 2)) for lap in range(LAPS)])


def laps_until_back(errors: np.ndarray, old: float) -> int | None:
    # Two laps together, so that one that went well by chance does not count.
    pairs = np.sqrt(0.5 * (errors[:-1] ** 2 + errors[1:] ** 2))
    back = np.flatnonzero(pairs <= BACK * old)
    return int(back[0]) if len(back) else None


def measure_seed(seed: int) -> dict[str, tuple[float, np.ndarray, np.ndarray]]:
    """Return old error and the errors by lap, adapting and frozen, for each change."""
    begin, stop = int(BEFORE_S * RATE_HZ), int((BEFORE_S + AFTER_S) * RATE_HZ)
    learned, old, found = None, 0.0, {}
    for name, change in CHANGES.items():
        course = drive(seed, change)
        if learned is None:
            learned = AdaptiveFilter(make_head(AdaptingSettings()))
            began = process_time()
            rows = push(learned, course, 0, begin)
            each_us = 1e6 * (process_time() - began) / len(rows)
            laps = course.laps[rows[:, 0].astype(int)]
            old = float(np.sqrt(np.mean(rows[laps >= -OLD_LAPS, 1] ** 2)))
            print(f'seed {seed}: {each_us:.0f} us of processor time a tick, old error {old:.3f} m')
        model = snapshot(learned.tracker, make_head(AdaptingSettings()))
        if model is None:
            msg = f'seed {seed}: nothing was learned that could be frozen'
            raise RuntimeError(msg)
        frozen = Filter(model)
        lead = begin - int(10 * RATE_HZ)
        still = push_frozen(frozen, course, lead, stop)
        adapting = push(copy.deepcopy(learned), course, begin, stop)
        found[name] = old, by_lap(adapting, course), by_lap(still[still[:, 0] >= begin], course)
    return found


def show(results: list[dict[str, tuple[float, np.ndarray, np.ndarray]]]) -> None:
    print(f'\nerror by lap after the change, metres; to reach: back (<= {BACK} x old) in 3 laps')
    for name in CHANGES:
        for seed, found in zip(SEEDS, results, strict=True):
            old, adapting, frozen = found[name]
            laps = laps_until_back(adapting, old)
            said = f'after {laps} laps' if laps is not None else f'not within {LAPS}'
            print(f'{name:29s} seed {seed}  old {old:.3f}  back {said}')
            print(f'{"":12s}adapting  ' + '  '.join(f'{each:5.2f}' for each in adapting))
            print(f'{"":12s}frozen    ' + '  '.join(f'{each:5.2f}' for each in frozen))


def draw(results: list[dict[str, tuple[float, np.ndarray, np.ndarray]]]) -> None:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - the figure is an extra
    except ImportError:
        return
    figure = Figure(figsize=(3.2 * len(CHANGES), 3.2), layout='constrained')
    for axes, name in zip(figure.subplots(1, len(CHANGES), sharey=True), CHANGES, strict=True):
        for found in results:
            old, adapting, frozen = found[name]
            axes.semilogy(np.append(1.0, adapting / old), color='tab:blue')
            axes.semilogy(np.append(1.0, frozen / old), color='tab:grey', linestyle='--')
        axes.axhline(BACK, color='black', linewidth=0.5)
        axes.set(title=name, xlabel='laps after the change')
    axes.plot([], [], color='tab:blue', label='adapting')
    axes.plot([], [], color='tab:grey', linestyle='--', label='frozen')
    axes.legend()
    figure.supylabel('error over the old one')
    figure.savefig('adaptation.png', dpi=120)
    print('figure: adaptation.png')


def measure_real() -> None:
    """Learn online from the real car, and tell errors tenth by tenth."""
    if not RECORDINGS.is_dir():
        print('the real recordings are not beside the checkout; the slot car is all there is')
        return
    recording = read_recording(RECORDINGS / 'f1tenth_ipz10')
    stream, truth = recording.imu, recording.positions
    if truth is None:
        return
    until = int(LEARNED_SHARE * len(stream.stamps))
    adaptive, fix, rows = AdaptiveFilter(make_head(QUICK)), 0, []
    for stamp, sample in zip(stream.stamps[:until].tolist(), stream.samples, strict=False):
        rows += [
            (each.stamp_ns, each.valid, *each.positions[0])
            for each in adaptive.push(stamp, sample)
        ]
        while fix < len(truth.stamps) and truth.stamps[fix] <= stamp:
            adaptive.add_reference(int(truth.stamps[fix]), *truth.positions[fix])
            fix += 1
    show_real(recording.name, np.array(rows), truth.stamps, truth.positions)


def show_real(name: str, rows: np.ndarray, stamps: np.ndarray, positions: np.ndarray) -> None:
    finite = np.isfinite(positions).all(axis=1)
    stamps, positions = stamps[finite], positions[finite]
    at = rows[:, 0]
    truth = np.stack([np.interp(at, stamps, axis) for axis in positions.T], axis=1)
    valid = rows[:, 1] > 0
    errors = np.linalg.norm(rows[:, 2:4] - truth, axis=1)
    spread = np.sqrt(truth.var(axis=0).sum())
    print(f'\n{name}: learned online; the mean position errs by {spread:.2f} m')
    for part in np.array_split(np.arange(len(rows)), 8):
        told = part[valid[part]]
        error = np.sqrt(np.mean(errors[told] ** 2)) if len(told) else np.nan
        seconds = (at[part[-1]] - at[0]) / 1e9
        print(f'  until second {seconds:4.0f}: valid {len(told) / len(part):4.0%}, {error:.2f} m')


def main() -> None:
    results = [measure_seed(seed) for seed in SEEDS]
    show(results)
    draw(results)
    measure_real()


if __name__ == '__main__':
    main()
