# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Lines of a network: which of them pass a place, and where each leads from there."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial import KDTree

from two_manifold_ros.model.line_learning import carry_lines


def test_places_are_of_the_lines_that_drive_there_which_part_only_ahead_of_the_fork(
    forked_model, forked_drives
):
    places, lines = forked_model.route.readout.targets[:, 0], forked_model.lines
    drives = [forked_drives[name] for name in ('left', 'right')]
    roads = [KDTree(each.positions.positions) for each in drives]
    near = np.stack([road.query(places)[0] < 2.0 for road in roads], axis=1)
    alone = near.sum(axis=1) == 1
    assert 0.4 < np.mean(alone) < 0.95
    # Near the fork a place may be of both.
    assert np.mean((lines.passes[alone] >= 0.5) == near[alone]) > 0.97
    assert (lines.passes.max(axis=1) > 0.0).all()
    usual_s = np.mean([len(each.imu.stamps) / 100.0 for each in drives])
    assert lines.kept_s == pytest.approx(usual_s, rel=0.3)
    assert 20 < len(lines.forks) < 0.3 * len(places)
    # The trunk ends at 40 m, and three seconds ahead are some forty metres.
    assert (places[lines.forks, 0] > -70.0).mean() > 0.9
    assert np.abs(places[lines.forks, 1]).max() < 40.0
    for column, road in enumerate(roads):
        assert np.median(road.query(lines.ahead[:, column, -1])[0]) < 2.0


def test_lines_are_carried_to_a_newer_map_of_the_same_roads(forked_model):
    same = carry_lines(forked_model, forked_model)
    for name in ('passes', 'forks', 'ahead'):
        assert np.array_equal(getattr(same, name), getattr(forked_model.lines, name))
    readout = forked_model.route.readout
    away = replace(readout, targets=readout.targets + np.array([500.0, 0.0]))
    moved = replace(forked_model, route=replace(forked_model.route, readout=away))
    assert carry_lines(forked_model, moved) is None
    assert carry_lines(replace(forked_model, lines=None), forked_model) is None
    found = carry_lines(forked_model, replace(forked_model, horizons=(0, 10, 20, 30)))
    assert np.array_equal(found.passes, forked_model.lines.passes)
    assert found.ahead.shape == (0, 2, 4, 2)
