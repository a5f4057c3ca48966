# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold info`."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from command_runs import Command
import pytest

from two_manifold_ros.model.model import Model
from two_manifold_ros.model.model_file import load_model, model_parts, save_model
from two_manifold_ros.names import LAP_FRAME


@pytest.fixture
def words_of(tmp_path: Path, command: Command) -> Callable[[Model], str]:
    """Return a function that returns the words of the table of a model."""

    def words(model: Model) -> str:
        save_model(model, tmp_path / 'm')
        return command.words('info', tmp_path / 'm')

    return words


def test_the_json_is_the_header(model_file, command):
    assert command.json('info', model_file) == model_parts(load_model(model_file))[0]


def test_the_table_shows_what_it_was_trained_on_and_what_was_chosen(slot_car_model, words_of):
    text = words_of(slot_car_model)
    for words in (
        'slot car with seed 1',
        '10 Hz, windows of 20',
        '0, 5, 20 ticks = 0, 0.5, 2 s',
        '/imu -> /reference',
        'frame map',
        ' places, speed ratios within ',
    ):
        assert words in text
    # What is for developers is in the JSON alone.
    assert not any(each in text for each in ('origin', 'sharpness', 'laplacian', 'held-out'))


def test_no_model_and_an_unreadable_summary_are_refused(slot_car_model, tmp_path, command):
    for options in ([], ['--json']):
        line = command.refused('info', tmp_path / 'none', *options)
        assert line.startswith(f'{tmp_path / "none"}: there is no')
    save_model(replace(slot_car_model, summary={'notes': 7}), tmp_path / 'm')
    assert 'its notes on the training cannot be read' in command.refused('info', tmp_path / 'm')
    command.json('info', tmp_path / 'm')


@pytest.mark.parametrize(
    ('corrected', 'words'),
    [
        ([0.0], 'position lag not corrected ticks'),
        ([0.04] * 3, 'position lag corrected by 0.040 s ticks'),
        ([0.2, 0.0], 'position lag corrected by 0.000 to 0.200 s ticks'),
    ],
)
def test_what_was_undone_of_the_lag_of_the_bags(corrected, words, slot_car_model, words_of):
    lags = [{'recording': 'bag', 'corrected_s': each} for each in corrected]
    summary = slot_car_model.summary | {'position_lag': lags}
    assert words in words_of(replace(slot_car_model, summary=summary))


def test_a_model_of_laps_says_that_its_metres_are_none(model_file, words_of):
    model = load_model(model_file)
    assert 'seconds of a usual lap' not in words_of(model)
    laps = words_of(replace(model, frame_id=LAP_FRAME, position_topic=''))
    assert 'knows laps and no positions' in laps
    left_out = 'position lag', '(m)', f'{model.imu_topic} ->'
    assert not any(each in laps for each in left_out)
