# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Trials of a tuning: settings scored on the same held-out laps, compared, kept in a journal."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
import hashlib
import json
from math import isfinite, nan
from pathlib import Path
from typing import Any, TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.sparse.linalg import ArpackError

from two_manifold_ros import __version__
from two_manifold_ros.errors import InputError
from two_manifold_ros.model.container import replace_file
from two_manifold_ros.training.cross_validation import Fold
from two_manifold_ros.training.dataset import driving_dataset
from two_manifold_ros.training.held_out import (
    capped_mean,
    hold_out,
    lost_error,
    surely_lower,
    take_out,
)
from two_manifold_ros.training.route import RouteFold
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.summary import FEWEST_LAPS, measure_drives, median_lap_s

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.typing import Floats, Ints


@dataclass(frozen=True)
class Trial:
    """
    Errors of one choice: the mean in metres, each cut where the vehicle is plainly lost.

    It is over ticks and horizons; ``blocks`` are the same for each lap of each block, NaN where no
    position is known.
    """

    score_m: float
    blocks: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Failure:
    """Why a choice cannot be tried: a sentence."""

    reason: str


Outcome: TypeAlias = Trial | Failure


def clearly_better(trial: Trial, than: Trial) -> bool:
    """
    Return whether a trial is better than another by more than chance.

    Lower by 2 % in total, better in most blocks and in most laps, and with a mean gain per lap
    that is above zero by a t test at 97.5 %: a dozen changes and more are tried, and of those
    that do nothing one in forty may be kept.
    """
    gains = _gains(trial, than)
    blocks = [float(np.nanmean(gain)) for gain in gains if np.isfinite(gain).any()]
    won, of = laps_won(trial, than)
    if of < 2 or not trial.score_m <= 0.98 * than.score_m:
        return False
    laps = np.concatenate(gains)
    laps = laps[np.isfinite(laps)]
    most = sum(gain > 0.0 for gain in blocks) > len(blocks) / 2 and won > of / 2
    return most and surely_lower(-laps, np.zeros_like(laps), 0.975)


def laps_won(trial: Trial, than: Trial) -> tuple[int, int]:
    """Return on how many laps a trial is better than another, and of how many."""
    laps = np.concatenate(_gains(trial, than))
    return int((laps > 0.0).sum()), int(np.isfinite(laps).sum())


def _gains(trial: Trial, than: Trial) -> list[Floats]:
    return [
        np.array(before) - np.array(after)
        for before, after in zip(than.blocks, trial.blocks, strict=True)
    ]


def set_apart(recordings: Sequence[Recording]) -> list[Recording]:
    """Return recordings with stamps of which no two overlap, as those of simulated drives may."""
    apart = []
    for index, recording in enumerate(recordings):
        imu, positions = recording.imu, recording.positions
        # Days more than a recording can be long.
        shift = 10**15 * (1 + index) - imu.first_stamp

        def shifted(stamps: Ints, shift: int = shift) -> Ints:
            # A stamp that is zero or negative has no time.
            return np.where(stamps <= 0, 0, stamps + shift)

        if positions is not None:
            positions = replace(positions, stamps=shifted(positions.stamps))
        imu = replace(imu, stamps=shifted(imu.stamps))
        apart.append(replace(recording, imu=imu, positions=positions))
    return apart


@dataclass(frozen=True)
class HeldTime:
    """
    Spans of time, so that trials at different rates and windows are scored on the same drive.

    Each span is the start and end of a block, ns, at the start of which errors do not
    count for ``settle_ns``. There are so many laps in them, of a median time.
    """

    spans: tuple[tuple[int, int], ...]
    settle_ns: int
    lap_ns: int
    laps: float

    def split(
        self, segments: Sequence[Segment], period_ns: int, window: int
    ) -> tuple[list[Segment], list[Segment]]:
        """Take the blocks out, see `take_out`; a tick across an edge is held."""
        stamps = np.concatenate([segment.stamps for segment in segments])
        spans = np.array(self.spans, dtype=np.int64).reshape(-1, 2)
        firsts = np.searchsorted(stamps, spans[:, 0], 'right').tolist()
        lasts = np.searchsorted(stamps, spans[:, 1] + period_ns, 'left').tolist()
        least = self.settle_ns // period_ns + 1
        return take_out(segments, list(zip(firsts, lasts, strict=True)), window, least)

    def laps_of(self, block: Segment, period_ns: int) -> Ints:
        """Return the lap of each tick of a block from 0 on, -1 where errors do not count yet."""
        elapsed = block.stamps - (block.stamps[0] - period_ns) - self.settle_ns
        count = max(round(int(elapsed[-1]) / self.lap_ns), 1)
        laps = np.minimum(elapsed * count // max(int(elapsed[-1]), 1), count - 1)
        return np.where(elapsed > 0, laps, -1)


def hold_time(recordings: Sequence[Recording], dataset: Dataset) -> HeldTime | str:
    """
    Choose the blocks as a training does, or say in one sentence why nothing can be chosen on them.

    The recordings are set apart, and the dataset is theirs at the usual rate and window.
    """
    lap_s = median_lap_s(measure_drives(recordings))
    if lap_s is None:
        return 'the positions never close a lap, so there are no laps to choose settings on'
    period_ns, fewest_blocks = dataset.period_ns, 2
    _, held = hold_out(dataset.segments, dataset.window)
    spans = tuple((int(each.stamps[0]) - period_ns, int(each.stamps[-1])) for each in held)
    lap_ns = round(1e9 * lap_s)
    laps = sum(map(len, held)) * period_ns / lap_ns
    if len(held) < fewest_blocks or laps < FEWEST_LAPS:
        blocks = 'block' if len(held) == 1 else 'blocks'
        return (
            f'the recording is too short to choose settings: {laps:.1f} laps in {len(held)} '
            f'{blocks} can be held out, but {FEWEST_LAPS:g} laps in {fewest_blocks} blocks are '
            'needed; record longer'
        )
    return HeldTime(spans, dataset.window * period_ns, lap_ns, laps)


class TrialBench:
    """Tries settings on the same held-out time; the recordings are set apart, see `hold_time`."""

    def __init__(
        self, recordings: Sequence[Recording], dataset: Dataset, held_time: HeldTime
    ) -> None:
        self._recordings = recordings
        self._held_time = held_time
        fit, held = held_time.split(dataset.segments, dataset.period_ns, dataset.window)
        self._blocks = len(held)
        self._lost_m = lost_error([segment.positions for segment in fit or held])
        self._prepared: tuple[TrainingSettings, Fold | RouteFold, list[Ints]] | None = None

    def __call__(self, settings: TrainingSettings) -> Outcome:
        """Return the errors of settings that leave nothing to be chosen, or why there are none."""
        try:
            fold, laps = self._prepare(settings)
            squares = fold.squared_errors(settings)
        # Too few ticks, no convergence, no memory: what a choice may meet that another does not.
        except (InputError, ArithmeticError, np.linalg.LinAlgError, MemoryError, ArpackError) as e:
            return Failure(str(e) or type(e).__name__)
        scored = [square[lap >= 0] for square, lap in zip(squares, laps, strict=True)]
        score_m = capped_mean(np.concatenate(scored), self._lost_m)
        if not np.isfinite(score_m):
            return Failure('no position is known in the held-out blocks')
        blocks = tuple(
            tuple(
                capped_mean(square[lap == index], self._lost_m) for index in range(lap.max() + 1)
            )
            for square, lap in zip(squares, laps, strict=True)
        )
        return Trial(score_m, blocks)

    def _prepare(self, settings: TrainingSettings) -> tuple[Fold | RouteFold, list[Ints]]:
        """Return the fold, that of the last trial where only what is cheap differs."""
        cheap = ('states', 'sharpness', 'persistence', 'bandwidth_factor', 'ridge')
        fixed: dict[str, Any] = {**dict.fromkeys(cheap), 'observation': 'raw'}
        expensive = replace(settings, **fixed)
        if self._prepared is None or self._prepared[0] != expensive:
            # Before the next is made: two of them may not fit into memory.
            self._prepared = None
            dataset = driving_dataset(self._recordings, settings)
            fit, held = self._held_time.split(dataset.segments, dataset.period_ns, dataset.window)
            if len(held) != self._blocks or not fit:
                msg = (
                    f'windows of {dataset.window} ticks at {dataset.rate_hz:g} Hz leave too '
                    'little of the recording'
                )
                raise InputError(msg)
            laps = [self._held_time.laps_of(block, dataset.period_ns) for block in held]
            kind = RouteFold if settings.method == 'route' else Fold
            self._prepared = expensive, kind(fit, held, dataset, expensive), laps
        return self._prepared[1:]


class Journal:
    """
    A file of trials, replaced atomically after each.

    Trials under another key (see ``key_of``) are forgotten, as all are without ``resume``. An
    ``InputError`` says that the file is there and no journal.
    """

    def __init__(self, path: Path, key: str, *, resume: bool = True) -> None:
        self.path = path
        self._content: dict[str, Any] = {'format': 'two_manifold tuning 1', 'key': key}
        self._outcomes: dict[str, Outcome] = {}
        if not path.exists():
            return
        try:
            content = json.loads(path.read_text(encoding='utf-8'))
            known = content['format'] == self._content['format']
        except (OSError, ValueError, LookupError, TypeError):
            known = False
        if not known:
            msg = f'{path} exists and is no journal of a tuning: move it, or name another model'
            raise InputError(msg)
        if resume and content.get('key') == key:
            self._outcomes = {row['settings']: _outcome(row) for row in content['trials']}

    def __len__(self) -> int:
        """Return the number of trials."""
        return len(self._outcomes)

    @property
    def start(self) -> TrainingSettings | None:
        """The settings tried first, from which the others follow."""
        for name in self._outcomes:
            values = json.loads(name)
            return TrainingSettings(**values | {'horizons': tuple(values['horizons'])})
        return None

    def find(self, settings: TrainingSettings) -> Outcome | None:
        """Return the outcome of settings that were tried."""
        return self._outcomes.get(json.dumps(asdict(settings)))

    def keep(self, settings: TrainingSettings, outcome: Outcome) -> None:
        """Add an outcome; ``InputError`` if the file cannot be written."""
        self._outcomes[json.dumps(asdict(settings))] = outcome
        rows = [{'settings': name} | _row(each) for name, each in self._outcomes.items()]
        text = json.dumps(self._content | {'trials': rows}, indent=1, allow_nan=False)
        replace_file(self.path, lambda file: file.write(text.encode()), 'trials')


def _row(outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, Failure):
        return {'reason': outcome.reason}
    blocks = [[lap if isfinite(lap) else None for lap in block] for block in outcome.blocks]
    return {'score_m': outcome.score_m, 'blocks': blocks}


def _outcome(row: dict[str, Any]) -> Outcome:
    if 'reason' in row:
        return Failure(row['reason'])
    blocks = [tuple(nan if lap is None else lap for lap in block) for block in row['blocks']]
    return Trial(row['score_m'], tuple(blocks))


def key_of(
    recordings: Sequence[Recording], settings: TrainingSettings, given: Collection[str]
) -> str:
    """Return a hash of all that a table of trials depends on: data, settings and program."""
    digest = hashlib.sha256(f'{__version__} {settings} {sorted(given)}'.encode())
    for path in sorted(Path(__file__).parents[1].rglob('*.py')):
        digest.update(path.read_bytes())
    for recording in recordings:
        imu, positions = recording.imu, recording.positions
        arrays = [imu.stamps, imu.samples]
        if positions is not None:
            arrays += [positions.stamps, positions.positions]
        for array in arrays:
            digest.update(f'{array.dtype.str} {array.shape}'.encode())
            digest.update(array.tobytes())
    return digest.hexdigest()
