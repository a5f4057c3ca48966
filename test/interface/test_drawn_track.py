# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The learned track as drawn."""

import numpy as np
import pytest
from two_manifold_ros.interface.markers import drawn_track, MOST_POINTS, track_runs, track_size

from two_manifold_ros.interface import markers as track_module


def test_runs_are_split_at_seams_and_single_points_dropped() -> None:
    gap = [np.nan, np.nan]
    track = np.array([gap, [0, 0], [1, 0], gap, gap, [5, 5], gap, [2, 0], [3, 0], [4, 1]])
    runs = track_runs(track)
    assert [run.tolist() for run in runs] == [[[0, 0], [1, 0]], [[2, 0], [3, 0], [4, 1]]]


def test_many_laps_are_thinned_but_keep_their_ends_and_shape() -> None:
    angle = np.linspace(0, 2 * np.pi * 100, 50_000)
    track = np.column_stack([np.cos(angle), np.sin(angle)])
    (run,) = track_runs(track)
    assert len(run) <= MOST_POINTS + 2
    np.testing.assert_array_equal(run[[0, -1]], track[[0, -1]])
    np.testing.assert_allclose(np.hypot(*run.T), 1.0)


def test_a_track_without_points_has_no_runs() -> None:
    assert track_runs(np.full((3, 2), np.nan)) == []
    assert track_size(np.full((3, 2), np.nan)) > 0


def test_a_vehicle_that_never_moved_is_drawn_finite() -> None:
    (run,) = track_runs(np.ones((5, 2)))
    assert np.isfinite(run).all()


def test_each_track_is_scanned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    scanned: list[object] = []

    def scan(track: object) -> float:
        scanned.append(track)
        return 1.0

    monkeypatch.setattr(track_module, 'track_size', scan)
    monkeypatch.setattr(track_module, 'track_runs', lambda _: [])
    one, other = np.zeros((3, 2)), np.zeros((3, 2))
    drawn = [drawn_track(each) for each in (one, one, other, one)]
    assert [each is wanted for each, wanted in zip(scanned, (one, other), strict=True)] == [
        True
    ] * 2
    assert drawn[0] is drawn[1] is drawn[3] is not drawn[2]
