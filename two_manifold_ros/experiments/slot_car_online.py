# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Foretell an IMU: the online TPSR beside the HSE-HMM that it approximates.

Boots & Gordon (2011), Fig. 2: 3,000 measurements of a slot car at 10 Hz. All models filter the
test part and foretell the measurement by the same linear functional, the mean over training ticks
weighed as the state implies. Ridges decide whether a filter is stable (section 5 of the note);
each is chosen in closed loop on the last quarter of the training part.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.experiments.claim import at_most, Claim
from two_manifold_ros.experiments.slot_car_online_course import make_course
from two_manifold_ros.experiments.slot_car_online_figure import draw
from two_manifold_ros.experiments.slot_car_online_protocol import choose
from two_manifold_ros.experiments.slot_car_online_rivals import (
    hidden_markov,
    hse_hmms,
    mean_measurement,
)
from two_manifold_ros.experiments.slot_car_online_stream import StreamLearner, StreamSettings
from two_manifold_ros.simulation.slot_car_bag import run_to_recording
from two_manifold_ros.simulation.slot_car_run import simulate
from two_manifold_ros.simulation.slot_car_settings import SlotCarSettings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from two_manifold_ros.experiments.experiment import Progress
    from two_manifold_ros.experiments.slot_car_online_course import Course
    from two_manifold_ros.experiments.slot_car_online_protocol import Forecaster
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats

RATE_HZ = 10.0
SEED = 0
RIDGES = (0.03, 0.1, 0.3, 1.0, 3.0)
HELD_SHARE = 0.25
SIMULATED_SHARE = 2 / 3
RECORDED_SHARE = 0.7
"""Of a stretch, learned from."""

PAPER = 'Fig. 2B'


@dataclass(frozen=True)
class Scale:
    """
    How large the experiment is.

    Parameters
    ----------
    measurements
        Of the simulated slot car.
    stream
        Sizes of the online model.
    limit
        By how much of the HSE-HMM's error the online model's may be larger, as a factor.

    """

    measurements: int
    stream: StreamSettings
    limit: float


FULL = Scale(3_000, StreamSettings(), 1.05)
QUICK = Scale(900, StreamSettings(window_features=1_000, observation_features=100), 1.2)


@dataclass(frozen=True)
class Outcome:
    """
    Errors of all models on one course.

    Parameters
    ----------
    course
        What was learned from and tested on.
    curves
        By ``mean``, ``hmm``, ``hse`` and ``online``, the squared error at each horizon: (H,).
    ridges
        Chosen, of ``hse`` and ``online``.

    """

    course: Course
    curves: dict[str, Floats]
    ridges: dict[str, float]


def run(
    folder: Path, progress: Progress, *, quick: bool, recordings: Sequence[Recording] = ()
) -> list[Claim]:
    """
    Run the experiment, see ``experiments.experiment.Run``, on the slot car and on recordings.

    Raises
    ------
    InputError
        If a recording is too short, or hmmlearn is missing.

    """
    scale = QUICK if quick else FULL
    progress('driving the slot car', 0.0)
    driven = simulate(SlotCarSettings(SEED, RATE_HZ), samples=scale.measurements)
    courses = [make_course(run_to_recording(driven), SIMULATED_SHARE)]
    courses += [make_course(recording, RECORDED_SHARE) for recording in recordings]
    outcomes = []
    for index, course in enumerate(courses):
        tell = partial(_tell, progress, course.name, index, len(courses))
        outcomes.append(compare(course, scale.stream, tell))
    draw(outcomes, folder / 'slot-car-online.png')
    progress('done', 1.0)
    return [claim for outcome in outcomes for claim in claims_of(outcome, scale.limit)]


def _tell(
    progress: Progress, name: str, index: int, count: int, what: str, fraction: float
) -> None:
    progress(f'{name}: {what}', (index + fraction) / count)


def compare(course: Course, settings: StreamSettings, tell: Progress) -> Outcome:
    """Learn all models on the training part of a course and score them on its test part."""
    held = course.held_out(HELD_SHARE)
    horizons = course.protocol.horizons
    tell('learning the HSE-HMM', 0.0)
    tried = hse_hmms(held.training, held.window, horizons, RIDGES)
    hse_ridge = choose(tried, held.test, held.protocol)
    hse = hse_hmms(course.training, course.window, horizons, [hse_ridge])[hse_ridge]
    tell('learning the TPSR', 0.2)
    stream = StreamLearner(held.training, course.window, horizons, settings)
    stream.learn(held.training)
    tried = {ridge: stream.forecaster(ridge) for ridge in RIDGES}
    online_ridge = choose(tried, held.test, held.protocol)
    tell('learning the TPSR', 0.6)
    stream.learn(course.training)
    tell('learning the HMM', 0.8)
    models = {
        'mean': mean_measurement(course.training, horizons),
        'hmm': hidden_markov(course.training, horizons),
        'hse': hse,
        'online': stream.forecaster(online_ridge),
    }
    tell('foretelling', 0.9)
    return Outcome(course, _curves(models, course), {'hse': hse_ridge, 'online': online_ridge})


def _curves(models: dict[str, Forecaster], course: Course) -> dict[str, Floats]:
    return {name: course.protocol.errors(model, course.test) for name, model in models.items()}


def claims_of(outcome: Outcome, limit: float) -> list[Claim]:
    """Return what has to hold on a course: the curves coincide, below the HMM's and the mean's."""
    name, curves = outcome.course.name, outcome.curves
    means = {model: float(curve.mean()) for model, curve in curves.items()}
    ratios = curves['online'] / curves['hse']
    return [
        at_most(
            f'{name}: error online / HSE-HMM, largest of {len(ratios)} horizons',
            f'{PAPER}: 1',
            float(np.max(ratios)),
            limit,
        ),
        at_most(
            f'{name}: the same, of the mean over the horizons',
            f'{PAPER}: 1',
            means['online'] / means['hse'],
            limit,
        ),
        at_most(
            f'{name}: mean error online / HMM',
            f'{PAPER}: below 1',
            means['online'] / means['hmm'],
            1.0,
        ),
        at_most(
            f'{name}: mean error online / mean measurement',
            f'{PAPER}: below 1',
            means['online'] / means['mean'],
            1.0,
        ),
    ]
