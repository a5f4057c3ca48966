# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a page knows of vehicles: estimates along the time and truth; filled by other threads."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
import math
from operator import attrgetter
from threading import Lock
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.status import Status, USABLE
from two_manifold_ros.filtering.tracker import half_axis
from two_manifold_ros.interface.assessment import CODES
from two_manifold_ros.pages.drawing import SILENT_S
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.interface.messages import Scene as Frames

_MOST_LIVE = 30_000
"""Moments that are kept of a live vehicle: ten minutes at 50 Hz, some 30 MB; a page shows five."""
_WORDS: dict[float | None, str] = {code: status.value for status, code in CODES.items()}
_USABLE_WORDS = frozenset(status.value for status in USABLE)


class Moment(NamedTuple):
    """What is known of a vehicle at one time of the page: NaN and ``None`` where it is nothing."""

    seconds: float
    status: str
    why: str  # cause and cure
    position: Floats | None = None  # (2,), metres
    covariance: Floats | None = None  # (2, 2)
    path: Callable[[], Floats] | None = None  # (n, 3): x, y and seconds ahead, the present first
    ellipse_m: float = math.nan  # half the long axis of the 95 % ellipse
    error_m: float = math.nan  # distance to the true position
    numbers: Mapping[str, float] = {}
    route: str = ''  # empty where one alone is known

    @property
    def usable(self) -> bool:
        """True if the filter publishes its estimate."""
        return self.status in _USABLE_WORDS

    @property
    def sentence(self) -> str:
        """Cause and cure, without the state that leads the sentence."""
        words = self.why.removeprefix(self.status).lstrip(': ')
        return words[:1].upper() + words[1:]


class Stretch(NamedTuple):
    """A time in which a vehicle was in one state."""

    start: float
    end: float
    status: str
    why: str


def moment_of(
    estimate: Estimate, frames: Frames, origin_ns: int, error_m: float, took_s: float
) -> Moment:
    """Return the moment of an estimate, which may be one that a node would not publish."""
    known, own = math.isfinite(estimate.ellipse_m), frames.of(estimate)
    # Of an hour a few thousand are looked at; and an estimate holds more than its path takes.
    positions, name = estimate.path, estimate.path_name

    def path() -> Floats:
        ahead = own.along(positions, name)
        return np.column_stack([ahead.positions, ahead.ticks * own.model.period_ns * 1e-9])

    return Moment(
        seconds=(estimate.stamp_ns - origin_ns) * 1e-9,
        status=estimate.status.value,
        why=estimate.why,
        position=estimate.positions[0] if known else None,
        covariance=estimate.covariances[0] if known else None,
        path=path if known else None,
        ellipse_m=estimate.ellipse_m,
        error_m=error_m,
        numbers={
            'novelty': estimate.novelty,
            'off_route': estimate.off_route,
            'route_chance': estimate.chances.get(estimate.name, math.nan),
            'tick_us': 1e6 * took_s,
        },
        route=estimate.name,
    )


class Vehicle:
    """What is known of one vehicle; any thread may add or look, and live, old is dropped."""

    def __init__(self, name: str, *, live: bool = False) -> None:
        self.name = name
        # Runs (n, 2) of the training; times (M,) and true positions (M, 2).
        self.routes: list[Floats] = []
        self.truth: tuple[Floats, Floats] = np.zeros(0), np.zeros((0, 2))
        # When its node was last heard, and how many messages no page can draw.
        self.heard_s = -math.inf
        self.passed_over = 0
        self._live = live
        self._lock = Lock()
        self._moments: list[Moment] = []
        self._stretches: list[Stretch] = []

    def add(self, moments: Iterable[Moment]) -> None:
        """Add moments in the order of their times; one that is older than the last is left out."""
        with self._lock:
            for moment in moments:
                if self._moments and moment.seconds < self._moments[-1].seconds:
                    continue
                self._moments.append(moment)
                last, now = self._stretches[-1] if self._stretches else None, moment.seconds
                # A node says something each second.
                going_on = False
                if last is not None and now - last.end < SILENT_S:
                    self._stretches[-1] = last._replace(end=now)
                    going_on = last.status == moment.status
                if not going_on:
                    self._stretches.append(Stretch(now, now, moment.status, moment.sentence))
            if self._live and len(self._moments) > 2 * _MOST_LIVE:
                del self._moments[:_MOST_LIVE]
                oldest = self._moments[0].seconds
                self._stretches = [each for each in self._stretches if each.end >= oldest]

    def _between(self, start: float, end: float) -> tuple[int, int]:
        """Return the first moment of a time, and the one after its last."""
        first = bisect_left(self._moments, start, key=attrgetter('seconds'))
        return first, bisect_right(self._moments, end, key=attrgetter('seconds'))

    def at(self, seconds: float) -> Moment | None:
        """Return the newest moment that is not later."""
        with self._lock:
            index = self._between(seconds, seconds)[1]
            return self._moments[index - 1] if index else None

    @property
    def count(self) -> int:
        """Number of moments."""
        return len(self._moments)

    def trail(self, start: float, end: float) -> Floats:
        """Return the positions (n, 2) that were published in a time, a hundred or so at most."""
        with self._lock:
            first, last = self._between(start, end)
            some = self._moments[first : last : max(1, (last - first) // 100)]
        places = [each.position for each in some if each.position is not None and each.usable]
        return np.array(places).reshape(-1, 2)

    def true_places(self, start: float, end: float) -> Floats:
        """Return the true positions (n, 2) of a time."""
        seconds, places = self.truth
        first, last = np.searchsorted(seconds, [start, end]).tolist()
        return places[first:last]

    def curves(self, start: float = -math.inf) -> tuple[Floats, Floats, Floats]:
        """Return times, half axes of the ellipse and errors, all (n,), from a time on."""
        with self._lock:
            some = self._moments[self._between(start, start)[0] :]
        rows = [(each.seconds, each.ellipse_m, each.error_m) for each in some]
        seconds, ellipses, errors = np.array(rows, dtype=np.float64).reshape(-1, 3).T
        return seconds, ellipses, errors

    def stretches(self, start: float = -math.inf) -> list[Stretch]:
        """Return the states since a time."""
        with self._lock:
            return [each for each in self._stretches if each.end >= start]

    def set_path(self, path: Floats) -> None:
        """Set the path ahead of the newest moment, if its position is known."""
        with self._lock:
            if self._moments and self._moments[-1].position is not None:
                self._moments[-1] = self._moments[-1]._replace(path=lambda: path)


class Ear:
    """What is heard of one filter node, which becomes moments of its vehicle."""

    def __init__(self, vehicle: Vehicle) -> None:
        self._vehicle = vehicle
        self._known = Moment(math.nan, Status.WAITING.value, '')

    def __call__(self, kind: str, message: Any, seconds: float) -> None:  # noqa: ANN401
        """Take a message on a topic in `Topics`, of diagnostics one status; count what is none."""
        self._vehicle.heard_s = seconds
        # Whoever is in the domain may send anything, and none of it may end the page.
        try:
            getattr(self, f'_hear_{kind}')(message, seconds)
        except Exception:  # noqa: BLE001 - counted and shown
            self._vehicle.passed_over += 1

    def _hear_diagnostics(self, status: Any, seconds: float) -> None:  # noqa: ANN401
        values = {each.key: each.value for each in status.values}
        if {'status', 'cause'} <= values.keys():
            numbers = dict(self._known.numbers)
            for name, text in values.items():
                with suppress(ValueError):
                    numbers[name] = float(text)
            self._known = self._known._replace(
                status=values['status'], why=status.message, numbers=numbers,
                route=values.get('route', ''),
            )  # fmt: skip
            self._add_bare(seconds)

    def _hear_status(self, message: Any, seconds: float) -> None:  # noqa: ANN401
        names = message.layout.dim[0].label.split(',') if message.layout.dim else []
        if 'status' not in names:
            return
        numbers = dict(zip(names, map(float, message.data), strict=False))
        status = _WORDS.get(numbers.get('status'), self._known.status)
        # The sentence of a new state comes with the next diagnostics.
        why = self._known.why if status == self._known.status else ''
        numbers = {**self._known.numbers, **numbers}
        self._known = self._known._replace(status=status, why=why, numbers=numbers)
        self._add_bare(seconds)

    def _add_bare(self, seconds: float) -> None:
        """Add a moment without a position, where none was heard for a while."""
        # At the 2 Hz of the slowest ticks there is a position each half a second.
        last = self._vehicle.at(math.inf)
        if not self._known.usable or last is None or seconds - last.seconds > 0.5:
            self._vehicle.add([self._known._replace(seconds=seconds)])

    def _hear_position(self, message: Any, seconds: float) -> None:  # noqa: ANN401
        place = message.pose.pose.position
        covariance = _drawable(np.array(message.pose.covariance).reshape(6, 6)[:2, :2])
        moment = self._known._replace(
            seconds=seconds,
            position=_drawable([[place.x, place.y]])[0],
            covariance=covariance,
            ellipse_m=half_axis(covariance),
        )
        if not moment.usable:
            # What is published is usable: the word that says so may still be on its way.
            moment = moment._replace(status=Status.TRACKING.value, why='')
        self._vehicle.add([moment])

    def _hear_predicted_path(self, message: Any, _: float) -> None:  # noqa: ANN401
        stamps = [each.header.stamp for each in (message, *message.poses)]
        # The two libraries that decode messages have names of their own.
        begin_ns, *ahead_ns = (int(each.sec) * 10**9 + int(each.nanosec) for each in stamps)
        ahead_s = 1e-9 * (np.array(ahead_ns) - begin_ns)
        if not (np.diff(ahead_s, prepend=-1e-9) > 0.0).all():
            raise ValueError('a path whose poses do not follow each other in time')
        places = [each.pose.position for each in message.poses]
        spots = _drawable([(place.x, place.y) for place in places])
        self._vehicle.set_path(np.column_stack([spots, ahead_s]))

    def _hear_markers(self, message: Any, _: float) -> None:  # noqa: ANN401
        lines = [each.points for each in message.markers if each.ns == 'track']
        if lines:
            self._vehicle.routes = [
                _drawable([(at.x, at.y) for at in at_all]) for at_all in lines if at_all
            ]


def _drawable(places: Any) -> Floats:  # noqa: ANN401 - anything of a message
    """Return places (n, 2); a ``ValueError`` says that one cannot be drawn."""
    found: Floats = np.array(places, dtype=np.float64).reshape(-1, 2)
    # The sun is a seventh of that from the earth.
    if not (np.abs(found) < 1e12).all():
        raise ValueError('a place that is not finite')
    return found


@dataclass
class Scene:
    """All vehicles that a page can show, and the pages that are open."""

    title: str
    note: str = ''  # what goes on, such as the progress of a filter
    duration_s: float | None = 0.0  # 0 while a bag is read; None is live
    clock: Callable[[], float] = lambda: 0.0  # seconds, live
    routes: list[Floats] = field(default_factory=list)
    vehicles: dict[str, Vehicle] = field(default_factory=dict)
    ears: dict[str, Ear] = field(default_factory=dict)
    pages: set[object] = field(default_factory=set)

    def vehicle(self, name: str) -> Vehicle:
        """Return the vehicle of a name, which is made where it is new."""
        if name not in self.vehicles:
            made = Vehicle(name, live=self.duration_s is None)
            made.routes = self.routes
            self.ears[name] = Ear(made)
            self.vehicles[name] = made
        return self.vehicles[name]

    def hear(self, name: str, kind: str, message: Any) -> None:  # noqa: ANN401 - of any type
        """Take a message of a filter node, as an `Ear` does."""
        self.vehicle(name)
        self.ears[name](kind, message, self.clock())
