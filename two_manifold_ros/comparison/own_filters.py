# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filters of this package as methods among the others, and all methods by name."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.comparison.method import Course, SampledSegment
from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.tick_estimator import make_tick_filter
from two_manifold_ros.manifold.selection import KERNELS
from two_manifold_ros.training.time_scales import paper_settings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from two_manifold_ros.comparison.method import Lesson, Method
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
    name, title, told
        See ``Method``.
    changes
        Fields of ``TrainingSettings`` that are always as given here, whatever was asked for.
    paper
        Whether all else that the paper settles is as there.

    """

    name: str
    title: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    told: bool = False
    paper: bool = False

    def fit(self, lesson: Lesson) -> FittedModel:
        """
        Train a model.

        Raises
        ------
        InputError
            See ``train_model``.

        """
        # What is followed are the ticks of the lesson.
        asked = replace(lesson.settings, rate_hz=lesson.dataset.rate_hz)
        settings = replace(asked, **self.changes)
        if self.paper:
            settings = paper_settings(settings, lesson.recordings)
        return FittedModel(train_model(lesson.recordings, settings))


class FittedModel:
    """
    A model that follows segments as the filter of the nodes does; see ``FittedMethod``.

    Where the samples are there it is that very filter, which withholds what it does not trust, and
    goes on over a short gap; of ticks alone there is nothing to withhold.

    Parameters
    ----------
    model
        Any.

    """

    def __init__(self, model: TrainedModel) -> None:
        self._model = model
        self._filtered: tuple[ImuStream, dict[int, Estimate]] | None = None
        self.chosen: dict[str, Any] = {
            **model.summary['chosen'],
            # Fewer than were chosen, or none with this kernel: what counts is what the model has.
            'states': model.states,
            'neighbours': model.summary['neighbours'],
        }

    def follow(self, segment: Segment) -> Course:
        """
        Filter one segment; the first tick has a prediction already.

        A segment of ticks alone is filtered from a cold start, one with samples from the start of
        its recording.
        """
        if isinstance(segment, SampledSegment):
            return self._follow_samples(segment)
        tracker = make_tick_filter(self._model)
        positions = np.empty((len(segment), len(self._model.horizons), 2))
        states = np.empty((len(segment), self._model.states))
        for tick, values in enumerate(segment.values):
            tracker.update(values)
            positions[tick] = tracker.read()[0][:-1]
            states[tick] = tracker.belief.state
        return Course(positions, states)

    def _follow_samples(self, segment: SampledSegment) -> Course:
        estimates = self._estimates(segment.imu)
        ticks, ahead = len(segment), len(self._model.horizons)
        positions = np.full((ticks, ahead, 2), np.nan)
        states = np.full((ticks, self._model.states), np.nan)
        valid = np.zeros(ticks, dtype=np.bool_)
        for tick, stamp in enumerate(segment.stamps.tolist()):
            if stamp in estimates:
                estimate = estimates[stamp]
                positions[tick], states[tick] = estimate.positions, estimate.state
                valid[tick] = estimate.valid
        return Course(positions, states, valid)

    def _estimates(self, imu: ImuStream) -> dict[int, Estimate]:
        """Return the estimates by stamp; segments of one recording come one after the other."""
        if self._filtered is None or self._filtered[0] is not imu:
            live = Filter(self._model)
            found = [
                estimate
                for stamp, sample in zip(imu.stamps.tolist(), imu.samples, strict=True)
                for estimate in live.push(stamp, sample)
            ]
            self._filtered = imu, {estimate.stamp_ns: estimate for estimate in found}
        return self._filtered[1]


def default() -> ManifoldHmm:
    """Return what `two-manifold train` makes by default."""
    return ManifoldHmm('default', 'this package')


def manifold_hmm() -> ManifoldHmm:
    """Return the spectral filter with the eigenmap."""
    changes = {'method': 'spectral', 'kernel': 'laplacian-eigenmap'}
    return ManifoldHmm('manifold', 'manifold HSE-HMM', changes)


def gaussian_hmm() -> ManifoldHmm:
    """Return the same with Gaussian kernels: an HSE-HMM without manifolds."""
    changes = {'method': 'spectral', 'kernel': 'gaussian'}
    return ManifoldHmm('gaussian', 'HSE-HMM, Gaussian', changes)


def kernel_hmm(kernel: str) -> ManifoldHmm:
    """Return the spectral filter with any other kernel, by whose name it goes."""
    return ManifoldHmm(kernel, kernel, {'method': 'spectral', 'kernel': kernel})


def paper_hmm() -> ManifoldHmm:
    """Return the configuration of the paper."""
    return ManifoldHmm('paper', 'HSE-HMM of the paper', paper=True)


_FOLDER = __package__

_PLACES = {
    'mean': ('baselines', 'MeanPosition'),
    'previous': ('baselines', 'PreviousPosition'),
    'imu-only': ('dead_reckoning', 'DeadReckoning'),
    'kalman': ('linear_system', 'KalmanFilter'),
    'hmm': ('hidden_markov', 'HiddenMarkov'),
    'nearest': ('baselines', 'NearestWindows'),
    'belief': ('belief_filter', 'BeliefFilter'),
    'gaussian': ('own_filters', 'gaussian_hmm'),
    'paper': ('own_filters', 'paper_hmm'),
    'manifold': ('own_filters', 'manifold_hmm'),
    'default': ('own_filters', 'default'),
}
"""For each name the module of this folder, imported only when asked for, and what makes it."""

NAMES = tuple(_PLACES)
"""What runs unless something else is asked for."""

_KERNEL_PLACE = ('own_filters', 'kernel_hmm')
_KNOWN_AS = {'laplacian-eigenmap': 'manifold'}

GROUPS = {'kernels': tuple(_KNOWN_AS.get(kernel, kernel) for kernel in KERNELS)}
"""Names that stand for several: the spectral filter with every kernel."""

EVERY = tuple(dict.fromkeys((*NAMES, *GROUPS['kernels'])))

OURS = 'default'
"""The one that all others are compared with."""


def methods_named(names: Sequence[str], protocol: SlotCarProtocol | None = None) -> list[Method]:
    """
    Make methods, in the order of ``EVERY``.

    Parameters
    ----------
    names
        Some of ``EVERY`` and ``GROUPS``.
    protocol
        Settles what the opponents otherwise choose for themselves.

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
    settled = {} if protocol is None else _settled(protocol)
    return [_make(name, settled.get(name, {})) for name in EVERY if name in wanted]


def _settled(protocol: SlotCarProtocol) -> dict[str, dict[str, Any]]:
    """Return what the paper settles of methods that otherwise choose for themselves."""
    return {
        'kalman': {'states': protocol.states, 'block_rows': protocol.window},
        'hmm': {'states': (protocol.states,)},
    }


def _make(name: str, settings: dict[str, Any]) -> Method:
    module, maker = _PLACES.get(name, _KERNEL_PLACE)
    given = settings if name in _PLACES else {'kernel': name}
    method: Method = getattr(import_module(f'{_FOLDER}.{module}'), maker)(**given)
    return method
