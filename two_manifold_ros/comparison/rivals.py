# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""All methods by name: rivals that learn next to nothing, other filters, and those of ours."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
import itertools
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.comparison.dead_reckoning import dead_reckoning
from two_manifold_ros.comparison.hidden_markov import hidden_markov
from two_manifold_ros.comparison.linear_system import kalman_filter
from two_manifold_ros.comparison.protocol import (
    choose,
    Fitted,
    Method,
    Predictions,
    SampledSegment,
)
from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.estimate import make_tick_filter
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.names import KERNELS, OURS
from two_manifold_ros.ticks.sliding import SlidingWindow
from two_manifold_ros.ticks.windows import lay_end_to_end
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.comparison.protocol import SlotCarProtocol, TrainSplit
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.head import TrainedModel
    from two_manifold_ros.recordings.recording import ImuStream
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Bools, Floats, Ints


def mean_position(train: TrainSplit) -> Fitted:
    """Return the mean of the known training positions, which a method must beat."""
    mean, horizons = train.mean_position(), len(train.horizons)
    return Fitted(lambda each: Predictions(np.tile(mean, (len(each), horizons, 1))), {})


def previous_position(train: TrainSplit) -> Fitted:
    """Return the true position at the tick, which is given to no other method."""
    horizons = len(train.horizons)
    return Fitted(lambda e: Predictions(np.repeat(e.positions[:, None], horizons, axis=1)), {})


class NearestSettings(NamedTuple):
    """Numbers of windows that are averaged, and of ticks in a window."""

    neighbours: int
    window: int


def nearest_windows(train: TrainSplit) -> Fitted:
    """Mean of the positions that followed the training windows most like the live one."""
    window = train.dataset.window
    lengths = dict.fromkeys(max(1, round(share * window)) for share in (1.0, 0.5, 0.25))
    candidates = [NearestSettings(n, length) for length in lengths for n in (5, 1, 10, 20)]
    settings = choose(candidates, train, lambda part: partial(follow_nearest, part))
    return follow_nearest(train, settings)


def follow_nearest(train: TrainSplit, settings: NearestSettings) -> Fitted:
    """
    Keep every window of standardised observations that crosses no seam; ``InputError`` if none.

    NaN until the window is full, and at a horizon beyond every segment.
    """
    neighbours, width = settings
    series, begins = lay_end_to_end(train.dataset.observations)
    starts: Ints = np.concatenate(
        [
            np.arange(begin, max(end - width + 1, begin), dtype=np.int64)
            for begin, end in itertools.pairwise(begins.tolist())
        ]
    )
    if not len(starts):
        msg = f'no stretch of the training part holds a window of {width} ticks; record longer'
        raise InputError(msg)
    # Positions at the horizons after the last tick of each window (n, H, 2), NaN if unknown.
    targets = np.concatenate(train.targets)[starts + width - 1]
    known: Bools = np.all(np.isfinite(targets), axis=2)
    targets = np.where(known[..., None], targets, 0.0)

    def predict(segment: Segment) -> Predictions:
        positions = np.full((len(segment), *targets.shape[1:]), np.nan)
        window = SlidingWindow(series, starts, width)
        for tick, observation in enumerate(train.dataset.channels.standardise(segment.values)):
            window.push(observation)
            if not window.full:
                continue
            near, counted = _nearest_known(window.distances(), known, neighbours)
            total = counted.sum(axis=0).astype(np.float64)
            total[total == 0.0] = np.nan
            sums = np.einsum('nh,nhc->hc', counted, targets[near])
            positions[tick] = sums / total[:, None]
        return Predictions(positions)

    return Fitted(predict, settings._asdict())


def _nearest_known(distances: Floats, known: Bools, neighbours: int) -> tuple[Ints, Bools]:
    """Return windows, nearest first, and which of them count at each horizon."""
    amount = 2 * neighbours
    while True:
        if amount >= len(distances):
            near = np.argsort(distances, kind='stable')
        else:
            near = np.argpartition(distances, amount)[:amount]
            near = near[np.argsort(distances[near], kind='stable')]
        rank = known[near].cumsum(axis=0)
        # Near the end of a segment the position at a horizon is unknown, so look further.
        if len(near) == len(distances) or rank[-1].min() >= neighbours:
            return near, known[near] & (rank <= neighbours)
        amount *= 4


def own_filter(train: TrainSplit, **changes: Any) -> Fitted:  # noqa: ANN401 - any settings
    """Train a model of this package at the rate of all, with some settings changed."""
    dataset = train.dataset
    asked = replace(train.settings, rate_hz=dataset.rate_hz, window=dataset.window)
    wanted = asked.with_method(**{'method': asked.method, **changes})
    return fitted_model(train_model(train.recordings, wanted))


def fitted_model(model: TrainedModel) -> Fitted:
    """Return a model as a method that filters segments."""
    chosen = {
        **model.summary['chosen'],
        # Fewer than were chosen, or none with this kernel: what counts is what the model has.
        'states': model.states,
        'neighbours': model.summary['neighbours'],
    }
    return Fitted(FollowingModel(model).predict, chosen)


class FollowingModel:
    """
    A model that filters segments as the nodes do.

    Where the samples are there it is the very filter of the nodes, which withholds what it does
    not trust, and goes on over a short gap; of ticks alone there is nothing to withhold.
    """

    def __init__(self, model: TrainedModel) -> None:
        self._model = model
        self._filtered: tuple[ImuStream, dict[int, Estimate]] | None = None

    def predict(self, segment: Segment) -> Predictions:
        """Filter one segment: of ticks from a cold start, of samples from their beginning."""
        positions = np.full((len(segment), len(self._model.horizons), 2), np.nan)
        states = np.full((len(segment), self._model.states), np.nan)
        if isinstance(segment, SampledSegment):
            estimates = self._estimates(segment.imu)
            valid = np.zeros(len(segment), dtype=np.bool_)
            for tick, stamp in enumerate(segment.stamps.tolist()):
                if stamp in estimates:
                    estimate = estimates[stamp]
                    positions[tick], states[tick] = estimate.positions, estimate.state
                    valid[tick] = estimate.valid
            return Predictions(positions, states, valid)
        tracker = make_tick_filter(self._model)
        for tick, values in enumerate(segment.values):
            tracker.update(values)
            positions[tick] = tracker.read()[0][:-1]
            states[tick] = tracker.state
        return Predictions(positions, states)

    def _estimates(self, imu: ImuStream) -> dict[int, Estimate]:
        """Return the estimates by stamp; segments of one recording come one after the other."""
        if self._filtered is None or self._filtered[0] is not imu:
            live = Filter(self._model)
            samples = zip(imu.stamps.tolist(), imu.samples, strict=True)
            found = itertools.chain.from_iterable(live.push(*each) for each in samples)
            self._filtered = imu, {estimate.stamp_ns: estimate for estimate in found}
        return self._filtered[1]


def own(name: str, title: str, **changes: Any) -> Method:  # noqa: ANN401 - any settings
    """Return a method that trains a model of this package with some settings changed."""
    return Method(name, title, partial(own_filter, **changes))


_USUAL = (
    Method('mean', 'mean position', mean_position),
    Method('previous', 'previous position', previous_position, sees_positions=True),
    Method('imu-only', 'integrated IMU', dead_reckoning, sees_positions=True),
    Method('kalman', 'Kalman filter (N4SID)', kalman_filter),
    Method('hmm', 'HMM (EM)', hidden_markov),
    Method('nearest', 'nearest windows', nearest_windows),
    own('gaussian', 'HSE-HMM, Gaussian', method='spectral', kernel='gaussian'),
    own('paper', 'HSE-HMM of the paper', method='paper'),
    own('manifold', 'manifold HSE-HMM', method='spectral', kernel='laplacian-eigenmap'),
    own(OURS, 'this package'),
)

_BY_KERNEL = {kernel: kernel for kernel in KERNELS} | {'laplacian-eigenmap': 'manifold'}

_OTHERS = (
    *(
        own(name, name, method='spectral', kernel=kernel)
        for kernel, name in _BY_KERNEL.items()
        if name not in {'gaussian', 'manifold'}
    ),
    own('paper-gaussian', 'HSE-HMM of the paper, Gaussian', method='paper', kernel='gaussian'),
    own('tpsr', 'TPSR', method='tpsr'),
)

METHODS = {each.name: each for each in (*_USUAL, *_OTHERS)}
"""All methods by name."""

NAMES = tuple(each.name for each in _USUAL)
"""What runs unless something else is asked for."""

GROUPS = {'kernels': tuple(_BY_KERNEL.values())}
"""Names that stand for several: the spectral filter with every kernel."""


def methods_named(names: Sequence[str], protocol: SlotCarProtocol | None = None) -> list[Method]:
    """
    Return methods, in the order of ``METHODS``, by names of it and of ``GROUPS``.

    A protocol settles what the opponents otherwise choose for themselves. Raise ``InputError`` if
    there is no method of a name.
    """
    known = (*METHODS, *GROUPS)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        msg = f'there is no method {", ".join(unknown) or "named"}; choose from {",".join(known)}'
        raise InputError(msg)
    wanted = {each for name in names for each in GROUPS.get(name, (name,))}
    found = [method for name, method in METHODS.items() if name in wanted]
    if protocol is None:
        return found
    settled: dict[str, dict[str, Any]] = {
        'kalman': {'states': protocol.states, 'block_rows': protocol.window},
        'hmm': {'states': (protocol.states,)},
    }
    return [e._replace(fit=partial(e.fit, **settled.get(e.name, {}))) for e in found]
