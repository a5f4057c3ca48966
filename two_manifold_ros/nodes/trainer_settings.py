# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From the trainer's parameters to what the training wants."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.lag_correction import parse_position_lag, put_in_step
from two_manifold_ros.recordings.reading import read_recordings
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.recordings.recording import Recording


def training_settings(values: Mapping[str, Any]) -> TrainingSettings:
    """
    Return the settings of a training; zero means chosen from the recording.

    Raises
    ------
    InputError
        If the method has no such read-out, or no such number.

    """
    if values['method'] == 'route' and values['readout'] == 'ridge':
        msg = 'Method route has no readout ridge: set method to spectral, or leave readout out.'
        raise InputError(msg)
    for name in ('sharpness', 'persistence'):
        if values['method'] != 'route' and values[name]:
            msg = f'Method {values["method"]} has no {name}: set method to route, or leave it out.'
            raise InputError(msg)
    return TrainingSettings(
        rate_hz=values['rate_hz'] or None,
        window=values['window'] or None,
        states=values['states'] or None,
        method=values['method'],
        sharpness=values['sharpness'] or None,
        persistence=values['persistence'] or None,
        kernel=values['kernel'],
        readout=values['readout'],
        horizons=tuple(values['horizons']),
    )


def check_position_lag(text: str) -> None:
    """
    Refuse a position lag early that could not be applied later.

    Raises
    ------
    InputError
        If it is neither empty nor ``auto`` nor a number.

    """
    if text:
        parse_position_lag(text)


def check_target(path: str) -> None:
    """
    Refuse a model path early, before anybody has driven for an hour.

    Raises
    ------
    InputError
        If there is no path, or its folder is missing or not writable.

    """
    if not path:
        msg = 'No model is named: set the parameter model to the path of the file to write.'
        raise InputError(msg)
    folder = Path(path).absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        msg = f'Model {path} cannot be written: the folder {folder} is missing or not writable.'
        raise InputError(msg)


def read_bags(values: Mapping[str, Any]) -> list[Recording]:
    """
    Read all bags, and put their positions in step with the IMU as the parameters say.

    Raises
    ------
    InputError
        If a bag cannot be used.

    """
    recordings = read_recordings(
        values['bags'],
        imu_topic=values['imu_topic'] or None,
        position_topic=values['position_topic'] or None,
        use_receive_time=values['use_receive_time'],
    )
    return put_in_step(list(recordings), values['position_lag'])
