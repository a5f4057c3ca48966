# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Without a library for bags an error names what to install; mcap is for damaged bags alone."""

import sys

import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run

INSTALL = r'neither rosbags nor rosbag2_py .* Source .* or install .* pip install rosbags'


@pytest.fixture
def _no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(sys.modules):
        if name.split('.')[0] == 'rosbags':
            monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, 'rosbags', None)
    # Where ROS is there, the tests' own is meant.
    monkeypatch.setitem(sys.modules, 'rosbag2_py', None)
    for name in ('bag', 'message_building', 'ros2_bag'):
        monkeypatch.delitem(sys.modules, f'two_manifold_ros.recordings.{name}', raising=False)


@pytest.mark.usefixtures('_no_library')
def test_reading_and_writing_say_what_to_install(tmp_path):
    with pytest.raises(InputError, match=INSTALL):
        read_recording(tmp_path)
    with pytest.raises(InputError, match=r'written: rosbags cannot .* pip install rosbags'):
        BagWriter(tmp_path / 'bag')


def test_only_a_damaged_bag_needs_mcap(tmp_path, monkeypatch):
    write_run(simulate(SlotCarSettings(rate_hz=20.0), samples=200), tmp_path / 'bag')
    for name in ['mcap', *sys.modules]:
        if name.split('.')[0] == 'mcap':
            monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, 'two_manifold_ros.recordings.bag', raising=False)
    assert len(read_recording(tmp_path / 'bag').imu.stamps) == 200
