# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a method is, and the methods by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol, TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.readout import fit_ridge
from two_manifold_ros.ticks.segments import Segment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.recordings.recording import ImuStream, Recording
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.typing import Bools, Floats


@dataclass(frozen=True)
class LinearTrack:
    """
    A regression of positions on states.

    Parameters
    ----------
    mean, scale : (k,)
        Of the states of the lesson, because a penalty depends on units.
    coefficients : (2, 1 + k)
        Of the constant 1 and the standardised state, metres.

    """

    mean: Floats
    scale: Floats
    coefficients: Floats

    def read(self, states: Floats) -> Floats:
        """Return the positions (T, 2) of (T, k) states; NaN where a state is not finite."""
        positions: Floats = _rows(states, self.mean, self.scale) @ self.coefficients.T
        return positions


def fit_linear_track(states: Floats, positions: Floats) -> LinearTrack | None:
    """
    Regress positions on states by ridge.

    Parameters
    ----------
    states : (N, k)
        Rows with numbers that are not finite are passed over.
    positions : (N, 2)
        Metres, NaN where unknown.

    Returns
    -------
    track
        ``None`` if there is no finite state at a known position.

    """
    known: Bools = np.asarray(np.isfinite(states).all(axis=1) & np.isfinite(positions).all(axis=1))
    if not known.any():
        return None
    mean, scale = states[known].mean(axis=0), states[known].std(axis=0)
    # A constant, such as the first coordinate of some states, is no number to divide by.
    scale = np.where(scale > 1e-9 * np.maximum(1.0, np.abs(mean)), scale, np.inf)
    readout = fit_ridge(_rows(states[known], mean, scale), positions[known][:, None])
    return LinearTrack(mean, scale, readout.coefficients[0])


def _rows(states: Floats, mean: Floats, scale: Floats) -> Floats:
    return np.concatenate([np.ones((len(states), 1)), (states - mean) / scale], axis=1)


@dataclass(frozen=True)
class Lesson:
    """
    What every method is given to learn from.

    Parameters
    ----------
    recordings
        The training part, for methods that train a ``Model``.
    dataset
        The same part as segments of ticks, with the window, the rate and the scaling.
    settings
        As asked for; the horizons are those to predict.

    """

    recordings: tuple[Recording, ...]
    dataset: Dataset
    settings: TrainingSettings

    @property
    def horizons(self) -> tuple[int, ...]:
        """Ticks ahead, 0 first."""
        return self.settings.horizons

    @property
    def period_s(self) -> float:
        """Length of a tick in seconds."""
        return self.dataset.period_ns * 1e-9

    def of(self, segments: Sequence[Segment]) -> Lesson:
        """Return the lesson of some of the segments only; the recordings stay whole."""
        return replace(self, dataset=replace(self.dataset, segments=tuple(segments)))


@dataclass(frozen=True)
class SampledSegment(Segment):
    """
    A segment to follow, and the samples that its ticks are the means of.

    A method that filters samples, as on the vehicle, needs those before the segment as well: they
    decide what it thinks of the input.

    Parameters
    ----------
    imu
        All samples of the recording that the segment is cut from, whatever is wrong with them.

    """

    imu: ImuStream


@dataclass(frozen=True)
class Course:
    """
    What a method told along a segment of T ticks.

    Parameters
    ----------
    positions : (T, H, 2)
        Predicted at each horizon, metres; NaN where the method cannot tell yet. Row t depends on
        the ticks up to t alone.
    states : (T, k), optional
        State of the method after each tick, where it has one.
    valid : (T,) bool, optional
        Whether the method would have published what it tells; ``None`` if it always would.

    """

    positions: Floats
    states: Floats | None = None
    valid: Bools | None = None


class FittedMethod(Protocol):
    """
    A causal filter over segments.

    Attributes
    ----------
    chosen
        What was settled while fitting, JSON values by name, for the reader of the table.

    """

    chosen: dict[str, Any]

    def follow(self, segment: Segment) -> Course:
        """Filter one segment from a cold start."""


class Method(Protocol):
    """
    A way to learn a route.

    Attributes
    ----------
    name
        As on the command line.
    title
        As in tables and figures.
    told
        Whether it is told positions of the segments it follows (a start, or the previous one);
        from all other methods they are hidden.

    """

    name: str
    title: str
    told: bool

    def fit(self, lesson: Lesson) -> FittedMethod:
        """
        Learn from a lesson.

        Raises
        ------
        InputError
            If the method cannot be fitted; the message says why.

        """
