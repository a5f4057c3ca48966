# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A model comes back from its file bit by bit; what is damaged or unfit is refused."""

from dataclasses import replace
import io
import itertools
import json
import os
from pathlib import Path
import pickle
import re
import stat
import struct
import time
from typing import Any
import warnings
import zipfile

import numpy as np
import pytest
from small_network import network_of

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import estimates_along
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.hse_hmm.hmm import make_ridge_kernel
from two_manifold_ros.hse_hmm.readout import RidgeReadout
from two_manifold_ros.model import model_file
from two_manifold_ros.model.model import atlas_of, Model, ModelHead
from two_manifold_ros.names import KERNELS
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

HEADER: dict[str, Any] = {'name': 'thing', 'numbers': [1, 2.5, None], 'nested': {'yes': True}}
ARRAYS: dict[str, Any] = {
    'reals': np.random.default_rng(0).normal(size=(40, 7)),
    'whole': np.arange(5),
    'flags': np.array([True, False]),
    'nothing': np.zeros((0, 3)),
    'unknown': np.array([np.nan, 1.0]),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / 'model.npz'
    model_file.write_container(target, HEADER, ARRAYS)
    return target


def refusal(path: Path, **options: int) -> str:
    with pytest.raises(InputError) as caught:
        model_file.read_container(path, **options)
    message = str(caught.value)
    assert message.startswith(f'{path}: ')
    assert '\n' not in message
    return message


def claiming(shape: tuple[int, ...], kind: object = '<f8') -> bytes:
    buffer = io.BytesIO()
    described = {'descr': kind, 'fortran_order': False, 'shape': shape}
    np.lib.format.write_array_header_1_0(buffer, described)
    return buffer.getvalue()


def rewrite(path: Path, **changed: object) -> None:
    with np.load(path) as archive:
        arrays = dict(archive)
    with path.open('wb') as file:
        np.savez(file, **arrays | changed)


def test_what_is_written_is_read_and_the_same_content_gives_the_same_bytes_on_any_day(
    path, tmp_path, monkeypatch
):
    assert list(path.parent.iterdir()) == [path]
    assert path.stat().st_mode & 0o777 == 0o644
    header, arrays = model_file.read_container(path)
    assert header == HEADER
    assert {name: (each.dtype, each.shape, each.tobytes()) for name, each in arrays.items()} == {
        name: (each.dtype, each.shape, each.tobytes()) for name, each in ARRAYS.items()
    }
    monkeypatch.setattr(time, 'time', lambda: 2e9)
    monkeypatch.setenv('SOURCE_DATE_EPOCH', '1900000000')
    model_file.write_container(tmp_path / 'again', dict(reversed(HEADER.items())), ARRAYS)
    assert (tmp_path / 'again').read_bytes() == path.read_bytes()


@pytest.mark.parametrize(('name', 'array'), [('thing', np.array([1j])), ('header', np.zeros(3))])
def test_what_could_not_be_read_is_not_written(name, array, path):
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f'{name} holds .*: it is no kind of number, or named'):
        model_file.write_container(path, HEADER, {'reals': ARRAYS['reals'], name: array})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_file_and_folder_are_on_the_disk_in_this_order(path, monkeypatch):
    """Bytes before the new name can be seen, the name before the call returns."""
    before = path.read_bytes()
    seen: list[tuple[bool, bool]] = []

    def note(handle: int) -> None:
        seen.append((stat.S_ISDIR(os.fstat(handle).st_mode), path.read_bytes() == before))

    monkeypatch.setattr(os, 'fsync', note)
    model_file.write_container(path, {'other': 1}, {})
    assert seen == [(False, True), (True, False)]


def test_a_cut_file_is_refused_and_a_flipped_bit_is_or_harmless(path):
    """A bit in every seventh byte; what is read nevertheless is what was written."""
    content = path.read_bytes()
    said = 'the model is refused: it is damaged or no model file; copy it again or train again'
    for share in (0.0, 0.3, 0.9999):
        path.write_bytes(content[: int(share * len(content))])
        assert said in refusal(path)
    bits = np.random.default_rng(0).integers(0, 8, size=len(content))
    harmless = 0
    for place in range(0, len(content), 7):
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(bits[place])
        path.write_bytes(flipped)
        try:
            header, arrays = model_file.read_container(path)
        except InputError:
            continue
        harmless += 1
        assert header == HEADER
        assert {name: array.tobytes() for name, array in arrays.items()} == {
            name: array.tobytes() for name, array in ARRAYS.items()
        }
    assert harmless < len(content) // 10


@pytest.mark.parametrize(
    ('content', 'cause'),
    [
        (claiming((2**70,)), 'it holds an array of the shape'),
        (claiming((0, 10**14)), 'it holds an array of the shape (0, 100000000000000) in'),
        (claiming((-3,)), 'it holds an array of the shape (-3,) in'),
        (claiming((1,), '|O') + pickle.dumps([{}]), 'it holds object, which is no kind of'),
        (claiming((10**9,), '<V0'), 'it holds |V0, which is no kind of number'),
        (claiming((0,), [('a', '<f8')]), "it holds [('a', '<f8')], which is no kind of number"),
        (b'no array', 'it is damaged'),
    ],
)
def test_members_that_lie_about_themselves(content, cause, tmp_path, monkeypatch):
    monkeypatch.setattr(pickle, 'load', lambda *_, **__: pytest.fail('loaded'))
    with zipfile.ZipFile(tmp_path / 'lies', 'w') as archive:
        archive.writestr('header.npy', content)
    assert cause in refusal(tmp_path / 'lies')


def test_what_is_no_list_of_plain_arrays_is_refused_before_it_is_read(tmp_path, monkeypatch):
    for compression, names, cause in (
        (zipfile.ZIP_DEFLATED, ['header.npy'], 'its members are compressed'),
        (zipfile.ZIP_STORED, ['inner.npz'], 'it holds something else than arrays'),
        (zipfile.ZIP_STORED, ['header.npy'] * 2, 'it holds two members of one name'),
    ):
        with zipfile.ZipFile(tmp_path / 'bomb', 'w', compression) as archive:
            for name in names:
                with warnings.catch_warnings(action='ignore'):
                    archive.writestr(name, bytes(2 * 10**6))
        with monkeypatch.context() as patch:
            patch.setattr(zipfile.ZipFile, 'open', lambda *_, **__: pytest.fail('unpacked'))
            assert cause in refusal(tmp_path / 'bomb')


def end_of(listed: bytes, begin: int) -> bytes:
    return struct.pack('<4s4xHHIIH', b'PK\x05\x06', 2000, 2000, len(listed), begin, 0)


def test_members_that_share_their_bytes_are_refused(path):
    """A list of members that points again and again to the largest one."""
    content = path.read_bytes()
    begin, *others = [each.start() for each in re.finditer(b'PK\x01\x02', content)]
    entries = [content[a:b] for a, b in itertools.pairwise([begin, *others, len(content) - 22])]
    entry = max(entries, key=lambda each: int.from_bytes(each[24:28], 'little'))
    listed = b''.join(entry.replace(b'reals', f'{n:05d}'.encode()) for n in range(2000))
    path.write_bytes(content[:begin] + listed + end_of(listed, begin))
    assert re.search('its members declare 4[0-9]* bytes, more than the', refusal(path))


def test_a_long_list_of_members_and_a_file_too_large_are_not_read(path, monkeypatch):
    monkeypatch.setattr(zipfile, 'ZipFile', lambda *_: pytest.fail('it was read'))
    content = path.read_bytes()
    path.write_bytes(content[:-22] + end_of(bytes(2_000_000), 0))
    assert 'it lists members in 2000000 bytes, more than 1000000' in refusal(path)
    # The same list announced where larger archives do.
    path.write_bytes(content[:-42] + b'PK\x06\x07' + bytes(16) + content[-22:])
    assert 'it is damaged' in refusal(path)
    assert f'it has {path.stat().st_size} bytes, more than 1000' in refusal(path, most_bytes=1000)


@pytest.mark.parametrize(
    ('written', 'cause'),
    [
        ('[' * 100_000, 'it is nested too deeply'),
        ('{"content": {}, "content": {}}', 'it names something twice'),
        ('{"content": {"a": 9223372036854775808}}', 'it holds a whole number that no'),
        ('"text"', 'its header is no table'),
        ('\udcff', 'it is damaged'),
        (4_000_001 * ' ', 'its header has 4000001 bytes'),
    ],
    ids=['deep', 'twice', 'large number', 'no table', 'no text', 'long'],
)
def test_headers_that_are_a_trap(written, cause, path):
    head = np.frombuffer(written.encode(errors='surrogateescape'), dtype=np.uint8)
    rewrite(path, header=head)
    assert cause in refusal(path)


@pytest.mark.parametrize('changed', ['header', 'whole'])
def test_changed_content_does_not_match_the_checksum(changed, path):
    with np.load(path) as archive:
        sealed = json.loads(archive['header'].tobytes())
    sealed['content']['name'] = 'another' if changed == 'header' else HEADER['name']
    text = np.frombuffer(json.dumps(sealed).encode(), dtype=np.uint8)
    rewrite(path, header=text, whole=ARRAYS['whole'] + (changed == 'whole'))
    assert 'its checksum does not match its content' in refusal(path)


def run_of(model: ModelHead, recording: Recording) -> list[bytes]:
    estimates = [each for each, _ in estimates_along(Filter(model), recording, lambda *_: None)]
    return [
        b''.join(np.asarray(value).tobytes() for value in vars(each).values()
                 if not hasattr(value, 'name'))
        for each in estimates
    ]  # fmt: skip


@pytest.mark.parametrize(
    'change',
    [
        {'kernel': 'gaussian'},
        {},
        {'method': 'spectral', 'observation': 'ridge'},
        {'method': 'spectral', 'readout': 'ridge'},
        *({'method': 'spectral', 'kernel': kernel} for kernel in KERNELS),
    ],
    ids=str,
)
def test_the_loaded_model_filters_bit_by_bit_as_the_trained_one(
    change, slot_car_laps, tpsr_model, tmp_path
):
    """Of each kind of part, and of a TPSR where nothing is changed."""
    short = slot_car_laps[0].between(0, 9)
    if 'method' in change:
        change = {**change, 'bandwidth_factor': 1.0}
    settings = TrainingSettings(
        window=8, states=5, horizons=(0, 3), dimension=12, neighbours=9, **change
    )
    model = train_model([short], settings) if change else tpsr_model
    model_file.save_model(model, tmp_path / 'model')
    loaded = model_file.load_model(tmp_path / 'model')
    assert type(loaded) is type(model)
    trained = run_of(model, short)
    assert len(trained) > 50
    assert run_of(loaded, short) == trained
    model_file.save_model(loaded, tmp_path / 'again')
    assert (tmp_path / 'again').read_bytes() == (tmp_path / 'model').read_bytes()


@pytest.mark.parametrize(
    ('form', 'version', 'words'),
    [
        ('two_manifold_ros route model', 99, 'the model has version 99, but this program reads'),
        ('two_manifold_ros model', 10_000 * '\x1b', 'the model has version'),
        ('recipe', model_file.VERSION, 'this is not a two_manifold_ros model; train one with'),
        (
            'two_manifold_ros checkpoint 2',
            model_file.VERSION,
            'this is a checkpoint of updater_node',
        ),
    ],
)
def test_another_version_is_refused_and_named(form, version, words):
    with pytest.raises(InputError) as caught:
        model_file.model_from('m.npz', {'format': form, 'version': version}, {})
    assert str(caught.value).startswith(f'm.npz: {words}')
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ('name', 'value', 'words'),
    [
        ('rate_hz', '10', 'rate_hz is no number'),
        ('state_bound', float('inf'), 'state_bound is not finite'),
        ('guarded', 1, 'guarded is no truth value'),
        ('horizons', 5, 'horizons is no list'),
        ('horizons', list(range(2000)), 'horizons has 2000 entries, more than 1000'),
        ('frame_id', 1001 * 'a', 'frame_id is too long or holds characters'),
        ('channels.names', ['a\x07'] * 6, 'channels.names is too long or holds characters'),
        ('summary', None, 'summary is no table'),
        ('origin', {'latitude_deg': 1.0, 'longitude_deg': 2.0}, 'origin.altitude_m is missing'),
        ('readout', {'kind': ['sharpened']}, "readout is of the kind ['sharpened'], unknown"),
        ('warm_start.response.more', 1.0, "it holds 'warm_start.response.more', which is no part"),
        ('channel_units', ['g'] * 3 + ['deg/s'] * 3, 'it was trained on channels in other units'),
        ('channels.names', ['command.x'] * 6, 'it takes commands of the vehicle, which this'),
        ('readout.targets', lambda _: np.zeros((1, 5000, 2)), 'readout.targets has the shape'),
    ],
    ids=lambda value: 'changed' if callable(value) else str(value),
)
def test_a_header_that_makes_no_sense(name, value, words, refusal):
    sentence = refusal('spectral', name, value)
    assert f'the model is refused: {words}' in sentence
    assert sentence.endswith('; copy it again or train again')


@pytest.mark.parametrize('kind', ['spectral', 'route'])
def test_nothing_may_be_missing_or_left_over(kind, contents):
    header, arrays = contents[kind]
    # Without a format or a version something else is said.
    said = {name: name for name in header} | {'format': '.', 'version': '.'}
    said |= {name: f'{name} is missing' for name in arrays}
    for name, words in said.items():
        less = [{each: of[each] for each in of if each != name} for of in (header, arrays)]
        with pytest.raises(InputError, match=words):
            model_file.model_from('m.npz', *less)
    for more in ('other', 'readout.other'):
        with pytest.raises(InputError, match=f"it holds '{more}', which is no part of such"):
            model_file.model_from('m.npz', header, arrays | {more: np.zeros(3)})
    with pytest.raises(InputError, match="it holds 'other', which is no part of such"):
        model_file.model_from('m.npz', header | {'other': 3}, arrays)


ANY_LENGTH = {'track', 'starts', 'route.motion.moves'}
"""A track, the windows of a model, and the speed ratios that a map knows."""


@pytest.mark.parametrize('kind', ['spectral', 'route', 'lines', 'network'])
def test_every_array_is_of_its_type_and_shape_and_finite(kind, contents, refusal):
    for name, array in contents[kind][1].items():
        # A model of lines is a route as well.
        if kind in {'lines', 'network'} and not name.startswith(kind):
            continue
        assert 'holds float32 instead of' in refusal(kind, name, lambda each: each.astype('f4'))
        for number in (np.inf, 1e100):
            wrong = array.astype(float)
            if not wrong.size or (name == 'channels.limit' and number < np.inf):
                continue
            wrong.flat[-1] = number
            assert name in refusal(kind, name, lambda _, wrong=wrong: wrong)
        changes = [lambda each: np.stack([each] * 2)]
        if array.size and array.ndim:
            changes += [lambda each: each[..., :0], lambda each: each[1:]]
        for change in changes[: 2 if name in ANY_LENGTH else 3]:
            assert 'the model is refused' in refusal(kind, name, change), name


def test_some_numbers_may_be_unknown_or_of_any_size_and_texts_can_be_shown(changed):
    """Of targets and seams of the track, and of the limit of a channel that is left out."""
    for name in ('readout.targets', 'track'):
        model_file.model_from('m.npz', *changed('spectral', name, np.nan, 0))
    model_file.model_from('m.npz', *changed('route', 'channels.limit', 1e300))
    # Compiled code would take whole numbers for others than they are.
    model = model_file.model_from('m.npz', *changed('spectral', 'operator.bandwidth', 2**62))
    assert isinstance(model, Model)
    assert isinstance(model.operator.bandwidth, float)
    Filter(model).warm_up()
    written = {'notes': ['a\x1b[2J', 'b'], '\x07': {'c': 'd\ne'}, 'f': 1.5}
    model = model_file.model_from('m.npz', *changed('spectral', 'summary', written))
    assert model.summary == {'notes': ['a\\x1b[2J', 'b'], '\\x07': {'c': 'd\\ne'}, 'f': 1.5}


def test_a_model_that_could_not_be_loaded_is_not_written(spectral_model, tmp_path):
    with pytest.raises(InputError, match='the model is refused: state_bound holds 0'):
        model_file.save_model(replace(spectral_model, state_bound=0.0), tmp_path / 'model')
    assert not list(tmp_path.iterdir())


NAN = float('nan')
RANGES: dict[str, list[tuple[str, Any, Any]]] = {
    'spectral': [
        ('novelty.squared', ..., 0.0), ('novelty.still', ..., 2**31), ('state_bound', ..., -2.0),
        ('operator.bandwidth', ..., 0.0), ('readout.added', 1, -1e9), ('rate_hz', ..., 0.0),
        ('period_ns', ..., 10**13), ('channels.scale', 1, 1e-200), ('starts', 3, 10**6),
    ],
    'route': [
        ('route.likelihood.gains', 0, 0.0), ('route.likelihood.exponents', 1, 2.1),
        ('route.likelihood.new_level', ..., 1e9), ('route.likelihood.rest.level', ..., -1e9),
        ('route.geometry.targets_of', 3, 10**6), ('route.geometry.steps_of', 3, 10**6),
        ('route.motion.fastest', 0, 0.5), ('route.motion.trust', ..., 1.5),
        ('route.switching.stops', (0, 3), -0.1), ('route.readout.factors', 1, 0.0),
        ('least_evidence', ..., 1.5), ('still', 2, 2**40), ('circuit.spreads', 1, -1.0),
        ('circuit.length_m', ..., 0.0),
    ],
    'lines': [('lines.passes', (3, 0), 2.0), ('lines.forks', 0, -1), ('lines.apart_m', ..., 0.0)],
    'network': [
        ('network.chances', 1, 0.0), ('network.shakes', (0, 1), 1e4), ('network.courses', 1, 1e4),
    ],
}  # fmt: skip
"""A number of each kind beside its range, by model: its field, its place there, and it."""


@pytest.mark.parametrize('kind', RANGES)
def test_a_number_beyond_its_range_is_refused_by_name(kind, refusal):
    for name, index, value in RANGES[kind]:
        assert f'{name} holds {value:g}, which is not within' in refusal(kind, name, value, index)


@pytest.mark.parametrize(
    ('name', 'value', 'words'),
    [
        ('rest', {'ticks': 10**8, 'limit': 0.1}, 'rest.ticks would take'),
        ('rest', {'ticks': 3, 'limit': 0.0}, 'rest.limit holds 0'),
        ('warm_start.response.neighbours', 0, 'its warm start does not fit: neighbours holds 0'),
        ('tables.weights', lambda array: array[:3], 'states of 3 windows: more than those'),
        ('tables.states', lambda array: array + 1.0, 'do not keep the sum of the weights'),
        ('tables.states', lambda array: array * [1.0, *[3.0] * 39], 'grows without bound'),
        ('readout.targets', lambda array: array * [[NAN], [1.0], [1.0], [1.0]], 'nowhere known'),
        # What no filter can take.
        ('rate_hz', 20.0, 'its rate and the length of its tick disagree'),
        ('max_gap_ns', 10**17, 'max_gap_ns would take'),
        ('window', 10**9, 'window would take'),
        ('horizons', [0, 9, 5], 'its horizons do not start with 0 and increase'),
        ('horizons', [0, 5, 10**9], 'its last horizon is more than a day ahead'),
        ('horizons', [0, 5], 'readout.targets has the shape'),
        ('series', lambda array: 1e200 * array, 'series holds numbers beyond 1e+100'),
        ('starts', lambda array: array[:0], 'it has no windows'),
    ],
)
def test_what_would_make_a_filter_diverge(name, value, words, refusal):
    assert words in refusal('spectral', name, value)


@pytest.mark.parametrize('wrong', [[[0.1, 0.2], [0.0, 0.1]], [[0.1, 0.2], [0.2, 0.1]]])
def test_a_readout_or_a_kernel_that_does_not_fit(wrong, spectral_model):
    covariances = np.tile(np.eye(2), (4, 1, 1))
    readout = RidgeReadout(np.ones((4, 2, spectral_model.states)), covariances)
    observations = spectral_model.series.T[: len(spectral_model.starts)]
    operator = make_ridge_kernel(observations, 1.0, 1e-3)
    model = replace(spectral_model, readout=readout, operator=operator)
    model.validate()
    shorter = replace(operator, features=operator.features[1:])
    with pytest.raises(model_file.UnfitError, match='features has the shape'):
        replace(model, operator=shorter).validate()
    covariances[2] = wrong
    with pytest.raises(model_file.UnfitError, match='covariances are no covariances'):
        model.validate()


@pytest.mark.parametrize(
    ('name', 'index', 'value', 'words'),
    [
        ('route.likelihood.new_whitening', 0, 0.0, 'likelihood.new_whitening is singular'),
        ('route.likelihood.rest_alone.root', 1, 0.0, 'likelihood.rest_alone.root is singular'),
        ('route.readout.targets', (2, 0, 1), NAN, 'targets holds numbers that are not finite'),
        ('route.readout.covariances', (2, 1), -np.eye(2), 'covariances are no covariances'),
        ('route.geometry.begins', 1, 0, 'begins does not count the ways of each place'),
        ('route.geometry.steps_of', slice(4), 0, 'shares_of lead more than everything on'),
        ('route.motion.moves', (0, 0), 0.9, 'moves are no chances that sum to one'),
        ('route.switching.beginnings', (0, 0), 0.9, 'beginnings are no chances that sum to one'),
        ('route.switching.exchanges', (0, 1), -0.1, 'exchanges and jumps are no chances'),
        ('route.switching.exchanges', (7, 1), 0.1, 'lead from elsewhere to a place'),
        ('lowest', 0, 1e6, 'means whose least is above the largest'),
        ('circuit.seconds', 0, 1e-3, 'do not increase from 0'),
        ('circuit.seconds', ..., 0.0, 'the time of a lap'),
        ('lines.names', ..., ['right', 'left'], 'not in order'),
        ('lines.names', ..., ['left', 'none'], 'is no name of a route'),
        ('network.turns', ..., lambda a: a[::-1], 'do not ascend'),
        ('network.turns', ..., lambda a: a**3, 'the turns of its network are no even steps'),
        ('network.speeds', ..., lambda a: a[[0, 2, 1]], 'do not ascend'),
    ],
)
def test_a_map_that_cannot_be_run(name, index, value, words, refusal):
    kind = name.partition('.')[0]
    assert words in refusal(kind if kind in RANGES else 'route', name, value, index)


def test_routes_of_an_atlas_have_names_and_are_in_their_order(slot_car_model):
    atlas = atlas_of({'b': slot_car_model, 'a': replace(slot_car_model, frame_id='hall')})
    assert [(name, each.frame_id) for name, each in atlas.routes.items()] == [
        ('a', 'hall'), ('b', slot_car_model.frame_id)
    ]  # fmt: skip
    both = atlas_of({'a': slot_car_model, 'b': slot_car_model})
    assert list(atlas_of({'more': both, 'c': slot_car_model}).routes) == ['a', 'b', 'c']
    with pytest.raises(InputError, match='two routes of the name a'):
        atlas_of({'more': both, 'a': slot_car_model})
    for name in ('', 'a,b', 'a\nb', 'x' * 101, 'none'):
        with pytest.raises(InputError, match='is no name of a route'):
            atlas_of({name: slot_car_model})


def test_what_does_not_go_together_is_refused(slot_car_model, sensed_model, spectral_model):
    slow = replace(slot_car_model, rate_hz=5.0, period_ns=200_000_000)
    near = replace(slot_car_model, horizons=(0, 5))
    for routes, words in (
        ({'a': slot_car_model, 'b': spectral_model}, '--method route'),
        ({'a': slot_car_model, 'b': sensed_model}, 'b: it takes other sensors than a'),
        ({'b': slot_car_model, 'a': slow}, 'a: it ticks at 5 Hz .* so the atlas, ticks at 10 Hz'),
        ({'a': slot_car_model, 'b': near}, '--rate 10 --horizons 0,5,20'),
        ({}, 'at least one'),
    ):
        with pytest.raises(InputError, match=words):
            atlas_of(routes)
    places = sensed_model.route.places
    network = network_of(sensed_model.live, places, np.linspace(-3.0, 3.0, places))
    with pytest.raises(model_file.UnfitError, match='it has sensors and a network'):
        replace(sensed_model, network=network).validate()


def test_the_file_holds_its_routes(sensed_model, tmp_path):
    atlas = atlas_of({'a': sensed_model, 'b': replace(sensed_model, frame_id='hall')})
    model_file.save_model(atlas, tmp_path / 'atlas')
    loaded = model_file.load_model(tmp_path / 'atlas')
    assert type(loaded) is type(atlas)
    model_file.save_model(loaded, tmp_path / 'again')
    assert (tmp_path / 'again').read_bytes() == (tmp_path / 'atlas').read_bytes()


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        (lambda header, _: header['routes'][1].update(name='a'), 'fit together|twice'),
        (lambda header, _: header.pop('routes'), 'does not fit together'),
        (lambda _, arrays: arrays.update({'routes.7.x': np.zeros(2)}), 'more than its routes'),
        (lambda header, _: header['routes'][0].update(rate_hz=-1.0), 'route a: the model is'),
        (
            lambda header, _: header['routes'][1].update(rate_hz=5.0, period_ns=200_000_000),
            'm.npz: b: it ticks at 5 Hz .*, but a, .* ticks at 10 Hz .* --rate 10',
        ),
    ],
)
def test_an_atlas_that_does_not_fit_is_refused_in_one_sentence(change, words, slot_car_model):
    header, arrays = model_file.model_parts(atlas_of({'a': slot_car_model, 'b': slot_car_model}))
    change(header, arrays)
    with pytest.raises(InputError, match=words) as raised:
        model_file.model_from('m.npz', header, arrays)
    assert '\n' not in str(raised.value)
