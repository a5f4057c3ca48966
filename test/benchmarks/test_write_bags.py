# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Simulated drives are written into bags as they were made."""

import numpy as np
import pytest
from worlds.write_bags import made, main

from two_manifold_ros.recordings.reading import read_recording


@pytest.mark.parametrize('name', ['yard', 'tram_network', 'track_2', 'slot_car'])
def test_bags_hold_the_drives_of_a_world(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([name, '--drives', '2', '--length', '1', '--day', '1', '-o', 'bag']) == 0
    read = [read_recording(tmp_path / f'bag_{number}') for number in range(2)]
    for number, found in enumerate(read):
        expected = made(name, 1, 1, number)
        assert np.array_equal(found.imu.stamps, expected.imu.stamps)
        assert np.allclose(found.imu.samples, expected.imu.samples)
        assert np.allclose(found.positions.positions, expected.positions.positions)
        assert np.array_equal(found.positions.stamps, expected.positions.stamps)
    assert read[0].imu.samples[:100].tobytes() != read[1].imu.samples[:100].tobytes()
