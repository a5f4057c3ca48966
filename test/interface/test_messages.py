# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Everything that is published for one estimate."""

from collections.abc import Iterator
from dataclasses import replace
import math
from types import SimpleNamespace

import numpy as np
import pytest
from two_manifold_ros.interface.markers import messages_of

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.interface.topics import choose_frames, DIAGNOSTICS, Frames, STATUS, TOPICS


def numbers(value: object) -> Iterator[float]:
    if isinstance(value, dict):
        for part in value.values():
            yield from numbers(part)
    elif isinstance(value, list | tuple | np.ndarray):
        for part in value:
            yield from numbers(part)
    elif not isinstance(value, str):
        yield value


def test_every_topic_of_the_table_but_those_about_the_node_is_published(
    estimate: Estimate, model: SimpleNamespace, frames: Frames
) -> None:
    published = {name: kind for name, kind, _ in messages_of(estimate, model, frames)}
    expected = {name: topic.msgtype for name, topic in TOPICS.items()}
    del expected[STATUS.name], expected[DIAGNOSTICS.name]
    assert published == expected


def test_places_that_were_not_asked_for_are_not_published(
    estimate: Estimate, model: SimpleNamespace, frames: Frames
) -> None:
    without = replace(estimate, places=None)
    assert 'particles' not in {name for name, _, _ in messages_of(without, model, frames)}


def test_every_number_is_finite(
    estimate: Estimate, model: SimpleNamespace, frames: Frames
) -> None:
    model.track = np.full((4, 2), np.nan)
    still = replace(
        estimate, velocity=np.zeros(2), evidence=math.nan, familiarity=math.nan, tick=0
    )
    for name, _, message in messages_of(still, model, frames):
        assert all(math.isfinite(number) for number in numbers(message)), name


def test_nothing_is_published_before_the_state_is_valid(
    estimate: Estimate, model: SimpleNamespace, frames: Frames
) -> None:
    filling = replace(estimate, status=Status.FILLING)
    assert list(messages_of(filling, model, frames)) == []


@pytest.mark.parametrize(
    'field', ['state', 'positions', 'covariances', 'velocity', 'velocity_covariance']
)
def test_nothing_is_published_that_is_not_finite(
    estimate: Estimate, model: SimpleNamespace, frames: Frames, field: str
) -> None:
    broken = np.array(getattr(estimate, field))
    broken.flat[0] = math.nan
    assert list(messages_of(replace(estimate, **{field: broken}), model, frames)) == []


def test_messages_fit_their_types(
    estimate: Estimate, model: SimpleNamespace, frames: Frames
) -> None:
    building = pytest.importorskip('rosbags') and pytest.importorskip(
        'two_manifold_ros.recordings.bag_writer'
    )
    builder = building.MessageBuilder()
    for _, msgtype, message in messages_of(replace(estimate, tick=60), model, frames):
        assert len(builder.serialise(msgtype, message)) > 0


def test_frames_are_the_users_then_the_models_then_the_usual(model: SimpleNamespace) -> None:
    assert choose_frames(model, track='') == Frames('arena', 'imu_link')
    assert choose_frames(model, 'world', 'car') == Frames('world', 'car')
    model.frame_id = model.imu_frame_id = ''
    assert choose_frames(model, track='') == Frames('map', 'base_link')


def test_positions_are_in_map_unless_told_otherwise(model: SimpleNamespace) -> None:
    """It is the fixed frame of the rviz layout, and what REP-105 calls such a frame."""
    assert choose_frames(model) == Frames('map', 'imu_link')
