# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Train a TPSR by the online algorithm of Boots & Gordon (2011, eq. 8 and 9), and go on later."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.hmm import median_observation_distance
from two_manifold_ros.hse_hmm.readout import Calibration, segment_targets, SharpenedReadout
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.manifold.learner import median_distance
from two_manifold_ros.model.model import TpsrModel
from two_manifold_ros.names import WINDOW_FEATURES
from two_manifold_ros.ticks.rest import spreads_along
from two_manifold_ros.ticks.segments import cut_segments, Segment
from two_manifold_ros.ticks.windows import WindowSet
from two_manifold_ros.tpsr.features import (
    EmbeddedWindows,
    FeatureMap,
    fourier_features,
    WithConstant,
)
from two_manifold_ros.tpsr.learner import LearnerSettings, stretches_of, WindowLearner
from two_manifold_ros.tpsr.parameters import RememberingBelief
from two_manifold_ros.tpsr.thin_svd import Move
from two_manifold_ros.training.dataset import driving_dataset
from two_manifold_ros.training.held_out import capped_mean, follow, joined, lost_error, Validation
from two_manifold_ros.training.spectral import NEIGHBOURS, novelty_anchors, training_windows
from two_manifold_ros.training.summary import check_horizons, head_fields
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from two_manifold_ros.inspection.positions import PositionReport
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.ticks.windows import TrainingTicks
    from two_manifold_ros.training.settings import TpsrSettings

STATES, SPARE = 110, 30
"""
States where no number is given, and directions of the SVD that are kept beside them: what an
update of a thin SVD cuts off is lost for good. With 80 states errors rise by half.
"""

COORDINATES = 100
"""
Coordinates of a window on an eigenmap, at most a third as many as windows. An HSE-HMM has half as
many states, and the constant: with as many it is soon lost, the last being of noise.
"""

AFFINITY_BANDWIDTH = 0.3
"""
Bandwidth of the affinities of windows on an eigenmap, in median distances. With 1.0 neighbours at
other places count nearly as much as those at the same one: up to tenfold errors after few laps.
"""

WINDOW_BANDWIDTH, OBSERVATION_BANDWIDTH = 0.7, 1.4
"""Bandwidths of the Gaussian kernels, in median distances; with 1.0 for windows errors rise."""

RIDGE = 1.0
r"""
:math:`\lambda` of the covariance of the observations, per sample, for a kernel that is 1 at 0. At
0.01 and below, as in the paper, drives are lost; from 1 to 100 errors are the same.
"""

MEMORY_TICKS = 2400
"""Ticks after which an old one counts 1/e, and ticks that are remembered: thirty laps of 80."""

FOLLOWED = 1_500
"""Newest ticks that are followed for calibration: 19 laps of 80, more than an updater learns."""


def embed_windows(training: TrainingTicks) -> tuple[EmbeddedWindows, tuple[str, ...]]:
    """Return coordinates on a Laplacian eigenmap of the windows of training, and its notes."""
    # Past and future windows are windows of one series: one manifold serves both views.
    pasts = training.pasts
    starts = np.union1d(pasts.starts, training.futures.starts)
    anchors = WindowSet(pasts.series, starts, pasts.width)
    most = len(starts) // 3
    dimension, neighbours = min(COORDINATES, most), min(NEIGHBOURS[0], most)
    learner = LaplacianEigenmap(dimension, neighbours, width=AFFINITY_BANDWIDTH)
    found = learner.fit(anchors)
    # No longer than the constant beside them, which is then the first of all directions.
    largest = np.sqrt(np.square(found.coordinates).mean(axis=0).max())
    known = found.extension
    scaled = replace(known, table=known.table / largest, offset=known.offset / largest)
    return EmbeddedWindows(anchors, scaled), found.notes


class RouteTpsr:
    """
    A TPSR of a route that learns stretch by stretch, and the positions of its ticks.

    ``training`` windows and observations ``seen`` (T, d) give the bandwidths by their median
    distances, or an eigenmap that stays while its moments go on: an online HSE-HMM. Horizons are
    in ticks of ``period_s``; ``chosen`` has the numbers of the learner, ``notes`` are sentences.
    """

    def __init__(
        self, training: TrainingTicks, seen: Floats, settings: TpsrSettings, period_s: float
    ) -> None:
        width, channels = training.pasts.width, seen.shape[1]
        states, ridge = settings.states or STATES, settings.ridge or RIDGE
        factor = settings.bandwidth_factor or OBSERVATION_BANDWIDTH
        windows: FeatureMap
        self.notes: tuple[str, ...] = ()
        if settings.window_features == WINDOW_FEATURES[1]:
            windows, self.notes = embed_windows(training)
            states = settings.states or 1 + windows.size // 2
            # And the constant: nothing is cut off, and the sums are exact.
            kept = windows.size + 1
        else:
            # And the constant: as many directions as are kept. With fewer the singular values of
            # the last states are those of noise, and on slot cars the filter is soon lost for
            # good.
            kept = states + SPARE
            if settings.features < kept - 1:
                raise InputError(
                    f'{settings.features} features are too few for the {states} states of a TPSR; '
                    f'ask for {kept - 1} features or more, or for fewer states'
                )
            bandwidth = WINDOW_BANDWIDTH * median_distance(training.pasts)
            windows = fourier_features(width * channels, settings.features, bandwidth, 0)
        self.chosen = {'states': states, 'bandwidth_factor': factor, 'ridge': ridge}
        bandwidth = factor * median_observation_distance(seen)
        # The paper has 400; errors rise with 50, and stay with 200.
        self.observations = fourier_features(channels, 100, bandwidth, 1)
        # Eight ticks share an update of the SVD: as exact as one by one, in a third of the time.
        learning = LearnerSettings(states, kept, ridge, MEMORY_TICKS, fold_every=8)
        self.learner = WindowLearner(
            WithConstant(windows), self.observations, width, learning, MEMORY_TICKS
        )
        self._horizons, self._period_s = settings.horizons, period_s
        self._numbers = np.zeros(0, dtype=np.int64)
        self._seen, self._track = np.zeros((0, channels)), np.zeros((0, 2))

    def learn(self, seen: Floats, track: Floats) -> Move:
        """Go on with observations (T, d) at positions (T, 2), NaN where unknown."""
        self._numbers = np.append(self._numbers, self.learner.begin + np.arange(len(seen)))
        self._seen = np.concatenate([self._seen, seen])
        self._track = np.concatenate([self._track, track])
        move = self.learner.learn(seen)
        # Kept are ticks that positions are read by, and the newest, which are followed.
        remembered, numbers = self.learner.remembered.numbers, self._numbers
        stretch = np.cumsum(np.diff(numbers, prepend=numbers[:1]) != 1)
        kept = np.isin(stretch, stretch[np.searchsorted(numbers, remembered)])
        # Of the newest stretch more may be remembered once two windows are whole.
        kept[-max(FOLLOWED, 2 * self.learner.width) :] = True
        kept &= numbers >= (remembered[0] if len(remembered) else 0)
        self._numbers, self._seen, self._track = numbers[kept], self._seen[kept], self._track[kept]
        return move

    def _targets(self) -> Floats:
        """Return the targets (N, H + 1, 2) of the ticks since the oldest that is remembered."""
        return np.concatenate(
            [
                segment_targets(self._track[begin:end], self._horizons, self._period_s)
                for begin, end in stretches_of(self._numbers)
            ]
        )

    def readout(self) -> SharpenedReadout:
        """Return the read-out by weights of the remembered ticks, not calibrated."""
        places = np.searchsorted(self._numbers, self.learner.remembered.numbers)
        return SharpenedReadout(self._targets()[places])

    def belief(self) -> RememberingBelief:
        """Return a belief with the parameters of now."""
        tpsr, weights = self.learner.parameters()
        return RememberingBelief(
            tpsr, self.observations, weights, self.learner.remembered.features
        )

    def validate(self, lost_m: float) -> Validation | str:
        """
        Calibrate with each tick's surroundings left out of its read-out.

        Two or three laps without a held-out block leave nothing to learn from. So everything is
        learned from, but a position is read from what was remembered at least a window away. The
        newest `FOLLOWED` ticks count, with errors of ``lost_m`` at most in the score.
        """
        width, remembered = self.learner.width, self.learner.remembered.numbers
        belief, readout, targets = self.belief(), self.readout(), self._targets()
        least = len(self._numbers) - FOLLOWED
        runs = []
        for begin, end in stretches_of(self._numbers):
            block = slice(max(begin, least), end)
            if end - block.start <= width:
                continue
            belief.start()
            numbers = iter(self._numbers[block])

            def step(
                observation: Floats, numbers: Iterator[int] = numbers
            ) -> tuple[Floats, Floats]:
                belief.update(observation)
                near = np.abs(remembered - next(numbers)) < width
                return readout.read(np.where(near, 0.0, belief.weights), belief.state)

            runs.append(follow(step, self._seen[block], targets[block], width))
        errors = joined(runs).errors
        score_m = capped_mean(errors[:, :-1], lost_m)
        if not np.isfinite(score_m):
            return 'no place of the route was met twice, apart from its own lap'
        judged = int(np.isfinite(errors[:, 0]).all(axis=1).sum())
        middle = np.nanmean(self._track, axis=0)
        return Validation.of_runs(runs, score_m, lost_m, middle, width, ticks=judged)


@dataclass
class LearnedTpsr:
    """A trained TPSR, as of now, that can go on learning behind the tick that ended last."""

    model: TpsrModel
    route: RouteTpsr
    ended_ns: int

    def restart_at(self, stamp_ns: int) -> None:
        """Go on with the stretch that begins at a stamp, because the clock was set back."""
        self.route.learner.end_stretch()
        self.ended_ns = stamp_ns - 1

    def go_on(self, recording: Recording) -> Move:
        """Learn what comes after the last tick, and return the move of the bases."""
        model, route = self.model, self.route
        channels, imu = model.channels, recording.imu.select(recording.imu.stamps > self.ended_ns)
        newer = replace(recording, imu=replace(imu, samples=channels.without_dead(imu.samples)))
        whole = Move.none(len(route.learner.learner.svd.values))
        segments: list[Segment] = []
        if len(newer.imu.stamps):
            segments, _ = cut_segments(newer, model.period_ns, model.max_gap_ns, channels.largest)
        if not segments:
            return whole
        for segment in segments:
            if segment.stamps[0] - model.period_ns - self.ended_ns > model.max_gap_ns:
                route.learner.end_stretch()
            seen = channels.standardise(segment.values)
            kept = np.ones(len(seen), dtype=np.bool_)
            if model.rest is not None:
                kept = ~(spreads_along(seen, model.rest.ticks) < model.rest.limit)
            whole = route.learn(seen[kept], segment.positions[kept]).after(whole)
            self.ended_ns = int(segment.stamps[-1])
        belief, readout = route.belief(), route.readout()
        calibration = Calibration(model.readout.added, model.readout.factors)
        ticks = sum(map(len, segments))
        seconds = round(model.summary['seconds'] + ticks / model.rate_hz, 3)
        self.model = replace(
            model,
            summary={**model.summary, 'seconds': seconds},
            tpsr=belief.tpsr,
            weights=belief.table,
            features=belief.features,
            readout=readout.calibrated(calibration),
        )
        return whole


def train_tpsr(
    recordings: Sequence[Recording],
    settings: TpsrSettings,
    progress: Callable[[str, float], None],
    drives: Sequence[PositionReport],
) -> LearnedTpsr:
    """Learn a TPSR from recordings, and calibrate it."""
    dataset = driving_dataset(recordings, settings)
    progress('learning from everything', 0.0)
    series, _, training = training_windows(dataset.observations, dataset.window)
    novelty = novelty_anchors(training.pasts, dataset.still, spliced=True)
    observations = np.ascontiguousarray(series[:, training.ticks].T)
    route = RouteTpsr(training, observations, settings, dataset.period_s)
    for seen, track in zip(dataset.observations, dataset.tracks, strict=True):
        route.learner.end_stretch()
        route.learn(seen, track)
    progress('following what was learned', 0.7)
    belief, readout = route.belief(), route.readout()
    check_horizons(readout.targets, settings)
    validation = route.validate(lost_error(dataset.tracks))
    chosen: dict[str, Any] = route.chosen | {'states': belief.tpsr.states}
    if not isinstance(validation, str):
        validation = replace(validation, table=(chosen | {'score_m': validation.score_m},))
        readout = readout.calibrated(validation.calibration)
    chosen |= {'neighbours': None}
    found = validation, chosen, belief.tpsr.states, len(training.ticks), route.notes
    model = TpsrModel(
        **head_fields(recordings, dataset, settings, drives, *found),
        series=series,
        starts=training.pasts.starts,
        novelty=novelty,
        tpsr=belief.tpsr,
        frequencies=route.observations.frequencies,
        phases=route.observations.phases,
        weights=belief.table,
        features=belief.features,
        readout=readout,
        rest=dataset.rest,
    )
    learned = LearnedTpsr(model, route, int(dataset.segments[-1].stamps[-1]))
    newest = recordings[-1].imu
    if learned.ended_ns > newest.stamps.max():
        # The clock was set back, and the newest drive is too short to be trained on.
        learned.restart_at(newest.first_stamp)
    return learned
