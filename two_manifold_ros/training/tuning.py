# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Tune the settings of a training by a coordinate search over closed-loop trials.

Each trial is scored on the same held-out laps, and kept in a journal.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
import hashlib
import json
import math
from pathlib import Path
from typing import Any, TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.sparse.linalg import ArpackError

from two_manifold_ros import __version__
from two_manifold_ros.errors import InputError, refuse
from two_manifold_ros.files import checked, MOST_KEPT, parse_json, read_text, replace_text
from two_manifold_ros.fleet import Shared, spread
from two_manifold_ros.inspection.positions import FEWEST_LAPS
from two_manifold_ros.manifold.selection import has_neighbours
from two_manifold_ros.names import COUPLINGS, OBSERVATIONS
from two_manifold_ros.recordings.recording import median_interval_ns
from two_manifold_ros.route.learning import learn_route
from two_manifold_ros.training.cross_validation import Fold, NEIGHBOURS, usual_candidate, validate
from two_manifold_ros.training.dataset import driving_dataset
from two_manifold_ros.training.embeddings import embed, impute_positions
from two_manifold_ros.training.following import follow, lay_out_drives, usual_tuning
from two_manifold_ros.training.held_out import (
    capped_mean,
    follow_held_out,
    HeldTime,
    hold_out,
    lost_error,
    set_apart,
    squared_distances,
    surely_lower,
)
from two_manifold_ros.training.summary import measure_drives, median_lap_s
from two_manifold_ros.training.tpsr import TpsrFold, usual_numbers
from two_manifold_ros.training.train import with_sharpness, with_time_scales

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from two_manifold_ros.model.head import TrainedModel
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.typing import Floats, Ints

    AnyFold: TypeAlias = 'Fold | RouteFold | TpsrFold'


class RouteFold:
    """The passes of a part to fit, and held-out blocks to follow, as those of a `Fold`."""

    def __init__(
        self,
        fit: Sequence[Segment],
        held: Sequence[Segment],
        dataset: Dataset,
        settings: TrainingSettings,
    ) -> None:
        observations, tracks = dataset.standardise(fit), [each.positions for each in fit]
        if settings.imputes_positions:
            neighbours = settings.neighbours or NEIGHBOURS[0]
            embeddings = embed(observations, dataset.window, settings, neighbours)
            tracks, _ = impute_positions(embeddings, tracks)
        self.passes = lay_out_drives(observations, tracks, dataset, settings.horizons)
        self._blocks = dataset.blocks_of(held, settings.horizons)

    def squared_errors(self, settings: TrainingSettings) -> list[Floats]:
        """Return the squares (T, H) on each block from a cold start, m^2; NaN where unknown."""
        kept = np.ones(len(self.passes.places.visited), dtype=np.bool_)
        route = learn_route(self.passes, kept, usual_tuning(settings))
        runs = follow_held_out(partial(follow, route), self._blocks, 0)
        return [squared_distances(errors) for errors, *_ in runs]


ORDER = {
    'route': ('sharpness', 'persistence', 'rate_hz'),
    'spectral': ('bandwidth_factor', 'states', 'window', 'neighbours', 'rate_hz', 'kernel',
                 'readout', 'observation', 'ridge', 'coupling', 'dimension'),
    'tpsr': ('bandwidth_factor', 'states', 'window', 'rate_hz', 'ridge'),
}  # fmt: skip
"""Settings tuned, by method: those that matter most first, after those cheapest to try."""

_FOLDS: dict[str, type[AnyFold]] = {'route': RouteFold, 'tpsr': TpsrFold}

SCALES: dict[str, tuple[float, ...]] = {
    'sharpness': (0.05, 0.1, 0.2, 0.4, 0.8),
    'persistence': (0.05, 0.1, 0.2, 0.5, 1.0),
    'states': (6, 10, 20, 40, 60, 80),
    'neighbours': (10, 15, 30, 60, 100, 150),
    'dimension': (25, 50, 100, 200),
    'bandwidth_factor': (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0),
    'ridge': (0.3, 1.0, 3.0),
}
"""Numbers of which the next smaller and larger ones are tried."""

CHOICES: dict[str, tuple[str, ...]] = {
    'kernel': ('laplacian-eigenmap', 'gaussian', 'locally-linear', 'diffusion-map-beltrami'),
    'coupling': COUPLINGS,
    'readout': ('sharpened', 'ridge'),
    'observation': OBSERVATIONS,
}
"""
Names of which all others are tried.

Kernels are one of each family: each more is a trial less for everything else. The read-out
``mkdr`` is that of ``sharpened`` where positions are dense, and where they are not it is scored
on other ticks than the rest, those near a measured position, so that errors do not compare.
"""

USUAL_TRIALS = 12
"""About a minute for ten minutes of recording; coupling and dimension come later and gain less."""


def steps_around(
    name: str, settings: TrainingSettings, start: TrainingSettings, native_hz: float
) -> list[TrainingSettings]:
    """Return the settings one step away along a name, all of them complete."""
    if name == 'rate_hz':
        return _other_rates(settings, start, native_hz)
    if name == 'window':
        now = settings.window or 0
        return [replace(settings, window=ticks) for ticks in (now // 2, 2 * now) if ticks >= 10]
    if name == 'neighbours' and not has_neighbours(settings.kernel):
        return []
    if name == 'ridge' and settings.observation != 'ridge':
        return []
    value, values = getattr(settings, name), list[Any](CHOICES.get(name, ()))
    if name in SCALES:
        values = [other for other in SCALES[name] if other < value][-1:]
        values += [other for other in SCALES[name] if other > value][:1]
    return [replace(settings, **{name: other}) for other in values if other != value]


def _other_rates(
    settings: TrainingSettings, start: TrainingSettings, native_hz: float
) -> list[TrainingSettings]:
    """Return half and twice the rate where the horizons stay at the same times."""
    scaled = (settings.times_the_rate(factor, native_hz) for factor in (0.5, 2.0))
    low, high = (factor * (start.rate_hz or 0.0) for factor in (0.5, 2.0))
    return [each for each in scaled if each and low <= (each.rate_hz or 0.0) <= high]


def given_names(settings: TrainingSettings, named: Collection[str] = ()) -> frozenset[str]:
    """Return what stays: settings that could have been left open, and others that were named."""
    free = [name for name in ORDER[settings.method] if name not in (*CHOICES, 'dimension')]
    return frozenset({name for name in free if getattr(settings, name) is not None} | set(named))


@dataclass(frozen=True)
class Trial:
    """
    Errors of one choice: the mean in metres, each cut where the vehicle is plainly lost.

    It is over ticks and horizons; ``blocks`` are the same for each lap of each block, ``None``
    where no position is known.
    """

    score_m: float
    blocks: Sequence[Sequence[float | None]]


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
    blocks = [gain[np.isfinite(gain)] for gain in _gains(trial, than)]
    won, of = laps_won(trial, than)
    if of < 2 or not trial.score_m <= 0.98 * than.score_m:
        return False
    laps, means = np.concatenate(blocks), [gain.mean() for gain in blocks if len(gain)]
    most = sum(mean > 0.0 for mean in means) > len(means) / 2 and won > of / 2
    return most and surely_lower(-laps, np.zeros_like(laps), 0.975)


def laps_won(trial: Trial, than: Trial) -> tuple[int, int]:
    """Return on how many laps a trial is better than another, and of how many."""
    laps = np.concatenate(_gains(trial, than))
    return int((laps > 0.0).sum()), int(np.isfinite(laps).sum())


def _gains(trial: Trial, than: Trial) -> list[Floats]:
    return [
        np.array(before, dtype=np.float64) - np.array(after, dtype=np.float64)
        for before, after in zip(than.blocks, trial.blocks, strict=True)
    ]


def hold_time(recordings: Sequence[Recording], dataset: Dataset) -> HeldTime | str:
    """
    Choose the blocks as a training does, or say in one sentence why nothing can be chosen on them.

    The recordings are set apart, and the dataset is theirs at the usual rate and window.
    """
    lap_s = median_lap_s(measure_drives(recordings))
    if lap_s is None:
        return 'the positions never close a lap, so there are no laps to choose settings on'
    period_ns = dataset.period_ns
    _, held = hold_out(dataset.segments, dataset.window)
    spans = tuple((int(each.stamps[0]) - period_ns, int(each.stamps[-1])) for each in held)
    lap_ns = round(1e9 * lap_s)
    laps = sum(map(len, held)) * period_ns / lap_ns
    if len(held) < 2 or laps < FEWEST_LAPS:
        return (
            f'the recording is too short to choose settings: {laps:.1f} laps in {len(held)} '
            f'block(s) can be held out, but {FEWEST_LAPS} laps in 2 are needed; record longer'
        )
    return HeldTime(spans, dataset.window * period_ns, lap_ns, laps)


class TrialBench:
    """Tries settings on the same held-out time; the recordings are set apart, see `hold_time`."""

    def __init__(
        self, recordings: Sequence[Recording], dataset: Dataset, held_time: HeldTime
    ) -> None:
        self._recordings, self._held_time = recordings, held_time
        fit, held = held_time.split(dataset.segments, dataset.period_ns, dataset.window)
        self._blocks = len(held)
        self._lost_m = lost_error([segment.positions for segment in fit or held])
        self._prepared: tuple[TrainingSettings, AnyFold, list[Ints]] | None = None

    def __call__(self, settings: TrainingSettings) -> Outcome:
        """Return the errors of settings that leave nothing to be chosen, or why there are none."""
        try:
            fold, laps = self._prepare(settings)
            squares = fold.squared_errors(settings)
        # Too few ticks, no convergence, no memory: what a choice may meet that another does not.
        except (InputError, ArithmeticError, np.linalg.LinAlgError, MemoryError, ArpackError) as e:
            return Failure(str(e) or type(e).__name__)

        def mean_m(chosen: list[Floats]) -> float | None:
            mean = capped_mean(np.concatenate(chosen), self._lost_m)
            return mean if math.isfinite(mean) else None

        blocks = list(zip(squares, laps, strict=True))
        score_m = mean_m([square[lap >= 0] for square, lap in blocks])
        if score_m is None:
            return Failure('no position is known in the held-out blocks')
        of_laps = [
            [mean_m([square[lap == index]]) for index in range(lap.max() + 1)]
            for square, lap in blocks
        ]
        return Trial(score_m, of_laps)

    def _prepare(self, settings: TrainingSettings) -> tuple[AnyFold, list[Ints]]:
        """Return the fold, that of the last trial where only what is cheap differs."""
        cheap = ('states', 'sharpness', 'persistence', 'bandwidth_factor', 'ridge')
        fixed: dict[str, Any] = {**dict.fromkeys(cheap), 'observation': 'raw'}
        expensive = replace(settings, **fixed)
        prepared = self._prepared
        if prepared is None or prepared[0] != expensive:
            # Before the next is made: two of them may not fit into memory.
            self._prepared = prepared = None
            dataset = driving_dataset(self._recordings, settings)
            fit, held = self._held_time.split(dataset.segments, dataset.period_ns, dataset.window)
            if len(held) != self._blocks or not fit:
                msg = (
                    f'windows of {dataset.window} ticks at {dataset.rate_hz:g} Hz leave too '
                    'little of the recording'
                )
                raise InputError(msg)
            laps = [self._held_time.laps_of(block, dataset.period_ns) for block in held]
            kind = _FOLDS.get(settings.method, Fold)
            # A worker may have a second thread, whose settings are others.
            self._prepared = prepared = expensive, kind(fit, held, dataset, expensive), laps
        return prepared[1:]


def _outcome_of(row: Mapping[str, Any]) -> Outcome:
    """Return the outcome of a row in a file; a ``TypeError`` or another says that it is none."""
    if 'reason' in row:
        return Failure(**row)
    trial = Trial(**row)
    # Of anything but numbers and what is not known this raises.
    for block in [[trial.score_m], *trial.blocks]:
        np.array(block, dtype=np.float64)
    return trial


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
        with checked(path, 'journal of a tuning', 'move it, or name another model'):
            try:
                content = parse_json(read_text(path, MOST_KEPT))
            except FileNotFoundError:
                return
            if not isinstance(content, dict) or content.get('format') != self._content['format']:
                refuse('it is something else')
        if not resume or content.get('key') != key:
            return
        # What is no trial is forgotten, and tried again.
        with suppress(KeyError, TypeError, AttributeError, ValueError):
            for row in content['trials']:
                name, outcome = row.pop('settings'), _outcome_of(row)
                self._outcomes[name] = outcome

    def __len__(self) -> int:
        """Return the number of trials."""
        return len(self._outcomes)

    def find(self, settings: TrainingSettings) -> Outcome | None:
        """Return the outcome of settings that were tried."""
        return self._outcomes.get(json.dumps(asdict(settings)))

    def keep(self, settings: TrainingSettings, outcome: Outcome) -> None:
        """Add an outcome; ``InputError`` if the file cannot be written."""
        self._outcomes[json.dumps(asdict(settings))] = outcome
        # Workers may end in any order.
        rows = [{'settings': name} | asdict(each) for name, each in sorted(self._outcomes.items())]
        text = json.dumps(self._content | {'trials': rows}, indent=1, allow_nan=False)
        replace_text(self.path, [text], 'trials')


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


Tried: TypeAlias = tuple[Outcome, 'TrainingSettings | None']
"""Result of some settings, and the best until then; where the search starts there is none."""


def search(
    start: TrainingSettings,
    given: Collection[str],
    native_hz: float,
    attempt: Callable[[Sequence[TrainingSettings]], Sequence[Outcome]],
    trials: int,
) -> tuple[TrainingSettings, dict[TrainingSettings, Tried]]:
    """
    Search coordinate by coordinate from complete settings.

    Names that are given stay as they are; at most so many trials are attempted, the first
    included, and together those that do not depend on one another. Returned are the best
    settings, and all that were tried, in order. An ``InputError`` says that already the first
    settings cannot be tried.
    """
    (first,) = attempt([start])
    if isinstance(first, Failure):
        msg = f'nothing can be tuned: {first.reason}'
        raise InputError(msg)
    table: dict[TrainingSettings, Tried] = {start: (first, None)}

    def step(name: str, best: TrainingSettings, reached: Trial) -> tuple[TrainingSettings, Trial]:
        around = steps_around(name, best, start, native_hz)
        fresh = [each for each in around if each not in table][: max(trials - len(table), 0)]
        better = []
        for settings, outcome in zip(fresh, attempt(fresh), strict=True):
            table[settings] = outcome, best
            if isinstance(outcome, Trial) and clearly_better(outcome, reached):
                better.append((settings, outcome))
        return min(better, key=lambda each: each[1].score_m, default=(best, reached))

    names = [name for name in ORDER[start.method] if name not in given]
    best, trial, before = start, first, None
    while before != best:
        before = best
        for name in names:
            after = None
            while after != best:
                after = best
                best, trial = step(name, best, trial)
    return best, table


@dataclass(frozen=True)
class Tuning:
    """Settings to train with, and the table of trials as JSON values for the model."""

    settings: TrainingSettings
    summary: dict[str, Any]

    def noted_in(self, model: TrainedModel) -> TrainedModel:
        """Return the model that was trained with the settings, with the table in its summary."""
        return replace(model, summary=model.summary | {'tuning': self.summary})


def tune(
    recordings: Sequence[Recording],
    settings: TrainingSettings,
    given: Collection[str],
    trials: int = USUAL_TRIALS,
    journal: Journal | None = None,
    progress: Callable[[str, float], None] = lambda *_: None,
    client: Any = None,  # noqa: ANN401 - of an extra
) -> Tuning:
    """
    Choose settings by closed-loop filtering over held-out blocks of the recordings.

    The search starts from what a training without it would choose. Where the rate changes, window
    and horizons are scaled to stay as long in seconds. An ``InputError`` says that the recordings
    cannot be trained on.

    Parameters
    ----------
    recordings, settings
        To train on, and what was asked for.
    given, trials
        Names of settings that stay, see ``given_names``; how many may be tried, the first too.
    journal, progress
        Knows trials from before and keeps new ones; called with words and the share done.
    client
        Whose workers try settings, if there is one, see `fleet.spread`; each gets the recordings
        once.

    """
    recordings = set_apart(recordings)
    scaled = with_time_scales(recordings, settings)
    settings = with_sharpness(recordings, settings) if settings.method == 'route' else scaled
    dataset = driving_dataset(recordings, scaled)
    held_time = hold_time(recordings, dataset)
    if isinstance(held_time, str):
        return Tuning(settings, {'note': held_time, 'trials': []})
    start = _untuned(settings, dataset, held_time)
    if isinstance(start, str):
        return Tuning(settings, {'note': start, 'trials': []})
    bench = Shared(TrialBench(recordings, dataset, held_time))
    known: dict[TrainingSettings, Outcome] = {}

    def attempt(wanted: Sequence[TrainingSettings]) -> list[Outcome]:
        left = []
        for each in wanted:
            outcome = None if journal is None else journal.find(each)
            if outcome is None:
                left.append(each)
            else:
                known[each] = outcome
        before = len(known)

        def done(share: float) -> None:
            number = before + round(share * len(left))
            last = min(number + 1, before + len(left))
            progress(f'tuning, trial {last} of at most {trials}', number / trials)

        def keep(settings: TrainingSettings, outcome: Outcome) -> None:
            known[settings] = outcome
            if journal is not None:
                journal.keep(settings, outcome)

        spread(bench, left, client, done, keep)
        return [known[each] for each in wanted]

    interval = min(median_interval_ns(each.imu.stamps) or dataset.period_ns for each in recordings)
    best, table = search(start, given, 1e9 / interval, attempt, trials)
    summary = _summarise(table, start, best) | {'laps': round(held_time.laps, 2)}
    # Where nothing is better the model is to be that of a training without a tuning.
    return Tuning(settings if best == start else best, summary)


def _untuned(
    settings: TrainingSettings, dataset: Dataset, held_time: HeldTime
) -> TrainingSettings | str:
    """Return all that a training without a tuning would choose, or why it cannot."""
    fit, held = held_time.split(dataset.segments, dataset.period_ns, dataset.window)
    settled = replace(settings, rate_hz=dataset.rate_hz, window=dataset.window)
    try:
        if settings.method == 'route':
            fold, tuning = RouteFold(fit, held, dataset, settings), usual_tuning(settings)
            persistence = tuning.persistence or fold.passes.persistence
            return replace(settled, sharpness=tuning.sharpness, persistence=persistence)
        if settings.method == 'tpsr':
            # Its operator always has one.
            return replace(settled, observation='ridge', **usual_numbers(settings))
        chosen, _ = validate([(fit, held)], dataset, settings, lambda *_: None)
    except InputError as error:
        return f'without the held-out part {error}'
    # The ridge with which the observation operator is tried when it gets one.
    usual = usual_candidate(replace(settings, observation='ridge'))
    return replace(settled, **asdict(chosen) | {'ridge': chosen.ridge or usual.ridge})


def _summarise(
    table: dict[TrainingSettings, Tried], start: TrainingSettings, best: TrainingSettings
) -> dict[str, Any]:
    rows = []
    for settings, (outcome, rival) in table.items():
        row: dict[str, Any] = {'changed': _changes(start, settings)}
        row |= {'score_m': None, 'laps_won': None}
        other = table[rival][0] if rival is not None else None
        if isinstance(outcome, Failure):
            row['failed'] = outcome.reason
        else:
            row['score_m'] = outcome.score_m
            row['laps_won'] = list(laps_won(outcome, other)) if isinstance(other, Trial) else None
        rows.append(row)
    before, after = table[start][0], table[best][0]
    return {
        'note': None,
        'untuned_m': before.score_m if isinstance(before, Trial) else None,
        'tuned_m': after.score_m if isinstance(after, Trial) else None,
        'untuned': _changes(best, start),
        'changed': _changes(start, best),
        'trials': rows,
    }


def _changes(start: TrainingSettings, settings: TrainingSettings) -> dict[str, Any]:
    """Return the settings that differ from ``start``."""
    before, after = asdict(start), asdict(settings)
    # As they come back from the file of a model.
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in after.items()
        if value != before[name]
    }
