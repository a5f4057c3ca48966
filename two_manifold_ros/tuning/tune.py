# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tune the settings of a training."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.ticks.segments import median_interval_ns
from two_manifold_ros.training.driving_clock import driving_dataset
from two_manifold_ros.training.lap_scales import with_lap_scales
from two_manifold_ros.training.route_bench import RouteBench
from two_manifold_ros.training.route_training import usual_tuning
from two_manifold_ros.training.spectral_scales import with_spectral_scales
from two_manifold_ros.training.time_scales import with_time_scales
from two_manifold_ros.training.validation import validate
from two_manifold_ros.tuning.held_time import hold_time, set_apart
from two_manifold_ros.tuning.search import Search
from two_manifold_ros.tuning.steps import settle, Steps
from two_manifold_ros.tuning.trial import Failure, laps_won, Outcome, Trial
from two_manifold_ros.tuning.trial_bench import TrialBench

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from two_manifold_ros.model.head import TrainedModel
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.tuning.held_time import HeldTime
    from two_manifold_ros.tuning.journal import Journal
    from two_manifold_ros.tuning.search import Tried

USUAL_TRIALS = 12
"""About a minute for ten minutes of recording; coupling and dimension come later and tell less."""


@dataclass(frozen=True)
class Tuning:
    """
    What a tuning found.

    Parameters
    ----------
    settings
        To train with.
    summary
        The table of trials as JSON values, for the model.

    """

    settings: TrainingSettings
    summary: dict[str, Any]

    def told_by(self, model: TrainedModel) -> TrainedModel:
        """Return the model that was trained with the settings, with the table in its summary."""
        return replace(model, summary=model.summary | {'tuning': self.summary})


def tune(
    recordings: Sequence[Recording],
    settings: TrainingSettings,
    given: Collection[str],
    trials: int = USUAL_TRIALS,
    journal: Journal | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Tuning:
    """
    Choose settings by closed-loop filtering over held-out blocks of the recordings.

    The search starts from what a training without it would choose. Where the rate changes, window
    and horizons are scaled to stay as long in seconds.

    Parameters
    ----------
    recordings
        To train on.
    settings
        What was asked for.
    given
        Names of settings that stay, see ``given_names``.
    trials
        How many settings may be tried, the first included.
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
    settings = with_lap_scales(recordings, with_spectral_scales(recordings, settings))
    route = settings.method == 'route'
    scaled = with_time_scales(recordings, settings) if route else settings
    # As every trial does.
    dataset, *_ = driving_dataset(recordings, scaled)
    held_time = hold_time(recordings, dataset)
    if isinstance(held_time, str):
        return Tuning(settings, {'note': held_time, 'trials': []})
    start = (journal and journal.start) or _untuned(settings, dataset, held_time)
    if isinstance(start, str):
        return Tuning(settings, {'note': start, 'trials': []})
    bench = TrialBench(recordings, dataset, held_time)
    done: list[TrainingSettings] = []

    def attempt(wanted: TrainingSettings) -> Outcome:
        if progress is not None:
            progress(f'tuning, trial {len(done) + 1} of at most {trials}', len(done) / trials)
        done.append(wanted)
        outcome = journal.find(wanted) if journal is not None else None
        if outcome is None:
            outcome = bench(wanted)
            if journal is not None:
                journal.keep(wanted, outcome)
        return outcome

    interval = min(median_interval_ns(each.imu.stamps) or dataset.period_ns for each in recordings)
    search = Search(Steps(start, frozenset(given), 1e9 / interval), attempt, trials)
    # Where nothing is better the model is to be that of a training without a tuning.
    best = settings if search.best == start else search.best
    return Tuning(best, _summary(search, start, held_time.laps))


def _untuned(
    settings: TrainingSettings, dataset: Dataset, held_time: HeldTime
) -> TrainingSettings | str:
    """Return all that a training without a tuning would choose, or why it cannot."""
    fit, held = held_time.split(dataset.segments, dataset.period_ns, dataset.window)
    try:
        if settings.method == 'route':
            passes = RouteBench(fit, held, dataset, settings).drives.passes
            tuning = usual_tuning(settings)
            persistence = tuning.persistence or passes.persistence
            return settle(settings, dataset, replace(tuning, persistence=persistence))
        validation = validate([(fit, held)], dataset, settings, lambda *_: None)
    except InputError as error:
        return f'without the held-out part {error}'
    return settle(settings, dataset, validation.candidate)


def _summary(search: Search, start: TrainingSettings, laps: float) -> dict[str, Any]:
    outcomes = {settings: tried.outcome for settings, tried in search.table.items()}
    before, after = outcomes[start], outcomes[search.best]
    return {
        'note': None,
        'laps': round(laps, 2),
        'untuned_m': before.score_m if isinstance(before, Trial) else None,
        'tuned_m': after.score_m if isinstance(after, Trial) else None,
        'untuned': _changes(search.best, start),
        'changed': _changes(start, search.best),
        'trials': [_row(tried, start, outcomes) for tried in search.table.values()],
    }


def _changes(start: TrainingSettings, settings: TrainingSettings) -> dict[str, Any]:
    """Return what of some settings is not as start."""
    before, after = asdict(start), asdict(settings)
    # As they come back from the file of a model.
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in after.items()
        if value != before[name]
    }


def _row(
    tried: Tried, start: TrainingSettings, outcomes: dict[TrainingSettings, Outcome]
) -> dict[str, Any]:
    row: dict[str, Any] = {
        'changed': _changes(start, tried.settings),
        'score_m': None,
        'laps_won': None,
    }
    if isinstance(tried.outcome, Failure):
        return row | {'failed': tried.outcome.reason}
    row['score_m'] = tried.outcome.score_m
    rival = outcomes[tried.rival] if tried.rival is not None else tried.outcome
    if isinstance(rival, Trial) and tried.rival is not None:
        row['laps_won'] = list(laps_won(tried.outcome, rival))
    return row
