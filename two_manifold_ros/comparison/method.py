# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a method is: it is fitted to a lesson, then follows segments it has not seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol, TYPE_CHECKING

from two_manifold_ros.ticks.segments import Segment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.recordings.recording import ImuStream, Recording
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.typing import Bools, Floats


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
