# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Train a TPSR by the online algorithm of Boots & Gordon (2011), and let it go on learning.

Ticks of the recordings are learned one after the other (Boots & Gordon 2011, eq. 8 and 9). What
was trained can take what is driven later in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.readout import (
    calibration_factors,
    segment_targets,
    SharpenedReadout,
    tempered,
)
from two_manifold_ros.hse_hmm.tables import median_observation_distance
from two_manifold_ros.manifold.affinity import median_distance
from two_manifold_ros.model.model import TpsrModel
from two_manifold_ros.ticks.rest import spreads_along
from two_manifold_ros.ticks.segments import cut_segments, largest_believable
from two_manifold_ros.ticks.windows import find_training_ticks, lay_end_to_end
from two_manifold_ros.tpsr.features import WithConstant
from two_manifold_ros.tpsr.learner import LearnerSettings
from two_manifold_ros.tpsr.parameters import RememberingBelief
from two_manifold_ros.tpsr.random_features import fourier_features
from two_manifold_ros.tpsr.thin_svd import Move
from two_manifold_ros.tpsr.window_learner import stretches_of, WindowLearner
from two_manifold_ros.training.dataset import driving_dataset
from two_manifold_ros.training.embeddings import check_count, novelty_anchors
from two_manifold_ros.training.held_out import (
    capped_mean,
    follow_held_out,
    lost_error,
    squared_distances,
    Validation,
)
from two_manifold_ros.training.summary import check_horizons, head_fields, summarise, TWICE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.inspection.positions import PositionReport
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.ticks.windows import TrainingTicks
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.typing import Floats

STATES, SPARE = 110, 30
"""
States where no number is given, and directions of the SVD that are kept beside them.

With 80 states the indoor car errs 1.7 times as much and the kart 1.4 times, and a sixth less of
both is published; others change by less than a tenth. What an update of a thin SVD cuts off is
lost for good, hence the spare ones.
"""

OBSERVATION_FEATURES = 100
"""
Random features of observations; 400 in the paper.

With 200 or 400 errors stay the same, with 50 they rise by half on the indoor car.
"""

WINDOW_BANDWIDTH, OBSERVATION_BANDWIDTH = 0.7, 1.4
"""
Bandwidths of the Gaussian kernels, in median distances.

With 1.0 for windows the followed drives of kart and tram err by a third more. That of observations
is the one that the spectral filter takes without validation.
"""

RIDGE = 1.0
r"""
:math:`\lambda` of the covariance of the observations, per sample, for a kernel that is 1 at 0.

At 0.01 the filter loses the kart, and at 0.0001, as in the paper, five of eight drives; at 0.3 the
slot car errs three times as much, and from 1 to 100 errors are the same.
"""

MEMORY_TICKS = 2400
"""Ticks after which an old one counts 1/e, and ticks that are remembered: thirty laps of 80."""

FOLDED = 8
"""
Ticks that share one update of the SVD.

One after the other they take three times as long and give the same errors; 32 together take two
thirds.
"""


def usual_numbers(settings: TrainingSettings) -> dict[str, Any]:
    """Return states, bandwidth factor and ridge of the settings, or the usual ones."""
    return {
        'states': settings.states or STATES,
        'bandwidth_factor': settings.bandwidth_factor or OBSERVATION_BANDWIDTH,
        'ridge': settings.ridge or RIDGE,
    }


class RouteTpsr:
    """
    A TPSR of a route that learns stretch by stretch, and the positions of its ticks.

    ``pasts`` are windows (n, width) of (d,) observations, of which the median distance gives the
    bandwidth; ``seen`` (T, d) the observations, for theirs.
    """

    def __init__(self, training: TrainingTicks, seen: Floats, settings: TrainingSettings) -> None:
        width, channels = training.pasts.width, seen.shape[1]
        states = settings.states or STATES
        windows = fourier_features(
            width * channels,
            settings.features,
            WINDOW_BANDWIDTH * median_distance(training.pasts),
            settings.feature_seed,
        )
        factor = settings.bandwidth_factor or OBSERVATION_BANDWIDTH
        self.observations = fourier_features(
            channels,
            OBSERVATION_FEATURES,
            factor * median_observation_distance(seen),
            settings.feature_seed + 1,
        )
        self.learner = WindowLearner(
            WithConstant(windows),
            self.observations,
            width,
            LearnerSettings(
                states,
                states + SPARE,
                settings.ridge or RIDGE,
                memory=MEMORY_TICKS,
                fold_every=FOLDED,
            ),
            MEMORY_TICKS,
        )
        self._numbers = np.zeros(0, dtype=np.int64)
        self._track = np.zeros((0, 2))

    def learn(self, seen: Floats, track: Floats) -> Move:
        """Go on with observations (T, d) at positions (T, 2), NaN where unknown."""
        numbers = self.learner.begin + np.arange(len(seen))
        move = self.learner.learn(seen)
        oldest = self.learner.remembered.numbers[:1]
        kept = self._numbers >= (oldest[0] if len(oldest) else 0)
        self._numbers = np.concatenate([self._numbers[kept], numbers])
        self._track = np.concatenate([self._track[kept], track])
        return move

    def learn_all(self, segments: Sequence[Floats], tracks: Sequence[Floats]) -> None:
        """Learn observations (T, d) and positions (T, 2) of segments."""
        for seen, track in zip(segments, tracks, strict=True):
            self.learner.end_stretch()
            self.learn(seen, track)

    def readout(self, horizons: Sequence[int], period_s: float) -> SharpenedReadout:
        """Return the read-out by weights of the remembered ticks, not calibrated."""
        targets = [
            segment_targets(self._track[begin:end], horizons, period_s)
            for begin, end in stretches_of(self._numbers)
        ]
        places = np.searchsorted(self._numbers, self.learner.remembered.numbers)
        return SharpenedReadout(np.concatenate(targets)[places], np.ones(len(horizons) + 1))

    def belief(self) -> RememberingBelief:
        """Return a belief with the parameters of now."""
        tpsr, weights = self.learner.parameters()
        return RememberingBelief(
            tpsr, self.observations, weights, self.learner.remembered.features
        )


@dataclass
class LearnedTpsr:
    """
    A trained TPSR that can go on learning.

    Parameters
    ----------
    model
        As of now.
    route
        What it was learned by.
    largest : (c,)
        See ``largest_believable``.
    ended_ns
        Stamp of the last tick that was learned.

    """

    model: TpsrModel
    route: RouteTpsr
    largest: Floats
    ended_ns: int

    def pass_over(self, until_ns: int) -> None:
        """Learn nothing of the time until a stamp."""
        self.ended_ns = max(self.ended_ns, until_ns)

    def go_on(self, recording: Recording) -> Move:
        """
        Learn what comes after the last tick, with its positions; return the move of the bases.

        Its model is another one afterwards, with the parameters of now.
        """
        model, route = self.model, self.route
        imu = recording.imu
        newer = replace(recording, imu=imu.select(imu.stamps > self.ended_ns))
        whole = Move.none(len(route.learner.learner.svd.values))
        segments: list[Segment] = []
        if len(newer.imu.stamps):
            segments, _ = cut_segments(newer, model.period_ns, model.max_gap_ns, self.largest)
        for segment in segments:
            if segment.stamps[0] - model.period_ns - self.ended_ns > model.max_gap_ns:
                route.learner.end_stretch()
            seen = model.channels.standardise(segment.values)
            kept = np.ones(len(seen), dtype=np.bool_)
            if model.rest is not None:
                kept = ~(spreads_along(seen, model.rest.ticks) < model.rest.limit)
            whole = route.learn(seen[kept], segment.positions[kept]).after(whole)
            self.ended_ns = int(segment.stamps[-1])
        belief = route.belief()
        readout = route.readout(model.horizons, model.period_ns * 1e-9)
        self.model = replace(
            model,
            tpsr=belief.tpsr,
            weights=belief.table,
            features=belief.features,
            readout=readout.scaled(model.readout.factors),
        )
        return whole


def train_tpsr(
    recordings: Sequence[Recording],
    settings: TrainingSettings,
    progress: Callable[[str, float], None],
    drives: Sequence[PositionReport],
) -> LearnedTpsr:
    """
    Learn a TPSR from recordings, and calibrate it.

    It is then followed with the surroundings of each tick left out of its read-out.
    """
    dataset = driving_dataset(recordings, settings)
    progress('learning from everything', 0.0)
    series, begins = lay_end_to_end(dataset.observations)
    training = find_training_ticks(series, begins, dataset.window)
    check_count(training)
    novelty = novelty_anchors(training.pasts, spliced=True)
    novelty = replace(novelty, still=max(novelty.still, dataset.still))
    # Mean square differences, in standard deviations, below 1e-9 are rounding.
    if not novelty.squared > 1e-9 * dataset.window * len(series):
        raise InputError(TWICE)
    route = RouteTpsr(training, np.ascontiguousarray(series[:, training.ticks].T), settings)
    errors, covariances = _learn_and_follow(
        route, dataset, settings, lambda share: progress('learning and following', share)
    )
    belief = route.belief()
    readout = route.readout(settings.horizons, dataset.period_s)
    check_horizons(readout.targets, settings)
    validation = _validate(errors, covariances, dataset)
    chosen = {**usual_numbers(settings), 'states': belief.tpsr.states, 'neighbours': None}
    if not isinstance(validation, str):
        row = {name: each for name, each in chosen.items() if name != 'neighbours'}
        validation = replace(validation, table=({**row, 'score_m': validation.score_m},))
        readout = readout.scaled(validation.factors)
    values = route.learner.learner.svd.values[1 : belief.tpsr.states]
    summary = summarise(
        recordings, dataset, settings, (), len(training.ticks), values, chosen, validation, drives
    )
    progress('following what was learned', 1.0)
    model = TpsrModel(
        **head_fields(recordings, dataset, settings),
        summary=summary,
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
    largest = largest_believable([each.imu.samples for each in recordings])
    return LearnedTpsr(model, route, largest, int(dataset.segments[-1].stamps[-1]))


def _learn_and_follow(
    route: RouteTpsr,
    dataset: Dataset,
    settings: TrainingSettings,
    progress: Callable[[float], None],
) -> tuple[Floats, Floats]:
    """
    Learn all ticks in parts, each of which is followed before it is learned.

    Returned are errors (m, c, 2), NaN where the truth is unknown, and covariances (m, c, 2, 2) of
    the second half of the ticks: what follows a training is known at least as well.
    """
    found: list[tuple[Floats, Floats]] = []
    blocks = dataset.blocks_of(dataset.segments, settings.horizons)
    total, learned = sum(len(seen) for seen, _ in blocks), 0
    # A quarter of a lap, where windows are half a lap.
    part = max(dataset.window // 2, 1)
    for (seen, targets), track in zip(blocks, dataset.tracks, strict=True):
        route.learner.end_stretch()
        belief: RememberingBelief | None = None
        for begin in range(0, len(seen), part):
            chosen = slice(begin, begin + part)
            if learned >= total // 2 and len(route.learner.remembered.numbers):
                if belief is None:
                    belief = route.belief()
                readout = route.readout(settings.horizons, dataset.period_s)
                means, covariances = _follow(belief, readout, seen[chosen])
                if begin >= dataset.window:
                    found.append((means - targets[chosen], covariances))
            move = route.learn(seen[chosen], track[chosen])
            if belief is not None:
                newer = route.belief()
                belief.adopt(newer.tpsr, move, newer.table, newer.features)
            learned += len(seen[chosen])
            progress(learned / total)
    if not found:
        count = len(settings.horizons) + 1
        return np.zeros((0, count, 2)), np.zeros((0, count, 2, 2))
    errors, covariances = (np.concatenate(each) for each in zip(*found, strict=True))
    return errors, covariances


def _follow(
    belief: RememberingBelief, readout: SharpenedReadout, seen: Floats
) -> tuple[Floats, Floats]:
    """Return means (T, c, 2) and covariances (T, c, 2, 2) after each observation of (T, d)."""
    read = []
    for observation in seen:
        belief.update(observation)
        read.append(readout.read(belief.weights, belief.state))
    means, covariances = zip(*read, strict=True)
    return np.array(means), np.array(covariances)


def _validate(errors: Floats, covariances: Floats, dataset: Dataset) -> Validation | str:
    """Calibrate by errors (m, c, 2) and covariances (m, c, 2, 2) of ticks before learning them."""
    lost_m = lost_error(dataset.tracks)
    score_m = capped_mean(squared_distances(errors), lost_m)
    if not np.isfinite(score_m):
        return 'no place of the route was met twice'
    factors, _ = calibration_factors(errors, covariances)
    judged = int(np.isfinite(errors[:, 0]).all(axis=1).sum())
    return Validation((), judged, score_m, lost_m, tempered(factors, judged / dataset.window))


class TpsrFold:
    """A part to learn, and held-out blocks to follow, as those of a `Fold`."""

    def __init__(
        self,
        fit: Sequence[Segment],
        held: Sequence[Segment],
        dataset: Dataset,
        settings: TrainingSettings,
    ) -> None:
        self._seen = dataset.standardise(fit)
        self._tracks = [segment.positions for segment in fit]
        series, begins = lay_end_to_end(self._seen)
        self._training = find_training_ticks(series, begins, dataset.window)
        check_count(self._training)
        self._observations = np.ascontiguousarray(series[:, self._training.ticks].T)
        self._blocks = dataset.blocks_of(held, settings.horizons)
        self._horizons, self._period_s = settings.horizons, dataset.period_s

    def squared_errors(self, settings: TrainingSettings) -> list[Floats]:
        """Return the squares (T, H) on each block, m^2."""
        route = RouteTpsr(self._training, self._observations, settings)
        route.learn_all(self._seen, self._tracks)
        belief, readout = route.belief(), route.readout(self._horizons, self._period_s)

        def follow(seen: Floats) -> tuple[Floats, Floats]:
            belief.start()
            return _follow(belief, readout, seen)

        runs = follow_held_out(follow, self._blocks, 0)
        return [squared_distances(errors) for errors, _ in runs]
