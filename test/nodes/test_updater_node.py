# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The updater: it learns over DDS, what it learned outlives it, and filters are handed it."""

from collections.abc import Mapping
from pathlib import Path
import re
import signal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from imu_feed import connect, Feed
from other_models import small_tpsr, tolerant
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters
from rclpy.task import Future
from ros_talk import Board, Health, stamp_of
from sensor_msgs.msg import Imu
from std_srvs.srv import Trigger

from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.nodes.updater_node import FilterClient
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate, SlotCarRun

RATE_HZ = 20
USUAL_M = 0.1
"""Median error of a position with models of a few laps; the mean position errs by 1.5 m."""


def error_after(
    drive: Feed, run: SlotCarRun, published: list[PoseWithCovarianceStamped], count: int
) -> float:
    """Drive without positions, so that nothing is learned; return the median error of so many."""
    most = drive.sent + 60 * RATE_HZ
    while len(published) < count:
        assert drive.sent < most, f'{len(published)} positions within a minute'
        # Five times as fast as driven: at 25 times a busy machine loses samples, each a gap.
        drive.send(2, 0.01, positions=False)
    places = [[each.pose.pose.position.x, each.pose.pose.position.y] for each in published]
    where = np.searchsorted(run.stamps_ns, list(map(stamp_of, published)))
    return float(np.median(np.linalg.norm(places - run.positions[where, :2], axis=1)))


def test_it_learns_and_goes_on_from_what_it_has_learned_after_a_kill(talk, start, tmp_path):
    chosen = {'learner': 'map', 'horizons': [0, 5, 10], 'checkpoint_folder': tmp_path}
    chosen |= {'checkpoint_s': 1.0, 'input_timeout_s': 20.0}
    node = start('updater_node', **chosen)
    health = Health(talk)
    run = simulate(SlotCarSettings(seed=6, rate_hz=RATE_HZ), laps=60)
    drive = Feed(talk, run, connect(talk, health), talk.publisher(PoseStamped, 'reference'))
    positions = talk.listen(PoseWithCovarianceStamped, 'adapting/position', 1000)
    drive.send(40 * RATE_HZ, 0.002)

    def error(name: str) -> float:
        return float(health.values.get(name, 'nan'))

    # While the drive goes on it learns beside what it filters; a training takes its time.
    while not error('error_m') < 0.2 * error('mean_error_m'):
        assert drive.sent < 500 * RATE_HZ, health.values
        drive.send(2, 0.1)
    assert int(health.values['models_learned']) > 0
    assert health.values['learner'] == 'map'
    positions.clear()
    assert error_after(drive, run, positions, 121) < USUAL_M
    assert positions[-1].header.frame_id == 'map'
    written = int(health.values['checkpoints_written'])
    talk.call(Trigger, 'updater_node/save')
    talk.until(lambda: int(health.values['checkpoints_written']) > written, 'a checkpoint')
    assert health.values['callback_errors'] == '0'
    listed = Path(f'/proc/{node.process.pid}/task').glob('*/children')
    beside = {pid for each in listed for pid in each.read_text().split()}
    assert beside
    assert 'no model yet' not in node.said
    assert node.stop(signal.SIGKILL) == -signal.SIGKILL
    log = node.log()
    assert 'with positions from /reference: the map of the route' in log
    assert 'its model runs, and errs by' in log
    # Each training and each lap has one line.
    for line in (r'Training (\d+), after .* with positions: ', r'Lap (\d+): model of '):
        numbers = [int(each) for each in re.findall(line, log)]
        assert numbers == sorted({*numbers}) != []
    talk.until(
        lambda: not any(Path(f'/proc/{pid}').exists() for pid in beside), 'its training to end'
    )

    again = start('updater_node', **chosen)
    health.until_value('received', '0')
    positions.clear()
    talk.until(lambda: health.values.get('learned_laps'), 'what it goes on from')
    assert error_after(drive, run, positions, 101) < USUAL_M
    assert talk.call(Trigger, 'updater_node/forget').success
    talk.until(lambda: health.values['models_learned'] == '0', 'what was learned to be forgotten')
    assert again.stop(signal.SIGTERM) == 0
    assert 'resumed at ' in again.log()
    assert all(each.name.count('.') == 2 for each in tmp_path.glob('*.npz*'))


@pytest.mark.parametrize(
    ('name', 'namespace', 'full'),
    [
        ('filter_node', '/', '/filter_node'),
        ('filter_node', '/car', '/car/filter_node'),
        ('/other/filter', '/car', '/other/filter'),
    ],
)
@pytest.mark.parametrize('is_set', [True, False])
def test_the_next_model_is_a_parameter_and_then_swapped_in(name, namespace, full, is_set):
    statuses = [
        DiagnosticStatus(name=each, values=[KeyValue(key='model', value=each)])
        for each in ('filter_node', 'car/filter_node', 'other/filter', 'car/updater_node')
    ]
    said = DiagnosticArray(status=statuses)
    ready, asked, future = [False], [], Future()
    node: Any = SimpleNamespace(
        get_namespace=lambda: namespace,
        guard=lambda callback: callback,
        create_client=lambda _, service: SimpleNamespace(
            service_is_ready=lambda: ready[0],
            call_async=lambda request: asked.append((service, request)) or future,
        ),
        create_subscription=lambda _, topic, hear, __: topic == '/diagnostics' and hear(said),
    )
    asks = FilterClient(node, name)
    for ready[0] in (False, True):
        asks.hand_over('new.npz')
    ((service, request),) = asked
    (parameter,) = request.parameters
    assert service == f'{full}/set_parameters'
    assert (parameter.name, parameter.value.string_value) == ('next_model', 'new.npz')
    results = [SetParametersResult(successful=is_set)]
    future.set_result(SetParameters.Response(results=results))
    assert [each for each, _ in asked[1:]] == [f'{full}/swap_model'] * is_set
    heard: list[Mapping[str, str]] = []
    asks.listen(heard.append)
    assert heard == [{'model': full[1:]}]


def test_a_better_model_is_handed_over(talk, start, tmp_path):
    """The camera is moved: the model that was trained before is wrong by as much."""
    recording = run_to_recording(simulate(SlotCarSettings(seed=5, rate_hz=20.0), laps=4))
    old_model = tmp_path / 'old.npz'
    # To it nothing is novel, so that it is never silent.
    save_model(tolerant(small_tpsr(recording, (0, 5, 10))), old_model)
    filter_node = start('filter_node', model=old_model)
    learning = {'learner': 'tpsr', 'horizons': [0, 5, 10], 'checkpoint_folder': tmp_path}
    kind = 'geometry_msgs/msg/PoseStamped'
    updater = start('updater_node', filter_node='filter_node', reference_type=kind, **learning)
    words = Board(talk)
    positions = talk.listen(PoseWithCovarianceStamped, 'position', 1000)
    run = simulate(SlotCarSettings(seed=6, rate_hz=10.0), laps=200)
    lap = Feed(talk, run, talk.publisher(Imu, 'imu'), talk.publisher(PoseStamped, 'reference'))
    # Stamps run four times as fast as the clock: every block of the contest is 5 s of them.
    lap.go_on(0.025)
    lap.moved = np.array([3.0, 0.0, 0.0])
    while words.value('filter_node', 'swaps') != '1':
        # 86 laps, of which some 12 are enough on an idle machine.
        assert lap.sent < 8000, (words.status('updater_node'), words.status('filter_node'))
        talk.meanwhile()
    assert words.value('filter_node', 'model') == str(tmp_path / 'updater.model.000001.npz')
    # Diagnostics report it at once, before its first estimate.
    count = len(positions)
    talk.until(lambda: len(positions) > count + 10, 'the other model to be heard')
    assert np.diff(list(map(stamp_of, positions))).min() > 0
    for name in ('filter_node', 'updater_node'):
        assert words.value(name, 'callback_errors') == '0'
    assert updater.stop() == 0
    assert f'until now {old_model} runs' in updater.log()
    assert filter_node.stop() == 0
