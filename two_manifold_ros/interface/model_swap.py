# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Exchange the model of a running filter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.atlas import make_filter
from two_manifold_ros.filtering.successor import Successor
from two_manifold_ros.interface.assessment import rejections
from two_manifold_ros.interface.session import Session
from two_manifold_ros.laps.timing import LapTimer
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.model.vehicle import check_vehicle, load_vehicle
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.recordings.decoding import SensorTopic

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.filtering.filter import Filter
    from two_manifold_ros.interface.parameters import FilterParameters
    from two_manifold_ros.model.model import ModelHead


def file_version(path: str) -> tuple[int, ...]:
    """Return which file a path is, and with which content; nothing if it cannot be read."""
    try:
        found = Path(path).stat()
    # A path with a null byte is a ValueError.
    except (OSError, ValueError):
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def sensor_topics(model: ModelHead, chosen: FilterParameters) -> tuple[SensorTopic, ...]:
    """Return the topics of the sensors that a model takes, see `SensorTopic.of_model`."""
    given = [each for each in chosen.sensor_topics if each]
    return SensorTopic.of_model(given, SensorTopic.of_names(model.further_names), 'sensor_topics')


def check_input(model: ModelHead, path: str) -> None:
    """Raise `InputError` if a model takes no IMU."""
    if not model.channels.of_imu:
        msg = (
            f'{path}: the model takes {model.channels.names[0]} and similar channels, but this '
            f'node subscribes to an IMU; name a model that was trained on one'
        )
        raise InputError(msg)


def check_successor(model: ModelHead, present: ModelHead, path: str) -> None:
    """
    Raise `InputError` if the numbers of a model from ``path`` mean something else than present.

    Rate, window, horizons, states and method may be others: messages name them. They name frames
    too, but subscribers have chosen theirs once. Of an atlas one route has to fit.
    """
    check_input(model, path)
    troubles = [
        _trouble_of(each, other)
        for each in model.routes.values()
        for other in present.routes.values()
    ]
    if '' not in troubles:
        msg = f'{path}: {troubles[0]}; configure the node with it instead'
        raise InputError(msg)


def _trouble_of(model: ModelHead, present: ModelHead) -> str:
    """Return what would mean something else after a swap; empty if nothing."""
    for what, wanted, current in (
        ('its positions are', model.frame_id, present.frame_id),
        ('its IMU was', model.imu_frame_id, present.imu_frame_id),
    ):
        if wanted and current and wanted != current:
            return f'{what} in the frame {wanted!r}, but the model in use has {current!r}'
    if (model.frame_id == LAP_FRAME) != (present.frame_id == LAP_FRAME):
        return 'only one of it and the model in use knows positions, the other laps alone'
    if model.further_names != present.further_names:
        return 'it takes other sensors than the model in use'
    if model.origin != present.origin:
        return 'its positions have another geodetic origin than those that are published'
    return ''


def load_session(chosen: FilterParameters, clock_ns: Callable[[], int] | None = None) -> ModelSwap:
    """
    Load the model that parameters name, compile its filter, and return it in exchangeable form.

    ``clock_ns`` stamps messages on arrival, see `Session`.
    """
    version = file_version(chosen.model)
    model = load_model(chosen.model)
    check_input(model, chosen.model)

    def make(model: ModelHead) -> Filter:
        ellipse_m = chosen.ellipse_warn_m, chosen.ellipse_error_m
        reorder_ns = round(1e9 * chosen.reorder_s)
        live = make_filter(model, chosen.particles_rate_hz, ellipse_m, reorder_ns)
        if chosen.vehicle:
            check_vehicle(model)
            live.correction = load_vehicle(chosen.vehicle)
        circuits = [each.circuit for each in model.routes.values() if each.circuit is not None]
        for circuit in circuits[:1]:
            LapTimer(circuit).warm_up()
        return live

    return ModelSwap(Session(model, clock_ns, make), chosen.model, version, make)


PATIENCE = 2
"""Windows that a new model has: one in which it may fill, one in which to find its way."""


class ModelSwap:
    """
    Exchange the model of a session, of the file ``path``, between two messages.

    The other model is loaded, compiled and fed with the newest samples in a thread. It takes over
    once it tracks, or at once where the one in use does not. If the one in use goes on tracking
    for `PATIENCE` windows of the other, and that still does not, it is refused. ``version`` is of
    before the file was read, ``make`` makes the filter of a model, ``swaps`` counts the exchanges,
    ``trouble`` is why the last attempt failed.
    """

    def __init__(
        self,
        session: Session,
        path: str,
        version: tuple[int, ...],
        make: Callable[[ModelHead], Filter],
    ) -> None:
        self.session, self.path = session, path
        self._make = make
        self._wanted = ''
        self._version = self._wanted_version = version
        # Ticks of the model in use when the other one was prepared.
        self._begun: int | None = None
        self.swaps = 0
        self.trouble = ''

    @property
    def state(self) -> str:
        """State of the swap, as one word for the diagnostics."""
        successor = self.session.successor
        if successor is None:
            return 'failed' if self.trouble else 'none'
        return 'waiting' if successor.prepared else 'loading'

    def start(self, path: str) -> str:
        """Start to exchange the model for that of a file; return why not, or an empty string."""
        if self.session.successor is not None:
            return f'{self._wanted}: swap in progress; retry when it has finished.'
        if not path:
            return 'No next model is given: set the parameter next_model to the path of one.'
        version = file_version(path)
        if version and version == self._version:
            return (
                f'{path}: this model runs already, unchanged since it was read: set the parameter '
                'next_model to another.'
            )
        present = self.session.model

        def make() -> Filter:
            model = load_model(path)
            check_successor(model, present, path)
            live = self._make(model)
            live.warm_up()
            return live

        self._wanted, self._wanted_version = path, version
        self.trouble, self._begun = '', None
        self.session.successor = Successor(make, self.session.newest_samples())
        return ''

    def advance(self, *, idle: bool = False) -> str:
        """
        Complete a prepared swap, between messages; return what to log, if anything.

        ``idle`` is whether no messages are used at present, so that there is nothing to wait for.
        """
        new, live = self.session.successor, self.session.filter
        if new is None or not new.prepared:
            return ''
        # A sample may have come in the moment in which the thread ended.
        new.catch_up()
        why = new.failure
        if not why:
            if idle or new.tracks or not self.session.tracks:
                before, self.path, self._version = self.path, self._wanted, self._wanted_version
                self.session.hand_over()
                self.swaps += 1
                return f'Model {self.path} runs in place of {before}'
            ticks = live.counters['ticks']
            self._begun = ticks if self._begun is None else self._begun
            waited_ns = (ticks - self._begun) * live.running.period_ns
            if waited_ns <= PATIENCE * new.filter.model.window_ns:
                return ''
            state, rejected = new.filter.said.why, rejections(new.filter.counters)
            if new.latest is None and rejected:
                counts = ', '.join(f'{cause} ({count})' for cause, count in rejected.items())
                state = f'samples rejected: {counts}'
            why = (
                f'{self._wanted}: the model is rejected, because while the one in use is tracking '
                f'its state is: {state}'
            )
        self.session.successor, self.trouble = None, why
        return f'{why}\n{new.details}' if new.details else why
