# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A node with a lifecycle that answers while it is configured."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress
from ctypes import CDLL
from threading import Thread
import traceback
from typing import Any, TYPE_CHECKING

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy._rclpy_pybind11 import RCLError
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn

from two_manifold_ros.errors import in_words, InputError
from two_manifold_ros.nodes.callbacks import GuardedNode

if TYPE_CHECKING:
    from collections.abc import Callable


SHUTDOWNS = {
    Transition.TRANSITION_UNCONFIGURED_SHUTDOWN,
    Transition.TRANSITION_INACTIVE_SHUTDOWN,
    Transition.TRANSITION_ACTIVE_SHUTDOWN,
}
LOOK_S = 0.02
"""How often to look whether a thread has ended: a transition ends half of it late."""


class BackgroundNode(GuardedNode, LifecycleNode):
    """
    A node with a lifecycle whose transition *configure* works in a thread.

    Within the callback of rclpy a node neither answers nor publishes. Here the callback starts the
    transition, another one ends it and answers; between them only a shutdown is not refused.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._work: Thread | None = None
        self._made: Any = None
        self._error: BaseException | None = None
        self._activates = False
        self._owed: ChangeState.Response | None = None
        self._send_owed: Callable[[], object] = lambda: None
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._looking = self.create_timer(LOOK_S, self.guard(self._look), clock=steady)
        self._looking.cancel()
        for service in self.services:
            if service.srv_type is ChangeState:
                self._take_over(service)

    @abstractmethod
    def prepare(self) -> Callable[[], Any]:
        """Return what works in a thread, without the node; an `InputError` fails it."""

    @abstractmethod
    def complete(self, made: Any) -> None:  # noqa: ANN401 - whatever a node makes
        """Use the result of the thread, between two callbacks."""

    @abstractmethod
    def give_up(self, reason: str) -> None:
        """Take note that the node could not be configured."""

    @property
    def is_configuring(self) -> bool:
        """True while the transition *configure* goes on."""
        return self._work is not None

    def configure(self, *, activate: bool = False) -> None:
        """Start the transition *configure*, and activate the node afterwards if asked to."""
        self._state_machine.trigger_transition_by_id(Transition.TRANSITION_CONFIGURE, True)
        self._activates = activate
        try:
            make = self.prepare()
        except InputError as error:
            self._end(None, error)
        else:
            # A daemon, so that a signal ends the node while it loads.
            work = Thread(target=lambda: self._run(work, make), daemon=True, name='configuring')
            self._work, self._made, self._error = work, None, None
            work.start()
            self._looking.reset()

    def _run(self, work: Thread, make: Callable[[], Any]) -> None:
        """Do the slow work; of a transition that was given up nothing is kept."""
        made, caught = None, None
        try:
            made = make()
        # The error is reported nowhere else.
        except BaseException as error:  # noqa: BLE001 - reported where the transition ends
            caught = error
        if self._work is work:
            self._made, self._error = made, caught
        # What loading took beside what it made: some megabytes, and a node runs for days.
        with suppress(AttributeError):  # of another C library than that of GNU
            CDLL(None).malloc_trim(0)

    def _look(self) -> None:
        if self._work is not None and not self._work.is_alive():
            made, self._made = self._made, None
            self._end(made, self._error)

    def _end(self, made: Any, error: BaseException | None) -> None:  # noqa: ANN401 - as above
        """End the transition with what was made, or with why it could not be."""
        if error is None:
            try:
                self.complete(made)
            # Otherwise the error is lost and the transition never ends.
            except Exception as raised:  # noqa: BLE001 - reported below
                error = raised
        if error is None:
            self._leave(TransitionCallbackReturn.SUCCESS)
            if self._activates:
                self.trigger_activate()
            return
        error = in_words(error)
        if not isinstance(error, InputError):
            self.get_logger().error(''.join(traceback.format_exception(error)))
            error = InputError(
                f'{type(error).__name__} while configuring, please report it: {error}'
            )
        self.give_up(str(error))
        self._leave(TransitionCallbackReturn.FAILURE)

    def _leave(self, outcome: TransitionCallbackReturn) -> None:
        """Leave the state *configuring*, and answer the request."""
        self._looking.cancel()
        self._work = None
        self._state_machine.trigger_transition_by_label(outcome.to_label(), True)
        if self._owed is not None:
            self._owed.success = outcome is TransitionCallbackReturn.SUCCESS
            self._owed = None
            self._send_owed()

    def _take_over(self, service: Any) -> None:  # noqa: ANN401 - its methods are replaced
        """Answer requests for transitions, some of them later."""
        change, send = service.callback, service.send_response

        def answer(request: ChangeState.Request, response: ChangeState.Response) -> object:
            try:
                return self._change(request, response, change)
            # A lifecycle manager that is late asks for it; rclpy would end the node of it.
            except RCLError:
                asked = request.transition.label or f'number {request.transition.id}'
                self.get_logger().warning(
                    f'The transition {asked} was asked for, but this state does not allow it'
                )
                response.success = False
                return response

        def send_now_or_later(response: ChangeState.Response, header: object) -> None:
            if response is self._owed:
                self._send_owed = lambda: send(response, header)
            else:
                send(response, header)

        service.callback, service.send_response = answer, send_now_or_later

    def _change(
        self,
        request: ChangeState.Request,
        response: ChangeState.Response,
        change: Callable[[Any, Any], object],
    ) -> object:
        wanted = request.transition
        if self._work is not None and (wanted.label == 'shutdown' or wanted.id in SHUTDOWNS):
            self._leave(TransitionCallbackReturn.FAILURE)
            wanted.id, wanted.label = Transition.TRANSITION_UNCONFIGURED_SHUTDOWN, ''
        label = wanted.label
        number = self._state_machine.get_transition_by_label(label) if label else wanted.id
        if number != Transition.TRANSITION_CONFIGURE:
            return change(request, response)
        self.configure()
        if self._work is not None:
            self._owed = response
        return response
