# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The form of a `ModelHead` in the model file: a part of the header, and arrays by name."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.model.bounds import MOST_HORIZONS
from two_manifold_ros.model.refusing import refuse
from two_manifold_ros.recordings.recording import GeodeticOrigin, IMU_CHANNELS, IMU_UNITS
from two_manifold_ros.ticks.channels import Channels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from two_manifold_ros.model.head import ModelHead

_PLAIN = (
    'rate_hz', 'period_ns', 'max_gap_ns', 'window', 'imu_topic', 'imu_frame_id',
    'position_topic', 'frame_id', 'summary',
)  # fmt: skip
_ARRAYS = ('track', 'mean_position')
_OF_CHANNELS = ('mean', 'scale', 'limit', 'live')


def head_numbers(model: ModelHead) -> dict[str, Any]:
    """Return what belongs into the header."""
    return {name: getattr(model, name) for name in _PLAIN} | {
        'horizons': list(model.horizons),
        'origin': asdict(model.origin) if model.origin else None,
        'channel_names': list(model.channels.names),
        'channel_units': _units(model.channels.names),
    }


def head_arrays(model: ModelHead) -> dict[str, NDArray[Any]]:
    """Return the arrays by name."""
    arrays = {name: getattr(model, name) for name in _ARRAYS}
    return arrays | {f'channels.{name}': getattr(model.channels, name) for name in _OF_CHANNELS}


def head_from(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """
    Return the fields of a `ModelHead` by name.

    Raises
    ------
    InputError
        If the channels are in other units than they are named for.
    KeyError, TypeError
        If anything is missing.

    """
    names = tuple(header['channel_names'])
    if header['channel_units'] != _units(names):
        msg = 'the model is refused: it was trained on other channels or units; train it anew'
        raise InputError(msg)
    if len(header['horizons']) > MOST_HORIZONS:
        refuse(f'it has {len(header["horizons"])} horizons, more than {MOST_HORIZONS}')
    plain = {name: header[name] for name in _PLAIN}
    origin = header['origin']
    channels = {name: arrays[f'channels.{name}'] for name in _OF_CHANNELS}
    return {
        **plain,
        'summary': _printable(header['summary']),
        **{name: arrays[name] for name in _ARRAYS},
        'horizons': tuple(header['horizons']),
        'origin': GeodeticOrigin(**origin) if origin else None,
        'channels': Channels(**channels, names=names),
    }


def group(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names begin with the prefix and a dot, by the rest of the name."""
    start = f'{prefix}.'
    return {name[len(start) :]: arrays[name] for name in arrays if name.startswith(start)}


def _printable(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a value whose texts may be shown on a terminal, whoever wrote them."""
    if isinstance(value, str):
        return value if value.isprintable() else ascii(value)[1:-1]
    if isinstance(value, list):
        return [_printable(each) for each in value]
    if isinstance(value, dict):
        return {_printable(key): _printable(each) for key, each in value.items()}
    return value


def _units(names: tuple[str, ...]) -> list[str]:
    """Return the units that are meant by these names; only an IMU's channels have some."""
    return list(IMU_UNITS) if names == IMU_CHANNELS else [''] * len(names)
