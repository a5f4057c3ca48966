# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a recording is of the kind that a model was trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.ticks.segments import median_interval_ns
from two_manifold_ros.ticks.usable import usable_samples

if TYPE_CHECKING:
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.recordings.recording import Recording


def check_fit(model: ModelHead, recording: Recording) -> None:
    """
    Check rate, channels and the frame of the positions.

    Raises
    ------
    InputError
        If the model is not for an IMU, the IMU is slower than the ticks of the model, a channel
        the model uses is dead, or the positions are in another frame.

    """
    imu = recording.imu
    place = f'{recording.name}: topic {imu.topic}'
    if not model.channels.of_imu:
        msg = (
            f'{place} brings an IMU, but the model takes {model.channels.names[0]} and its like; '
            'run it where it was learned'
        )
        raise InputError(msg)
    if not len(imu.stamps):
        msg = f'{place} has no IMU sample in the part asked for; check --from and --until'
        raise InputError(msg)
    interval = median_interval_ns(imu.stamps)
    if interval > 1.25 * model.period_ns:
        msg = (
            f'{place} runs at {1e9 / interval:.1f} Hz, but the model needs at least its own rate '
            f'of {model.rate_hz:g} Hz; train a model at a lower --rate'
        )
        raise InputError(msg)
    _check_frame(model, recording)
    usable, values = usable_samples(imu.samples)
    dead = np.ptp(values[usable], axis=0) == 0.0 if usable.any() else np.zeros(6, dtype=np.bool_)
    missing = [
        name
        for name, is_dead, live in zip(
            model.channels.names, dead, model.channels.live, strict=True
        )
        if is_dead and live
    ]
    if missing and len(imu.stamps) > model.window:
        msg = (
            f'{place} has no signal on {", ".join(missing)}, which the model uses; train a model '
            'on recordings of this IMU'
        )
        raise InputError(msg)


def _check_frame(model: ModelHead, recording: Recording) -> None:
    positions = recording.positions
    if positions is None or not (model.frame_id and positions.frame_id):
        return
    if positions.frame_id != model.frame_id:
        msg = (
            f'{recording.name}: the positions on {positions.topic} are in the frame '
            f'{positions.frame_id!r}, but the model gives them in {model.frame_id!r}; evaluate on '
            'positions in that frame'
        )
        raise InputError(msg)
