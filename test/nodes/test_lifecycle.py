# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A filter node answers while it is configured, as a process over DDS."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from lifecycle_msgs.msg import TransitionEvent
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from ros_talk import Health, NodeProcess
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from two_manifold_ros.interface.status import OUTSIDE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rclpy.task import Future
    from ros_talk import Talk

CONFIGURE, CLEANUP, ACTIVATE, SHUTDOWN = 1, 2, 3, 5

PROGRAM = """
import sys
from pathlib import Path

from two_manifold_ros.threads import one_blas_thread
one_blas_thread()
from two_manifold_ros.model import model_file

load = model_file.load_model

def load_slowly(path):
    # Busy, as a compiler is, until the test lets it go on.
    while not Path({gate!r}).exists():
        pass
    return load(path)

model_file.load_model = load_slowly
if not {with_events}:
    # As in Humble.
    sys.modules['rclpy.experimental.events_executor'] = None
from two_manifold_ros.nodes.__main__ import main
sys.exit(main())
"""


class SlowNode(NodeProcess):
    """A managed filter node that loads its model until it is let go on."""

    def __init__(self, talk: Talk, model: Path, folder: Path, *, with_events: bool) -> None:
        self._gate = folder / 'gate'
        self.program = '-c', PROGRAM.format(gate=str(self._gate), with_events=with_events)
        self._talk = talk
        super().__init__('filter_node', model=model, managed='true')

    def let_go_on(self) -> None:
        self._gate.touch()

    def ask(self, number: int = 0, label: str = '') -> Future:
        """Ask for a transition, and return what will be its answer."""
        client = self._talk.node.create_client(ChangeState, 'filter_node/change_state')
        self._talk.until(client.service_is_ready, 'the service')
        request = ChangeState.Request()
        request.transition.id, request.transition.label = number, label
        return client.call_async(request)

    def change(self, number: int = 0, label: str = '') -> bool:
        answer = self.ask(number, label)
        self._talk.until(answer.done, f'the answer to {number} {label}')
        return bool(answer.result().success)

    @property
    def state(self) -> str:
        return str(self._talk.call(GetState, 'filter_node/get_state').current_state.label)


@pytest.fixture
def node(
    request: pytest.FixtureRequest, talk: Talk, model_path: Path, tmp_path: Path
) -> Iterator[SlowNode]:
    with_events = getattr(request, 'param', True)
    slow = SlowNode(talk, model_path, tmp_path, with_events=with_events)
    yield slow
    slow.stop()


@pytest.mark.parametrize('node', [True, False], ids=['events', 'single-threaded'], indirect=True)
def test_it_answers_while_it_loads(talk: Talk, node: SlowNode) -> None:
    health = Health(talk)
    numbers = talk.listen(Float64MultiArray, 'status')
    events: list[Any] = []
    talk.node.create_subscription(
        TransitionEvent, 'filter_node/transition_event', events.append, 10
    )
    talk.until(lambda: talk.node.count_publishers('filter_node/transition_event'), 'events')
    configured = node.ask(CONFIGURE)
    health.until_value('cause', 'configuring')
    assert health.level == 1
    numbers.clear()
    for _ in range(3):
        assert node.state == 'configuring'
    talk.until(lambda: len(numbers) > 3, 'status')
    assert {message.data[2] for message in numbers} == {OUTSIDE}
    # Nothing else may start, nor change what it is configured with.
    assert not any(map(node.change, (CONFIGURE, ACTIVATE, CLEANUP, 99)))
    assert not talk.call(Trigger, 'filter_node/reset').success
    assert not talk.call(Trigger, 'filter_node/swap_model').success
    changed = [Parameter('model', value='other.npz').to_parameter_msg()]
    answer = talk.call(SetParameters, 'filter_node/set_parameters', parameters=changed)
    assert not answer.results[0].successful
    assert not configured.done()
    node.let_go_on()
    talk.until(configured.done, 'the end of the transition')
    assert configured.result().success
    assert node.state == 'inactive'
    assert node.change(ACTIVATE)
    talk.until(lambda: len(events) >= 4, 'the events of both transitions')
    ways = [(each.start_state.label, each.goal_state.label) for each in events]
    assert ways == [
        ('unconfigured', 'configuring'),
        ('configuring', 'inactive'),
        ('inactive', 'activating'),
        ('activating', 'active'),
    ]
    assert node.stop() == 0


@pytest.mark.parametrize('asked', [{'number': SHUTDOWN}, {'label': 'shutdown'}], ids=str)
def test_a_shutdown_does_not_wait_for_it(
    talk: Talk, node: SlowNode, asked: dict[str, Any]
) -> None:
    configured = node.ask(label='configure')
    talk.until(lambda: node.state == 'configuring', 'the transition')
    assert node.change(**asked)
    talk.until(configured.done, 'the answer to who configured')
    assert not configured.result().success
    assert node.state == 'finalized'
    # What the thread makes has no owner now.
    node.let_go_on()
    Health(talk).until('shut down by a lifecycle transition')
    assert node.state == 'finalized'
    assert node.stop() == 0


def test_a_signal_does_not_wait_for_it(talk: Talk, node: SlowNode) -> None:
    node.ask(CONFIGURE)
    talk.until(lambda: node.state == 'configuring', 'the transition')
    assert node.stop() == 0
    assert 'Traceback' not in node.log()
