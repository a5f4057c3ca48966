# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The fault matrix: what the messages of a driver can bring about."""

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from checks import judge
from driven_node import driven
from rows_stamps import DRIVER, STAMPS
from rows_values import VALUES, VEHICLE
from trial import play

from two_manifold_ros.domains import free_domains


@pytest.fixture(scope='module')
def domain() -> int:
    (free,) = free_domains(1)
    return free


FAULTS = [*STAMPS, *VALUES, *DRIVER, *VEHICLE]


@pytest.mark.parametrize('fault', FAULTS, ids=lambda fault: fault.name)
def test_fault(fault, trained, domain, monkeypatch):
    path, drive = trained
    with driven(fault, monkeypatch, domain, path) as node:
        assert judge(play(fault, drive, node)).complaints == ()
