# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters, lifecycle and models of the filter node, and that it answers while it loads."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from geometry_msgs.msg import PoseWithCovarianceStamped
from imu_feed import connect, Feed
from lifecycle_msgs.msg import TransitionEvent
from nav_msgs.msg import Odometry
from nav_msgs.msg import Path as PathMessage
import numpy as np
from other_models import small_tpsr, tolerant
from ros_talk import Health, NodeProcess, stamp_of
from sensor_msgs.msg import Imu
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from two_manifold_ros.interface.status import OUTSIDE
from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.simulation.slot_car_run import run_to_recording

CONFIGURE, CLEANUP, ACTIVATE, DEACTIVATE, SHUTDOWN = 1, 2, 3, 4, 5
TICK_NS = 100_000_000
MESSAGE_S = 0.01


def test_without_a_model_it_says_so_and_takes_one_later(talk, start, model_path, tmp_path):
    broken = tmp_path / 'broken.npz'
    broken.write_bytes(b'no model')
    node = start('filter_node', model=broken)
    health = Health(talk)
    health.until(str(broken))
    assert health.level == 2
    assert talk.change('filter_node', 'model', '').successful
    assert not talk.transition(CONFIGURE)
    health.until('No model is given: start with -p model:=FILE')
    assert 'ros2 lifecycle set /filter_node configure' in health.why
    assert talk.change('filter_node', 'model', str(model_path)).successful
    assert talk.transition(CONFIGURE)
    assert talk.transition(ACTIVATE)
    health.until('no IMU message on /imu')
    refusal = talk.change('filter_node', 'model', 'other.npz')
    assert not refusal.successful
    assert 'takes effect only' in refusal.reason
    # Each of the two is logged once by who met it, and not warned of as well.
    published = [line for line in node.said.splitlines() if 'ros2 lifecycle set' in line]
    assert ['[ERROR]' in line for line in published] == [True, True]


def test_managed_node_waits_for_its_manager(talk, start, drive, model_path):
    start('filter_node', model=model_path, managed='true')
    health = Health(talk)
    health.until('waiting for the lifecycle manager')
    assert talk.state == 'unconfigured'
    # What is not possible is refused, and harms nothing.
    assert not talk.transition(ACTIVATE)
    assert not talk.transition(99)
    assert talk.transition(CONFIGURE)
    assert not talk.transition(CONFIGURE)
    odometry = talk.listen(Odometry, 'odometry')
    feed = Feed(talk, drive, talk.publisher(Imu, 'imu'))
    feed.send(200)
    health.until('not active')
    assert odometry == []
    assert 'received' not in health.values or health.values['received'] == '0'
    assert talk.transition(ACTIVATE)
    feed.send(200)
    talk.until(lambda: len(odometry) >= 5, 'odometry')
    assert talk.transition(DEACTIVATE)
    before = len(odometry)
    feed.send(400)
    assert talk.transition(CLEANUP)
    health.until('cleaned up')
    assert len(odometry) == before
    assert talk.state == 'unconfigured'


def test_models_are_swapped_under_load(talk, start, drive, model_path, tmp_path):
    other = tolerant(small_tpsr(run_to_recording(drive), (0, 5, 10, 20)))
    save_model(other, tmp_path / 'other.npz')
    (tmp_path / 'broken.npz').write_bytes(b'no model')
    node = start('filter_node', model=model_path)
    health = Health(talk)
    positions = talk.listen(PoseWithCovarianceStamped, 'position')
    paths = talk.listen(PathMessage, 'predicted_path')
    feed = Feed(talk, drive, connect(talk, health))
    assert not talk.call(Trigger, 'filter_node/swap_model').success
    feed.go_on(MESSAGE_S)
    talk.until(lambda: len(positions) > 10, 'positions')

    def swap(name: str) -> None:
        assert talk.change('filter_node', 'next_model', str(tmp_path / name)).successful
        assert talk.call(Trigger, 'filter_node/swap_model').success

    swap('broken.npz')
    talk.until(lambda: health.values['swap'] == 'failed', 'the broken file to be refused')
    assert health.values['swap_trouble'].startswith(f'{tmp_path / "broken.npz"}: ')
    assert (health.values['model'], health.values['swaps']) == (str(model_path), '0')

    swap('other.npz')
    talk.until(lambda: len(paths[-1].poses) == 4, 'the other model to run')
    talk.until(lambda: health.values['swaps'] == '1', 'diagnostics to report it')
    assert health.values['model'] == str(tmp_path / 'other.npz')
    assert 'swap_trouble' not in health.values

    swap(str(model_path))
    # That of a map follows the route; a TPSR has its horizons alone.
    talk.until(lambda: len(paths[-1].poses) > 4, 'the first model to run again')
    talk.until(lambda: health.values['swaps'] == '2', 'diagnostics to report it')
    assert health.values['model'] == str(model_path)

    kinds = [len(path.poses) == 4 for path in paths]
    assert np.flatnonzero(np.diff(kinds)).size == 2
    gaps = np.diff(list(map(stamp_of, positions)))
    assert gaps.min() > 0
    assert gaps.max() <= 2 * TICK_NS
    assert health.values['callback_errors'] == '0'
    assert node.stop() == 0
    log = node.log()
    assert f'Model {tmp_path / "other.npz"} runs in place of {model_path}' in log
    assert f'Model {model_path} runs in place of' in log
    assert 'horizons 0, 0.5, 1, 2 s' in log
    assert 'broken.npz: the model is refused' in log


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

    def __init__(self, domain: int, model: Path, folder: Path, *, events: bool) -> None:
        self._gate = folder / 'gate'
        self.program = '-c', PROGRAM.format(gate=str(self._gate), with_events=events)
        super().__init__('filter_node', domain=domain, model=model, managed='true')

    def let_go_on(self) -> None:
        self._gate.touch()


@pytest.fixture
def slow_node(
    request: pytest.FixtureRequest, domain: str, model_path: Path, tmp_path: Path
) -> Iterator[SlowNode]:
    slow = SlowNode(int(domain), model_path, tmp_path, events=getattr(request, 'param', True))
    yield slow
    slow.stop()


@pytest.mark.parametrize(
    'slow_node', [True, False], ids=['events', 'single-threaded'], indirect=True
)
def test_it_answers_while_it_loads(talk, slow_node):
    # First, because the node has to find us as well before the first event.
    events = talk.listen(TransitionEvent, 'filter_node/transition_event')
    health = Health(talk)
    numbers = talk.listen(Float64MultiArray, 'status')
    configured = talk.ask(CONFIGURE)
    health.until_value('cause', 'configuring')
    assert health.level == 1
    numbers.clear()
    for _ in range(3):
        assert talk.state == 'configuring'
    talk.until(lambda: len(numbers) > 3, 'status')
    assert {message.data[2] for message in numbers} == {OUTSIDE}
    # Nothing else may start, nor change what it is configured with.
    assert not any(map(talk.transition, (CONFIGURE, ACTIVATE, CLEANUP, 99)))
    assert not talk.call(Trigger, 'filter_node/reset').success
    assert not talk.call(Trigger, 'filter_node/swap_model').success
    assert not talk.change('filter_node', 'model', 'other.npz').successful
    assert not configured.done()
    slow_node.let_go_on()
    talk.until(configured.done, 'the end of the transition')
    assert configured.result().success
    assert talk.state == 'inactive'
    assert talk.transition(ACTIVATE)
    talk.until(lambda: len(events) >= 4, 'the events of both transitions')
    ways = [(each.start_state.label, each.goal_state.label) for each in events]
    assert ways == [
        ('unconfigured', 'configuring'),
        ('configuring', 'inactive'),
        ('inactive', 'activating'),
        ('activating', 'active'),
    ]
    assert slow_node.stop() == 0


@pytest.mark.parametrize('asked', [{'number': SHUTDOWN}, {'label': 'shutdown'}], ids=str)
def test_a_shutdown_does_not_wait_for_it(talk, slow_node, asked):
    configured = talk.ask(label='configure')
    talk.until(lambda: talk.state == 'configuring', 'the transition')
    assert talk.transition(**asked)
    talk.until(configured.done, 'the answer to who configured')
    assert not configured.result().success
    assert talk.state == 'finalized'
    # What the thread makes has no owner now.
    slow_node.let_go_on()
    Health(talk).until('shut down by a lifecycle transition')
    assert talk.state == 'finalized'
    assert slow_node.stop() == 0


def test_a_signal_does_not_wait_for_it(talk, slow_node):
    talk.ask(CONFIGURE)
    talk.until(lambda: talk.state == 'configuring', 'the transition')
    assert slow_node.stop() == 0
    assert 'Traceback' not in slow_node.log()
