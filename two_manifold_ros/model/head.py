# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Head of a model: the fields that every filter needs, and the checks that all models share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
import math
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import refuse
from two_manifold_ros.names import NO_ROUTE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.recordings.recording import GeodeticOrigin
    from two_manifold_ros.ticks.segments import Channels
    from two_manifold_ros.typing import Floats, Ints


@dataclass(frozen=True)
class Limits:
    """
    Bounds of the numbers that a filter accepts; a trained model comes nowhere near.

    Beyond these a filter would take memory or time that no file warrants, divide by what
    underflows, or stop at a number that does not fit where it has to go.

    Parameters
    ----------
    number
        Of the entries of arrays and of bandwidths; squares of it and of its inverse are finite.
    count
        Of ticks.
    buffer
        Numbers in an array that the filter allocates for itself.
    work
        Products summed to compare a window with all of the training: some seconds.
    step
        Products summed in a tick: about a second.
    states, features, horizons, text
        Most of each, and of characters in a text.
    tick_ns, horizon_ns
        Longest tick, and farthest prediction: a day.

    """

    number: float = 1e100
    count: int = 2**31 - 1
    buffer: int = 20_000_000
    work: int = 10**10
    step: int = 10**9
    states: int = 1000
    features: int = 5000
    horizons: int = 1000
    text: int = 1000
    tick_ns: int = 1000 * 10**9
    horizon_ns: int = 86_400 * 10**9

    @property
    def least(self) -> float:
        """Smallest positive number to divide by."""
        return 1.0 / self.number


BOUNDS = Limits()

LONGEST_NAME = 100
"""Characters in the name of a route: it goes into topics, tables and file names of users."""


def trouble_with(name: str) -> str:
    """Return why that cannot be the name of a route; empty if it can."""
    if name == NO_ROUTE:
        return f'{name!r} is no name of a route: it stands for none of them; take another'
    blanks = name != name.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable() or ',' in name or blanks:
        return (
            f'{ascii(name)[:40]} is no name of a route: take up to {LONGEST_NAME} characters '
            'that can be printed, without commas, and without blanks at the ends'
        )
    return ''


def check_size(name: str, *lengths: int, most: int = BOUNDS.buffer) -> None:
    """Refuse lengths whose product is above the limit of a filter."""
    product = math.prod(map(int, lengths))
    if product > most:
        refuse(f'{name} would take {product} numbers, more than {most}')


def check_range(
    name: str, values: Floats | Ints | float, least: float, most: float = BOUNDS.number
) -> None:
    """Refuse a number, or the first of an array, that lies outside ``least`` to ``most``."""
    numbers = np.atleast_1d(values)
    outside = numbers[~((numbers >= least) & (numbers <= most))]
    if outside.size:
        refuse(f'{name} holds {outside[0]:g}, which is not within {least:g} to {most:g}')


def check_shapes(part: object, shapes: Mapping[str, tuple[int, ...]], where: str = '') -> None:
    """Refuse the first of the named arrays of a part of a model that has another shape."""
    for name, shape in shapes.items():
        found = getattr(part, name).shape
        if found != shape:
            refuse(f'{where}{name} has the shape {found} instead of {shape}')


def check_covariances(name: str, matrices: Floats) -> None:
    """Refuse (..., 2, 2) matrices that are not symmetric and positive but for rounding."""
    matrices = matrices.reshape(-1, 2, 2)
    rounding = 1e-9 * np.abs(matrices).max(axis=(1, 2))
    skewness = np.abs(matrices[:, 0, 1] - matrices[:, 1, 0])
    smallest = np.linalg.eigvalsh(matrices).min(axis=1)
    if not ((skewness <= rounding).all() and (smallest >= -rounding).all()):
        refuse(f'{name} are no covariances')


def check_invertible(name: str, matrix: Floats) -> None:
    """Refuse a matrix (n, n) that is singular, or whose inverse is out of bounds."""
    try:
        # The inverse of what is singular but for rounding may be infinite, or not a number.
        inverts = bool((np.abs(np.linalg.inv(matrix)) <= BOUNDS.number).all())
    except np.linalg.LinAlgError:
        inverts = False
    if not inverts:
        refuse(f'{name} is singular: it has no inverse')


@dataclass(frozen=True, kw_only=True)
class ModelHead(ABC):
    """
    The part of a model that nodes, outputs and scores need.

    Parameters
    ----------
    rate_hz, period_ns, max_gap_ns, window
        Ticks per second, length of a tick, longest step that is no gap, and ticks in a window.
    horizons
        Ticks ahead at which positions are read out, 0 first.
    imu_topic, imu_frame_id, position_topic, frame_id
        Topics and frames of the training; positions are in ``frame_id``.
    origin
        Origin of the tangent plane if the positions were geodetic.
    channels
        Names, scaling and range of the values in a sample.
    track : (T, 2), mean_position : (2,)
        Positions of the training in order, metres, also those that the read-out ``mkdr``
        estimated; NaN rows between segments. A route keeps some laps of them. And their mean.
    summary
        How the model was trained and what it reached, JSON values only.

    """

    rate_hz: float
    period_ns: int
    max_gap_ns: int
    window: int
    horizons: tuple[int, ...]
    imu_topic: str
    imu_frame_id: str
    position_topic: str
    frame_id: str
    origin: GeodeticOrigin | None
    channels: Channels
    track: Floats
    mean_position: Floats
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    @abstractmethod
    def states(self) -> int:
        """Dimension of the state, k."""

    @property
    def further_names(self) -> tuple[str, ...]:
        """Names of the channels of further sensors (m,), behind those of a sample."""
        return ()

    @property
    def further_means(self) -> Floats:
        """Means of the channels of further sensors (m,) in the training."""
        return np.zeros(0)

    @property
    def routes(self) -> dict[str, ModelHead]:
        """The model of each known route by name; a model of one route is that without a name."""
        return {'': self}

    @property
    def route_names(self) -> tuple[str, ...]:
        """Names of all routes and lines that are known, in the order of their chances."""
        return ()

    @property
    def window_ns(self) -> int:
        """Length of the longest window of its routes, ns."""
        return max(each.window * each.period_ns for each in self.routes.values())

    @property
    def live_channels(self) -> tuple[str, ...]:
        """Names of the channels used."""
        return self.channels.live_names

    def validate(self) -> None:
        """Check clock, horizons and channels; an ``UnfitError`` names the first that is wrong."""
        channels, count = self.channels, len(self.channels.names)
        check_range('rate_hz', self.rate_hz, BOUNDS.least)
        check_range('period_ns', self.period_ns, 1, BOUNDS.tick_ns)
        check_range('max_gap_ns', self.max_gap_ns, 1)
        check_range('window', self.window, 1)
        if self.period_ns != round(1e9 / self.rate_hz):
            refuse('its rate and the length of its tick disagree')
        if self.horizons[:1] != (0,) or list(self.horizons) != sorted(set(self.horizons)):
            refuse('its horizons do not start with 0 and increase')
        if self.horizons[-1] * self.period_ns > BOUNDS.horizon_ns:
            refuse('its last horizon is more than a day ahead')
        check_size('max_gap_ns', self.max_gap_ns // self.period_ns + 2, count)
        check_size('window', 2 * self.window, count)
        check_shapes(self, {'mean_position': (2,), 'track': (len(self.track), 2)})
        names = ('mean', 'scale', 'limit', 'live')
        check_shapes(channels, dict.fromkeys(names, (count,)), 'channels.')
        check_range('channels.scale', channels.scale[channels.live], BOUNDS.least)


@dataclass(frozen=True, kw_only=True)
class TrainedModel(ModelHead):
    """
    A model that was trained on recordings, with windows of them to compare the input with.

    Parameters
    ----------
    kernel
        Name of the manifold learner.
    series : (d, N), starts : (n,)
        Standardised observations of the training, or of some stretches of it, and the first tick
        of each window in them.

    """

    kernel: str
    series: Floats
    starts: Ints

    @property
    def live(self) -> int:
        """Number of live channels, d."""
        return int(np.count_nonzero(self.channels.live))

    def validate(self) -> None:
        """Check also that there are windows of training, and that they lie in the series."""
        super().validate()
        ticks = self.series.shape[-1]
        check_shapes(self, {'series': (self.live, ticks), 'starts': (self.starts.size,)})
        check_size('window', self.series.size, self.window, most=BOUNDS.work)
        if not self.starts.size:
            refuse('it has no windows')
        check_range('starts', self.starts, 0, ticks - self.window)
