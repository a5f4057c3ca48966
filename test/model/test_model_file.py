# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A model comes back from its file bit by bit, and one that cannot be filtered with is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TYPE_CHECKING

from altered_models import refusal
import numpy as np
import pytest

from two_manifold_ros.evaluation.evaluate import estimates_along
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.model.model import Model
from two_manifold_ros.model.model_file import header_of, load_model, save_model
from two_manifold_ros.recordings.recording import GeodeticOrigin
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from altered_models import Change

    from two_manifold_ros.recordings.recording import Recording


def familiarity(**changed: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """Return the part of a header about familiarity with something changed."""
    return {'familiarity': {'squared': 30.0, 'own': -2.0, 'other': -1.0, 'still': 0} | changed}


def warm_start(**changed: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """Return the part of a header about the warm start with something changed."""
    numbers = {'kind': 'near-modes', 'bandwidth': 1.0, 'neighbours': 5, 'normalised': 1}
    return {'warm_start': numbers | changed}


def run_of(model: Model, recording: Recording) -> list[bytes]:
    """Return the bytes of everything that the filter says."""
    estimates = [each for each, _ in estimates_along(Filter(model), recording, lambda *_: None)]
    return [
        b''.join(np.asarray(value).tobytes() for value in vars(each).values()
                 if not hasattr(value, 'name'))
        for each in estimates
    ]  # fmt: skip


def test_the_loaded_model_filters_bit_by_bit_as_the_trained_one(
    spectral_model: Model, model_path: Path, slot_car_laps: tuple[Recording, Recording]
) -> None:
    test = slot_car_laps[1].between(0, 15)
    trained = run_of(spectral_model, test)
    assert len(trained) > 100
    assert run_of(load_model(model_path), test) == trained


@pytest.mark.parametrize(
    'change',
    [
        {'kernel': 'gaussian'},
        {'method': 'spectral'},
        {'method': 'spectral', 'observation': 'ridge'},
        {'method': 'spectral', 'readout': 'ridge'},
        {'method': 'spectral', 'kernel': 'gaussian'},
    ],
    ids=str,
)
def test_every_kind_of_model_has_a_file(
    change: dict[str, Any], slot_car_laps: tuple[Recording, Recording], tmp_path: Path
) -> None:
    short = slot_car_laps[0].between(0, 25)
    model = train_model([short], TrainingSettings(window=20, states=9, horizons=(0, 5), **change))
    save_model(model, tmp_path / 'model')
    loaded = load_model(tmp_path / 'model')
    assert run_of(loaded, short) == run_of(model, short)
    assert type(loaded) is type(model)
    for part in ('operator', 'readout'):
        assert type(getattr(loaded, part, None)) is type(getattr(model, part, None))


def test_saving_what_was_loaded_gives_the_same_file(model_path: Path, tmp_path: Path) -> None:
    save_model(load_model(model_path), tmp_path / 'again')
    assert (tmp_path / 'again').read_bytes() == model_path.read_bytes()


def test_the_origin_of_the_plane_is_kept(spectral_model: Model, tmp_path: Path) -> None:
    origin = GeodeticOrigin(49.0123456789, -8.4, 115.25)
    save_model(replace(spectral_model, origin=origin), tmp_path / 'model')
    assert load_model(tmp_path / 'model').origin == origin


def test_the_header_tells_people_what_it_is(model_path: Path, spectral_model: Model) -> None:
    header = header_of(model_path)
    assert header['format'] == 'two_manifold_ros model'
    assert header['version'] == 8
    assert header['rate_hz'] == 10.0
    assert header['window'] == 20
    assert header['horizons'] == [0, 5, 20]
    assert header['channel_units'] == ['m/s^2'] * 3 + ['rad/s'] * 3
    assert header['frame_id'] == 'map'
    assert header['summary'] == spectral_model.summary


@pytest.mark.parametrize('version', [1, 5, 9])
def test_another_version_is_refused_and_named(
    version: int, altered: Callable[[Change], Path]
) -> None:
    path = altered(lambda header, _: header.update(version=version))
    said = f'the model has version {version}, but this program reads version 8; train it anew'
    assert said in refusal(path)


def test_a_spectral_model_of_version_6_can_still_be_read(
    altered: Callable[[Change], Path],
) -> None:
    load_model(altered(lambda header, _: header.update(version=6, route=None)))


def test_before_version_8_the_clock_never_stood(altered: Callable[[Change], Path]) -> None:
    model = load_model(altered(lambda header, _: header.update(version=7)))
    assert isinstance(model, Model)
    assert model.rest is None


@pytest.mark.parametrize(
    ('rest', 'words'),
    [
        ({'ticks': 1, 'limit': 0.1}, 'rest.ticks is 1, too few to be compared'),
        ({'ticks': 2.5, 'limit': 0.1}, 'rest.ticks is 2.5, not a number of ticks'),
        ({'ticks': 10**8, 'limit': 0.1}, 'rest.ticks would take'),
        ({'ticks': 3, 'limit': 0.0}, 'rest.limit is 0.0, not a positive number'),
        ({'ticks': 3, 'limit': 1e4}, 'rest.limit is 10000.0, within which anything is rest'),
        ({'ticks': 3}, 'limit'),
    ],
)
def test_a_rest_that_cannot_be_looked_for_is_refused(
    rest: dict[str, Any], words: str, altered: Callable[[Change], Path]
) -> None:
    assert words in refusal(altered(lambda header, _: header.update(rest=rest)))


def test_a_map_of_single_ticks_is_refused(altered: Callable[[Change], Path]) -> None:
    path = altered(lambda header, _: header.update(version=6, route={'paces': {}}))
    assert 'a map of single ticks, which no filter runs any more; train it anew' in refusal(path)


def test_another_kind_of_container_is_refused(altered: Callable[[Change], Path]) -> None:
    path = altered(lambda header, _: header.update(format='recipe'))
    assert 'this is not a two_manifold_ros model' in refusal(path)


@pytest.mark.parametrize(
    ('field', 'value'),
    [('channel_names', ['x'] * 6), ('channel_units', ['g'] * 3 + ['deg/s'] * 3)],
)
def test_other_channels_or_units_are_refused(
    field: str, value: list[str], altered: Callable[[Change], Path]
) -> None:
    assert 'channels' in refusal(altered(lambda header, _: header.update({field: value})))


@pytest.mark.parametrize(
    ('values', 'words'),
    [
        ({'rate_hz': 0.0}, 'rate_hz is 0.0, not a positive number'),
        ({'rate_hz': 20.0}, 'its rate and the length of its tick disagree'),
        ({'rate_hz': '10'}, 'its content does not fit together'),
        ({'rate_hz': '10'}, '; train it anew'),
        ({'window': 0}, 'window is 0, not a positive number'),
        ({'window': 20.5}, 'window is no whole number'),
        ({'window': 10**6}, 'its windows lie outside its series'),
        ({'max_gap_ns': -1}, 'max_gap_ns is -1, not a positive number'),
        ({'familiarity': {}}, 'its content does not fit together'),
        (familiarity(squared=0.0), 'familiarity.squared is 0.0, not a positive number'),
        (familiarity(own=1.0), 'familiarity.own is 1.0, not the contrast of a window'),
        (familiarity(other=0.1), 'familiarity.other is 0.1, not the contrast of a window'),
        (familiarity(still=-1), 'familiarity.still is -1, not a number of ticks'),
        (familiarity(still=0.5), 'familiarity.still is 0.5, not a number of ticks'),
        (familiarity(other='no'), 'its content does not fit together'),
        ({'state_bound': -2.0}, 'state_bound is -2.0, not a positive number'),
        ({'observation_bandwidth': 0.0}, 'observation bandwidth is 0.0, not a positive number'),
        ({'horizons': []}, 'its horizons do not begin with 0 and increase'),
        ({'horizons': [0, 9, 5]}, 'its horizons do not begin with 0 and increase'),
        ({'horizons': [0, 2.5, 7]}, 'its horizons are no whole numbers'),
        ({'horizons': [0, 5]}, 'readout.targets has the shape'),
        ({'frame_id': 7}, 'frame_id is no text'),
        ({'summary': None}, 'its summary is no table'),
        (warm_start(neighbours=0), 'warm start does not fit: neighbours is 0'),
        (warm_start(neighbours=2.5), 'warm start does not fit: neighbours is 2.5'),
        (warm_start(bandwidth=-1.0), 'warm start does not fit: bandwidth is -1.0'),
        (warm_start(kind='eval'), 'its content does not fit together'),
        (warm_start(more=1.0), 'its content does not fit together'),
        ({'warm_start': {}}, 'its content does not fit together'),
    ],
    ids=str,
)
def test_a_header_that_makes_no_sense(
    values: dict[str, Any], words: str, altered: Callable[[Change], Path]
) -> None:
    assert words in refusal(altered(lambda header, _: header.update(values)))


@pytest.mark.parametrize(
    'name', ['rate_hz', 'window', 'origin', 'summary', 'channel_names', 'kernel']
)
def test_a_header_with_something_missing(name: str, altered: Callable[[Change], Path]) -> None:
    assert name in refusal(altered(lambda header, _: header.pop(name)))


@pytest.mark.parametrize(
    'name',
    [
        'series', 'starts', 'track', 'mean_position', 'channels.mean', 'channels.live',
        'tables.weights', 'tables.states', 'warm_start.table',
        'warm_start.offset', 'operator.observations', 'readout.targets', 'readout.factors',
    ],
)  # fmt: skip
class TestArrays:
    """Each array is needed, in its shape, of its type, and finite."""

    def test_missing(self, name: str, altered: Callable[[Change], Path]) -> None:
        assert 'refused' in refusal(altered(lambda _, arrays: arrays.pop(name)))

    def test_of_another_shape(self, name: str, altered: Callable[[Change], Path]) -> None:
        def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
            arrays[name] = np.concatenate([arrays[name], arrays[name][:1]])
            if name == 'track':
                arrays[name] = arrays[name][:, :1]

        assert 'refused' in refusal(altered(change))

    def test_of_another_type(self, name: str, altered: Callable[[Change], Path]) -> None:
        def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
            arrays[name] = arrays[name].astype(np.float32)

        assert 'holds float32 instead of' in refusal(altered(change))

    def test_not_finite(self, name: str, altered: Callable[[Change], Path]) -> None:
        def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
            arrays[name] = arrays[name].astype(float)
            arrays[name].flat[-1] = np.inf

        assert 'refused' in refusal(altered(change))


def test_unknown_targets_and_seams_of_the_track_are_allowed(
    altered: Callable[[Change], Path],
) -> None:
    def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays['readout.targets'][0] = np.nan
        arrays['track'][0] = np.nan

    assert np.isnan(load_model(altered(change)).track[0]).all()


def test_a_transition_that_grows_is_refused(altered: Callable[[Change], Path]) -> None:
    def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays['tables.states'][:, 1:] *= 3.0

    assert 'its transition grows without bound' in refusal(altered(change))


def test_weights_that_lose_their_sum_are_refused(altered: Callable[[Change], Path]) -> None:
    def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays['tables.weights'][:, 0] *= 0.9

    assert 'its tables do not keep the sum of the weights' in refusal(altered(change))


@pytest.mark.parametrize('value', [-1, 10**6])
def test_windows_that_begin_nowhere(value: int, altered: Callable[[Change], Path]) -> None:
    def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays['starts'][3] = value

    assert 'windows lie' in refusal(altered(change))


def test_a_warm_start_of_another_size_is_refused(altered: Callable[[Change], Path]) -> None:
    def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
        for name in ('table', 'offset'):
            arrays[f'warm_start.{name}'] = arrays[f'warm_start.{name}'][..., 1:].copy()

    assert 'warm_start.offset has the shape' in refusal(altered(change))


def test_a_scale_of_zero_is_refused(altered: Callable[[Change], Path]) -> None:
    def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays['channels.scale'][0] = 0.0

    assert 'the scale of a live channel is zero' in refusal(altered(change))
