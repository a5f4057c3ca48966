# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The experiment ``slot-car-online``: the online TPSR beside the HSE-HMM that it approximates.

Boots & Gordon (2011), Fig. 2: 3,000 measurements of a slot car at 10 Hz. All models filter the
test part and predict the measurement by the same linear functional, the mean over training ticks
weighted as the state implies. Ridges are chosen in closed loop on the end of the training part.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
import math
from pathlib import Path
from typing import Any, TYPE_CHECKING

# The HMM needs it; without this import the experiment would stop half done.
import hmmlearn.hmm  # type: ignore[import-untyped]  # noqa: F401
from matplotlib.figure import Figure
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from two_manifold_ros.comparison.hidden_markov import count_labels, improve, learn_codebook
from two_manifold_ros.errors import InputError
from two_manifold_ros.experiments.experiment import at_most, Colour, part_of, seeds_of_set
from two_manifold_ros.hse_hmm.belief import Belief
from two_manifold_ros.hse_hmm.tables import make_ridge_kernel, median_observation_distance
from two_manifold_ros.manifold.affinity import median_distance
from two_manifold_ros.recordings.recording import median_interval_ns
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.ticks.segments import cut_segments, fit_channels, largest_believable
from two_manifold_ros.ticks.windows import WindowSet
from two_manifold_ros.tpsr.features import WithConstant
from two_manifold_ros.tpsr.learner import LearnerSettings
from two_manifold_ros.tpsr.parameters import TpsrBelief
from two_manifold_ros.tpsr.random_features import fourier_features
from two_manifold_ros.tpsr.window_learner import WindowLearner
from two_manifold_ros.training.cross_validation import filtered_states
from two_manifold_ros.training.embeddings import embed
from two_manifold_ros.training.settings import RouteSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.experiments.experiment import Axes, Claim, Findings, Progress
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.tpsr.parameters import Tpsr
    from two_manifold_ros.tpsr.random_features import FourierFeatures
    from two_manifold_ros.typing import Floats, Ints


@dataclass(frozen=True)
class Forecaster:
    """A filter, and forecasts that are linear in its state."""

    filter: Callable[[Floats], Floats]  # from observations (T, d) to the states after each (T, k)
    table: Floats  # (H, d, k); times a state it is the observation in 1, 2, ..., H ticks


def mean_measurement(training: Floats, horizons: int) -> Forecaster:
    """Return a forecaster that always predicts the mean of (N, d) training observations."""
    table = np.broadcast_to(training.mean(axis=0)[:, None], (horizons, training.shape[1], 1))
    return Forecaster(lambda observations: np.ones((len(observations), 1)), table)


def hse_hmms(
    training: Floats, window: int, horizons: int, ridges: Sequence[float], states: int = 20
) -> dict[float, Forecaster]:
    """
    Train the HSE-HMM with Gaussian kernels and the median trick, one for each ridge.

    ``training`` is (N, d) and standardised; ``window`` and ``horizons`` are in ticks, and no
    horizon is beyond the window.
    """
    # The Gaussian kernel has no neighbours.
    embeddings = embed([training], window, RouteSettings(kernel='gaussian'), 1)
    tables = embeddings.tables(embeddings.directions(states))
    # After an observation the state is about the next tick, whose weights it implies.
    ahead = embeddings.training.ticks + np.arange(horizons)[:, None]
    table = np.einsum('hnd,nk->hdk', training[ahead], tables.weights, optimize=True)
    bandwidth = median_observation_distance(embeddings.observations)
    found = {}
    for ridge in ridges:
        operator = make_ridge_kernel(embeddings.observations, bandwidth, ridge)
        found[ridge] = Forecaster(partial(filtered_states, Belief(tables, operator)), table)
    return found


def hidden_markov(
    training: Floats, horizons: int, states: int = 20, symbols: int = 400, passes: int = 300
) -> Forecaster:
    """
    Train an HMM of some states over symbols by EM until it converges, in ``passes`` at most.

    EM starts at states that are clusters of short windows: random tables end near the mean.
    """
    codebook = learn_codebook(training, symbols, seed=0)
    seen = codebook.symbols(training)
    # The shape of 11 ticks says in which state the tick in their middle starts.
    ticks = 11
    count = len(training) - ticks + 1
    rows = _windows(training, ticks).rows(np.arange(count))
    shapes = learn_codebook(rows, states, seed=0)
    labels = np.full(len(training), -1, dtype=np.int64)
    labels[ticks // 2 :][:count] = shapes.symbols(rows)
    counted = count_labels([labels], [seen], len(shapes), len(codebook))
    tables = improve(counted, [seen], passes).with_mean_start([seen])
    predicted = tables.emission / tables.emission.sum(axis=1, keepdims=True) @ codebook.codes
    table = []
    for _ in range(horizons):
        predicted = tables.transition @ predicted
        table.append(predicted.T)
    return Forecaster(lambda given: tables.filter(codebook.symbols(given))[0], np.array(table))


def _windows(stream: Floats, width: int, begin: int = 0) -> WindowSet:
    """Return all windows of a (T, d) stream from a tick on."""
    starts = np.arange(begin, len(stream) - width + 1)
    return WindowSet(np.ascontiguousarray(stream.T), starts, width)


@dataclass(frozen=True)
class StreamSettings:
    """Sizes of the online model."""

    window_features: int = 25_000  # random Fourier features
    observation_features: int = 400
    states: int = 20
    rank: int = 80  # directions kept
    fold_every: int = 128  # samples that share one update of the bases


class OnlineTpsr:
    """
    Learns a stream of measurements tick by tick, with features that are drawn by the seed.

    The (n, d) observations of ``warm_up`` settle the bandwidths by the median trick. ``most`` is
    the length of the stream: forecasts are means over all of it. No horizon is beyond the window,
    so all are known when a test is.
    """

    def __init__(
        self,
        warm_up: Floats,
        window: int,
        horizons: int,
        settings: StreamSettings,
        most: int,
        seed: int = 0,
    ) -> None:
        channels = warm_up.shape[1]
        self._horizons = horizons
        self.observation_map = fourier_features(
            channels,
            settings.observation_features,
            median_observation_distance(warm_up),
            seed=2 * seed,
        )
        window_map = fourier_features(
            window * channels,
            settings.window_features,
            median_distance(_windows(warm_up, window)),
            seed=2 * seed + 1,
            precision='single',
        )
        self.window_map = WithConstant(window_map)
        # The ridge is chosen later: it counts only when the model is filtered with.
        learning = LearnerSettings(
            settings.states, settings.rank, 1.0, fold_every=settings.fold_every
        )
        self._windows = WindowLearner(
            self.window_map, self.observation_map, window, learning, most
        )
        self._stream = warm_up[:0]

    def learn(self, stream: Floats) -> None:
        """Go on to the end of a (T, d) stream, of which earlier ticks were learned already."""
        self._windows.learn(stream[self._windows.begin :])
        self._stream = stream

    def forecaster(self, ridge: float) -> Forecaster:
        r"""
        Return the model as of now, with a ridge of the observation covariance, per sample.

        Its forecasts are :math:`\sum_t o_{t+h} \otimes (\hat S^{-1}\hat V^\top\varphi^H_t)`, which
        is to observations what Boots & Gordon 2011, eq. 6d, is to tests: the mean over the
        training ticks, weighted as the state implies.
        """
        covariance = self._windows.learner.covariance
        covariance.ridge = ridge
        covariance.refresh()
        tpsr, weights = self._windows.parameters()
        ticks = self._windows.remembered.numbers
        table = np.stack([self._stream[ticks + h].T @ weights for h in range(self._horizons)])
        return Forecaster(partial(_filter, tpsr, self.observation_map), table)


def _filter(tpsr: Tpsr, feature_map: FourierFeatures, observations: Floats) -> Floats:
    belief = TpsrBelief(tpsr)
    states = np.empty((len(observations), tpsr.states))
    for tick, features in enumerate(feature_map.transform(observations)):
        belief.update(features)
        states[tick] = belief.state
    return states


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
        # Three quarters of what the horizons leave are filtered.
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
        """Protocol by which the test part is scored."""
        return Protocol.fitting(len(self.test), self.window)

    def held_out(self, share: float) -> Course:
        """Return the training part as a course of its own, to choose on."""
        fit = len(self.training) - round(share * len(self.training))
        parts = self.training[:fit], self.training[fit:]
        return Course(self.name, *parts, self.rate_hz, self.window)

    def choose(self, candidates: dict[float, Forecaster]) -> float:
        """Return the name of the candidate with the least mean error on the test part."""
        return min(
            candidates,
            key=lambda name: float(self.protocol.errors(candidates[name], self.test).mean()),
        )


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
    parts = observations[:split], observations[split:]
    return Course(Path(recording.name).name, *parts, rate_hz, window)


@dataclass(frozen=True)
class Settings:
    """Settings of the runs, and limits that they are judged by."""

    cars: int = 5  # simulated, each with a seed of its own; their errors are averaged
    measurements: int = 3_000  # of each
    stream: StreamSettings = field(default_factory=StreamSettings)
    limit: float = 1.05  # factor by which the online error may exceed the HSE-HMM's
    ridges: tuple[float, ...] = (1e-4, 0.03, 0.1, 0.3, 1.0, 3.0)  # to choose from; 1e-4: paper
    held_share: float = 0.25  # of the training part, to choose on
    simulated_share: float = 2 / 3  # of the slot car's stretch, learned from
    recorded_share: float = 0.7  # of a recording's stretch, learned from


@dataclass(frozen=True)
class Outcome:
    """Errors of all models on one course."""

    course: Course
    curves: dict[str, Floats]  # squared error by horizon, (H,), of mean, hmm, hse and online
    ridges: dict[str, float]  # chosen, of hse and online
    parts: tuple[Outcome, ...] = ()  # whose mean it is, if it is one

    @property
    def ratio(self) -> float:
        """Mean error over the horizons, online / HSE-HMM."""
        return float(self.curves['online'].mean() / self.curves['hse'].mean())


def run(
    progress: Progress, *, quick: bool, seed: int = 0, recordings: Sequence[Recording] = ()
) -> Findings:
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
        settings = Settings(cars=1, measurements=900, stream=small, limit=1.2)
    progress('driving the slot cars', 0.0)
    courses = []
    for car in seeds_of_set(seed, settings.cars):
        driven = simulate(SlotCarSettings(car, rate_hz=10.0), samples=settings.measurements)
        courses.append((make_course(run_to_recording(driven), settings.simulated_share), car))
    courses += [(make_course(each, settings.recorded_share), seed) for each in recordings]
    found = []
    for index, (course, drawn) in enumerate(courses):
        report = part_of(progress, course.name, index, len(courses))
        found.append(compare(course, settings, drawn, report))
    progress('done', 1.0)
    cars, recorded = found[: settings.cars], found[settings.cars :]
    outcomes = [mean_of('simulated slot cars', cars), *recorded]
    claims = [claim for outcome in outcomes for claim in claims_of(outcome, settings.limit)]
    return claims, _draw(outcomes)


def mean_of(name: str, outcomes: Sequence[Outcome]) -> Outcome:
    """Return the curves averaged over courses, each of which chose ridges of its own."""
    course, names = replace(outcomes[0].course, name=name), outcomes[0].curves
    curves = {each: np.mean([one.curves[each] for one in outcomes], axis=0) for each in names}
    return Outcome(course, curves, {}, tuple(outcomes))


def compare(course: Course, settings: Settings, seed: int, report: Progress) -> Outcome:
    """Learn all models on the training part of a course and score them on its test part."""
    held = course.held_out(settings.held_share)
    horizons = course.protocol.horizons
    report('learning the HSE-HMM', 0.0)
    candidates = hse_hmms(held.training, held.window, horizons, settings.ridges)
    hse_ridge = held.choose(candidates)
    hse = hse_hmms(course.training, course.window, horizons, [hse_ridge])[hse_ridge]
    report('learning the TPSR', 0.2)
    most = len(course.training)
    stream = OnlineTpsr(held.training, course.window, horizons, settings.stream, most, seed)
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
    same, below, online = 'Fig. 2B: 1', 'Fig. 2B: below 1', means['online']
    claims = [
        at_most(f'{name}: {what}', paper, ours, most)
        for what, paper, ours, most in (
            (worst, same, float(np.max(ratios)), limit),
            ('the same, of the mean over the horizons', same, outcome.ratio, limit),
            ('mean error online / HMM', below, online / means['hmm'], 1.0),
            ('mean error online / mean measurement', below, online / means['mean'], 1.0),
        )
    ]
    if len(outcome.parts) > 1:
        least, *_, most = sorted(part.ratio for part in outcome.parts)
        ours = f'{claims[1].ours} ({least:.3g} to {most:.3g} of single cars)'
        claims[1] = replace(claims[1], ours=ours)
    return claims


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
            f'{course.name}{f", mean of {len(outcome.parts)}" if outcome.parts else ""}\n'
            f'{rate:.3g} Hz, windows of {window:.3g} s, after {shortest:.3g} to {longest:.3g} s',
            fontsize='medium',
        )
        axes.legend(loc='best')
        axes.grid(alpha=0.3)
    return figure
