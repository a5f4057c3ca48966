# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Interface of a method of a comparison, and the two methods that learn next to nothing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.readout import fit_ridge, segment_targets
from two_manifold_ros.ticks.segments import Segment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.recordings.recording import ImuStream, Recording
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.typing import Bools, Floats


@dataclass(frozen=True)
class TrainSplit:
    """
    Training data that every method learns from.

    Recordings, for methods that train a ``Model``, and the dataset, with window, rate and scaling,
    are the same part; the horizons of the settings are those to predict.
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

    @property
    def observations(self) -> list[Floats]:
        """Standardised live channels (T, d) of each segment."""
        channels = self.dataset.channels
        return [channels.standardise(segment.values) for segment in self.dataset.segments]

    @property
    def positions(self) -> Floats:
        """Positions of all ticks (N, 2), metres, NaN where unknown."""
        return np.concatenate([segment.positions for segment in self.dataset.segments])

    @property
    def targets(self) -> list[Floats]:
        """Positions at the horizons (T, H, 2) of the ticks of each segment, NaN where unknown."""
        return [self.targets_of(segment) for segment in self.dataset.segments]

    def targets_of(self, segment: Segment) -> Floats:
        """Return the positions at the horizons (T, H, 2) of any segment, NaN where unknown."""
        return segment_targets(segment.positions, self.horizons, self.period_s)[:, :-1]

    def of(self, segments: Sequence[Segment]) -> TrainSplit:
        """Return the split with some of its segments only; the recordings stay whole."""
        return replace(self, dataset=replace(self.dataset, segments=tuple(segments)))

    def mean_position(self) -> Floats:
        """Return the mean of the known positions (2,); raise ``InputError`` if none is known."""
        positions = self.positions
        known: Bools = np.all(np.isfinite(positions), axis=1)
        if not known.any():
            msg = 'no training position is known, so there is no mean; record positions as well'
            raise InputError(msg)
        mean: Floats = positions[known].mean(axis=0)
        return mean


@dataclass(frozen=True)
class SampledSegment(Segment):
    """
    A segment of ticks with all samples of its recording, whatever is wrong with them.

    A filter of samples, as on the vehicle, needs those before the segment as well: they decide
    how it grades its input.
    """

    imu: ImuStream


@dataclass(frozen=True)
class Predictions:
    """
    Predictions of a method along a segment of T ticks.

    Positions at each horizon are (T, H, 2), metres, NaN where the method has none yet; row t
    depends on the ticks up to t alone. A method may have states (T, k) after each tick, and say
    whether it would publish its position (T,).
    """

    positions: Floats
    states: Floats | None = None
    valid: Bools | None = None


class FittedMethod(Protocol):
    """A causal filter over segments."""

    @property
    def chosen(self) -> dict[str, Any]:
        """Settings chosen while fitting, JSON by name."""

    def predict(self, segment: Segment) -> Predictions:
        """Filter one segment from a cold start."""


class Method(Protocol):
    """A way to learn a route."""

    @property
    def name(self) -> str:
        """On the command line."""

    @property
    def title(self) -> str:
        """In tables and figures."""

    @property
    def sees_positions(self) -> bool:
        """True if the method sees positions of what it filters; others do not."""

    def fit(self, train: TrainSplit) -> FittedMethod:
        """Learn from the training part; raise ``InputError``, which says why, if it cannot."""


@dataclass(frozen=True)
class StatelessFilter:
    """A fitted method that computes the positions (T, H, 2) of a segment by a function."""

    compute: Callable[[Segment], Floats]
    chosen: dict[str, Any] = field(default_factory=dict)

    def predict(self, segment: Segment) -> Predictions:
        """Compute the positions of one segment."""
        return Predictions(self.compute(segment))


class MeanPosition:
    """The mean of the known training positions, which a method must beat to be of any use."""

    name = 'mean'
    title = 'mean position'
    sees_positions = False

    def fit(self, train: TrainSplit) -> StatelessFilter:
        """Take the mean over the training ticks; raise ``InputError`` if none has a position."""
        mean, horizons = train.mean_position(), len(train.horizons)
        return StatelessFilter(lambda segment: np.tile(mean, (len(segment), horizons, 1)))


class PreviousPosition:
    """
    The true position at the tick, which is given to no other method.

    Without error at horizon 0 and unrivalled one tick later; a lap later, without error again.
    """

    name = 'previous'
    title = 'previous position'
    sees_positions = True

    def fit(self, train: TrainSplit) -> StatelessFilter:
        """Learn nothing but the number of horizons; NaN where a segment has no position."""
        horizons = len(train.horizons)
        return StatelessFilter(
            lambda segment: np.repeat(segment.positions[:, None], horizons, axis=1)
        )


@dataclass(frozen=True)
class LinearTrack:
    """A linear map (2, 1 + k) from 1 and states, standardised by mean and scale, to positions."""

    mean: Floats
    scale: Floats
    coefficients: Floats

    def read(self, states: Floats) -> Floats:
        """Return the positions (T, 2) of (T, k) states; NaN where a state is not finite."""
        rows = with_constant((states - self.mean) / self.scale)
        positions: Floats = rows @ self.coefficients.T
        return positions


def fit_linear_track(states: Floats, positions: Floats) -> LinearTrack | None:
    """
    Regress positions (N, 2), metres, on states (N, k) by ridge, over the rows that are finite.

    Return ``None`` if there is no finite state at a known position.
    """
    known: Bools = np.asarray(np.isfinite(states).all(axis=1) & np.isfinite(positions).all(axis=1))
    if not known.any():
        return None
    mean, scale = states[known].mean(axis=0), states[known].std(axis=0)
    # A constant, such as the first coordinate of some states, is no number to divide by.
    scale = np.where(scale > 1e-9 * np.maximum(1.0, np.abs(mean)), scale, np.inf)
    rows = with_constant((states[known] - mean) / scale)
    return LinearTrack(mean, scale, fit_ridge(rows, positions[known][:, None]).coefficients[0])


def with_constant(states: Floats) -> Floats:
    """Return (T, 1 + k) rows of the constant 1 and (T, k) states."""
    return np.concatenate([np.ones((len(states), 1)), states], axis=1)
