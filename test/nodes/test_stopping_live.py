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


INT, TERM = signal.SIGINT, signal.SIGTERM
CASES = [
    ('trainer_node', [TERM]),
    ('slot_car_node', [TERM]),
    ('filter_node', [TERM]),
    ('filter_node', [INT, INT]),
    ('filter_node', [INT, TERM]),
]
"""Of every node another test checks how it ends on a single Ctrl-C."""


@pytest.mark.parametrize(('name', 'signals'), CASES)
def test_signals_end_a_node_with_status_zero(
    talk: Talk,
    start: Callable[..., NodeProcess],
    tmp_path: Path,
    name: str,
    signals: list[signal.Signals],
) -> None:
    parameters = {'model': tmp_path / 'model.npz'} if name != 'slot_car_node' else {}
    node = start(name, **parameters)
    found = talk.node.get_node_names
    talk.until(lambda: name in found(), name)
    for how in signals[:-1]:
        node.process.send_signal(how)
        # As soon as a hand can press the keys again.
        talk.spin(0.03)
    assert node.stop(signals[-1]) == 0
    assert 'Traceback' not in node.log()
