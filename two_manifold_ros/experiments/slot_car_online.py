# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The experiment ``slot-car-online``: the online TPSR beside the HSE-HMM that it approximates.

Boots & Gordon (2011), Fig. 2: 3,000 measurements of a slot car at 10 Hz. All models filter the
test part and predict the measurement by the same linear functional, the mean over training ticks
weighted as the state implies. Ridges decide whether a filter is stable; each is chosen in closed
loop on the last quarter of the training part.
"""

from __future__ import annotations

from dataclasses import dataclass, field
import math
from pathlib import Path
from typing import Any, TYPE_CHECKING

# The HMM needs it; without this import the experiment would stop half done.
import hmmlearn.hmm  # type: ignore[import-untyped]  # noqa: F401
from matplotlib.figure import Figure
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from two_manifold_ros.errors import InputError
from two_manifold_ros.experiments.experiment import at_most, Colour, part_of
from two_manifold_ros.experiments.forecasters import (
    hidden_markov,
    hse_hmms,
    mean_measurement,
    StreamLearner,
    StreamSettings,
)
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.ticks.segments import (
    cut_segments,
    fit_channels,
    largest_believable,
    median_interval_ns,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.experiments.experiment import Axes, Claim, Findings, Progress
    from two_manifold_ros.experiments.forecasters import Forecaster
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats, Ints


@dataclass(frozen=True)
class Protocol:
    """Filter for a while, then predict."""

    shortest: int = 100  # ticks that are filtered, t1; all lengths up to the longest count alike
    longest: int = 250
    horizons: int = 100  # ticks that are predicted, t2 = 1, ..., horizons

    @classmethod
    def fitting(cls, ticks: int, window: int) -> Protocol:
        """
        Return the paper's protocol, shortened for a test part that is too short for it.

        Nothing is predicted beyond one window, since each test ends there.
        """
        horizons = min(cls.horizons, window)
        # Of a short test part three quarters of what the horizons leave are filtered.
        longest = min(cls.longest, int(0.75 * (ticks - horizons)))
        return cls(longest * cls.shortest // cls.longest, longest, horizons)

    def starts(self, ticks: int) -> Ints:
        """Return where in a test part a filter is started: 15 places or fewer, evenly spread."""
        spare = ticks - self.longest - self.horizons
        return np.unique(np.linspace(0, spare, 15).astype(np.int64))

    def errors(self, forecaster: Forecaster, observations: Floats) -> Floats:
        """
        Score a forecaster on (T, d) standardised observations.

        Returns the (horizons,) squared error, summed over channels, averaged over starts and t1.
        """
        table = forecaster.table[: self.horizons]
        total = np.zeros(self.horizons)
        starts = self.starts(len(observations))
        for start in starts.tolist():
            stretch = observations[start : start + self.longest + self.horizons]
            states = forecaster.filter(stretch[: self.longest])[self.shortest - 1 :]
            ahead = sliding_window_view(stretch[self.shortest :], self.horizons, axis=0)
            predicted = np.einsum('hdk,tk->tdh', table, states, optimize=True)
            total += np.square(ahead - predicted).sum(axis=1).mean(axis=0)
        errors: Floats = total / len(starts)
        return errors


@dataclass(frozen=True)
class Course:
    """One stretch of ticks without a gap: first the training part, then the test part."""

    name: str  # for the picture and the claims
    training: Floats  # (N, d), live channels, standardised by the training part
    test: Floats  # (M, d)
    rate_hz: float  # ticks per second
    window: int  # ticks in a test and in a history

    @property
    def protocol(self) -> Protocol:
        """How the test part is scored."""
        return Protocol.fitting(len(self.test), self.window)

    def held_out(self, share: float) -> Course:
        """Return the training part as a course of its own, to choose on."""
        fit = len(self.training) - round(share * len(self.training))
        parts = self.training[:fit], self.training[fit:]
        return Course(self.name, *parts, self.rate_hz, self.window)

    def choose(self, candidates: dict[float, Forecaster]) -> float:
        """Return the name of the candidate with the least mean error on the test part."""
        means = {
            name: float(self.protocol.errors(forecaster, self.test).mean())
            for name, forecaster in candidates.items()
        }
        return min(means, key=lambda name: means[name])


def make_course(recording: Recording, training_share: float) -> Course:
    """
    Take the longest stretch without a gap of a recording.

    Only the IMU is used. Windows last 15 s, as the paper's 150 measurements at 10 Hz, or a tenth
    of the training part where that is less: else there are too few to learn from.

    Raises
    ------
    InputError
        If the stretch is too short, or nothing varies in it.

    """
    interval = median_interval_ns(recording.imu.stamps)
    # A tick per sample up to 30 Hz, else 20 Hz.
    period = interval if interval * 30.0 >= 1e9 else round(1e9 / 20.0)
    largest = largest_believable([recording.imu.samples])
    gap = max(200_000_000, 3 * interval, 2 * period)
    segments, _ = cut_segments(recording, period, gap, largest) if period else ([], None)
    longest = max(segments, key=len, default=None)
    least = 400  # less is shorter than what is filtered and predicted in a test part
    if longest is None or len(longest) < least:
        found = len(longest) if longest is not None else 0
        msg = (
            f'{recording.name}: the longest stretch without a gap has {found} ticks, but '
            f'{least} are needed; give a longer recording'
        )
        raise InputError(msg)
    split = round(training_share * len(longest))
    channels = fit_channels([longest.part(0, split)], largest)
    observations = channels.standardise(longest.values)
    rate_hz = 1e9 / period
    window = min(round(15.0 * rate_hz), int(0.1 * split))
    name = Path(recording.name).name
    return Course(name, observations[:split], observations[split:], rate_hz, window)


@dataclass(frozen=True)
class Settings:
    """How much is run, and how strictly it is judged."""

    measurements: int = 3_000  # of the simulated slot car
    stream: StreamSettings = field(default_factory=StreamSettings)
    limit: float = 1.05  # factor by which the online error may exceed the HSE-HMM's
    ridges: tuple[float, ...] = (0.03, 0.1, 0.3, 1.0, 3.0)  # to choose from
    held_share: float = 0.25  # of the training part, to choose on
    simulated_share: float = 2 / 3  # of the slot car's stretch, learned from
    recorded_share: float = 0.7  # of a recording's stretch, learned from


@dataclass(frozen=True)
class Outcome:
    """Errors of all models on one course."""

    course: Course
    curves: dict[str, Floats]  # squared error by horizon, (H,), of mean, hmm, hse and online
    ridges: dict[str, float]  # chosen, of hse and online


def run(progress: Progress, *, quick: bool, recordings: Sequence[Recording] = ()) -> Findings:
    """
    Compare all models on the slot car and on recordings.

    Raises
    ------
    InputError
        If a recording is too short.

    """
    settings = Settings()
    if quick:
        small = StreamSettings(window_features=1_000, observation_features=100)
        settings = Settings(measurements=900, stream=small, limit=1.2)
    progress('driving the slot car', 0.0)
    driven = simulate(SlotCarSettings(0, rate_hz=10.0), samples=settings.measurements)
    courses = [make_course(run_to_recording(driven), settings.simulated_share)]
    courses += [make_course(recording, settings.recorded_share) for recording in recordings]
    outcomes = []
    for index, course in enumerate(courses):
        report = part_of(progress, course.name, index, len(courses))
        outcomes.append(compare(course, settings, report))
    progress('done', 1.0)
    claims = [claim for outcome in outcomes for claim in claims_of(outcome, settings.limit)]
    return claims, _draw(outcomes)


def compare(course: Course, settings: Settings, report: Progress) -> Outcome:
    """Learn all models on the training part of a course and score them on its test part."""
    held = course.held_out(settings.held_share)
    horizons = course.protocol.horizons
    report('learning the HSE-HMM', 0.0)
    candidates = hse_hmms(held.training, held.window, horizons, settings.ridges)
    hse_ridge = held.choose(candidates)
    hse = hse_hmms(course.training, course.window, horizons, [hse_ridge])[hse_ridge]
    report('learning the TPSR', 0.2)
    stream = StreamLearner(held.training, course.window, horizons, settings.stream)
    stream.learn(held.training)
    online_ridge = held.choose({ridge: stream.forecaster(ridge) for ridge in settings.ridges})
    report('learning the TPSR', 0.6)
    stream.learn(course.training)
    report('learning the HMM', 0.8)
    models = {
        'mean': mean_measurement(course.training, horizons),
        'hmm': hidden_markov(course.training, horizons),
        'hse': hse,
        'online': stream.forecaster(online_ridge),
    }
    report('predicting', 0.9)
    curves = {name: course.protocol.errors(model, course.test) for name, model in models.items()}
    return Outcome(course, curves, {'hse': hse_ridge, 'online': online_ridge})


def claims_of(outcome: Outcome, limit: float) -> list[Claim]:
    """Return what has to hold on a course: the curves coincide, below the HMM's and the mean's."""
    name, curves = outcome.course.name, outcome.curves
    means = {model: float(curve.mean()) for model, curve in curves.items()}
    ratios = curves['online'] / curves['hse']
    worst = f'error online / HSE-HMM, largest of {len(ratios)} horizons'
    same, below = 'Fig. 2B: 1', 'Fig. 2B: below 1'
    online = means['online']
    return [
        at_most(f'{name}: {what}', paper, ours, most)
        for what, paper, ours, most in (
            (worst, same, float(np.max(ratios)), limit),
            ('the same, of the mean over the horizons', same, online / means['hse'], limit),
            ('mean error online / HMM', below, online / means['hmm'], 1.0),
            ('mean error online / mean measurement', below, online / means['mean'], 1.0),
        )
    ]


def _draw(outcomes: Sequence[Outcome]) -> Figure:
    """Draw one panel for each course, three in a row."""
    columns = min(3, len(outcomes))
    rows = math.ceil(len(outcomes) / columns)
    figure = Figure(figsize=(6.0 * columns, 4.4 * rows), layout='constrained')
    # The two that should coincide differ in width, to show both.
    styles: dict[str, dict[str, Any]] = {
        'mean': {'color': '#7f7f7f', 'ls': '-.', 'label': 'mean measurement'},
        'hmm': {'color': Colour.GREEN, 'ls': (0, (1, 1)), 'label': 'HMM by EM'},
        'hse': {'color': Colour.VERMILION, 'lw': 3.5, 'alpha': 0.55, 'label': 'HSE-HMM'},
        'online': {'color': Colour.BLUE, 'lw': 1.4, 'label': 'online TPSR'},
    }
    for index, outcome in enumerate(outcomes):
        axes: Axes = figure.add_subplot(rows, columns, index + 1)
        course, protocol, rate = outcome.course, outcome.course.protocol, outcome.course.rate_hz
        seconds = np.arange(1, protocol.horizons + 1) / rate
        for name, style in styles.items():
            ridge = outcome.ridges.get(name)
            label = style['label'] + (f', ridge {ridge:g}' if ridge is not None else '')
            axes.plot(seconds, outcome.curves[name], **{**style, 'label': label})
        axes.set(xlabel='horizon (s)', xlim=(0.0, seconds[-1]), ylim=(0.0, None))
        axes.set_ylabel(f'squared error, sum of {course.test.shape[1]} standardised channels')
        window, shortest, longest = (
            ticks / rate for ticks in (course.window, protocol.shortest, protocol.longest)
        )
        axes.set_title(
            f'{course.name}\n{rate:.3g} Hz, windows of {window:.3g} s, after filtering '
            f'for {shortest:.3g} to {longest:.3g} s',
            fontsize='medium',
        )
        axes.legend(loc='best')
        axes.grid(alpha=0.3)
    return figure
