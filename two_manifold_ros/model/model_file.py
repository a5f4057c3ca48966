# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Save and load models of any kind; a file that cannot be filtered with is refused in one sentence.

One codec turns any part of a model into JSON values and arrays and back: the parameters of its
class are its fields, and their annotations say what a file may hold there. A part within a part is
a table in the header, and its arrays have the names of the parts before theirs:
``route.likelihood.rest.root``. What has to hold between fields stands in ``validate`` of each
model.
"""

from __future__ import annotations

from collections.abc import Mapping
import hashlib
import inspect
import json
import math
from pathlib import Path
from typing import Any, IO, NamedTuple, TYPE_CHECKING
import zipfile

import numpy as np
from numpy.typing import NDArray

from two_manifold_ros.errors import InputError, refuse, UnfitError
from two_manifold_ros.files import checked, parse_json, replace_file
from two_manifold_ros.hse_hmm.hmm import RawKernel, RidgeKernel, Tables
from two_manifold_ros.hse_hmm.readout import RidgeReadout, SharpenedReadout
from two_manifold_ros.manifold.learner import Extension
from two_manifold_ros.manifold.selection import RESPONSES
from two_manifold_ros.model.circuit import Circuit
from two_manifold_ros.model.model import (
    atlas_of,
    AtlasModel,
    Model,
    ModelHead,
    NetworkLines,
    RouteModel,
    SensedRouteModel,
    TpsrModel,
)
from two_manifold_ros.names import frame_name
from two_manifold_ros.network.belief import Network
from two_manifold_ros.recordings.recording import GeodeticOrigin, IMU_CHANNELS, IMU_UNITS
from two_manifold_ros.route.belief import Sensor
from two_manifold_ros.route.route import (
    Density,
    Route,
    RouteGeometry,
    RouteLikelihood,
    RouteMotion,
    RouteReadout,
    RouteSwitching,
)
from two_manifold_ros.rules import BOUNDS
from two_manifold_ros.ticks.rest import RestRule
from two_manifold_ros.ticks.segments import Channels
from two_manifold_ros.ticks.sliding import NoveltyAnchors
from two_manifold_ros.tpsr.parameters import Tpsr

if TYPE_CHECKING:
    Arrays = dict[str, NDArray[Any]]


_SUFFIX = '.npy'


class Limits(NamedTuple):
    """
    Sizes, bytes, beyond which a file is refused; models and checkpoints have less than a tenth.

    The JSON of a header takes thirty times as much when it is parsed, the list of members twenty.
    """

    file: int = 2_000_000_000
    header: int = 4_000_000
    directory: int = 1_000_000


LIMITS = Limits()
_NUMBERS = 'biuf'
_LOCATOR, _END = 20, 22
"""Bytes of the last two records of a zip file."""


def refusal(path: str | Path, error: Exception, otherwise: str) -> InputError:
    """Return the sentence that refuses a model: for an own cause, or ``otherwise`` a library's."""
    cause = error if isinstance(error, UnfitError) else otherwise
    return InputError(f'{path}: the model is refused: {cause}; copy it again or train again')


def write_container(
    path: str | Path,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    what: str = 'model',
) -> None:
    """
    Write a container as `replace_file` does; an ``InputError`` says that it cannot be written.

    All numbers of the header are finite, and the arrays hold numbers under any name but
    ``header``, or a ``ValueError`` says so.
    """
    for name, array in arrays.items():
        if name == 'header' or array.dtype.kind not in _NUMBERS:
            msg = f'{name} holds {array.dtype}: it is no kind of number, or named as the header'
            raise ValueError(msg)
    text = json.dumps(dict(header), sort_keys=True, allow_nan=False)
    sealed = {'content': json.loads(text), 'sha256': _checksum(text, arrays)}
    head = np.frombuffer(json.dumps(sealed, sort_keys=True).encode(), dtype=np.uint8)

    def write(stream: IO[bytes]) -> None:
        # As ``np.savez`` does, which before NumPy 2.2 reserves some names.
        with zipfile.ZipFile(stream, 'w') as archive:
            for name, array in {'header': head, **arrays}.items():
                # A ZipInfo without a date is dated 1980: the same content gives the same bytes.
                with archive.open(zipfile.ZipInfo(name + _SUFFIX), 'w', force_zip64=True) as file:
                    np.lib.format.write_array(file, array, allow_pickle=False)

    replace_file(path, write, what, 0o644)


def read_container(
    path: str | Path, most_bytes: int = LIMITS.file
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read header and arrays of a container; an ``InputError`` says why it is refused."""
    source = Path(path)
    with checked(source, 'model', 'check the path, and the permissions of its folder'):
        is_folder, is_file = source.is_dir(), source.is_file()
    if not is_file:
        msg = (
            f'{source}: this is a folder (a bag?), not a model file; name what "train" wrote'
            if is_folder
            else f'{source}: there is no such model file; check the path, or train one with '
            '"two-manifold train"'
        )
        raise InputError(msg)
    try:
        arrays = _read_members(source, most_bytes)
        raw = arrays.pop('header').tobytes()
        if len(raw) > LIMITS.header:
            refuse(f'its header has {len(raw)} bytes, more than {LIMITS.header}')
        sealed = parse_json(raw.decode())
        if not isinstance(sealed, dict):
            refuse('its header is no table')
        content = dict(sealed['content'])
        text = json.dumps(content, sort_keys=True, allow_nan=False)
        if sealed['sha256'] != _checksum(text, arrays):
            refuse('its checksum does not match its content')
    # On bad bytes zipfile and NumPy raise a dozen kinds, MemoryError and TokenError too.
    except Exception as error:
        raise refusal(source, error, 'it is damaged or no model file') from error
    return content, arrays


def _read_members(path: Path, most_bytes: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file by name; together they are no larger than the file."""
    with path.open('rb') as stream:
        size = stream.seek(0, 2)
        if size > most_bytes:
            refuse(f'it has {size} bytes, more than {most_bytes}')
        stream.seek(max(0, size - _END - _LOCATOR))
        tail = stream.read().rjust(_END + _LOCATOR)
        # A larger list would be announced by a locator before the end, or after a comment.
        if tail[_LOCATOR : _LOCATOR + 4] != b'PK\x05\x06' or tail[:4] == b'PK\x06\x07':
            refuse('it is damaged or no model file')
        length = int.from_bytes(tail[_LOCATOR + 12 : _LOCATOR + 16], 'little')
        if length > LIMITS.directory:
            refuse(f'it lists members in {length} bytes, more than {LIMITS.directory}')
        with zipfile.ZipFile(stream) as archive:
            members = archive.infolist()
            names = [member.filename for member in members]
            if len(set(names)) != len(names):
                refuse('it holds two members of one name')
            if not all(name.endswith(_SUFFIX) for name in names):
                refuse('it holds something else than arrays')
            if any(member.compress_type != zipfile.ZIP_STORED for member in members):
                refuse('its members are compressed, which this program never does')
            declared = sum(member.file_size for member in members)
            if declared > size:
                refuse(f'its members declare {declared} bytes, more than the {size} of the file')
            return {name.removesuffix(_SUFFIX): _read_array(archive, name, size) for name in names}


def _read_array(archive: zipfile.ZipFile, name: str, size: int) -> NDArray[Any]:
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    with archive.open(name) as stream:
        shape, _, dtype = readers[np.lib.format.read_magic(stream)](stream)
        # Neither pickled objects nor texts and records, whose elements may have no size.
        if dtype.kind not in _NUMBERS:
            refuse(f'it holds {dtype}, which is no kind of number')
        content = archive.getinfo(name).file_size - stream.tell()
        # An array without elements may claim any length.
        long = not all(0 <= each <= size for each in shape)
        if long or math.prod(shape) * dtype.itemsize != content:
            refuse(f'it holds an array of the shape {shape} in {content} bytes')
        stream.seek(0)
        array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    return array


def _checksum(text: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f'{name} {array.dtype.str} {array.shape}'.encode())
        digest.update(array.data)
    return digest.hexdigest()


VERSION = 23
"""Of the file; another one is refused."""

CHECKPOINT_FORMAT = 'two_manifold_ros checkpoint'

_FORMATS: dict[str, type[ModelHead]] = {
    'two_manifold_ros model': Model,
    'two_manifold_ros TPSR model': TpsrModel,
    'two_manifold_ros sensed route model': SensedRouteModel,
    'two_manifold_ros route model': RouteModel,
}

ATLAS_FORMAT = 'two_manifold_ros atlas model'
"""Its file holds those of its routes: header and arrays of each."""

_PARTS: dict[str, dict[str, type[Any]]] = {
    'Readout': {'sharpened': SharpenedReadout, 'ridge': RidgeReadout},
    'ObservationOperator': {'raw': RawKernel, 'ridge': RidgeKernel},
    'Response': RESPONSES,
} | {
    kind.__name__: {'': kind}
    for kind in (
        Channels, Circuit, Density, Extension, GeodeticOrigin, Network, NetworkLines,
        NoveltyAnchors, RestRule, Route, RouteGeometry, RouteLikelihood, RouteMotion, RouteReadout,
        RouteSwitching, Sensor, SharpenedReadout, Tables, Tpsr,
    )
}  # fmt: skip
"""Classes by annotation, and by the ``kind`` in the file where an annotation has several."""

_DTYPES = {'Floats': np.dtype('f8'), 'Ints': np.dtype('i8'), 'Bools': np.dtype('?')}
"""Types of arrays by annotation."""

_VALUES: dict[str, tuple[Any, str]] = {
    'float': ((int, float), 'number'), 'int': ((int,), 'whole number'), 'str': ((str,), 'text'),
    'bool': ((bool,), 'truth value'), 'dict[str, Any]': ((dict,), 'table'),
}  # fmt: skip
"""Types of JSON values, and words for them, by annotation."""

SENSORS = 'tuple[Sensor, ...]'
"""The annotation of several parts of one class."""


def save_model(model: ModelHead, path: str | Path) -> None:
    """Write a model of any kind atomically; an ``InputError`` says why it cannot be."""
    write_container(path, *model_parts(model))


def load_model(path: str | Path) -> ModelHead:
    """Read a model of any kind; an ``InputError`` says why it cannot be filtered with."""
    return model_from(path, *read_container(path))


def model_parts(model: ModelHead) -> tuple[dict[str, Any], Arrays]:
    """Return header and arrays for `model_from`; an ``InputError`` if it would refuse them."""
    if model.is_atlas:
        routes: list[dict[str, Any]] = []
        arrays: Arrays = {}
        for number, (each, member) in enumerate(model.routes.items()):
            inner, own = model_parts(member)
            routes.append({'name': each, **inner})
            arrays |= {f'routes.{number}.{key}': array for key, array in own.items()}
        return {'format': ATLAS_FORMAT, 'version': VERSION, 'routes': routes}, arrays
    name = next(name for name, kind in _FORMATS.items() if type(model) is kind)
    numbers, arrays = encode(model)
    units = _units(model.channels)
    header = {'format': name, 'version': VERSION, 'channel_units': units, **numbers}
    model_from('the model', header, arrays)
    return header, arrays


def model_from(path: str | Path, header: dict[str, Any], arrays: Arrays) -> ModelHead:
    """Return the model of what was read from a file; ``InputError`` as in `load_model`."""
    form, version = str(header.get('format')), header.get('version')
    trouble = ''
    if form.startswith(CHECKPOINT_FORMAT):
        trouble = (
            'this is a checkpoint of updater_node and not a model; that node goes on from it '
            'where it finds it in its checkpoint_folder'
        )
    elif not (form.startswith('two_manifold_ros ') and form.endswith(' model')):
        trouble = 'this is not a two_manifold_ros model; train one with "two-manifold train"'
    elif form not in {*_FORMATS, ATLAS_FORMAT} or version != VERSION:
        trouble = (
            f'the model has version {ascii(version)[:40]}, but this program reads version '
            f'{VERSION}; train again'
        )
    if trouble:
        raise InputError(f'{path}: {trouble}')
    try:
        if form == ATLAS_FORMAT:
            return _build_atlas(path, header, arrays)
        return _build(_FORMATS[form], header, arrays)
    # Of a route of an atlas.
    except InputError:
        raise
    # Values of any type and arrays of any shape make Python and NumPy raise almost anything.
    except Exception as error:
        # The message stays one short sentence for any content of the file.
        words = ' '.join(str(error).split())[:200]
        raise refusal(path, error, f'its content does not fit together ({words})') from error


def _build_atlas(path: str | Path, header: dict[str, Any], arrays: Arrays) -> AtlasModel:
    left, members = dict(arrays), {}
    for number, each in enumerate(header['routes']):
        inner, where = dict(each), f'routes.{number}.'
        name = inner.pop('name')
        if name in members or inner.get('format') == ATLAS_FORMAT:
            refuse(f'its route {number + 1} is there twice, or an atlas')
        own = {key[len(where) :]: left.pop(key) for key in [*left] if key.startswith(where)}
        members[name] = model_from(f'{path}: route {ascii(name)[1:-1][:40]}', inner, own)
    if left or header.keys() - {'format', 'version', 'routes'}:
        refuse('it holds more than its routes')
    try:
        return atlas_of(members)
    except InputError as error:
        raise InputError(f'{path}: {error}') from error


def _build(kind: type[ModelHead], header: dict[str, Any], arrays: Arrays) -> ModelHead:
    left = {'format', 'version', 'channel_units'}
    units, arrays = header['channel_units'], dict(arrays)
    # A read-out takes the moments of each column before `validate` can compare their number.
    targets = arrays.get('readout.targets')
    if targets is not None and not targets.shape[1] <= BOUNDS.horizons + 1:
        refuse(f'readout.targets has the shape {targets.shape}')
    numbers = {name: value for name, value in header.items() if name not in left}
    model: ModelHead = decode(kind, numbers, arrays)
    if arrays:
        refuse(f'it holds {ascii(min(arrays))[:40]}, which is no part of such a model')
    if any(each.startswith('command.') for each in model.channels.names):
        refuse('it takes commands of the vehicle, which this program no longer does')
    if units != _units(model.channels):
        refuse('it was trained on channels in other units')
    model.validate()
    return model


def _units(channels: Channels) -> list[str]:
    """Return the units that the names stand for; only an IMU's channels have some."""
    return list(IMU_UNITS) if channels.names == IMU_CHANNELS else [''] * len(channels.names)


def _fields(kind: type[Any]) -> dict[str, str]:
    """Return the annotations of the parameters of a class, which are its fields."""
    # Named tuples wrap theirs.
    return {
        name: getattr(each.annotation, '__forward_arg__', each.annotation).removesuffix(' | None')
        for name, each in inspect.signature(kind).parameters.items()
    }


def encode(part: object) -> tuple[dict[str, Any], Arrays]:
    """Return a part of a model as JSON values and arrays by name; only of known classes."""
    numbers: dict[str, Any] = {}
    arrays: Arrays = {}
    for name, annotation in _fields(type(part)).items():
        value = getattr(part, name)
        if isinstance(value, np.ndarray):
            arrays[name] = value
        elif annotation == SENSORS:
            # Each is a table in a list, and its number is in the names of its arrays.
            numbers[name] = []
            for number, each in enumerate(value):
                inner, own = encode(each)
                numbers[name].append(inner)
                arrays |= {f'{name}.{number}.{key}': array for key, array in own.items()}
        elif annotation in _PARTS and value is not None:
            kinds = _PARTS[annotation]
            kind = next((each for each in kinds if kinds[each] is type(value)), None)
            if kind is None:
                raise TypeError(f'{type(value).__name__} has no form in the model file')
            inner, own = encode(value)
            numbers[name] = inner | ({'kind': kind} if kind else {})
            arrays |= {f'{name}.{each}': array for each, array in own.items()}
        else:
            numbers[name] = list(value) if isinstance(value, tuple) else value
    return numbers, arrays


def decode(kind: type[Any], numbers: dict[str, Any], arrays: Arrays, where: str = '') -> Any:  # noqa: ANN401
    """
    Return a part of that kind, taking its numbers and arrays, at ``where``, out of both tables.

    An error of almost any type says that something is missing, left over or of another type.
    """
    values: dict[str, Any] = {}
    for name, annotation in _fields(kind).items():
        path = where + name
        if annotation in _DTYPES:
            values[name] = _checked_array(path, arrays.pop(path, None), annotation)
            continue
        if name not in numbers:
            refuse(f'{path} is missing')
        value = numbers.pop(name)
        if annotation == SENSORS:
            if not isinstance(value, list) or len(value) > BOUNDS.horizons:
                refuse(f'{path} is no list, or a long one')
            values[name] = tuple(
                decode(Sensor, dict(each), arrays, f'{path}.{number}.')
                for number, each in enumerate(value)
            )
            continue
        if annotation in _PARTS and value is not None:
            inner, kinds = dict(value), _PARTS[annotation]
            chosen = inner.pop('kind', '') if len(kinds) > 1 else ''
            if not isinstance(chosen, str) or chosen not in kinds:
                refuse(f'{path} is of the kind {ascii(chosen)[:40]}, unknown to this program')
            value = decode(kinds[chosen], inner, arrays, f'{path}.')
        elif annotation not in _PARTS:
            value = _checked_value(path, value, annotation)
        values[name] = value
    if numbers:
        refuse(f'it holds {ascii(where + min(numbers))[:40]}, which is no part of such a model')
    return kind(**values)


def _checked_array(path: str, array: NDArray[Any] | None, annotation: str) -> NDArray[Any]:
    """Return an array if it is there and has its type and numbers to compute with."""
    if array is None:
        refuse(f'{path} is missing')
    if array.dtype != _DTYPES[annotation]:
        refuse(f'{path} holds {array.dtype} instead of {_DTYPES[annotation]}')
    # Unknown targets and the seams of the track are NaN by design.
    may_be_unknown = path in {'readout.targets', 'track'}
    if not (~np.isinf(array) if may_be_unknown else np.isfinite(array)).all():
        refuse(f'{path} holds numbers that are not finite')
    # Of a channel that is left out, any sample is within the limit.
    bounded = annotation == 'Floats' and not path.endswith('channels.limit')
    if bounded and (np.abs(array) >= BOUNDS.number).any():
        refuse(f'{path} holds numbers beyond {BOUNDS.number:g}')
    return array


def _checked_value(path: str, value: Any, annotation: str) -> Any:  # noqa: ANN401 - JSON
    """Return a JSON value in the type of its annotation."""
    if annotation.startswith('tuple['):
        if not isinstance(value, (list, tuple)):
            refuse(f'{path} is no list')
        if annotation == 'tuple[int, ...]' and len(value) > BOUNDS.horizons:
            refuse(f'{path} has {len(value)} entries, more than {BOUNDS.horizons}')
        return tuple(_checked_value(path, each, annotation[6:9]) for each in value)
    types, noun = _VALUES[annotation]
    if isinstance(value, bool) != (annotation == 'bool') or not isinstance(value, types):
        refuse(f'{path} is no {noun}')
    if isinstance(value, str) and (len(value) > BOUNDS.text or not value.isprintable()):
        refuse(f'{path} is too long or holds characters that cannot be printed')
    if path.endswith('frame_id'):
        return frame_name(value)
    if annotation == 'float':
        if not math.isfinite(value):
            refuse(f'{path} is not finite')
        # Compiled code would take whole numbers for others than they are.
        return float(value)
    return _printable(value) if annotation == 'dict[str, Any]' else value


def _printable(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return an untrusted value with texts that are safe to print on a terminal."""
    if isinstance(value, str):
        return value if value.isprintable() else ascii(value)[1:-1]
    if isinstance(value, list):
        return [_printable(each) for each in value]
    if isinstance(value, dict):
        return {_printable(key): _printable(each) for key, each in value.items()}
    return value
