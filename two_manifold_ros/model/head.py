# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Head of a model: the fields that every filter needs, and the checks that all models share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
import math
from types import MappingProxyType
from typing import Any, TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.errors import refuse
from two_manifold_ros.names import NO_ROUTE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.network.network import Network
    from two_manifold_ros.recordings.recording import GeodeticOrigin
    from two_manifold_ros.route.sensors import Sensor
    from two_manifold_ros.ticks.segments import Channels
    from two_manifold_ros.typing import Floats, Ints


@dataclass(frozen=True)
class Limits:
    """
    Bounds of the numbers that a filter accepts; a trained model comes nowhere near.

    Squares of ``number`` and of its inverse are finite; ``buffer`` is of an array that the filter
    allocates; ``work`` products compare a window with all of the training in some seconds, and
    ``step`` products are summed in a tick in about a second; ``text`` counts characters.
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


Rules: TypeAlias = 'Mapping[str, tuple[Any, ...]]'
"""Of fields, whose names stand in one text: their axes, the least number and the largest one."""


def check_fields(
    part: object, rules: Rules, sizes: Mapping[str, int] = MappingProxyType({}), where: str = ''
) -> None:
    """Refuse the first field that breaks a rule: its axes are letters of the sizes, or digits."""
    for names, (axes, *limits) in rules.items():
        shape = tuple(int(each) if each.isdigit() else sizes[each] for each in axes)
        for name in names.split():
            value = getattr(part, name)
            if np.shape(value) != shape:
                refuse(f'{where}{name} has the shape {np.shape(value)} instead of {shape}')
            if limits:
                check_range(f'{where}{name}', value, *limits)


def check_channels(channels: Channels, where: str = 'channels.') -> None:
    """Refuse channels of which one has no name, or no scale."""
    check_fields(channels, {'mean scale limit live': ('c',)}, {'c': len(channels.names)}, where)
    check_range(f'{where}scale', channels.scale[channels.live], BOUNDS.least)


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

    It ticks ``rate_hz`` times a second; a step above ``max_gap_ns`` is a gap, a ``window`` has so
    many ticks, and ``horizons`` are ticks ahead, 0 first. Positions are in ``frame_id``, about an
    ``origin`` if they were geodetic. ``channels`` name, scale and bound the values of a sample.
    ``track`` (T, 2) holds positions of the training in order, metres, also those that the read-out
    ``mkdr`` estimated, with NaN rows between segments; a route keeps some laps of them. The
    ``summary`` says how the model was trained and what it reached, in JSON values.
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
    def sensors(self) -> tuple[Sensor, ...]:
        """Further sensors, in the order of their channels behind a sample."""
        return ()

    @property
    def further_names(self) -> tuple[str, ...]:
        """Names of the channels of further sensors (m,)."""
        return tuple(name for sensor in self.sensors for name in sensor.names)

    @property
    def routes(self) -> dict[str, ModelHead]:
        """The model of each known route by name; a model of one route is that without a name."""
        return {'': self}

    @property
    def route_names(self) -> tuple[str, ...]:
        """Names of all routes and lines that are known, in the order of their chances."""
        return ()

    @property
    def network(self) -> Network | None:
        """The turns and speeds of a map that is followed as a network."""
        return None

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
        count = len(self.channels.names)
        rules: Rules = {
            'rate_hz': ('', BOUNDS.least),
            'period_ns': ('', 1, BOUNDS.tick_ns),
            'max_gap_ns window': ('', 1),
        }
        check_fields(self, rules)
        if self.period_ns != round(1e9 / self.rate_hz):
            refuse('its rate and the length of its tick disagree')
        if self.horizons[:1] != (0,) or list(self.horizons) != sorted(set(self.horizons)):
            refuse('its horizons do not start with 0 and increase')
        if self.horizons[-1] * self.period_ns > BOUNDS.horizon_ns:
            refuse('its last horizon is more than a day ahead')
        check_size('max_gap_ns', self.max_gap_ns // self.period_ns + 2, count)
        check_size('window', 2 * self.window, count)
        check_fields(self, {'mean_position': ('2',), 'track': ('t2',)}, {'t': len(self.track)})
        check_channels(self.channels)


@dataclass(frozen=True, kw_only=True)
class TrainedModel(ModelHead):
    """
    A model with windows of the training to compare the input with.

    ``kernel`` names the manifold learner, ``series`` (d, N) holds standardised observations of the
    training, or of some stretches of it, and ``starts`` (n,) the first tick of each window in
    them.
    """

    kernel: str
    series: Floats
    starts: Ints

    @property
    def live(self) -> int:
        """Number of live channels, d."""
        return int(np.count_nonzero(self.channels.live))

    @property
    @abstractmethod
    def stillness(self) -> tuple[Ints, int]:
        """Most ticks in a row in which no live channel changed: each (d,), and all."""

    def validate(self) -> None:
        """Check also that there are windows of training, and that they lie in the series."""
        super().validate()
        ticks = self.series.shape[-1]
        sizes = {'d': self.live, 't': ticks, 'n': self.starts.size}
        check_fields(self, {'series': ('dt',), 'starts': ('n',)}, sizes)
        check_size('window', self.series.size, self.window, most=BOUNDS.work)
        if not self.starts.size:
            refuse('it has no windows')
        check_range('starts', self.starts, 0, ticks - self.window)
