# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Lines of a network: which of them pass a place, and where each leads from there."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial import KDTree

from two_manifold_ros.model.line_learning import carry_lines


def places_and_lines(model):
    return model.route.readout.targets[:, 0], model.lines


def test_places_are_of_the_lines_that_drive_there(forked_model, forked_drives):
    places, lines = places_and_lines(forked_model)
    near = np.stack(
        [
            KDTree(forked_drives[name].positions.positions).query(places)[0] < 2.0
            for name in ('left', 'right')
        ],
        axis=1,
    )
    alone = near.sum(axis=1) == 1
    assert 0.4 < np.mean(alone) < 0.95
    # Near the fork a place may be of both.
    agree = (lines.passes[alone] >= 0.5) == near[alone]
    assert np.mean(agree) > 0.97
    assert (lines.passes.max(axis=1) > 0.0).all()
    assert lines.kept_s == pytest.approx(
        np.mean([len(forked_drives[name].imu.stamps) / 100.0 for name in ('left', 'right')]),
        rel=0.3,
    )


def test_lines_part_only_ahead_of_the_fork_and_each_goes_its_own_way(forked_model, forked_drives):
    places, lines = places_and_lines(forked_model)
    assert 20 < len(lines.forks) < 0.3 * len(places)
    # The trunk ends at 40 m, and three seconds ahead are some forty metres.
    assert (places[lines.forks, 0] > -70.0).mean() > 0.9
    assert np.abs(places[lines.forks, 1]).max() < 40.0
    for column, name in enumerate(('left', 'right')):
        tree = KDTree(forked_drives[name].positions.positions)
        far = tree.query(lines.ahead[:, column, -1])[0]
        assert np.median(far) < 2.0


def test_lines_are_carried_to_a_newer_map_of_the_same_roads(forked_model):
    same = carry_lines(forked_model, forked_model)
    assert np.array_equal(same.passes, forked_model.lines.passes)
    assert np.array_equal(same.forks, forked_model.lines.forks)
    assert np.array_equal(same.ahead, forked_model.lines.ahead)
    readout = forked_model.route.readout
    away = replace(readout, targets=readout.targets + np.array([500.0, 0.0]))
    moved = replace(forked_model, route=replace(forked_model.route, readout=away))
    assert carry_lines(forked_model, moved) is None
    assert carry_lines(replace(forked_model, lines=None), forked_model) is None
    found = carry_lines(forked_model, replace(forked_model, horizons=(0, 10, 20, 30)))
    assert np.array_equal(found.passes, forked_model.lines.passes)
    assert found.ahead.shape == (0, 2, 4, 2)
