# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The two coordinate frames that appear in what is published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.model.head import ModelHead

USUAL_TRACK = 'map'
USUAL_CHILD = 'base_link'


@dataclass(frozen=True)
class Frames:
    """
    Frame names after REP-105.

    Parameters
    ----------
    track
        Fixed frame of the positions. They are absolute and may jump, so it is a ``map``-like
        frame, never ``odom``.
    child
        Frame of the moving body; its x axis is taken to point along the course over ground.

    """

    track: str
    child: str


def choose_frames(model: ModelHead, track: str = USUAL_TRACK, child: str = '') -> Frames:
    """
    Return the named frames; an empty name means that of the training, if it had one.

    Where the positions were trained in another frame than they are published in, the two are
    taken to be the same place: nothing is transformed.
    """
    return Frames(
        track=track or model.frame_id or USUAL_TRACK,
        child=child or model.imu_frame_id or USUAL_CHILD,
    )
