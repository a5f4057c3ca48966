# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A model of many routes: names, what has to be alike, and its file."""

from dataclasses import replace

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.model.atlas import atlas_of
from two_manifold_ros.model.container import read_container, write_container
from two_manifold_ros.model.model_file import encode, load_model, save_model


def test_routes_are_in_the_order_of_their_names_whatever_the_order_given(slot_car_model):
    atlas = atlas_of({'b': slot_car_model, 'a': replace(slot_car_model, frame_id='hall')})
    assert list(atlas.routes) == ['a', 'b']
    assert atlas.routes['a'].frame_id == 'hall'
    assert atlas.routes['b'] is slot_car_model


def test_routes_of_an_atlas_keep_their_names(slot_car_model):
    both = atlas_of({'a': slot_car_model, 'b': slot_car_model})
    assert list(atlas_of({'more': both, 'c': slot_car_model}).routes) == ['a', 'b', 'c']
    with pytest.raises(InputError, match='two routes of the name a'):
        atlas_of({'more': both, 'a': slot_car_model})


@pytest.mark.parametrize('name', ['', 'a,b', 'a\nb', 'x' * 101, 'none'])
def test_what_is_no_name_is_refused(name, slot_car_model):
    with pytest.raises(InputError, match='is no name of a route'):
        atlas_of({name: slot_car_model})


def test_what_does_not_go_together_is_refused(slot_car_model, sensed_model, spectral_model):
    with pytest.raises(InputError, match='--method route'):
        atlas_of({'a': slot_car_model, 'b': spectral_model})
    with pytest.raises(InputError, match='b: it takes other sensors than a'):
        atlas_of({'a': slot_car_model, 'b': sensed_model})
    with pytest.raises(InputError, match='at least one'):
        atlas_of({})


def test_the_file_holds_its_routes(sensed_model, tmp_path):
    atlas = atlas_of({'a': sensed_model, 'b': replace(sensed_model, frame_id='hall')})
    save_model(atlas, tmp_path / 'atlas')
    loaded = load_model(tmp_path / 'atlas')
    assert type(loaded) is type(atlas)
    for name, each in loaded.routes.items():
        ours, theirs = (encode(model) for model in (each, atlas.routes[name]))
        assert ours[0] == theirs[0]
        assert all((array == theirs[1][key]).all() for key, array in ours[1].items())


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        (lambda header, _: header['routes'][1].update(name='a'), 'fit together|twice'),
        (lambda header, _: header.pop('routes'), 'does not fit together'),
        (lambda header, _: header.update(more=1), 'more than its routes'),
        (lambda _, arrays: arrays.update({'routes.7.x': np.zeros(2)}), 'more than its routes'),
        (lambda header, _: header['routes'][0].update(rate_hz=-1.0), 'route a: the model is'),
        (lambda header, _: header['routes'][0].update(name=7), 'does not fit together'),
    ],
)
def test_a_file_that_does_not_fit_is_refused_in_one_sentence(
    change, words, slot_car_model, tmp_path
):
    path = tmp_path / 'atlas'
    save_model(atlas_of({'a': slot_car_model, 'b': slot_car_model}), path)
    header, arrays = read_container(path)
    change(header, arrays)
    write_container(path, header, arrays)
    with pytest.raises(InputError, match=words) as raised:
        load_model(path)
    assert '\n' not in str(raised.value)
