# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filters of this package as methods among the others, and all methods by name."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.comparison.dead_reckoning import DeadReckoning
from two_manifold_ros.comparison.hidden_markov import HiddenMarkov
from two_manifold_ros.comparison.linear_system import KalmanFilter
from two_manifold_ros.comparison.method import (
    MeanPosition,
    Predictions,
    PreviousPosition,
    SampledSegment,
)
from two_manifold_ros.comparison.windows import NearestWindows
from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.estimate import make_tick_filter
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.names import KERNELS, OURS
from two_manifold_ros.training.train import paper_settings, train_model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from two_manifold_ros.comparison.method import Method, TrainSplit
    from two_manifold_ros.comparison.protocol import SlotCarProtocol
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.head import TrainedModel
    from two_manifold_ros.recordings.recording import ImuStream
    from two_manifold_ros.ticks.segments import Segment


@dataclass(frozen=True)
class ManifoldHmm:
    """
    A training of this package with some settings changed; see ``Method``.

    Parameters
    ----------
    changes
        Fields of ``TrainingSettings`` that are always as given here, whatever was asked for.
    paper
        Whether all else that the paper settles is as there, see `paper_settings`.

    """

    name: str
    title: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    sees_positions: bool = False
    paper: bool = False

    @property
    def spectral(self) -> bool:
        """Whether it is a spectral filter, whose settings `methods_named` may change."""
        return self.paper or bool(self.changes.get('method') == 'spectral')

    @property
    def ridged(self) -> bool:
        """Whether a ridge has an effect."""
        observation = self.changes.get('observation', 'ridge' if self.paper else 'raw')
        return bool(observation == 'ridge')

    def fit(self, train: TrainSplit) -> FittedModel:
        """
        Train a model at the rate of the split; raise ``InputError`` as ``train_model`` does.

        All methods see the same ticks, so a faster rate, which the default might choose, is not
        tried.
        """
        # What is filtered are the ticks of the training part.
        dataset = train.dataset
        asked = replace(train.settings, rate_hz=dataset.rate_hz, window=dataset.window)
        settings = paper_settings(asked, train.recordings) if self.paper else asked
        return FittedModel(train_model(train.recordings, replace(settings, **self.changes)))


class FittedModel:
    """
    A model that filters segments as the nodes do; see ``FittedMethod``.

    Where the samples are there it is the very filter of the nodes, which withholds what it does
    not trust, and goes on over a short gap; of ticks alone there is nothing to withhold.
    """

    def __init__(self, model: TrainedModel) -> None:
        self.model = model
        self._filtered: tuple[ImuStream, dict[int, Estimate]] | None = None
        self.chosen: dict[str, Any] = {
            **model.summary['chosen'],
            # Fewer than were chosen, or none with this kernel: what counts is what the model has.
            'states': model.states,
            'neighbours': model.summary['neighbours'],
        }

    def predict(self, segment: Segment) -> Predictions:
        """
        Filter one segment; the first tick has a prediction already.

        A segment of ticks alone is filtered from a cold start, one with samples from the start of
        its recording.
        """
        shape = (len(segment), len(self.model.horizons), 2)
        positions = np.full(shape, np.nan)
        states = np.full((len(segment), self.model.states), np.nan)
        if isinstance(segment, SampledSegment):
            estimates = self._estimates(segment.imu)
            valid = np.zeros(len(segment), dtype=np.bool_)
            for tick, stamp in enumerate(segment.stamps.tolist()):
                if stamp in estimates:
                    estimate = estimates[stamp]
                    positions[tick], states[tick] = estimate.positions, estimate.state
                    valid[tick] = estimate.valid
            return Predictions(positions, states, valid)
        tracker = make_tick_filter(self.model)
        for tick, values in enumerate(segment.values):
            tracker.update(values)
            positions[tick] = tracker.read()[0][:-1]
            states[tick] = tracker.state
        return Predictions(positions, states)

    def _estimates(self, imu: ImuStream) -> dict[int, Estimate]:
        """Return the estimates by stamp; segments of one recording come one after the other."""
        if self._filtered is None or self._filtered[0] is not imu:
            live = Filter(self.model)
            found = [
                estimate
                for stamp, sample in zip(imu.stamps.tolist(), imu.samples, strict=True)
                for estimate in live.push(stamp, sample)
            ]
            self._filtered = imu, {estimate.stamp_ns: estimate for estimate in found}
        return self._filtered[1]


_RIVALS: dict[str, Callable[..., Method]] = {
    each.name: each
    for each in (
        MeanPosition, PreviousPosition, DeadReckoning, KalmanFilter, HiddenMarkov, NearestWindows,
    )
}  # fmt: skip


def _spectral(name: str, title: str, kernel: str) -> ManifoldHmm:
    return ManifoldHmm(name, title, {'method': 'spectral', 'kernel': kernel})


_OWN = {
    each.name: each
    for each in (
        _spectral('gaussian', 'HSE-HMM, Gaussian', 'gaussian'),
        ManifoldHmm('paper', 'HSE-HMM of the paper', paper=True),
        _spectral('manifold', 'manifold HSE-HMM', 'laplacian-eigenmap'),
        ManifoldHmm(OURS, 'this package'),
    )
}

NAMES = (*_RIVALS, *_OWN)
"""What runs unless something else is asked for."""

GROUPS = {
    'kernels': tuple(
        'manifold' if kernel == 'laplacian-eigenmap' else kernel for kernel in KERNELS
    )
}
"""Names that stand for several: the spectral filter with every kernel."""

_PAPER_GAUSSIAN = ManifoldHmm(
    'paper-gaussian', 'HSE-HMM of the paper, Gaussian', {'kernel': 'gaussian'}, paper=True
)

LITERAL = ('paper', _PAPER_GAUSSIAN.name)
"""Names of those without guards."""

EVERY = tuple(dict.fromkeys((*NAMES, *GROUPS['kernels'], *LITERAL)))


def methods_named(
    names: Sequence[str],
    protocol: SlotCarProtocol | None = None,
    changes: Mapping[str, Any] | None = None,
) -> list[Method]:
    """
    Make methods, in the order of ``EVERY``.

    Parameters
    ----------
    names
        Some of ``EVERY`` and ``GROUPS``.
    protocol
        Settles what the opponents otherwise choose for themselves.
    changes
        Fields of ``TrainingSettings`` of the spectral filters among them.

    Raises
    ------
    InputError
        If there is no method of a name.

    """
    known = (*EVERY, *GROUPS)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        msg = f'there is no method {", ".join(unknown) or "named"}; choose from {",".join(known)}'
        raise InputError(msg)
    wanted = {each for name in names for each in GROUPS.get(name, (name,))}
    settled: dict[str, dict[str, Any]] = {}
    if protocol is not None:
        settled['kalman'] = {'states': protocol.states, 'block_rows': protocol.window}
        settled['hmm'] = {'states': (protocol.states,)}
    methods: list[Method] = []
    for name in EVERY:
        if name in wanted and name in _RIVALS:
            methods.append(_RIVALS[name](**settled.get(name, {})))
        elif name in wanted:
            own = {**_OWN, _PAPER_GAUSSIAN.name: _PAPER_GAUSSIAN}.get(name)
            own = own or _spectral(name, name, name)
            more = changes if own.spectral and changes else {}
            methods.append(replace(own, changes={**own.changes, **more}))
    return methods
