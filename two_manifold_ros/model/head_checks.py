# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether the part that all kinds of models share makes sense."""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.model.array_checks import check_finite, check_positive, check_shapes
from two_manifold_ros.model.bounds import (
    check_size,
    check_text,
    check_timing,
    is_whole,
    LARGEST_NUMBER,
    LARGEST_WORK,
)
from two_manifold_ros.model.refusing import refuse

if TYPE_CHECKING:
    from two_manifold_ros.model.head import ModelHead, TrainedModel


def check_head(model: ModelHead) -> None:
    """
    Check words, numbers, horizons and channels.

    Raises
    ------
    InputError
        Naming the first thing that does not fit.

    """
    for name in ('imu_topic', 'imu_frame_id', 'position_topic', 'frame_id'):
        check_text(name, getattr(model, name))
    for name in model.channels.names:
        check_text('the name of a channel', name)
    if not isinstance(model.summary, dict):
        refuse('its summary is no table')
    names = ('rate_hz', 'period_ns', 'max_gap_ns', 'window')
    check_positive({name: getattr(model, name) for name in names})
    for name in names[1:]:
        if not is_whole(getattr(model, name)):
            refuse(f'{name} is no whole number')
    if model.period_ns != round(1e9 / model.rate_hz):
        refuse('its rate and the length of its tick disagree')
    _check_horizons(model.horizons)
    check_timing(model)
    _check_origin(model)
    _check_arrays(model)


def check_windows(model: TrainedModel) -> None:
    """
    Check that the windows of training are some, and lie in the series.

    Raises
    ------
    InputError
        Naming the first thing that does not fit.

    """
    check_text('kernel', model.kernel)
    live = int(np.count_nonzero(model.channels.live))
    check_shapes(
        {
            'series': (model.series, (live, model.series.shape[-1])),
            'starts': (model.starts, (len(model.starts),)),
        }
    )
    check_size('window', model.series.size, model.window, most=LARGEST_WORK)
    last = model.series.shape[1] - model.window
    if model.starts.min() < 0 or model.starts.max() > last:
        refuse('its windows lie outside its series')


def _check_horizons(ahead: tuple[int, ...]) -> None:
    if not all(is_whole(horizon) for horizon in ahead):
        refuse('its horizons are no whole numbers')
    if not ahead or ahead[0] != 0 or list(ahead) != sorted(set(ahead)):
        refuse('its horizons do not begin with 0 and increase')


def _check_origin(model: ModelHead) -> None:
    if model.origin is None:
        return
    numbers = astuple(model.origin)
    if not all(isinstance(each, (int, float)) and np.isfinite(each) for each in numbers):
        refuse('its origin is no place on the earth')


def _check_arrays(model: ModelHead) -> None:
    channels = model.channels
    count = len(channels.names)
    arrays = {name: getattr(channels, name) for name in ('mean', 'scale', 'limit', 'live')}
    check_shapes(
        {f'channels.{name}': (array, (count,)) for name, array in arrays.items()}
        | {
            'mean_position': (model.mean_position, (2,)),
            'track': (model.track, (len(model.track), 2)),
        }
    )
    check_finite([channels])
    if not (channels.scale[channels.live] > 1.0 / LARGEST_NUMBER).all():
        refuse('the scale of a live channel is zero or negative')
