# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filters of this package as methods among the others."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.comparison.method import Course
from two_manifold_ros.filtering.tracker import Tracker
from two_manifold_ros.training.paper import paper_settings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.comparison.method import Lesson
    from two_manifold_ros.model.model import Model
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
        settings = replace(lesson.settings, **self.changes)
        if self.paper:
            settings = paper_settings(settings, lesson.recordings)
        return FittedModel(train_model(lesson.recordings, settings))


class FittedModel:
    """
    A model that follows segments as the filter does; see ``FittedMethod``.

    Parameters
    ----------
    model
        Any.

    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.chosen: dict[str, Any] = {
            **model.summary['chosen'],
            # Fewer than were chosen, or none with this kernel: what counts is what the model has.
            'states': model.states,
            'neighbours': model.summary['neighbours'],
        }

    def follow(self, segment: Segment) -> Course:
        """Filter one segment from a cold start; the first tick has a prediction already."""
        tracker = Tracker(self._model)
        positions = np.empty((len(segment), len(self._model.horizons), 2))
        states = np.empty((len(segment), self._model.states))
        for tick, values in enumerate(segment.values):
            tracker.update(values)
            positions[tick] = tracker.read()[0][:-1]
            states[tick] = tracker.belief.state
        return Course(positions, states)


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
