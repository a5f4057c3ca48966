# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From the trainer's parameters to what the training wants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.parameters import PARAMETERS
from two_manifold_ros.simulation.slot_car_run import run_to_recording
from two_manifold_ros.training.job import (
    check_target,
    read_bags,
    training_settings,
)
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from two_manifold_ros.simulation.slot_car_run import SlotCarRun

DEFAULTS = {each.name: each.default for each in PARAMETERS['trainer_node']}


def test_the_defaults_are_those_of_the_training() -> None:
    assert training_settings(DEFAULTS) == TrainingSettings()


def test_every_setting_is_handed_on() -> None:
    chosen = {
        'rate_hz': 5.0, 'window': 30, 'states': 7, 'method': 'spectral', 'kernel': 'gaussian',
        'readout': 'mkdr',
    }  # fmt: skip
    settings = training_settings({**DEFAULTS, **chosen, 'horizons': [0, 3]})
    assert settings == TrainingSettings(**chosen, horizons=(0, 3))


def test_numbers_of_the_belief_about_the_place() -> None:
    chosen = {'sharpness': 0.3, 'persistence': 0.7}
    assert training_settings({**DEFAULTS, **chosen}) == TrainingSettings(**chosen)
    for name, value in chosen.items():
        with pytest.raises(InputError, match=f'Method spectral has no {name}'):
            training_settings({**DEFAULTS, 'method': 'spectral', name: value})


def test_a_read_out_that_the_method_does_not_have_is_refused() -> None:
    with pytest.raises(InputError, match='set method to spectral'):
        training_settings({**DEFAULTS, 'readout': 'ridge'})


@pytest.mark.parametrize(
    ('path', 'words'), [('', 'No model is named'), ('/nowhere/m.npz', 'missing')]
)
def test_a_target_that_cannot_be_written_is_refused(path: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        check_target(path)


def test_a_target_that_can_be_written_is_fine(tmp_path: Path) -> None:
    check_target(str(tmp_path / 'model.npz'))


def test_a_position_lag_that_cannot_be_applied_is_refused_early() -> None:
    for text in ('', 'auto', '0.2'):
        training_settings({**DEFAULTS, 'position_lag': text})
    with pytest.raises(InputError, match='neither auto nor a number'):
        training_settings({**DEFAULTS, 'position_lag': 'late'})


def test_the_positions_of_bags_are_put_in_step(
    write_bag: Callable[..., Path], drive: SlotCarRun, tmp_path: Path
) -> None:
    late = run_to_recording(drive).with_positions_earlier(-0.2)
    bag = write_bag(tmp_path / 'late', late)
    values = {**DEFAULTS, 'bags': [str(bag)], 'position_lag': 'auto'}
    (recording,) = read_bags(values)
    assert recording.positions is not None
    assert recording.positions.earlier_s == pytest.approx(0.2, abs=0.01)
    (untouched,) = read_bags({**values, 'position_lag': ''})
    assert untouched.positions is not None
    assert untouched.positions.earlier_s == 0.0
