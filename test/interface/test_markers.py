# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What rviz draws."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from two_manifold_ros.interface.markers import CYLINDER, LINE_STRIP, markers_message, SPHERE

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.interface.topics import Frames, Message


def by_namespace(message: Message) -> dict[str, list[Message]]:
    found: dict[str, list[Message]] = {}
    for marker in message['markers']:
        found.setdefault(marker['ns'], []).append(marker)
    return found


def test_position_path_and_growing_ellipses(
    estimate: Estimate, model: SimpleNamespace, frames: Frames
) -> None:
    found = by_namespace(markers_message(estimate, model, frames))
    assert sorted(found) == ['ellipse', 'position', 'predicted_path']
    assert found['position'][0]['type'] == SPHERE
    assert found['predicted_path'][0]['type'] == LINE_STRIP
    assert [(p['x'], p['y']) for p in found['predicted_path'][0]['points']] == [
        (1, 2),
        (1, 3),
        (0, 3),
    ]
    ellipses = found['ellipse']
    assert [marker['id'] for marker in ellipses] == [0, 1, 2]
    assert {marker['type'] for marker in ellipses} == {CYLINDER}
    assert np.all(np.diff([marker['scale']['x'] for marker in ellipses]) > 0)


def test_track_comes_once_a_second_as_one_strip_per_run(
    estimate: Estimate, model: SimpleNamespace, frames: Frames
) -> None:
    with_track = [
        tick
        for tick in range(60, 101)
        if 'track' in by_namespace(markers_message(replace(estimate, tick=tick), model, frames))
    ]
    assert with_track == [60, 80, 100]
    message = markers_message(replace(estimate, tick=60), model, frames)
    strips = by_namespace(message)['track']
    assert [marker['id'] for marker in strips] == [0, 1]
    assert {marker['type'] for marker in strips} == {LINE_STRIP}


def test_the_track_is_not_scanned_every_tick(
    estimate: Estimate,
    model: SimpleNamespace,
    frames: Frames,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted, isfinite = markers_message(estimate, model, frames), np.isfinite

    def scan(array: object) -> object:
        assert array is not model.track
        return isfinite(array)

    monkeypatch.setattr(np, 'isfinite', scan)
    assert markers_message(estimate, model, frames) == wanted


def test_everything_vanishes_unless_renewed(
    estimate: Estimate, model: SimpleNamespace, frames: Frames
) -> None:
    found = by_namespace(markers_message(replace(estimate, tick=60), model, frames))
    for name, markers in found.items():
        for marker in markers:
            seconds = marker['lifetime']['sec'] + marker['lifetime']['nanosec'] / 1e9
            assert 1 <= seconds <= 3, name
            assert marker['header']['frame_id'] == 'arena'
            assert marker['action'] == 0


def test_one_horizon_has_no_path(
    estimate: Estimate, model: SimpleNamespace, frames: Frames
) -> None:
    model.horizons = (0,)
    single = replace(
        estimate, positions=estimate.positions[:1], covariances=estimate.covariances[:1]
    )
    assert 'predicted_path' not in by_namespace(markers_message(single, model, frames))
