# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Trials of a tuning: run, scored and kept in a journal."""

from __future__ import annotations

import ast
from dataclasses import asdict, dataclass, replace
from functools import cache
import hashlib
import json
from math import isfinite, nan
import os
from pathlib import Path
import sys
import tempfile
from typing import Any, TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.sparse.linalg import ArpackError
from scipy.special import stdtrit

from two_manifold_ros import __version__
from two_manifold_ros.errors import InputError
from two_manifold_ros.training.driving_clock import driving_dataset
from two_manifold_ros.training.holdout import capped_mean, HeldOutBench, hold_out, LOST_SHARE
from two_manifold_ros.training.route_training import RouteBench, usual_tuning
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.summary import measure_drives
from two_manifold_ros.training.validation import usual_candidate

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.typing import Floats, Ints


PACKAGE = __name__.split('.', maxsplit=1)[0]
_ROOT = Path(__file__).resolve().parents[1]


def fingerprint(*modules: str) -> str:
    """Return a hash of the files of some modules and of all they import from this package."""
    digest = hashlib.sha256()
    for name, path in sorted(source_files(*modules).items()):
        digest.update(f'{name}\n'.encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def source_files(*modules: str) -> dict[str, Path]:
    """
    Return the files of modules and of everything they import from this package, by module.

    Imports inside functions count, and those for types too: rather one file too many. A module
    from elsewhere, such as a test that defines a method, has to be imported already.
    """
    files: dict[str, Path] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        path = None if name in files else _file_of(name)
        if path is not None:
            files[name] = path
            waiting += _imported(path)
    return files


def _file_of(module: str) -> Path | None:
    """Return the file of a module; ``None`` for a name that is something in a module."""
    package, *parts = module.split('.')
    if package != PACKAGE:
        return Path(sys.modules[module].__file__ or '')
    place = _ROOT.joinpath(*parts)
    for path in (place / '__init__.py', place.with_suffix('.py')):
        if path.is_file():
            return path
    return None


@cache
def _imported(path: Path) -> tuple[str, ...]:
    names = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, *(f'{node.module}.{alias.name}' for alias in node.names)]
    return tuple(name for name in names if name.split('.')[0] == PACKAGE)


CLEARLY = 0.98
"""A change has to lower the error to this share of it at least: less is not worth keeping."""

SURE = 0.975
"""
Of the t distribution: how surely the mean gain of a lap has to be above zero.

A dozen changes and more are tried; of those that do nothing, one in forty may be kept.
"""


@dataclass(frozen=True)
class Trial:
    """
    Errors of one choice.

    Parameters
    ----------
    score_m
        Mean error, metres, over ticks and horizons, each cut where the vehicle is plainly lost.
    blocks
        The same for each lap of each block; NaN where no position is known.

    """

    score_m: float
    blocks: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Failure:
    """
    A choice that cannot be tried.

    Parameters
    ----------
    reason
        A sentence.

    """

    reason: str


Outcome: TypeAlias = Trial | Failure


def clearly_better(trial: Trial, than: Trial) -> bool:
    """
    Return whether a trial is better than another by more than chance.

    Lower by a margin in total, better in most blocks and in most laps, and with a mean gain per
    lap that is ``SURE`` to be above zero.
    """
    gains = _gains(trial, than)
    laps = np.concatenate(gains)
    laps = laps[np.isfinite(laps)]
    blocks = [float(np.nanmean(gain)) for gain in gains if np.isfinite(gain).any()]
    if len(laps) < 2 or not trial.score_m <= CLEARLY * than.score_m:
        return False
    most = sum(gain > 0.0 for gain in blocks) > len(blocks) / 2
    won, of = laps_won(trial, than)
    noise = stdtrit(of - 1, SURE) * float(laps.std(ddof=1)) / np.sqrt(of)
    return bool(most and won > of / 2 and laps.mean() > noise)


def laps_won(trial: Trial, than: Trial) -> tuple[int, int]:
    """Return on how many laps a trial is better than another, and of how many."""
    laps = np.concatenate(_gains(trial, than))
    return int((laps > 0.0).sum()), int(np.isfinite(laps).sum())


def _gains(trial: Trial, than: Trial) -> list[Floats]:
    return [
        np.array(before) - np.array(after)
        for before, after in zip(than.blocks, trial.blocks, strict=True)
    ]


FEWEST_LAPS = 3.0
FEWEST_BLOCKS = 2

_APART_NS = 10**15
"""Between the beginnings of two recordings, days more than one can be long."""


@dataclass(frozen=True)
class HeldTime:
    """
    Spans of time, so that trials at different rates and windows are scored on the same drive.

    Parameters
    ----------
    spans
        Beginning and end of each block, ns, in order.
    settle_ns
        From the beginning of a block, in which errors do not count.
    lap_ns
        Median time of a lap.
    laps
        Held-out laps.

    """

    spans: tuple[tuple[int, int], ...]
    settle_ns: int
    lap_ns: int
    laps: float

    def split(
        self, segments: Sequence[Segment], period_ns: int, window: int
    ) -> tuple[list[Segment], list[Segment]]:
        """
        Split segments into a part to fit and the blocks; a tick across an edge is in neither.

        Parameters
        ----------
        segments
            Of any rate.
        period_ns
            Length of their ticks.
        window
            Ticks; parts to fit that do not exceed two windows are dropped.

        """
        fit: list[Segment] = []
        held: list[Segment] = []
        for segment in segments:
            position = 0
            for start, stop in self.spans:
                edges = [start, stop]
                before, last = np.searchsorted(segment.stamps, edges, 'right').tolist()
                shifted = [start + period_ns, stop + period_ns]
                first, after = np.searchsorted(segment.stamps, shifted, 'left').tolist()
                if (last - first) * period_ns > self.settle_ns:
                    held.append(segment.part(first, last))
                fit.append(segment.part(position, max(before, position)))
                position = max(after, position)
            fit.append(segment.part(position, len(segment)))
        return [part for part in fit if len(part) > 2 * window], held


def set_apart(recordings: Sequence[Recording]) -> list[Recording]:
    """Return recordings with stamps of which no two overlap, as those of simulated drives may."""
    return [_begun_at(_APART_NS * (1 + index), each) for index, each in enumerate(recordings)]


def _begun_at(begin_ns: int, recording: Recording) -> Recording:
    imu, positions = recording.imu, recording.positions
    shift = begin_ns - imu.first_stamp

    def shifted(stamps: Ints) -> Ints:
        # A stamp of zero says that there is none.
        return np.where(stamps == 0, 0, stamps + shift)

    if positions is not None:
        positions = replace(positions, stamps=shifted(positions.stamps))
    return replace(recording, imu=replace(imu, stamps=shifted(imu.stamps)), positions=positions)


def hold_time(recordings: Sequence[Recording], dataset: Dataset) -> HeldTime | str:
    """
    Choose the blocks as a training does, or say in one sentence why nothing can be chosen on them.

    Parameters
    ----------
    recordings
        To train on, set apart.
    dataset
        Of them, at the usual rate and window.

    """
    times = [drive.laps.time_s for drive in measure_drives(recordings) if drive.laps is not None]
    if not times:
        return 'the positions never close a lap, so there are no laps to choose settings on'
    period_ns = dataset.period_ns
    _, held = hold_out(dataset.segments, dataset.window)
    spans = tuple((int(each.stamps[0]) - period_ns, int(each.stamps[-1])) for each in held)
    lap_ns = round(1e9 * float(np.median(times)))
    laps = sum(map(len, held)) * period_ns / lap_ns
    if len(held) < FEWEST_BLOCKS or laps < FEWEST_LAPS:
        blocks = 'block' if len(held) == 1 else 'blocks'
        return (
            f'the recording is too short to choose settings: {laps:.1f} laps in {len(held)} '
            f'{blocks} can be held out, but {FEWEST_LAPS:g} laps in {FEWEST_BLOCKS} blocks are '
            'needed; record longer'
        )
    return HeldTime(spans, dataset.window * period_ns, lap_ns, laps)


FAILURES = (InputError, ArithmeticError, np.linalg.LinAlgError, MemoryError, ArpackError)
"""What a choice may meet that another does not: too few ticks, no convergence, no memory."""


class TrialBench:
    """
    Tries settings on the same held-out time.

    Parameters
    ----------
    recordings
        To train on, set apart.
    dataset
        Of them, at the usual rate and window.
    held_time
        From ``hold_time``.

    """

    def __init__(
        self, recordings: Sequence[Recording], dataset: Dataset, held_time: HeldTime
    ) -> None:
        self._recordings = recordings
        self._held_time = held_time
        fit, held = held_time.split(dataset.segments, dataset.period_ns, dataset.window)
        self._blocks = len(held)
        positions = np.concatenate([segment.positions for segment in fit or held])
        self._lost_m = LOST_SHARE * float(np.sqrt(np.nanvar(positions, axis=0).sum()))
        self._bench: tuple[TrainingSettings, HeldOutBench | RouteBench, list[Ints]] | None = None

    def __call__(self, settings: TrainingSettings) -> Outcome:
        """Return the errors of settings that leave nothing to be chosen, or why there are none."""
        try:
            bench, laps = self._prepared(settings)
            if isinstance(bench, RouteBench):
                squares = bench.squared_errors(usual_tuning(settings))
            else:
                squares = bench.squared_errors(usual_candidate(settings))
        except FAILURES as error:
            return Failure(str(error) or type(error).__name__)
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

    def _prepared(
        self, settings: TrainingSettings
    ) -> tuple[HeldOutBench | RouteBench, list[Ints]]:
        """Return the bench, that of the last trial where only what is cheap differs."""
        dear = replace(
            settings,
            states=None,
            sharpness=None,
            persistence=None,
            bandwidth_factor=None,
            ridge=None,
            observation='raw',
        )
        if self._bench is None or self._bench[0] != dear:
            # Before the next is made: two of them may not fit into memory.
            self._bench = None
            dataset, *_ = driving_dataset(self._recordings, settings)
            fit, held = self._held_time.split(dataset.segments, dataset.period_ns, dataset.window)
            if len(held) != self._blocks or not fit:
                msg = (
                    f'windows of {dataset.window} ticks at {dataset.rate_hz:g} Hz leave too '
                    'little of the recording'
                )
                raise InputError(msg)
            laps = [self._laps(block, dataset.period_ns) for block in held]
            kind = RouteBench if settings.method == 'route' else HeldOutBench
            self._bench = dear, kind(fit, held, dataset, dear), laps
        return self._bench[1:]

    def _laps(self, block: Segment, period_ns: int) -> Ints:
        """Return the lap of each tick of a block from 0 on, -1 where errors do not count yet."""
        times = self._held_time
        elapsed = block.stamps - (block.stamps[0] - period_ns) - times.settle_ns
        count = max(round(int(elapsed[-1]) / times.lap_ns), 1)
        laps = np.minimum(elapsed * count // max(int(elapsed[-1]), 1), count - 1)
        return np.where(elapsed > 0, laps, -1)


FORMAT = 'two_manifold tuning 1'


def key_of(
    recordings: Sequence[Recording], settings: TrainingSettings, given: Collection[str]
) -> str:
    """Return a hash of all that a table of trials depends on: data, settings and program."""
    digest = hashlib.sha256(f'{__version__} {settings} {sorted(given)}'.encode())
    digest.update(fingerprint('two_manifold_ros.training.tuning_trials').encode())
    for recording in recordings:
        imu, positions = recording.imu, recording.positions
        arrays = [imu.stamps, imu.samples]
        if positions is not None:
            arrays += [positions.stamps, positions.positions]
        for array in arrays:
            digest.update(f'{array.dtype.str} {array.shape}'.encode())
            digest.update(array.tobytes())
    return digest.hexdigest()


class Journal:
    """
    A file of trials, written anew and atomically after each.

    Parameters
    ----------
    path
        Of the file.
    key
        From ``key_of``; trials under another key are forgotten.
    resume
        Whether to read what is there.

    Raises
    ------
    InputError
        If the file is there and no journal.

    """

    def __init__(self, path: Path, key: str, *, resume: bool = True) -> None:
        self.path = path
        self._key = key
        self._outcomes: dict[str, Outcome] = {}
        content = _content(path) if path.exists() else {}
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
        return self._outcomes.get(_name(settings))

    def keep(self, settings: TrainingSettings, outcome: Outcome) -> None:
        """
        Add an outcome.

        Raises
        ------
        InputError
            If the file cannot be written.

        """
        self._outcomes[_name(settings)] = outcome
        rows = [{'settings': name} | _row(each) for name, each in self._outcomes.items()]
        content = {'format': FORMAT, 'key': self._key, 'trials': rows}
        _write(self.path, json.dumps(content, indent=1, allow_nan=False))


def _name(settings: TrainingSettings) -> str:
    return json.dumps(asdict(settings))


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


def _content(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding='utf-8'))
        if content['format'] == FORMAT:
            return dict(content)
    except (OSError, ValueError, LookupError, TypeError):
        pass
    msg = f'{path} exists and is no journal of a tuning: move it, or name another model'
    raise InputError(msg)


def _write(path: Path, text: str) -> None:
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f'.{path.name}.')
        temporary = Path(name)
        with os.fdopen(handle, 'w', encoding='utf-8') as file:
            file.write(text)
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        msg = f'{path}: the trials cannot be written ({error.strerror}); choose another folder'
        raise InputError(msg) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
