# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an adapting filter tells about itself in the place of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.model.head import ModelHead
from two_manifold_ros.recordings.recording import IMU_CHANNELS
from two_manifold_ros.ticks.channels import Channels

if TYPE_CHECKING:
    from two_manifold_ros.adapting.settings import AdaptingSettings

LARGEST = 1e9
"""A sample beyond this is refused even before the range of the stream is known."""


@dataclass(frozen=True, kw_only=True)
class AdaptingHead(ModelHead):
    """
    The head of a model that is still being learned.

    Parameters
    ----------
    settings
        How it is learned.
    measured
        Whether the channels are those of a model, and not yet to be found out.

    """

    settings: AdaptingSettings
    measured: bool

    @property
    def states(self) -> int:
        """Dimension of the state, k."""
        return self.settings.states


def make_head(
    settings: AdaptingSettings,
    *,
    names: tuple[str, ...] = IMU_CHANNELS,
    max_gap_ns: int | None = None,
    imu_topic: str = '',
    imu_frame_id: str = '',
    position_topic: str = '',
    frame_id: str = '',
) -> AdaptingHead:
    """
    Return the head for a stream of which nothing is known.

    Parameters
    ----------
    settings
        How it is learned.
    names
        Of the channels.
    max_gap_ns
        Longest step between samples that is no gap; by default a quarter of a second, or three
        ticks where these are longer.
    imu_topic, imu_frame_id, position_topic, frame_id
        What is learned from.

    """
    size = len(names)
    period_ns = settings.period_ns
    return AdaptingHead(
        settings=settings,
        measured=False,
        rate_hz=settings.rate_hz,
        period_ns=period_ns,
        max_gap_ns=max(250_000_000, 3 * period_ns) if max_gap_ns is None else max_gap_ns,
        window=settings.window,
        horizons=settings.horizons,
        imu_topic=imu_topic,
        imu_frame_id=imu_frame_id,
        position_topic=position_topic,
        frame_id=frame_id,
        origin=None,
        channels=Channels(
            mean=np.zeros(size),
            scale=np.ones(size),
            limit=np.full(size, LARGEST),
            live=np.ones(size, dtype=np.bool_),
            names=names,
        ),
        track=np.full((0, 2), np.nan),
        mean_position=np.full(2, np.nan),
    )


def head_after(model: ModelHead, settings: AdaptingSettings) -> AdaptingHead:
    """Return a head with the channels, topics and frames of a model."""
    return AdaptingHead(
        settings=settings,
        measured=True,
        rate_hz=settings.rate_hz,
        period_ns=settings.period_ns,
        max_gap_ns=max(model.max_gap_ns, settings.period_ns),
        window=settings.window,
        horizons=settings.horizons,
        imu_topic=model.imu_topic,
        imu_frame_id=model.imu_frame_id,
        position_topic=model.position_topic,
        frame_id=model.frame_id,
        origin=model.origin,
        channels=model.channels,
        track=model.track,
        mean_position=model.mean_position,
    )
