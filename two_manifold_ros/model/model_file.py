# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Save and load a `Model`; whatever does not fit is refused in one sentence."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.observation import RawKernel, RidgeKernel
from two_manifold_ros.hse_hmm.tables import Tables
from two_manifold_ros.kernels.extension import Extension
from two_manifold_ros.model.checks import check_model
from two_manifold_ros.model.container import read_container, write_container
from two_manifold_ros.model.model import Model
from two_manifold_ros.model.route_form import route_arrays, route_from, route_numbers
from two_manifold_ros.readout.forecast import ForecastReadout
from two_manifold_ros.readout.ridge import RidgeReadout
from two_manifold_ros.readout.sharpened import SharpenedReadout
from two_manifold_ros.recordings.recording import GeodeticOrigin, IMU_CHANNELS, IMU_UNITS
from two_manifold_ros.ticks.channels import Channels
from two_manifold_ros.windows.familiarity import FamiliarAnchors

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from two_manifold_ros.hse_hmm.observation import ObservationOperator
    from two_manifold_ros.localisation.route import Route
    from two_manifold_ros.readout.reading import Readout

FORMAT = 'two_manifold_ros model'
VERSION = 4

_PLAIN = (
    'rate_hz', 'period_ns', 'max_gap_ns', 'window', 'kernel', 'imu_topic', 'imu_frame_id',
    'position_topic', 'frame_id', 'state_bound', 'summary',
)  # fmt: skip
_ARRAYS = ('series', 'starts', 'track', 'mean_position')


def save_model(model: Model, path: str | Path) -> None:
    """
    Write a model atomically.

    Raises
    ------
    InputError
        If the folder cannot be written, or the model could not be loaded again.

    """
    check_model(model)
    header: dict[str, Any] = {name: getattr(model, name) for name in _PLAIN}
    header |= {
        'format': FORMAT,
        'version': VERSION,
        'horizons': list(model.horizons),
        'origin': asdict(model.origin) if model.origin else None,
        'channel_names': list(IMU_CHANNELS),
        'channel_units': list(IMU_UNITS),
        'observation_bandwidth': model.operator.bandwidth,
        'familiarity': asdict(model.familiarity),
        'warm_start': {
            'bandwidth': model.warm_start.bandwidth,
            'neighbours': model.warm_start.neighbours,
        },
        'route': route_numbers(model.route) if model.route else None,
    }
    arrays: dict[str, NDArray[Any]] = {name: getattr(model, name) for name in _ARRAYS}
    arrays |= {f'channels.{name}': value for name, value in vars(model.channels).items()}
    arrays |= {f'tables.{name}': value for name, value in vars(model.tables).items()}
    arrays |= {
        f'warm_start.{name}': getattr(model.warm_start, name)
        for name in ('members', 'table', 'offset')
    }
    arrays |= {
        f'operator.{name}': value
        for name, value in vars(model.operator).items()
        if name != 'bandwidth'
    }
    arrays |= _readout_arrays(model.readout)
    if model.route is not None:
        arrays |= route_arrays(model.route)
    write_container(path, header, arrays)


def load_model(path: str | Path) -> Model:
    """
    Read a model and check that it can be filtered with.

    Raises
    ------
    InputError
        If the file is missing, damaged, of another version, or its content does not fit together.

    """
    header, arrays = read_container(path)
    if header.get('format') != FORMAT:
        msg = f'{path}: this is not a {FORMAT}; train one with "two-manifold train"'
        raise InputError(msg)
    if header.get('version') != VERSION:
        msg = (
            f'{path}: the model has version {header.get("version")}, but this program reads '
            f'version {VERSION}; train it anew'
        )
        raise InputError(msg)
    try:
        model = _build(header, arrays)
        check_model(model)
    except InputError as error:
        msg = f'{path}: {error}'
        raise InputError(msg) from error
    except (KeyError, TypeError, ValueError, IndexError) as error:
        msg = (
            f'{path}: the model is refused: its content does not fit together ({error}); train it '
            'anew'
        )
        raise InputError(msg) from error
    return model


def _build(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Model:
    if header['channel_names'] != list(IMU_CHANNELS) or header['channel_units'] != list(IMU_UNITS):
        msg = 'the model is refused: it was trained on other channels or units; train it anew'
        raise InputError(msg)
    origin = header['origin']
    warm_start = header['warm_start']
    plain: dict[str, Any] = {name: header[name] for name in _PLAIN}
    plain |= {name: arrays[name] for name in _ARRAYS}
    return Model(
        **plain,
        horizons=tuple(header['horizons']),
        origin=GeodeticOrigin(**origin) if origin else None,
        familiarity=FamiliarAnchors(**header['familiarity']),
        channels=Channels(**_group(arrays, 'channels')),
        tables=Tables(**_group(arrays, 'tables')),
        operator=_operator(_group(arrays, 'operator'), header['observation_bandwidth']),
        readout=_readout(arrays),
        route=_route(header['route'], arrays),
        warm_start=Extension(
            float(warm_start['bandwidth']),
            int(warm_start['neighbours']),
            **_group(arrays, 'warm_start'),
        ),
    )


def _group(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    start = f'{prefix}.'
    return {name[len(start) :]: arrays[name] for name in arrays if name.startswith(start)}


def _operator(arrays: dict[str, NDArray[Any]], bandwidth: float) -> ObservationOperator:
    if 'observations' in arrays:
        return RawKernel(bandwidth=bandwidth, **arrays)
    return RidgeKernel(bandwidth=bandwidth, **arrays)


def _route(
    numbers: dict[str, dict[str, float] | None] | None, arrays: dict[str, NDArray[Any]]
) -> Route | None:
    if numbers is None:
        return None
    return route_from(numbers, {group: _group(arrays, group) for group in numbers})


def _readout_arrays(readout: Readout) -> dict[str, NDArray[Any]]:
    if isinstance(readout, ForecastReadout):
        return {
            f'readout.{name}': getattr(readout, name) for name in ('targets', 'drift', 'factors')
        }
    if isinstance(readout, SharpenedReadout):
        return {'readout.targets': readout.targets, 'readout.factors': readout.factors}
    if isinstance(readout, RidgeReadout):
        return {
            'readout.coefficients': readout.coefficients,
            'readout.covariances': readout.covariances,
        }
    msg = f'{type(readout).__name__} has no form in the model file'
    raise TypeError(msg)


def _readout(arrays: dict[str, NDArray[Any]]) -> Readout:
    if 'readout.drift' in arrays:
        return ForecastReadout(**_group(arrays, 'readout'))
    if 'readout.targets' in arrays:
        return SharpenedReadout(**_group(arrays, 'readout'))
    return RidgeReadout(**_group(arrays, 'readout'))


def header_of(path: str | Path) -> dict[str, Any]:
    """Return the JSON header of a model file after the same checks as ``load_model``."""
    load_model(path)
    header, _ = read_container(path)
    return header
