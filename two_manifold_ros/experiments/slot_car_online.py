# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The experiment ``slot-car-online``: the online TPSR beside the HSE-HMM that it approximates.

Boots & Gordon (2011), Fig. 2: 3,000 measurements of a slot car at 10 Hz. All models filter the
test part and predict the measurement by the same linear functional, the mean over training ticks
weighted as the state implies. Ridges are chosen in closed loop on the end of the training part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

# The HMM needs it; without this import the experiment would stop half done.
import hmmlearn.hmm  # type: ignore[import-untyped]  # noqa: F401
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from two_manifold_ros.comparison.hidden_markov import count_labels, improve, learn_codebook
from two_manifold_ros.experiments import experiment as lab
from two_manifold_ros.hse_hmm.hmm import Belief, make_ridge_kernel, median_observation_distance
from two_manifold_ros.manifold.learner import median_distance
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.ticks.segments import cut_segments, fit_channels, largest_believable
from two_manifold_ros.ticks.windows import WindowSet
from two_manifold_ros.tpsr.features import fourier_features, WithConstant
from two_manifold_ros.tpsr.learner import LearnerSettings, WindowLearner
from two_manifold_ros.tpsr.parameters import TpsrBelief
from two_manifold_ros.training.settings import RouteSettings
from two_manifold_ros.training.spectral import embed, filtered_states
from two_manifold_ros.typing import Floats

RATE_HZ = 10.0

RIDGES = (1e-4, 0.03, 0.1, 0.3, 1.0, 3.0)
"""To choose from; the first is that of the paper."""


class Forecaster(NamedTuple):
    """A filter, and forecasts that are linear in its state."""

    filter: Callable[[Floats], Floats]  # from observations (T, d) to the states after each (T, k)
    table: Floats  # (H, d, k); times a state it is the observation in 1, 2, ..., H ticks


STATES = 20
"""Of each model, as in the paper."""


def hse_hmms(
    training: Floats, window: int, horizons: int, ridges: Sequence[float]
) -> dict[float, Forecaster]:
    """Train an HSE-HMM by ridge, with Gaussian kernels and the median trick, on (N, d) rows."""
    # The Gaussian kernel has no neighbours.
    embeddings = embed([training], window, RouteSettings(kernel='gaussian'))
    tables = embeddings.tables(embeddings.directions(STATES))
    # After an observation the state is about the next tick, whose weights it implies.
    ahead = embeddings.training.ticks + np.arange(horizons)[:, None]
    table = np.einsum('hnd,nk->hdk', training[ahead], tables.weights, optimize=True)
    bandwidth = median_observation_distance(embeddings.observations)
    found = {}
    for ridge in ridges:
        operator = make_ridge_kernel(embeddings.observations, bandwidth, ridge)
        found[ridge] = Forecaster(partial(filtered_states, Belief(tables, operator)), table)
    return found


def hidden_markov(training: Floats, horizons: int) -> Forecaster:
    """Train an HMM by EM from clusters of windows: random tables end near the mean."""
    codebook = learn_codebook(training, 400, seed=0)
    seen = codebook.symbols(training)
    # The shape of 11 ticks says in which state the tick in their middle starts.
    ticks = 11
    count = len(training) - ticks + 1
    rows = _windows(training, ticks).rows(np.arange(count))
    shapes = learn_codebook(rows, STATES, seed=0)
    labels = np.full(len(training), -1, dtype=np.int64)
    labels[ticks // 2 :][:count] = shapes.symbols(rows)
    counted = count_labels([labels], [seen], len(shapes), len(codebook))
    tables = improve(counted, [seen], 300).with_mean_start([seen])
    predicted = tables.emission / tables.emission.sum(axis=1, keepdims=True) @ codebook.codes
    table = []
    for _ in range(horizons):
        predicted = tables.transition @ predicted
        table.append(predicted.T)
    return Forecaster(lambda given: tables.filter(codebook.symbols(given))[0], np.array(table))


def _windows(stream: Floats, width: int) -> WindowSet:
    """Return all windows of a (T, d) stream."""
    starts = np.arange(len(stream) - width + 1)
    return WindowSet(np.ascontiguousarray(stream.T), starts, width)


class OnlineSettings(NamedTuple):
    """Settings of the experiment, and its limit."""

    trials: int = 5  # simulated cars, each with a seed of its own; their errors are averaged
    measurements: int = 3_000  # of each
    limit: float = 1.05  # factor by which the online error may exceed the HSE-HMM's
    window_features: int = 25_000  # random Fourier features
    observation_features: int = 400
    states: int = STATES
    rank: int = 80  # directions kept
    fold_every: int = 128  # samples that share one update of the bases


class OnlineTpsr:
    """Learns a stream tick by tick, with features that are drawn by the seed."""

    def __init__(
        self,
        warm_up: Floats,  # (n, d), which settle the bandwidths by the median trick
        window: int,
        horizons: int,  # not beyond the window, so that all are known when a test is
        settings: OnlineSettings,
        most: int,  # ticks of the stream: forecasts are means over all of it
        seed: int = 0,
    ) -> None:
        channels, count = warm_up.shape[1], settings.observation_features
        self._horizons = horizons
        distance = median_observation_distance(warm_up)
        self.observation_map = fourier_features(channels, count, distance, seed=2 * seed)
        count, distance = settings.window_features, median_distance(_windows(warm_up, window))
        drawn = fourier_features(window * channels, count, distance, 2 * seed + 1, 'single')
        self.window_map = WithConstant(drawn)
        # The ridge is chosen later: it counts only when the model is filtered with.
        sizes = settings.states, settings.rank
        learning = LearnerSettings(*sizes, 1.0, fold_every=settings.fold_every)
        maps = self.window_map, self.observation_map
        self._windows = WindowLearner(*maps, window, learning, most)
        self._stream = warm_up[:0]

    def learn(self, stream: Floats) -> None:
        """Go on to the end of a (T, d) stream, of which earlier ticks were learned already."""
        self._windows.learn(stream[self._windows.begin :])
        self._stream = stream

    def forecaster(self, ridge: float) -> Forecaster:
        r"""
        Return the model as of now, with a ridge of the observation covariance, per sample.

        Its forecasts are :math:`\sum_t o_{t+h} \otimes (\hat S^{-1}\hat V^\top\varphi^H_t)`, to
        observations what Boots & Gordon 2011, eq. 6d, is to tests.
        """
        covariance = self._windows.learner.covariance
        covariance.ridge = ridge
        covariance.refresh()
        tpsr, weights = self._windows.parameters()
        ticks = self._windows.remembered.numbers
        table = np.stack([self._stream[ticks + h].T @ weights for h in range(self._horizons)])
        return Forecaster(
            lambda seen: filtered_states(TpsrBelief(tpsr), self.observation_map.transform(seen)),
            table,
        )


class Course(NamedTuple):
    """A stretch of ticks in two parts, (N, d) and (M, d), standardised by the first one."""

    training: Floats
    test: Floats
    window: int  # ticks in a test and in a history

    @property
    def horizons(self) -> int:
        """Ticks that are predicted, 100 in the paper, but not beyond the end of a test."""
        return min(100, self.window)

    @property
    def lengths(self) -> tuple[int, int]:
        """Least and greatest number of ticks that are filtered before, 100 to 250 in the paper."""
        longest = min(250, int(0.75 * (len(self.test) - self.horizons)))
        return longest * 100 // 250, longest

    def held_out(self) -> Course:
        """Return the training part as a course: its last quarter is chosen on."""
        fit = len(self.training) - round(0.25 * len(self.training))
        return Course(self.training[:fit], self.training[fit:], self.window)

    def errors(self, forecaster: Forecaster) -> Floats:
        """Return (horizons,) squared errors on the test part, summed over channels."""
        (shortest, longest), horizons = self.lengths, self.horizons
        table, total = forecaster.table[:horizons], np.zeros(horizons)
        # The filter is started at 15 places or fewer, evenly spread.
        spare = len(self.test) - longest - horizons
        starts = np.unique(np.linspace(0, spare, 15).astype(np.int64)).tolist()
        for start in starts:
            stretch = self.test[start : start + longest + horizons]
            states = forecaster.filter(stretch[:longest])[shortest - 1 :]
            ahead = sliding_window_view(stretch[shortest:], horizons, axis=0)
            predicted = np.einsum('hdk,tk->tdh', table, states, optimize=True)
            total += np.square(ahead - predicted).sum(axis=1).mean(axis=0)
        return np.asarray(total / len(starts))

    def choose(self, candidates: dict[float, Forecaster]) -> float:
        """Return the name of the candidate with the least mean error on the test part."""
        return min(candidates, key=lambda name: float(self.errors(candidates[name]).mean()))


def make_course(car: int, measurements: int) -> Course:
    """Drive a car; windows last 15 s as in the paper, or a tenth of a shorter training part."""
    recording = run_to_recording(simulate(SlotCarSettings(car, RATE_HZ), samples=measurements))
    largest, period = largest_believable([recording.imu.samples]), round(1e9 / RATE_HZ)
    ((segment,), _) = cut_segments(recording, period, 3 * period, largest)
    split = round(2 / 3 * len(segment))
    channels = fit_channels([segment.part(0, split)], largest)
    observations = channels.standardise(segment.values)
    window = min(round(15.0 * RATE_HZ), int(0.1 * split))
    return Course(observations[:split], observations[split:], window)


class Curves(NamedTuple):
    """Squared errors by horizon, (H,), of each model on a course."""

    mean: Floats
    hmm: Floats
    hse: Floats
    online: Floats


def fit(settings: OnlineSettings, car: int, report: lab.Progress) -> Curves:
    """Learn all models on the training part of a course and score them on its test part."""
    course = make_course(car, settings.measurements)
    held, training, horizons = course.held_out(), course.training, course.horizons
    report('learning the HSE-HMM', 0.0)
    ridge = held.choose(hse_hmms(held.training, held.window, horizons, RIDGES))
    hse = hse_hmms(training, course.window, horizons, [ridge])[ridge]
    report('learning the TPSR', 0.2)
    stream = OnlineTpsr(held.training, course.window, horizons, settings, len(training), car)
    stream.learn(held.training)
    ridge = held.choose({each: stream.forecaster(each) for each in RIDGES})
    stream.learn(training)
    report('learning the HMM', 0.8)
    mean = np.broadcast_to(training.mean(axis=0)[:, None], (horizons, training.shape[1], 1))
    models = (
        Forecaster(lambda observations: np.ones((len(observations), 1)), mean),
        hidden_markov(training, horizons),
        hse,
        stream.forecaster(ridge),
    )
    return Curves(*map(course.errors, models))


def score(settings: OnlineSettings, found: list[Curves]) -> list[lab.Claim]:
    """Claim that the curves of online and HSE-HMM coincide, below those of HMM and mean."""
    mean = Curves(*np.mean(found, axis=0))
    ratios, online = mean.online / mean.hse, float(mean.online.mean())
    single = sorted(float(one.online.mean() / one.hse.mean()) for one in found)
    note = f' ({single[0]:.3g} to {single[-1]:.3g} of single cars)' if len(found) > 1 else ''
    over, largest = [float(online / each.mean()) for each in mean], float(np.max(ratios))
    same, below, limit = 'Fig. 2B: 1', 'Fig. 2B: below 1', settings.limit
    worst = f'error online / HSE-HMM, largest of {len(ratios)} horizons'
    return [
        lab.at_most(f'simulated slot cars: {what}', paper, ours, most, words)
        for what, paper, ours, most, words in (
            (worst, same, largest, limit, ''),
            ('the same, of the mean over the horizons', same, over[2], limit, note),
            ('mean error online / HMM', below, over[1], 1.0, ''),
            ('mean error online / mean measurement', below, over[0], 1.0, ''),
        )
    ]


def draw(found: list[Curves]) -> list[lab.Panel]:
    """Draw the mean errors of all models; the two that should coincide differ in width."""
    labels, curves = ('mean measurement', 'HMM by EM', 'HSE-HMM', 'online TPSR'), []
    for label, curve in zip(labels, np.mean(found, axis=0), strict=True):
        seconds, width = np.arange(1, len(curve) + 1) / RATE_HZ, 3.5 if label == 'HSE-HMM' else 1.4
        curves.append(lab.layer('plot', seconds, curve, lw=width, label=label))
    title = f'Squared error of standardised channels, mean of {len(found)} cars'
    return [lab.panel(title, *curves, xlabel='horizon (s)', ylim=(0.0, None))]


_QUICK = OnlineSettings(1, 900, 1.2, window_features=1_000, observation_features=100)
run = lab.Runner(OnlineSettings(), _QUICK, fit, score, draw)
