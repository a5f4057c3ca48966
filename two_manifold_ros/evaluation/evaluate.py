# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Score a model over recordings, beside two baselines."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.filter_run import check_fit, run_filter
from two_manifold_ros.evaluation.scores import (
    directions_ahead,
    mean_covariance,
    previous_covariance,
    Score,
    score,
)
from two_manifold_ros.ticks.segments import positions_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.evaluation.filter_run import FilterRun
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class HorizonScore:
    """
    The model and the baselines at one horizon, all on the same ticks.

    Parameters
    ----------
    horizon
        Ticks ahead.
    model
        The filter.
    mean
        Always the mean training position.
    previous
        The true position at the tick, which only it is given: at horizon 0 it has no error.

    """

    horizon: int
    model: Score
    mean: Score
    previous: Score


@dataclass(frozen=True)
class Evaluation:
    """
    What a model reached on recordings.

    Parameters
    ----------
    scores
        One for each horizon.
    runs, truths
        For each recording its run, and the true positions (T, H, 2) with NaN where unknown.

    """

    scores: tuple[HorizonScore, ...]
    runs: tuple[FilterRun, ...]
    truths: tuple[Floats, ...]

    @property
    def ticks(self) -> int:
        """Ticks after the first window of each recording."""
        return sum(len(run.stamps) for run in self.runs)

    @property
    def told(self) -> int:
        """How many of these had a valid estimate."""
        return sum(int(np.count_nonzero(run.told)) for run in self.runs)

    @property
    def withheld(self) -> Counter[str]:
        """How many of these had none, by cause."""
        return sum((run.withheld for run in self.runs), start=Counter())

    def describe_withheld(self) -> str:
        """Return in one sentence why estimates were withheld most often; empty if none was."""
        withheld = self.withheld
        if not withheld:
            return ''
        cause, count = withheld.most_common(1)[0]
        why = next(run.reasons[cause] for run in reversed(self.runs) if cause in run.reasons)
        return (
            f'{withheld.total()} of the {self.ticks} ticks after the first window were withheld, '
            f'most often ({count} of them, {count / withheld.total():.0%}) as "{why}"'
        )

    def to_json(self) -> dict[str, Any]:
        """Return everything but the runs as JSON values; no number is NaN."""
        seconds = np.concatenate([run.seconds_per_tick for run in self.runs])
        counters = sum((run.counters for run in self.runs), start=Counter[str]())
        return {
            'horizons': {
                str(each.horizon): asdict(each.model)
                | {'mean': asdict(each.mean), 'previous': asdict(each.previous)}
                for each in self.scores
            },
            'ticks': len(seconds),
            'ticks_after_first_window': self.ticks,
            'valid_ticks': self.told,
            'withheld': dict(sorted(self.withheld.items())),
            'seconds_per_tick_p50': float(np.quantile(seconds, 0.5)),
            'seconds_per_tick_p99': float(np.quantile(seconds, 0.99)),
            'samples': dict(sorted(counters.items())),
        }


def evaluate(
    model: ModelHead,
    recordings: Sequence[Recording],
    progress: Callable[[str, float], None] = lambda *_: None,
) -> Evaluation:
    """
    Filter recordings, each from a cold start, and compare with their positions.

    Raises
    ------
    InputError
        If a recording does not fit the model, or not one estimate, told or not, could be compared.

    """
    runs = []
    for recording in recordings:
        check_fit(model, recording)
        runs.append(run_filter(model, recording, progress))
    if not sum(len(run.seconds_per_tick) for run in runs):
        names = ', '.join(recording.name for recording in recordings)
        msg = f'{names}: there are no two IMU samples to filter; give a longer part'
        raise InputError(msg)
    return compare(model, recordings, runs)


def compare(
    model: ModelHead, recordings: Sequence[Recording], runs: Sequence[FilterRun]
) -> Evaluation:
    """
    Compare runs, wherever they were made, with the positions of their recordings.

    Raises
    ------
    InputError
        If no estimate, told or not, has a true position to compare with.

    """
    truths = [
        _truths(model, recording, run) for recording, run in zip(recordings, runs, strict=True)
    ]
    if not any(np.isfinite(truth).any() for truth in truths):
        names = ', '.join(recording.name for recording in recordings)
        msg = (
            f'{names}: no estimate has a true position to compare with; give more than one '
            f'window of {model.window / model.rate_hz:.1f} s, with positions'
        )
        raise InputError(msg)
    directions = np.concatenate(
        [
            directions_ahead(recording.positions, run.stamps, model.horizons, model.period_ns)
            for recording, run in zip(recordings, runs, strict=True)
        ]
    )
    scores = tuple(
        _score_horizon(model, runs, np.concatenate(truths), directions, index)
        for index in range(len(model.horizons))
    )
    return Evaluation(scores, tuple(runs), tuple(truths))


def _truths(model: ModelHead, recording: Recording, run: FilterRun) -> Floats:
    columns = [
        positions_at(recording.positions, run.stamps + horizon * model.period_ns)
        for horizon in model.horizons
    ]
    return np.stack(columns, axis=1)


def _score_horizon(
    model: ModelHead, runs: Sequence[FilterRun], truths: Floats, directions: Floats, index: int
) -> HorizonScore:
    """Score one horizon from true positions and directions, each (T, H, 2)."""
    horizon = model.horizons[index]
    truth, ways = truths[:, index], directions[:, index]
    told = np.concatenate([run.told for run in runs])
    predicted = np.concatenate([run.positions[:, index] for run in runs])
    covariances = np.concatenate([run.covariances[:, index] for run in runs])
    fixed = np.broadcast_to(mean_covariance(model), covariances.shape)
    moved = np.broadcast_to(previous_covariance(model, horizon), covariances.shape)
    return HorizonScore(
        horizon,
        score(predicted - truth, covariances, told, ways),
        score(model.mean_position - truth, fixed, told, ways),
        score(truths[:, 0] - truth, moved, told, ways),
    )
