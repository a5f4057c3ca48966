# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Everything that is published for one estimate: what nodes and `replay` have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.filtering.soundness import all_finite
from two_manifold_ros.outputs.latent_state import latent_state_message
from two_manifold_ros.outputs.markers import markers_message
from two_manifold_ros.outputs.odometry import odometry_message
from two_manifold_ros.outputs.particles import particles_message
from two_manifold_ros.outputs.position import position_message
from two_manifold_ros.outputs.predicted_path import predicted_path_message
from two_manifold_ros.outputs.topics import (
    ESTIMATE_TOPICS,
    LATENT_STATE,
    MARKERS,
    ODOMETRY,
    PARTICLES,
    POSITION,
    PREDICTED_PATH,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.outputs.frames import Frames
    from two_manifold_ros.outputs.topics import Message, Topic

    Builder = Callable[[Estimate, ModelHead, Frames], Message]

BUILDERS: dict[str, Builder] = {
    POSITION.name: lambda estimate, _, frames: position_message(estimate, frames),
    ODOMETRY.name: lambda estimate, _, frames: odometry_message(estimate, frames),
    PREDICTED_PATH.name: predicted_path_message,
    LATENT_STATE.name: lambda estimate, _, __: latent_state_message(estimate),
    MARKERS.name: markers_message,
    PARTICLES.name: lambda estimate, _, frames: particles_message(estimate, frames),
}
"""How the message of each topic is made, by the topic's name."""


def publishable(estimate: Estimate) -> bool:
    """Return whether an estimate is valid and every number in it is finite."""
    return estimate.valid and all_finite(
        estimate.state,
        estimate.positions,
        estimate.covariances,
        estimate.velocity,
        estimate.velocity_covariance,
    )


def topics_of(estimate: Estimate) -> tuple[Topic, ...]:
    """Return the topics that an estimate has messages for."""
    return ESTIMATE_TOPICS if estimate.places is None else (*ESTIMATE_TOPICS, PARTICLES)


def messages_of(
    estimate: Estimate, model: ModelHead, frames: Frames
) -> Iterator[tuple[str, str, Message]]:
    """
    Yield topic name, message type and message for everything published for an estimate.

    Nothing is yielded for an estimate that may not be published.
    """
    if not publishable(estimate):
        return
    for topic in topics_of(estimate):
        yield topic.name, topic.msgtype, BUILDERS[topic.name](estimate, model, frames)
