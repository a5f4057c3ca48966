# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Every node ends cleanly on every signal."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ros_talk import NodeProcess, Talk


@pytest.mark.parametrize('how', [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize('name', ['filter_node', 'trainer_node', 'slot_car_node'])
def test_signals_end_a_node_with_status_zero(
    talk: Talk,
    start: Callable[..., NodeProcess],
    tmp_path: Path,
    name: str,
    how: signal.Signals,
) -> None:
    parameters = {'model': tmp_path / 'model.npz'} if name != 'slot_car_node' else {}
    node = start(name, **parameters)
    found = talk.node.get_node_names
    talk.until(lambda: name in found(), name)
    assert node.stop(how) == 0
    assert 'Traceback' not in node.log()
