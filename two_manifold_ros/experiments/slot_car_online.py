# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The experiment ``slot-car-online``: the online TPSR beside the HSE-HMM that it approximates.

Boots & Gordon (2011), Fig. 2: 3,000 measurements of a slot car at 10 Hz. All models filter the
test part and foretell the measurement by the same linear functional, the mean over training ticks
weighed as the state implies. Ridges decide whether a filter is stable (section 5 of the note);
each is chosen in closed loop on the last quarter of the training part.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
import math
from pathlib import Path
from typing import Any, TYPE_CHECKING

import hmmlearn.hmm  # type: ignore[import-untyped]  # noqa: F401
from matplotlib.figure import Figure
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from two_manifold_ros.comparison.hidden_markov import count_labels, improve, learn_codebook
from two_manifold_ros.errors import InputError
from two_manifold_ros.experiments.experiment import (
    at_most,
    Axes,
    BLUE,
    Claim,
    GREEN,
    save,
    VERMILION,
)
from two_manifold_ros.hse_hmm.belief import Belief
from two_manifold_ros.hse_hmm.tables import make_ridge_kernel, median_observation_distance
from two_manifold_ros.manifold.affinity import median_distance
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.ticks.segments import (
    cut_segments,
    fit_channels,
    largest_believable,
    median_interval_ns,
)
from two_manifold_ros.ticks.windows import WindowSet
from two_manifold_ros.tpsr.belief import TpsrBelief
from two_manifold_ros.tpsr.features import WithConstant
from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner
from two_manifold_ros.tpsr.random_features import fourier_features
from two_manifold_ros.training.embeddings import embed
from two_manifold_ros.training.fit_filter import filtered_states
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.comparison.hidden_markov import Codebook, MarkovTables
    from two_manifold_ros.experiments.experiment import Progress
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.tpsr.parameters import Tpsr
    from two_manifold_ros.tpsr.random_features import FourierFeatures
    from two_manifold_ros.tpsr.thin_svd import Move
    from two_manifold_ros.typing import Floats, Ints


MOST_STARTS = 15

LAST_SHARE = 0.75
"""Of what a short test part has beside the horizons, at most, for filtering."""


@dataclass(frozen=True)
class Forecaster:
    """
    A filter, and forecasts that are linear in its state.

    Parameters
    ----------
    filter
        From the first T observations (T, d) of a stretch to the states after each: (T, k).
    table : (H, d, k)
        Its product with a state is the observation 1, 2, ..., H ticks after the newest one.

    """

    filter: Callable[[Floats], Floats]
    table: Floats


@dataclass(frozen=True)
class Protocol:
    """
    Filter for a while, then foretell.

    Parameters
    ----------
    shortest, longest
        Ticks that are filtered, t1; all lengths from one to the other count alike.
    horizons
        Ticks that are foretold, t2 = 1, ..., horizons.

    """

    shortest: int = 100
    longest: int = 250
    horizons: int = 100

    @classmethod
    def fitting(cls, ticks: int, window: int) -> Protocol:
        """
        Return the paper's protocol, shortened for a test part that is too short for it.

        Nothing is foretold beyond one window, since each test ends there.
        """
        horizons = min(cls.horizons, window)
        longest = min(cls.longest, int(LAST_SHARE * (ticks - horizons)))
        return cls(longest * cls.shortest // cls.longest, longest, horizons)

    def starts(self, ticks: int) -> Ints:
        """Return where in a test part a filter is started, evenly spread."""
        spare = ticks - self.longest - self.horizons
        return np.unique(np.linspace(0, spare, MOST_STARTS).astype(np.int64))

    def errors(self, forecaster: Forecaster, observations: Floats) -> Floats:
        """
        Score a forecaster.

        Parameters
        ----------
        forecaster
            Foretells at least as far as the horizons.
        observations : (T, d)
            Standardised.

        Returns
        -------
        (horizons,)
            Squared error, summed over the channels, averaged over the starts and t1.

        """
        table = forecaster.table[: self.horizons]
        total = np.zeros(self.horizons)
        starts = self.starts(len(observations))
        for start in starts.tolist():
            stretch = observations[start : start + self.longest + self.horizons]
            states = forecaster.filter(stretch[: self.longest])[self.shortest - 1 :]
            ahead = sliding_window_view(stretch[self.shortest :], self.horizons, axis=0)
            foretold = np.einsum('hdk,tk->tdh', table, states, optimize=True)
            total += np.square(ahead - foretold).sum(axis=1).mean(axis=0)
        errors: Floats = total / len(starts)
        return errors


def choose(candidates: dict[float, Forecaster], observations: Floats, protocol: Protocol) -> float:
    """Return the name of the candidate that errs least on held-out observations, all told."""
    means = {
        name: float(protocol.errors(forecaster, observations).mean())
        for name, forecaster in candidates.items()
    }
    return min(means, key=lambda name: means[name])


LEAST_TICKS = 400
"""Below this a test part is shorter than what is filtered and foretold in it."""

FASTEST_HZ = 30.0
USUAL_HZ = 20.0
"""Ticks per second for an IMU that is faster than that; a slower one has a tick per sample."""

LEAST_GAP_NS = 200_000_000

PAPER_WINDOW_S = 15.0
"""150 measurements at 10 Hz."""

WINDOW_SHARE = 0.1
"""Of the training part, at most, in one window: else there are too few to learn from."""


@dataclass(frozen=True)
class Course:
    """
    One stretch of ticks without a gap: first the training part, then the test part.

    Parameters
    ----------
    name
        For the picture and the claims.
    training : (N, d), test : (M, d)
        Live channels, standardised by the training part.
    rate_hz
        Ticks per second.
    window
        Ticks in a test and in a history.

    """

    name: str
    training: Floats
    test: Floats
    rate_hz: float
    window: int

    @property
    def protocol(self) -> Protocol:
        """How the test part is scored."""
        return Protocol.fitting(len(self.test), self.window)

    def held_out(self, share: float) -> Course:
        """Return the training part as a course of its own, to choose on."""
        fit = len(self.training) - round(share * len(self.training))
        return Course(
            self.name, self.training[:fit], self.training[fit:], self.rate_hz, self.window
        )


def make_course(recording: Recording, training_share: float) -> Course:
    """
    Take the longest stretch without a gap of a recording.

    Windows last 15 s, as in the paper, or a tenth of the training part where that is less.

    Parameters
    ----------
    recording
        Of which the IMU alone is looked at.
    training_share
        Share of the stretch that is learned from.

    Raises
    ------
    InputError
        If the stretch is too short, or nothing varies in it.

    """
    interval = median_interval_ns(recording.imu.stamps)
    period = interval if interval * FASTEST_HZ >= 1e9 else round(1e9 / USUAL_HZ)
    largest = largest_believable([recording.imu.samples])
    gap = max(LEAST_GAP_NS, 3 * interval, 2 * period)
    segments, _ = cut_segments(recording, period, gap, largest) if period else ([], None)
    longest = max(segments, key=len, default=None)
    if longest is None or len(longest) < LEAST_TICKS:
        found = len(longest) if longest is not None else 0
        msg = (
            f'{recording.name}: the longest stretch without a gap has {found} ticks, but '
            f'{LEAST_TICKS} are needed; give a longer recording'
        )
        raise InputError(msg)
    split = round(training_share * len(longest))
    channels = fit_channels([longest.part(0, split)], largest)
    observations = channels.standardise(longest.values)
    rate_hz = 1e9 / period
    window = min(round(PAPER_WINDOW_S * rate_hz), int(WINDOW_SHARE * split))
    name = Path(recording.name).name
    return Course(name, observations[:split], observations[split:], rate_hz, window)


# Needed by name in `markov_tables`: without it the experiment would stop when it is half done.


STATES = 20
SYMBOLS = 400
ANY_NEIGHBOURS = 1
"""The Gaussian kernel has none."""

PASSES = 300
"""Of EM at most; it converges before."""

LABEL_WINDOW = 11
"""Ticks whose shape says in which state the tick in their middle begins EM."""


def mean_measurement(training: Floats, horizons: int) -> Forecaster:
    """Return what always foretells the mean of (N, d) training observations."""
    table = np.broadcast_to(training.mean(axis=0)[:, None], (horizons, training.shape[1], 1))
    return Forecaster(lambda observations: np.ones((len(observations), 1)), table)


def hse_hmms(
    training: Floats, window: int, horizons: int, ridges: Sequence[float]
) -> dict[float, Forecaster]:
    """
    Train the HSE-HMM with Gaussian kernels and the median trick, one for each ridge.

    Parameters
    ----------
    training : (N, d)
        Standardised observations.
    window
        Ticks in a past and in a future window.
    horizons
        Ticks to foretell, no more than the window.
    ridges
        Of the observation operator, see ``RidgeKernel``.

    """
    structure = embed([training], window, TrainingSettings(kernel='gaussian'), ANY_NEIGHBOURS)
    tables = structure.tables(structure.directions(STATES))
    # After an observation the state is about the next tick, whose weights it implies.
    ahead = structure.training.ticks + np.arange(horizons)[:, None]
    table = np.einsum('hnd,nk->hdk', training[ahead], tables.weights, optimize=True)
    bandwidth = median_observation_distance(structure.observations)
    found = {}
    for ridge in ridges:
        operator = make_ridge_kernel(structure.observations, bandwidth, ridge)
        found[ridge] = Forecaster(partial(filtered_states, Belief(tables, operator)), table)
    return found


def hidden_markov(training: Floats, horizons: int) -> Forecaster:
    """
    Train an HMM of 20 states over 400 symbols by EM until it converges.

    EM begins at states that are clusters of short windows: from random tables it was measured to
    end near the mean.
    """
    codebook = learn_codebook(training, SYMBOLS, seed=0)
    symbols = codebook.symbols(training)
    tables = improve(_counted(training, codebook), [symbols], PASSES).begun_anywhere([symbols])
    emission = tables.emission / tables.emission.sum(axis=1, keepdims=True)
    foretold = emission @ codebook.codes
    table = []
    for _ in range(horizons):
        foretold = tables.transition @ foretold
        table.append(foretold.T)
    return Forecaster(lambda seen: tables.filter(codebook.symbols(seen))[0], np.array(table))


def _counted(training: Floats, codebook: Codebook) -> MarkovTables:
    count = len(training) - LABEL_WINDOW + 1
    windows = WindowSet(np.ascontiguousarray(training.T), np.arange(count), LABEL_WINDOW)
    rows = windows.rows(np.arange(count))
    shapes = learn_codebook(rows, STATES, seed=0)
    labels = np.full(len(training), -1, dtype=np.int64)
    labels[LABEL_WINDOW // 2 :][:count] = shapes.symbols(rows)
    symbols = codebook.symbols(training)
    return count_labels([labels], [symbols], len(shapes), len(codebook))


CHUNK = 64
"""Windows whose features are computed together, which reads the frequencies only once."""


@dataclass(frozen=True)
class StreamSettings:
    """
    Sizes of the online model.

    Parameters
    ----------
    window_features, observation_features
        Random Fourier features.
    states, rank
        Dimension of the state, and directions kept.
    fold_every
        Samples that share one update of the bases.

    """

    window_features: int = 25_000
    observation_features: int = 400
    states: int = 20
    rank: int = 80
    fold_every: int = 128


class StreamLearner:
    """
    Learns a stream of measurements tick by tick, in constant memory.

    Each tick's window is turned into features once, and is a test, then a next test and a
    history as it gets older.

    Parameters
    ----------
    warm_up : (n, d)
        Observations that settle the bandwidths by the median trick.
    window
        Ticks in a test and in a history.
    horizons
        Ticks to foretell, no more than the window, so that all of them are known when a test is.
    settings
        Sizes.

    """

    def __init__(
        self, warm_up: Floats, window: int, horizons: int, settings: StreamSettings
    ) -> None:
        channels = warm_up.shape[1]
        self._window, self._horizons, self._settings = window, horizons, settings
        self.observation_map = fourier_features(
            channels, settings.observation_features, median_observation_distance(warm_up), seed=0
        )
        self.window_map = WithConstant(_window_features(warm_up, window, settings))
        constant = np.zeros(self.window_map.size)
        constant[-1] = 1.0
        self.learner = OnlineLearner(
            # The ridge is chosen later: it counts only when the model is filtered with.
            LearnerSettings(settings.states, settings.rank, 1.0, fold_every=settings.fold_every),
            constant,
            len(constant),
            settings.observation_features,
        )
        self._line = np.zeros((window + settings.fold_every + 1, len(constant)))
        self._ahead = np.zeros((settings.fold_every, horizons * channels))
        self._sums = np.zeros((horizons * channels, 0))
        self._windows = 0

    def learn(self, stream: Floats) -> None:
        """Go on to the end of a (T, d) stream, of which earlier ticks were learned already."""
        starts = np.arange(self._windows, len(stream) - self._window + 1)
        windows = WindowSet(np.ascontiguousarray(stream.T), starts, self._window)
        observations = self.observation_map.transform(stream)
        for begin in range(0, len(starts), CHUNK):
            part = np.arange(begin, min(begin + CHUNK, len(starts)))
            for features in self.window_map.transform(windows.rows(part)):
                self._line[self._windows % len(self._line)] = features
                self._windows += 1
                if self._windows > self._window + 1:
                    self._take(self._windows - 2, stream, observations)
        self._fold(self.learner.waiting, self._windows - 2)

    def _take(self, tick: int, stream: Floats, observations: Floats) -> None:
        """Learn the tick whose next test begins with the newest window."""
        line, room = self._line, len(self._line)
        self._ahead[self.learner.waiting] = stream[tick : tick + self._horizons].ravel()
        waiting = self.learner.waiting + 1
        move = self.learner.add(
            line[tick % room],
            line[(tick + 1) % room],
            line[(tick - self._window) % room],
            observations[tick],
        )
        if move is not None:
            self._follow(move, waiting, tick)

    def _fold(self, waiting: int, tick: int) -> None:
        if waiting:
            self._follow(self.learner.fold(), waiting, tick)

    def _follow(self, move: Move, count: int, newest: int) -> None:
        """Turn the sums behind the forecasts with the bases, and add what was folded."""
        ticks = np.arange(newest - count + 1, newest + 1)
        histories = self._line[(ticks - self._window) % len(self._line)]
        self._sums = self._sums @ move.right.T
        self._sums += self._ahead[:count].T @ (histories @ self.learner.svd.right.T)

    def forecaster(self, ridge: float) -> Forecaster:
        r"""
        Return the model as of now.

        Its forecasts are :math:`\sum_t o_{t+h} \otimes (\hat S^{-1}\hat V^\top\varphi^H_t)`, which
        is to observations what (6d) is to tests: the mean over the training ticks, weighed as the
        state implies.

        Parameters
        ----------
        ridge
            Of the observation covariance, per sample.

        """
        covariance = self.learner.covariance
        covariance.ridge = ridge
        covariance.refresh()
        tpsr = self.learner.parameters()
        kept = self._sums[:, : tpsr.states] / self.learner.svd.values[: tpsr.states]
        table = kept.reshape(self._horizons, -1, tpsr.states)
        feature_map = self.observation_map
        return Forecaster(lambda seen: _filter(tpsr, feature_map, seen), table)


def _window_features(warm_up: Floats, window: int, settings: StreamSettings) -> FourierFeatures:
    count = len(warm_up) - window + 1
    windows = WindowSet(np.ascontiguousarray(warm_up.T), np.arange(count), window)
    return fourier_features(
        window * warm_up.shape[1],
        settings.window_features,
        median_distance(windows),
        seed=1,
        precision='single',
    )


def _filter(tpsr: Tpsr, feature_map: FourierFeatures, observations: Floats) -> Floats:
    belief = TpsrBelief(tpsr)
    states = np.empty((len(observations), tpsr.states))
    for tick, features in enumerate(feature_map.transform(observations)):
        belief.update(features)
        states[tick] = belief.state
    return states


PANEL = (6.0, 4.4)
"""Inches."""

MOST_IN_ROW = 3

STYLES: dict[str, dict[str, Any]] = {
    'mean': {'color': '#7f7f7f', 'ls': '-.', 'label': 'mean measurement'},
    'hmm': {'color': GREEN, 'ls': (0, (1, 1)), 'label': 'HMM by EM'},
    'hse': {'color': VERMILION, 'lw': 3.5, 'alpha': 0.55, 'label': 'HSE-HMM'},
    'online': {'color': BLUE, 'lw': 1.4, 'label': 'online TPSR'},
}
"""The two that should coincide differ in width, to show both."""


def draw(outcomes: Sequence[Outcome], path: Path) -> None:
    """Write one panel for each course, as PNG."""
    columns = min(MOST_IN_ROW, len(outcomes))
    rows = math.ceil(len(outcomes) / columns)
    figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows), layout='constrained')
    for index, outcome in enumerate(outcomes):
        _draw_panel(figure.add_subplot(rows, columns, index + 1), outcome)
    save(figure, path)


def _draw_panel(axes: Axes, outcome: Outcome) -> None:
    course, protocol, rate = outcome.course, outcome.course.protocol, outcome.course.rate_hz
    seconds = np.arange(1, protocol.horizons + 1) / rate
    for name, style in STYLES.items():
        ridge = outcome.ridges.get(name)
        label = style['label'] + (f', ridge {ridge:g}' if ridge is not None else '')
        axes.plot(seconds, outcome.curves[name], **{**style, 'label': label})
    axes.set(xlabel='horizon (s)', xlim=(0.0, seconds[-1]), ylim=(0.0, None))
    channels = course.test.shape[1]
    axes.set_ylabel(f'squared error, sum of {channels} standardised channels')
    axes.set_title(
        f'{course.name}\n{rate:.3g} Hz, windows of {course.window / rate:.3g} s, after filtering '
        f'for {protocol.shortest / rate:.3g} to {protocol.longest / rate:.3g} s',
        fontsize='medium',
    )
    axes.legend(loc='best')
    axes.grid(alpha=0.3)


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
