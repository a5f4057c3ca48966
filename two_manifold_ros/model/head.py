# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What every model that can be filtered with tells, whatever is behind it.

Beyond these a filter would take memory or time that no file warrants, divide by what underflows,
or stop at a number that does not fit where it has to go. No trained model comes near them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, astuple, dataclass, field
from typing import Any, NoReturn, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import GeodeticOrigin, IMU_CHANNELS, IMU_UNITS
from two_manifold_ros.ticks.segments import Channels

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypeGuard

    from numpy.typing import NDArray

    from two_manifold_ros.typing import Floats

    Shapes = Mapping[str, tuple[NDArray[Any], tuple[int, ...]]]
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from two_manifold_ros.typing import Ints


class UnfitError(ValueError):
    """What is wrong with a file, as the middle of a sentence."""


def refuse(cause: str) -> NoReturn:
    """Raise the ``InputError`` that names the cause and the cure."""
    msg = f'the model is refused: {cause}; train it anew'
    raise InputError(msg)


LARGEST_NUMBER = 1e100
"""Of any array and of bandwidths; smaller numbers than its inverse divide by what underflows."""

LARGEST_COUNT = 2**31
"""Of ticks."""

LARGEST_BUFFER = 20_000_000
"""Numbers in an array that the filter makes for itself."""

LARGEST_WORK = 10**10
"""Products that are summed until a window was compared with all of the training: some seconds."""

LARGEST_STEP = 10**9
"""Products that are summed in a tick: about a second."""

MOST_STATES = 1000
MOST_FEATURES = 5000
MOST_HORIZONS = 1000
LONGEST_TICK_NS = 1000 * 10**9
LONGEST_HORIZON_NS = 86_400 * 10**9
LONGEST_TEXT = 1000


def check_size(name: str, *lengths: int, most: int = LARGEST_BUFFER) -> None:
    """Refuse lengths whose product is more than a filter can take."""
    product = 1
    for length in lengths:
        product *= int(length)
    if product > most:
        refuse(f'{name} would take {product} numbers, more than {most}')


def check_widths(numbers: Mapping[str, float]) -> None:
    """Refuse the first number whose square or that of its inverse is no number any more."""
    for name, value in numbers.items():
        if not 1.0 / LARGEST_NUMBER < value < LARGEST_NUMBER:
            refuse(f'{name} is {value}, too large or too small to calculate with')


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether something is a whole number, which true and false are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def check_count(name: str, value: object) -> None:
    """Refuse what is no number of ticks."""
    if not is_whole(value) or not 0 <= value < LARGEST_COUNT:
        refuse(f'{name} is {value}, not a number of ticks')


def check_text(name: str, value: object) -> None:
    """Refuse what is no text, or one that no message and no terminal should be given."""
    if not isinstance(value, str):
        refuse(f'{name} is no text')
    if len(value) > LONGEST_TEXT or not value.isprintable():
        refuse(f'{name} is too long or holds characters that cannot be printed')


def check_timing(model: ModelHead) -> None:
    """Refuse a clock that would end too many ticks at once, or look too far ahead."""
    if model.period_ns > LONGEST_TICK_NS:
        refuse(f'a tick of it lasts {model.period_ns} ns, more than {LONGEST_TICK_NS}')
    ticks = int(model.max_gap_ns) // int(model.period_ns) + 2
    channels = len(model.channels.names)
    check_size('max_gap_ns', ticks, channels)
    check_size('window', 2 * model.window, channels)
    if model.horizons[-1] * model.period_ns > LONGEST_HORIZON_NS:
        refuse('its last horizon is more than a day ahead')


def check_magnitude(name: str, array: np.ndarray) -> None:
    """Refuse an array of reals whose products would not be numbers."""
    if array.dtype.kind == 'f' and (np.abs(array) >= LARGEST_NUMBER).any():
        refuse(f'{name} holds numbers beyond {LARGEST_NUMBER:g}')


ROUNDING = 1e-9
"""Of the largest entry of a covariance, by which an eigenvalue may be negative."""

_REALS = np.dtype(np.float64)
_KINDS = {
    'starts': np.dtype(np.int64),
    'still': np.dtype(np.int64),
    'begins': np.dtype(np.int64),
    'targets_of': np.dtype(np.int64),
    'steps_of': np.dtype(np.int64),
    'live': np.dtype(np.bool_),
}


def check_positive(numbers: Mapping[str, float]) -> None:
    """Refuse the first number that is not positive and finite."""
    for name, value in numbers.items():
        if isinstance(value, bool) or not (np.isfinite(value) and value > 0):
            refuse(f'{name} is {value}, not a positive number')


def check_shapes(shapes: Shapes) -> None:
    """Refuse the first array that has not the shape beside it."""
    for name, (array, shape) in shapes.items():
        if array.shape != shape:
            refuse(f'{name} has the shape {array.shape} instead of {shape}')


def check_finite(groups: Iterable[object]) -> None:
    """Refuse the first array among attributes of objects of another type, or beyond bounds."""
    for group in groups:
        for name, value in vars(group).items():
            if not isinstance(value, np.ndarray) or name.startswith('_'):
                continue
            kind = _KINDS.get(name, _REALS)
            if value.dtype != kind:
                refuse(f'{name} holds {value.dtype} instead of {kind}')
            # Unknown targets and the seams of the track are NaN by design.
            bad = np.isinf(value) if name in {'targets', 'track'} else ~np.isfinite(value)
            if bad.any():
                refuse(f'{name} holds numbers that are not finite')
            # Beyond which a sample is refused; a channel that is left out has the largest of all.
            if name != 'limit':
                check_magnitude(name, value)


def are_covariances(matrices: Floats) -> bool:
    """Return whether (n, 2, 2) matrices are symmetric and not negative, but for rounding."""
    slack = ROUNDING * np.abs(matrices).max(axis=(1, 2))
    skewness = np.abs(matrices[:, 0, 1] - matrices[:, 1, 0])
    smallest = np.linalg.eigvalsh(matrices).min(axis=1)
    return bool((skewness <= slack).all() and (smallest >= -slack).all())


@dataclass(frozen=True, kw_only=True)
class ModelHead(ABC):
    """
    The part of a model that nodes, outputs and scores need.

    Parameters
    ----------
    rate_hz, period_ns
        Ticks per second and length of a tick.
    max_gap_ns
        Longest step between samples that is no gap.
    window
        Ticks in a window.
    horizons
        Ticks ahead at which positions are read out, 0 first.
    imu_topic, imu_frame_id, position_topic, frame_id
        Of what was learned from; positions are in ``frame_id``.
    origin
        Of the tangent plane if the positions were geodetic.
    channels
        Names, scaling and range of the values in a sample.
    track : (T, 2)
        Positions learned from in order, metres, also those that the read-out ``mkdr`` estimated;
        NaN rows between segments. A route keeps some laps of them.
    mean_position : (2,)
        Mean of all positions learned from.
    summary
        How it was learned and what it reached, JSON values only.

    """

    rate_hz: float
    period_ns: int
    max_gap_ns: int
    window: int
    horizons: tuple[int, ...]
    imu_topic: str
    imu_frame_id: str
    position_topic: str
    frame_id: str
    origin: GeodeticOrigin | None
    channels: Channels
    track: Floats
    mean_position: Floats
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    @abstractmethod
    def states(self) -> int:
        """Dimension of the state, k."""

    @property
    def live_channels(self) -> tuple[str, ...]:
        """Names of the channels used."""
        return self.channels.live_names


@dataclass(frozen=True, kw_only=True)
class TrainedModel(ModelHead):
    """
    A model that was learned from recordings at once, with windows of them to compare with.

    Parameters
    ----------
    kernel
        Name of the manifold learner.
    series : (d, N), starts : (n,)
        Standardised observations of the training, or of some stretches of it, and the first tick
        of each window in them.

    """

    kernel: str
    series: Floats
    starts: Ints


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
