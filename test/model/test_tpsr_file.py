# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A frozen TPSR comes back from its file bit by bit; one that cannot be run is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TYPE_CHECKING

from altered_models import altering, refusal
import numpy as np
import pytest

from two_manifold_ros.cli.main import main
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.filter_run import estimates_along
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.model.model_file import header_of, load_model, save_model

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from altered_models import Change

    from two_manifold_ros.model.tpsr_model import TpsrModel
    from two_manifold_ros.recordings.recording import Recording

ARRAYS = (
    'track', 'mean_position', 'channels.mean', 'channels.live', 'tpsr.start', 'tpsr.normaliser',
    'tpsr.operators', 'tpsr.inverse', 'tpsr.transition', 'directions', 'coefficients',
    'covariances', 'observation_features.phases', 'window_features.map.frequencies',
)  # fmt: skip


@pytest.fixture(scope='session')
def tpsr_path(tpsr_model: TpsrModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp('models') / 'tpsr.npz'
    save_model(tpsr_model, path)
    return path


@pytest.fixture
def changed(tpsr_path: Path, tmp_path: Path) -> Callable[[Change], Path]:
    """See ``altering``."""
    return altering(tpsr_path, tmp_path / 'changed.npz')


def test_the_loaded_model_filters_bit_by_bit_as_the_saved_one(
    tpsr_model: TpsrModel, tpsr_path: Path, slot_car_laps: tuple[Recording, Recording]
) -> None:
    drive = slot_car_laps[1].between(0, 15)
    runs = [
        [estimate for estimate, _ in estimates_along(Filter(each), drive, lambda *_: None)]
        for each in (tpsr_model, load_model(tpsr_path))
    ]
    for one, other in zip(*runs, strict=True):
        for name, value in vars(one).items():
            np.testing.assert_array_equal(value, getattr(other, name))
    assert len(runs[0]) > 100


def test_saving_what_was_loaded_gives_the_same_file(tpsr_path: Path, tmp_path: Path) -> None:
    save_model(load_model(tpsr_path), tmp_path / 'again')
    assert (tmp_path / 'again').read_bytes() == tpsr_path.read_bytes()


def test_it_says_what_it_is(tpsr_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = header_of(tpsr_path)
    assert header['format'] == 'two_manifold_ros tpsr model'
    assert header['version'] == 1
    assert main(['info', str(tpsr_path)]) == 0
    text = ' '.join(capsys.readouterr().out.split())
    for words in ('10 Hz, windows of 20', 'online TPSR, frozen', 'states 20', 'memory_s 600'):
        assert words in text


def test_channels_of_a_camera_have_names_and_no_units(
    tpsr_model: TpsrModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live = int(tpsr_model.channels.live.sum())
    names = tuple(f'pixel.{number}' for number in range(len(tpsr_model.channels.names)))
    camera = replace(tpsr_model, channels=replace(tpsr_model.channels, names=names))
    save_model(camera, tmp_path / 'm')
    assert load_model(tmp_path / 'm').channels.names == names
    assert header_of(tmp_path / 'm')['channel_units'] == [''] * 6
    assert main(['info', str(tmp_path / 'm')]) == 0
    assert capsys.readouterr().out.count('pixel.') == live


@pytest.mark.parametrize('name', ARRAYS)
class TestArrays:
    """Each array is needed, in its shape, of its type, and finite."""

    def test_missing(self, name: str, changed: Callable[[Change], Path]) -> None:
        assert 'refused' in refusal(changed(lambda _, arrays: arrays.pop(name)))

    def test_of_another_shape(self, name: str, changed: Callable[[Change], Path]) -> None:
        def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
            arrays[name] = np.concatenate([arrays[name], arrays[name][:1]])
            if name == 'track':
                arrays[name] = arrays[name][:, :1]

        assert 'refused' in refusal(changed(change))

    def test_of_another_type(self, name: str, changed: Callable[[Change], Path]) -> None:
        def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
            arrays[name] = arrays[name].astype(np.float32)

        assert 'holds float' in refusal(changed(change))

    def test_not_finite(self, name: str, changed: Callable[[Change], Path]) -> None:
        def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
            arrays[name] = arrays[name].astype(float)
            arrays[name].flat[-1] = np.inf

        assert 'refused' in refusal(changed(change))


@pytest.mark.parametrize(
    ('values', 'words'),
    [
        ({'version': 2}, 'the model has version 2, but this program reads version 1'),
        ({'format': 'two_manifold_ros model'}, 'the model has version 1, but this program reads'),
        ({'window': 10}, 'its window features are of'),
        ({'window_features': {}}, 'the feature map is refused'),
        ({'window_features': None}, 'refused'),
        ({'bound': 0.0}, 'tpsr.bound is 0.0, not a positive number'),
        ({'bound': 1e-3}, 'its start is beyond its bound'),
        ({'usual_share': 1.5}, 'usual_share is 1.5, not a share'),
        ({'most_still': -1}, 'most_still is -1, not a number of ticks'),
        ({'most_still': 0.5}, 'most_still is 0.5, not a number of ticks'),
        ({'horizons': [0, 5]}, 'coefficients has the shape'),
        ({'channel_names': ['x'] * 6}, 'other channels or units'),
    ],
    ids=str,
)
def test_a_header_that_makes_no_sense(
    values: dict[str, Any], words: str, changed: Callable[[Change], Path]
) -> None:
    assert words in refusal(changed(lambda header, _: header.update(values)))


@pytest.mark.parametrize(
    ('name', 'factor', 'words'),
    [
        ('tpsr.transition', 1.1, 'its transition grows without bound'),
        ('tpsr.start', 1.1, 'its start is not normal'),
        ('tpsr.inverse', -1.0, 'tpsr.inverse is not the inverse of a covariance'),
        ('directions', 1.1, 'directions are not orthonormal'),
        ('covariances', -1.0, 'covariances are not positive definite'),
        ('covariances', 0.0, 'covariances are not positive definite'),
        ('track', np.nan, 'its track is nowhere known'),
    ],
)
def test_numbers_that_make_no_sense(
    name: str, factor: float, words: str, changed: Callable[[Change], Path]
) -> None:
    assert words in refusal(
        changed(lambda _, arrays: arrays.update({name: factor * arrays[name]}))
    )


def test_what_could_not_be_loaded_is_not_saved(tpsr_model: TpsrModel, tmp_path: Path) -> None:
    with pytest.raises(InputError, match='not a share'):
        save_model(replace(tpsr_model, usual_share=2.0), tmp_path / 'm')
    assert not list(tmp_path.iterdir())
