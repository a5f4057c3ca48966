# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tune the settings of a training."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.two_manifold import COUPLINGS
from two_manifold_ros.manifold.selection import has_neighbours
from two_manifold_ros.route.learning import Tuning as RouteTuning
from two_manifold_ros.ticks.segments import median_interval_ns
from two_manifold_ros.training.dataset import with_lap_scales
from two_manifold_ros.training.driving_clock import driving_dataset
from two_manifold_ros.training.route_training import RouteBench, usual_tuning
from two_manifold_ros.training.settings import OBSERVATIONS
from two_manifold_ros.training.time_scales import with_spectral_scales, with_time_scales
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
from two_manifold_ros.training.validation import usual_candidate, validate

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from two_manifold_ros.model.head import TrainedModel
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.training.assembly import Candidate
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
"""By method: what tells most comes first, and before it what costs least to try."""

_SCALES: dict[str, tuple[float, ...]] = {
    'sharpness': (0.05, 0.1, 0.2, 0.4, 0.8),
    'persistence': (0.05, 0.1, 0.2, 0.5, 1.0),
    'states': (6, 10, 20, 40, 60, 80),
    'neighbours': (10, 15, 30, 60, 100, 150),
    'dimension': (25, 50, 100, 200),
    'bandwidth_factor': (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0),
    'ridge': (0.3, 1.0, 3.0),
}
_CHOICES: dict[str, tuple[Any, ...]] = {
    'kernel': ('laplacian-eigenmap', 'gaussian', 'locally-linear', 'diffusion-map-beltrami'),
    'coupling': COUPLINGS,
    'readout': ('sharpened', 'ridge'),
    'observation': OBSERVATIONS,
}
"""
Of the kernels one of each family: each more is a trial less for everything else. The read-out
``mkdr`` is that of ``sharpened`` where positions are dense, and where they are not it is scored
on other ticks than the rest, those near a measured position, so that errors do not compare.
"""

_SHORTEST_WINDOW = 10
_NATIVE = 1.05
"""An IMU this much slower than its nominal rate still has it."""


@dataclass(frozen=True)
class Steps:
    """
    The steps that a search may take.

    Parameters
    ----------
    start
        Where it starts, nothing left open.
    given
        Names of settings that stay as they are.
    native_hz
        Rate of the IMU.

    """

    start: TrainingSettings
    given: frozenset[str]
    native_hz: float

    @property
    def names(self) -> tuple[str, ...]:
        """What is tuned, in order."""
        return tuple(name for name in ORDER[self.start.method] if name not in self.given)

    def around(self, name: str, settings: TrainingSettings) -> list[TrainingSettings]:
        """Return the settings one step away along a name."""
        if name == 'rate_hz':
            return self._rates(settings)
        if name == 'window':
            windows = [settings.window // 2, settings.window * 2] if settings.window else []
            return [replace(settings, window=w) for w in windows if w >= _SHORTEST_WINDOW]
        if name == 'neighbours' and not has_neighbours(settings.kernel):
            return []
        if name == 'ridge' and settings.observation != 'ridge':
            return []
        value = getattr(settings, name)
        if name in _CHOICES:
            values = [other for other in _CHOICES[name] if other != value]
        else:
            scale = _SCALES[name]
            below = [other for other in scale if other < value]
            values = below[-1:] + [other for other in scale if other > value][:1]
        return [replace(settings, **{name: other}) for other in values]

    def _rates(self, settings: TrainingSettings) -> list[TrainingSettings]:
        """Return half and twice the rate where the horizons stay at the same times."""
        start_hz, rate_hz = self.start.rate_hz or 0.0, settings.rate_hz or 0.0
        changed = []
        for factor in (0.5, 2.0):
            wanted = rate_hz * factor
            ticks = [horizon * factor for horizon in settings.horizons]
            window = round((settings.window or 0) * factor)
            near = 0.5 * start_hz <= wanted <= 2.0 * start_hz
            whole = all(tick.is_integer() for tick in ticks)
            if near and whole and wanted <= _NATIVE * self.native_hz and window > 1:
                horizons = tuple(map(int, ticks))
                changed.append(replace(settings, rate_hz=wanted, window=window, horizons=horizons))
        return changed


def settle(
    settings: TrainingSettings, dataset: Dataset, chosen: Candidate | RouteTuning
) -> TrainingSettings:
    """
    Return settings that leave nothing open.

    Parameters
    ----------
    settings
        What was asked for.
    dataset
        Gives the rate and the window.
    chosen
        What a validation chose of the rest.

    """
    settled = replace(settings, rate_hz=dataset.rate_hz, window=dataset.window)
    if isinstance(chosen, RouteTuning):
        return replace(settled, sharpness=chosen.sharpness, persistence=chosen.persistence)
    return replace(
        settled,
        states=chosen.states,
        neighbours=chosen.neighbours,
        bandwidth_factor=chosen.bandwidth_factor,
        ridge=chosen.ridge or usual_ridge(settings),
    )


def usual_ridge(settings: TrainingSettings) -> float:
    """Return the ridge with which the observation operator is tried when it gets one."""
    return usual_candidate(replace(settings, observation='ridge')).ridge or 0.0


def given_names(settings: TrainingSettings, named: Collection[str] = ()) -> frozenset[str]:
    """
    Return what stays as it is.

    Parameters
    ----------
    settings
        What they have that could have been left open is given.
    named
        Names of settings without such a default, as far as somebody gave them.

    """
    tuned = ORDER[settings.method]
    known = [name for name in tuned if name not in (*_CHOICES, 'dimension')]
    given = {name for name in known if getattr(settings, name) is not None}
    return frozenset(given | set(named))


@dataclass(frozen=True)
class Tried:
    """
    One entry of the table of a search.

    Parameters
    ----------
    settings
        What was tried.
    outcome
        What it reached.
    rival
        The best until then; where the search starts there is none.

    """

    settings: TrainingSettings
    outcome: Outcome
    rival: TrainingSettings | None


class Search:
    """
    A coordinate search; the same outcomes lead it the same way.

    Parameters
    ----------
    steps
        Where it starts, and what may be changed.
    attempt
        Tries settings.
    trials
        How many may be tried, the first included.

    Attributes
    ----------
    best
        The settings kept.
    table
        All that was tried, in order.

    Raises
    ------
    InputError
        If already the first settings cannot be tried.

    """

    def __init__(
        self, steps: Steps, attempt: Callable[[TrainingSettings], Outcome], trials: int
    ) -> None:
        self._steps = steps
        self._attempt = attempt
        self._trials = trials
        self.table: dict[TrainingSettings, Tried] = {}
        self.best = steps.start
        first = self._try(steps.start, None)
        if isinstance(first, Failure):
            msg = f'nothing can be tuned: {first.reason}'
            raise InputError(msg)
        self._best_trial = first
        self._run()

    def _run(self) -> None:
        """Go over all settings again and again until a round changes nothing."""
        before = None
        while before != self.best:
            before = self.best
            for name in self._steps.names:
                while self._improve(name):
                    pass

    def _improve(self, name: str) -> bool:
        """Try the steps along a setting; return whether one is kept."""
        rival = self.best
        tried: list[tuple[float, int, TrainingSettings, Trial]] = []
        for number, settings in enumerate(self._steps.around(name, rival)):
            if settings in self.table or len(self.table) >= self._trials:
                continue
            outcome = self._try(settings, rival)
            if isinstance(outcome, Trial):
                tried.append((outcome.score_m, number, settings, outcome))
        for _, _, settings, trial in sorted(tried, key=lambda each: each[:2]):
            if clearly_better(trial, self._best_trial):
                self.best, self._best_trial = settings, trial
                return True
        return False

    def _try(self, settings: TrainingSettings, rival: TrainingSettings | None) -> Outcome:
        outcome = self._attempt(settings)
        self.table[settings] = Tried(settings, outcome, rival)
        return outcome


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
