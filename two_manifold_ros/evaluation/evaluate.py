# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Score a model over recordings, beside two baselines."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.baselines import mean_covariance, previous_covariance
from two_manifold_ros.evaluation.filter_run import run_filter
from two_manifold_ros.evaluation.fitting import check_fit
from two_manifold_ros.evaluation.scores import Score, score
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.ticks.segments import positions_at
from two_manifold_ros.windows.familiarity import UNFAMILIAR

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.evaluation.filter_run import FilterRun
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class HorizonScore:
    """
    The model and the baselines at one horizon.

    Parameters
    ----------
    horizon
        Ticks ahead.
    model
        The filter.
    mean
        Always the mean training position.
    previous
        The true position at the tick, told to nobody else: at horizon 0 it has no error.

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

    def to_json(self) -> dict[str, Any]:
        """Return everything but the runs as JSON values; no number is NaN."""
        seconds = np.concatenate([run.seconds_per_tick for run in self.runs])
        familiarity = np.concatenate([run.familiarity for run in self.runs])
        familiarity = familiarity[np.isfinite(familiarity)]
        counters = sum((run.counters for run in self.runs), start=type(self.runs[0].counters)())
        return {
            'horizons': {
                str(each.horizon): asdict(each.model)
                | {'mean': asdict(each.mean), 'previous': asdict(each.previous)}
                for each in self.scores
            },
            'ticks': len(seconds),
            'valid_ticks': sum(len(run.stamps) for run in self.runs),
            'familiarity_median': float(np.median(familiarity)) if len(familiarity) else None,
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
        If a recording does not fit the model, or no estimate could be compared.

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
        If no estimate was valid, or none has a true position to compare with.

    """
    names = ', '.join(recording.name for recording in recordings)
    _check_told(names, runs)
    truths = [
        _truths(model, recording, run) for recording, run in zip(recordings, runs, strict=True)
    ]
    if not any(np.isfinite(truth).any() for truth in truths):
        msg = (
            f'{names}: no estimate has a true position to compare with; give more than one '
            f'window of {model.window / model.rate_hz:.1f} s, with positions'
        )
        raise InputError(msg)
    scores = tuple(
        _score_horizon(model, runs, truths, index) for index in range(len(model.horizons))
    )
    return Evaluation(scores, tuple(runs), tuple(truths))


def _check_told(names: str, runs: Sequence[FilterRun]) -> None:
    """Refuse runs that saw whole windows and yet have no valid estimate."""
    whole = [run for run in runs if run.status not in {Status.WAITING, Status.FILLING}]
    if not whole or any(len(run.stamps) for run in runs):
        return
    msg = f'{names}: no estimate was valid'
    unfamiliar = np.concatenate([run.unfamiliar for run in runs])
    if len(unfamiliar):
        ticks = sum(len(run.seconds_per_tick) for run in runs)
        msg += (
            f': {len(unfamiliar)} of {ticks} ticks were refused as unlike the training, with a '
            f'median familiarity of {np.median(unfamiliar):.1f} (about 1 on the trained route, '
            f'refused above {UNFAMILIAR:.1f})'
        )
    msg += f'; the filter ended in the state "{whole[-1].why}"'
    raise InputError(msg)


def _truths(model: ModelHead, recording: Recording, run: FilterRun) -> Floats:
    columns = [
        positions_at(recording.positions, run.stamps + horizon * model.period_ns)
        for horizon in model.horizons
    ]
    return np.stack(columns, axis=1)


def _score_horizon(
    model: ModelHead, runs: Sequence[FilterRun], truths: Sequence[Floats], index: int
) -> HorizonScore:
    truth = np.concatenate([each[:, index] for each in truths])
    now = np.concatenate([each[:, 0] for each in truths])
    predicted = np.concatenate([run.positions[:, index] for run in runs])
    covariances = np.concatenate([run.covariances[:, index] for run in runs])
    horizon = model.horizons[index]
    fixed = np.broadcast_to(mean_covariance(model), covariances.shape)
    moved = np.broadcast_to(previous_covariance(model, horizon), covariances.shape)
    return HorizonScore(
        horizon,
        score(predicted - truth, covariances),
        score(model.mean_position - truth, fixed),
        score(now - truth, moved),
    )
