# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A model comes back from its file bit by bit, and one that cannot be filtered with is refused."""

from collections.abc import Callable
import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import estimates_along
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.manifold.selection import has_neighbours
from two_manifold_ros.model.model import Model, ModelHead
from two_manifold_ros.model.model_file import (
    ATLAS_FORMAT,
    load_model,
    model_from,
    save_model,
    VERSION,
)
from two_manifold_ros.names import KERNELS
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.ticks.windows import WindowSet
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

Content = tuple[dict[str, Any], dict[str, Any]]
Refusal = Callable[..., str]
BOTH_KINDS = pytest.mark.parametrize('kind', ['spectral', 'route'])


def run_of(model: ModelHead, recording: Recording) -> list[bytes]:
    """Return the bytes of everything that the filter says."""
    estimates = [each for each, _ in estimates_along(Filter(model), recording, lambda *_: None)]
    return [
        b''.join(np.asarray(value).tobytes() for value in vars(each).values()
                 if not hasattr(value, 'name'))
        for each in estimates
    ]  # fmt: skip


def test_the_loaded_model_filters_bit_by_bit_as_the_trained_one(
    each_model, slot_car_laps, tmp_path
):
    test = slot_car_laps[1].between(0, 15)
    save_model(each_model, tmp_path / 'model')
    loaded = load_model(tmp_path / 'model')
    assert type(loaded) is type(each_model)
    trained = run_of(each_model, test)
    assert len(trained) > 100
    assert run_of(loaded, test) == trained
    save_model(loaded, tmp_path / 'again')
    assert (tmp_path / 'again').read_bytes() == (tmp_path / 'model').read_bytes()


@pytest.mark.parametrize(
    'change',
    [
        {'kernel': 'gaussian'},
        {'method': 'spectral', 'observation': 'ridge'},
        {'method': 'spectral', 'readout': 'ridge'},
        *({'method': 'spectral', 'kernel': kernel} for kernel in KERNELS),
    ],
    ids=str,
)
def test_every_kind_of_model_has_a_file(change, slot_car_laps, tmp_path):
    short = slot_car_laps[0].between(0, 9)
    if 'method' in change:
        change = {**change, 'bandwidth_factor': 1.0}
    settings = TrainingSettings(
        window=8, states=5, horizons=(0, 3), dimension=12, neighbours=9, **change
    )
    model = train_model([short], settings)
    assert model.summary['neighbours'] == (9 if has_neighbours(model.kernel) else None)
    save_model(model, tmp_path / 'model')
    loaded = load_model(tmp_path / 'model')
    assert type(loaded) is type(model)
    assert run_of(loaded, short) == run_of(model, short)
    if isinstance(model, Model):
        assert isinstance(loaded, Model)
        for part in ('operator', 'readout'):
            assert type(getattr(loaded, part)) is type(getattr(model, part))
        windows = WindowSet(model.series, model.starts, model.window)
        squared = windows.distances_to(np.array([3]))[:, 0]
        warm = loaded.warm_start.transform(squared)
        assert warm is not None
        np.testing.assert_array_equal(warm, model.warm_start.transform(squared))
        assert 0.0 < np.linalg.norm(warm) < model.state_bound


@pytest.mark.parametrize(
    ('form', 'version', 'words'),
    [
        ('two_manifold_ros model', 22, 'the model has version 22, but this program reads version'),
        ('two_manifold_ros route model', 99, 'the model has version 99, but this program reads'),
        ('two_manifold_ros model', 10_000 * '\x1b', 'the model has version'),
        ('recipe', VERSION, 'this is not a two_manifold_ros model; train one with'),
        ('two_manifold_ros checkpoint 2', VERSION, 'this is a checkpoint of updater_node'),
    ],
)
def test_another_version_is_refused_and_named(form, version, words):
    with pytest.raises(InputError) as caught:
        model_from('m.npz', {'format': form, 'version': version}, {})
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
        ('warm_start.response', {}, "warm_start.response is of the kind '', unknown to this"),
        ('warm_start.response.more', 1.0, "it holds 'warm_start.response.more', which is no part"),
        ('channel_units', ['g'] * 3 + ['deg/s'] * 3, 'it was trained on channels in other units'),
        ('channels.names', ['x'] * 6, 'it was trained on channels in other units'),
        ('readout.targets', lambda _: np.zeros((1, 5000, 2)), 'readout.targets has the shape'),
    ],
    ids=lambda value: 'changed' if callable(value) else str(value),
)
def test_a_header_that_makes_no_sense(name, value, words, refusal):
    sentence = refusal('spectral', name, value)
    assert f'the model is refused: {words}' in sentence
    assert sentence.endswith('; copy it again or train again')


def test_a_model_that_takes_commands_is_refused_with_the_cure(contents):
    header, arrays = copy.deepcopy(contents['spectral'])
    names = [*header['channels']['names'][:-1], 'command.data']
    header['channels']['names'], header['channel_units'] = names, [''] * len(names)
    atlas = {'format': ATLAS_FORMAT, 'version': VERSION, 'routes': [{'name': 'a', **header}]}
    of_route = {f'routes.0.{name}': array for name, array in arrays.items()}
    for content in ((header, arrays), (atlas, of_route)):
        with pytest.raises(InputError, match=r'^m\.npz: .*commands .*; train again without'):
            model_from('m.npz', *content)


@BOTH_KINDS
def test_nothing_may_be_missing_or_left_over(kind, contents):
    header, arrays = contents[kind]
    # Without a format or a version something else is said.
    said = {name: name for name in header} | {'format': '.', 'version': '.'}
    said |= {name: f'{name} is missing' for name in arrays}
    for name, words in said.items():
        less = [{each: of[each] for each in of if each != name} for of in (header, arrays)]
        with pytest.raises(InputError, match=words):
            model_from('m.npz', *less)
    for more in ('other', 'readout.other'):
        with pytest.raises(InputError, match=f"it holds '{more}', which is no part of such"):
            model_from('m.npz', header, arrays | {more: np.zeros(3)})
    with pytest.raises(InputError, match="it holds 'other', which is no part of such"):
        model_from('m.npz', header | {'other': 3}, arrays)


@BOTH_KINDS
def test_every_array_is_of_its_type_and_finite(kind, contents, refusal):
    for name, array in contents[kind][1].items():
        assert 'holds float32 instead of' in refusal(kind, name, lambda each: each.astype('f4'))
        for number in (np.inf, 1e100):
            wrong = array.astype(float)
            if not wrong.size or (name == 'channels.limit' and number < np.inf):
                continue
            wrong.flat[-1] = number
            assert name in refusal(kind, name, lambda _, wrong=wrong: wrong)


def test_some_numbers_may_be_unknown_or_of_any_size(changed):
    """Of targets and seams of the track, and of the limit of a channel that is left out."""
    for name in ('readout.targets', 'track'):
        model_from('m.npz', *changed('spectral', name, np.nan, 0))
    model_from('m.npz', *changed('route', 'channels.limit', 1e300))


def test_a_whole_bandwidth_is_a_number_like_any_other(changed):
    """Compiled code would take whole numbers for others than they are."""
    model = model_from('m.npz', *changed('spectral', 'operator.bandwidth', 2**62))
    assert isinstance(model, Model)
    assert isinstance(model.operator.bandwidth, float)
    Filter(model).warm_up()


def test_texts_of_a_summary_can_be_shown(changed):
    written = {'notes': ['a\x1b[2J', 'b'], '\x07': {'c': 'd\ne'}, 'f': 1.5}
    model = model_from('m.npz', *changed('spectral', 'summary', written))
    assert model.summary == {'notes': ['a\\x1b[2J', 'b'], '\\x07': {'c': 'd\\ne'}, 'f': 1.5}


def test_a_model_that_could_not_be_loaded_is_not_written(spectral_model, tmp_path):
    with pytest.raises(InputError, match='the model is refused: state_bound holds 0'):
        save_model(replace(spectral_model, state_bound=0.0), tmp_path / 'model')
    assert not list(tmp_path.iterdir())
