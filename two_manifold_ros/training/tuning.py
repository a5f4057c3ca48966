# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tune the settings of a training by a coordinate search over closed-loop trials."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.selection import has_neighbours
from two_manifold_ros.names import COUPLINGS, OBSERVATIONS
from two_manifold_ros.recordings.recording import median_interval_ns
from two_manifold_ros.route.learning import Tuning as RouteTuning
from two_manifold_ros.training.cross_validation import usual_candidate, validate
from two_manifold_ros.training.dataset import driving_dataset
from two_manifold_ros.training.route import RouteFold, usual_tuning
from two_manifold_ros.training.train import with_time_scales
from two_manifold_ros.training.tuning_trials import (
    clearly_better,
    Failure,
    hold_time,
    laps_won,
    Outcome,
    set_apart,
    Trial,
    TrialBench,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from two_manifold_ros.model.head import TrainedModel
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.training.cross_validation import Candidate
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.training.tuning_trials import HeldTime, Journal


ORDER = {
    'route': ('sharpness', 'persistence', 'rate_hz'),
    'spectral': (
        'bandwidth_factor', 'states', 'window', 'neighbours', 'rate_hz', 'kernel', 'readout',
        'observation', 'ridge', 'coupling', 'dimension',
    ),
    'tpsr': ('bandwidth_factor', 'states', 'window', 'rate_hz', 'observation', 'ridge'),
}  # fmt: skip
"""Settings tuned, by method: those that matter most first, after those cheapest to try."""

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
        windows = [settings.window // 2, settings.window * 2] if settings.window else []
        return [replace(settings, window=ticks) for ticks in windows if ticks >= 10]
    if name == 'neighbours' and not has_neighbours(settings.kernel):
        return []
    if name == 'ridge' and settings.observation != 'ridge':
        return []
    value = getattr(settings, name)
    if name in CHOICES:
        values: list[Any] = [other for other in CHOICES[name] if other != value]
    else:
        values = [other for other in SCALES[name] if other < value][-1:]
        values += [other for other in SCALES[name] if other > value][:1]
    return [replace(settings, **{name: other}) for other in values]


def _other_rates(
    settings: TrainingSettings, start: TrainingSettings, native_hz: float
) -> list[TrainingSettings]:
    """Return half and twice the rate where the horizons stay at the same times."""
    start_hz, rate_hz = start.rate_hz or 0.0, settings.rate_hz or 0.0
    changed = []
    for factor in (0.5, 2.0):
        wanted = rate_hz * factor
        ticks = [horizon * factor for horizon in settings.horizons]
        window = round((settings.window or 0) * factor)
        near = 0.5 * start_hz <= wanted <= 2.0 * start_hz
        whole = all(tick.is_integer() for tick in ticks)
        # An IMU a little slower than its nominal rate still has it.
        if near and whole and wanted <= 1.05 * native_hz and window > 1:
            horizons = tuple(map(int, ticks))
            changed.append(replace(settings, rate_hz=wanted, window=window, horizons=horizons))
    return changed


def settle(
    settings: TrainingSettings, dataset: Dataset, chosen: Candidate | RouteTuning
) -> TrainingSettings:
    """Return settings that leave nothing open: with what a dataset has, and what was chosen."""
    settled = replace(settings, rate_hz=dataset.rate_hz, window=dataset.window)
    if isinstance(chosen, RouteTuning):
        return replace(settled, sharpness=chosen.sharpness, persistence=chosen.persistence)
    # The ridge with which the observation operator is tried when it gets one.
    usual = usual_candidate(replace(settings, observation='ridge'))
    return replace(settled, **asdict(chosen) | {'ridge': chosen.ridge or usual.ridge})


def given_names(settings: TrainingSettings, named: Collection[str] = ()) -> frozenset[str]:
    """Return what stays: settings that could have been left open, and others that were named."""
    free = [name for name in ORDER[settings.method] if name not in (*CHOICES, 'dimension')]
    return frozenset({name for name in free if getattr(settings, name) is not None} | set(named))


class Tried(NamedTuple):
    """Result of some settings, and the best until then; where the search starts there is none."""

    outcome: Outcome
    rival: TrainingSettings | None


def search(
    start: TrainingSettings,
    given: Collection[str],
    native_hz: float,
    attempt: Callable[[TrainingSettings], Outcome],
    trials: int,
) -> tuple[TrainingSettings, dict[TrainingSettings, Tried]]:
    """
    Search coordinate by coordinate from complete settings.

    Names that are given stay as they are; at most so many trials are attempted, the first
    included. Returned are the best settings, and all that were tried, in order. An ``InputError``
    says that already the first settings cannot be tried.
    """
    first = attempt(start)
    if isinstance(first, Failure):
        msg = f'nothing can be tuned: {first.reason}'
        raise InputError(msg)
    table = {start: Tried(first, None)}

    def step(name: str, best: TrainingSettings, reached: Trial) -> tuple[TrainingSettings, Trial]:
        around = steps_around(name, best, start, native_hz)
        fresh = [each for each in around if each not in table][: max(trials - len(table), 0)]
        better = []
        for settings in fresh:
            outcome = attempt(settings)
            table[settings] = Tried(outcome, best)
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
) -> Tuning:
    """
    Choose settings by closed-loop filtering over held-out blocks of the recordings.

    The search starts from what a training without it would choose. Where the rate changes, window
    and horizons are scaled to stay as long in seconds.

    Parameters
    ----------
    recordings, settings
        To train on, and what was asked for.
    given, trials
        Names of settings that stay, see ``given_names``; how many may be tried, the first too.
    journal
        Knows trials from before and keeps new ones.
    progress
        Called with words and the share done.

    Raises
    ------
    InputError
        If the recordings cannot be trained on.

    """
    recordings = set_apart(recordings)
    scaled = with_time_scales(recordings, settings)
    if settings.method != 'route':
        settings = scaled
    # As every trial does.
    dataset = driving_dataset(recordings, scaled)
    held_time = hold_time(recordings, dataset)
    if isinstance(held_time, str):
        return Tuning(settings, {'note': held_time, 'trials': []})
    start = (journal and journal.start) or _untuned(settings, dataset, held_time)
    if isinstance(start, str):
        return Tuning(settings, {'note': start, 'trials': []})
    bench = TrialBench(recordings, dataset, held_time)
    done: list[TrainingSettings] = []

    def attempt(wanted: TrainingSettings) -> Outcome:
        progress(f'tuning, trial {len(done) + 1} of at most {trials}', len(done) / trials)
        done.append(wanted)
        outcome = journal.find(wanted) if journal is not None else None
        if outcome is None:
            outcome = bench(wanted)
            if journal is not None:
                journal.keep(wanted, outcome)
        return outcome

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
    try:
        if settings.method == 'route':
            passes = RouteFold(fit, held, dataset, settings).passes
            tuning = usual_tuning(settings)
            persistence = tuning.persistence or passes.persistence
            return settle(settings, dataset, replace(tuning, persistence=persistence))
        candidate, _ = validate([(fit, held)], dataset, settings, lambda *_: None)
    except InputError as error:
        return f'without the held-out part {error}'
    return settle(settings, dataset, candidate)


def _summarise(
    table: dict[TrainingSettings, Tried], start: TrainingSettings, best: TrainingSettings
) -> dict[str, Any]:
    rows = []
    for settings, (outcome, rival) in table.items():
        row: dict[str, Any] = {
            'changed': _changes(start, settings),
            'score_m': None,
            'laps_won': None,
        }
        if isinstance(outcome, Failure):
            row['failed'] = outcome.reason
        else:
            row['score_m'] = outcome.score_m
            other = table[rival].outcome if rival is not None else None
            if isinstance(other, Trial):
                row['laps_won'] = list(laps_won(outcome, other))
        rows.append(row)
    before, after = table[start].outcome, table[best].outcome
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
