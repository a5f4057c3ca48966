# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The launch files executed for real, where launch_ros is installed."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING

import pytest

pytest.importorskip('launch', reason='launch is not installed (it is with apt ROS 2)')
pytest.importorskip('launch_ros', reason='launch_ros is not installed (it is with apt ROS 2)')

from ament_index_python.packages import get_package_share_path
from launch.actions import EmitEvent, IncludeLaunchDescription, RegisterEventHandler, TimerAction
from launch.event_handlers import OnProcessExit, OnProcessIO
from launch.events import Shutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from ros_talk import Board, PATIENCE_S

from launch import LaunchDescription, LaunchService

if TYPE_CHECKING:
    from collections.abc import Callable

    from launch.events.process import ProcessExited, ProcessIO

    from launch import LaunchDescriptionEntity


def run(
    name: str, until: str = '', seen: Callable[[], bool] = lambda: False, **arguments: object
) -> tuple[str, dict[str, int]]:
    """Run it until words are printed or something is seen; return all words and exit statuses."""
    try:
        share = get_package_share_path('two_manifold_ros')
    except (LookupError, OSError):
        pytest.skip('two_manifold_ros is not installed in an ament prefix: source its workspace')
    printed: list[str] = []
    statuses: dict[str, int] = {}
    stop = EmitEvent(event=Shutdown(reason='seen'))

    def listen(event: ProcessIO) -> list[LaunchDescriptionEntity]:
        printed.append(event.text.decode())
        return [stop] if until and until in printed[-1] else []

    def remember(event: ProcessExited, _: object) -> None:
        statuses[event.process_name.rpartition('-')[0]] = event.returncode

    service = LaunchService()
    included = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(share / 'launch' / f'{name}.launch.py')),
        launch_arguments={key: str(value) for key, value in arguments.items()}.items(),
    )
    handlers = [
        RegisterEventHandler(OnProcessIO(on_stdout=listen, on_stderr=listen)),
        RegisterEventHandler(OnProcessExit(on_exit=remember)),
    ]
    limit = TimerAction(period=PATIENCE_S, actions=[stop])
    service.include_launch_description(LaunchDescription([*handlers, included, limit]))
    ended = False

    def watch() -> None:
        while not ended:
            if seen():
                service.shutdown()
                return

    watching = Thread(target=watch)
    watching.start()
    statuses['launch'] = service.run()
    ended = True
    watching.join()
    return ''.join(printed), statuses


@pytest.mark.usefixtures('domain')
def test_onboard_with_all_that_can_be_chosen(model_path, tmp_path):
    file = tmp_path / 'mine.yaml'
    file.write_text('/**:\n  ros__parameters:\n    child_frame: mine\n    track_frame: hall\n')
    chosen = {'namespace': 'car1', 'child_frame': 'car1/base_link', 'log_level': 'debug'}
    printed, statuses = run(
        'onboard', 'Frames: positions in', model=model_path, params_file=file, **chosen
    )
    assert 'Subscribes /car1/imu' in printed
    # An argument goes before the file, which goes before the default.
    assert 'Frames: positions in hall, velocities in car1/base_link' in printed
    assert '[DEBUG]' in printed
    assert statuses == {'filter_node': 0, 'launch': 0}


def test_adapt_beside_a_filter(talk, model_path, tmp_path):
    board = Board(talk)

    def both_follow() -> bool:
        talk.spin(0.1)
        states = {board.value(name, 'status') for name in ('filter_node', 'updater_node')}
        # The updater knows the filter node's model from that node alone.
        knows = board.value('updater_node', 'incumbent') == str(model_path)
        return knows and states == {'tracking'}

    _, statuses = run(
        'adapt', seen=both_follow, model=model_path, folder=tmp_path, slot_car='true'
    )
    assert both_follow()
    assert [path.name for path in tmp_path.glob('updater.*.npz')]
    assert statuses == {'filter_node': 0, 'slot_car_node': 0, 'updater_node': 0, 'launch': 0}


@pytest.mark.usefixtures('domain')
def test_a_training_that_fails_ends_the_launch_and_is_seen_in_its_status(tmp_path):
    bag = tmp_path / 'none'
    printed, statuses = run('train', 'never', model=tmp_path / 'm.npz', bags=f"['{bag}']")
    assert str(bag) in printed
    assert statuses == {'launch': 1}
