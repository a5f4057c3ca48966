# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Domains for tests are free, are known to be taken, and are given to one process only."""

from __future__ import annotations

from pathlib import Path
import subprocess
import sys
from typing import TYPE_CHECKING

from free_domain import free_domains, is_free
import pytest

if TYPE_CHECKING:
    from ros_talk import Talk

FOLDER = Path(__file__).parent
# A process that asks for domains twice, says which it got, and waits until it may end.
ASKING = 'from free_domain import free_domains as a; print(*a(10), *a(5), flush=True); input()'


def test_domains_are_one_process_s_until_it_ends() -> None:
    command = [sys.executable, '-c', ASKING]
    pipes = {'stdin': subprocess.PIPE, 'stdout': subprocess.PIPE}
    with (
        subprocess.Popen(command, cwd=FOLDER, text=True, **pipes) as one,
        subprocess.Popen(command, cwd=FOLDER, text=True, **pipes) as other,
    ):
        said = [each.stdout.readline().split() for each in (one, other)]
        for each in (one, other):
            each.communicate('\n')
    assert len(set(said[0] + said[1])) == 30
    assert free_domains(1)


def test_a_domain_with_a_participant_is_not_free(talk: Talk, domain: str) -> None:
    pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    assert talk.node.get_name() == 'test'
    assert not is_free(int(domain))
