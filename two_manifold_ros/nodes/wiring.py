# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a filter node says about itself when it is configured."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from two_manifold_ros.acceleration import LOOPS
from two_manifold_ros.outputs.diagnostics import as_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.filtering.signs import EllipseLimits
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.outputs.frames import Frames


def wiring(
    model: ModelHead,
    path: str,
    limits: EllipseLimits,
    imu_topic: str,
    topics: Mapping[str, str],
    frames: Frames,
    timeout_s: float,
) -> list[str]:
    """
    Return the wiring that is in force, one line each.

    Parameters
    ----------
    model, path
        The model and its file.
    limits
        Of the ellipse.
    imu_topic
        Full name of the topic that is subscribed.
    topics
        Full names of the topics that are published, by relative name.
    frames
        Frames of what is published.
    timeout_s
        How long a silence may be.

    """
    seconds = ', '.join(f'{horizon * model.period_ns / 1e9:g}' for horizon in model.horizons)
    window_s = model.window * model.period_ns / 1e9
    summary = ', '.join(
        f'{key} {as_text(value)}'
        for key, value in model.summary.items()
        if isinstance(value, str | int | float)
    )
    learned = (
        f'Model {path}: {model.rate_hz:g} Hz, windows of {model.window} ticks ({window_s:g} s), '
        f'{model.states} states, horizons {seconds} s, filter {LOOPS}'
    )
    subscribed = (
        f'Subscribes {imu_topic} (sensor_msgs/msg/Imu, best effort), which has to bring at least '
        f'{model.rate_hz:g} Hz; uses {", ".join(model.live_channels)}'
    )
    framed = (
        f'Frames: positions in {frames.track}, velocities in {frames.child}; training used an '
        f'IMU in {model.imu_frame_id or "an unnamed frame"}'
    )
    lines = [
        learned,
        f'Trained: {summary}',
        subscribed,
        published(topics),
        framed,
        limited(limits, timeout_s),
    ]
    if model.frame_id and model.frame_id != frames.track:
        lines.append(
            f'Positions were trained in {model.frame_id!r} and are published in {frames.track!r} '
            f'(parameter track_frame; empty means the frame of training)'
        )
    return lines


def published(topics: Mapping[str, str]) -> str:
    """Return a line about topics: full names by relative names."""
    names = (name if full == f'/{name}' else f'{name} -> {full}' for name, full in topics.items())
    return f'Publishes {", ".join(names)}'


def limited(limits: EllipseLimits, timeout_s: float) -> str:
    """Return a line about when the status becomes worse."""
    if not math.isfinite(limits.error_m):
        words = 'Limits: those of the model, once there is one; no data after '
        return f'{words}{timeout_s:g} s of silence'
    return (
        f'Limits: unsure above {limits.warn_m:.3g} m of half the 95 % ellipse, lost above '
        f'{limits.error_m:.3g} m; no data after {timeout_s:g} s of silence'
    )
