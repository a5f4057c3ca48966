# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold simulate`."""

import numpy as np

from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate


def test_bag_and_json_summary(tmp_path, command):
    path = str(tmp_path / 'bag')
    options = '--laps 1 --seed 3 --rate 60 --noise 0.5 --speed-wander 2 --driver timid'
    summary = command.json('simulate', '-o', path, *options.split())
    expected = simulate(SlotCarSettings(3, 60.0, 0.5, 2.0, 'timid'), laps=1)
    recording = read_recording(path)
    np.testing.assert_array_equal(recording.imu.samples, expected.imu)
    assert summary['bag'] == path
    assert summary['laps'] == 1
    assert summary['seconds'] == np.ptp(expected.stamps_ns) / 1e9
    assert summary['metres'] == np.ptp(expected.distances)
    assert summary['mean_speed_m_s'] == expected.speeds.mean()
    counts = [(each['topic'], each['messages'], each['rate_hz']) for each in summary['topics']]
    assert counts == [
        ('/imu', len(recording.imu.stamps), 60.0),
        ('/reference', len(recording.positions.stamps), 30.0),
    ]


def test_a_readable_summary_and_an_existing_bag_is_kept(tmp_path, command):
    text = command('simulate', '-o', tmp_path / 'bag', '--laps', '1').out
    for word in ('1 laps', 'm/s', '/imu', '/reference', 'rate (Hz)'):
        assert word in text
    assert 'exists' in command.refused('simulate', '-o', tmp_path / 'bag')
