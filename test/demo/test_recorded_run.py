# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reading back what a node published."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.demo.recorded_run import read_run
from two_manifold_ros.outputs.header import header
from two_manifold_ros.recordings.bag_writer import BagWriter

if TYPE_CHECKING:
    from pathlib import Path

STAMP = 1_700_000_000_123_456_789


def test_paths_and_present_covariances_come_back(tmp_path: Path) -> None:
    covariance = np.zeros((6, 6))
    covariance[:2, :2] = [[0.4, 0.1], [0.1, 0.3]]
    places = [(1.0, 2.0), (3.0, 4.0)]
    poses = [{'pose': {'position': {'x': x, 'y': y}}} for x, y in places]
    position = {'header': header(STAMP, 'map'), 'pose': {'covariance': covariance.ravel()}}
    path = {'header': header(STAMP, 'map'), 'poses': poses}
    with BagWriter(tmp_path / 'bag') as bag:
        bag.write('/position', 'geometry_msgs/msg/PoseWithCovarianceStamped', STAMP, position)
        bag.write('/predicted_path', 'nav_msgs/msg/Path', STAMP, path)

    run = read_run(tmp_path / 'bag', 2)

    assert run.stamps.tolist() == [STAMP]
    assert run.positions[0].tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert run.covariances[0, 0].tolist() == [[0.4, 0.1], [0.1, 0.3]]
    assert np.isnan(run.covariances[0, 1]).all()
