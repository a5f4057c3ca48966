# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From the trainer's parameters to what the training wants."""

from pathlib import Path

import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.nodes.parameters import PARAMETERS
from two_manifold_ros.nodes.trainer_settings import check_target, training_settings
from two_manifold_ros.training.settings import TrainingSettings

DEFAULTS = {each.name: each.default for each in PARAMETERS['trainer_node']}


def test_the_defaults_are_those_of_the_training() -> None:
    assert training_settings(DEFAULTS) == TrainingSettings()


def test_every_setting_is_handed_on() -> None:
    chosen = {'rate_hz': 5.0, 'window': 30, 'states': 7, 'kernel': 'gaussian', 'horizons': [0, 3]}
    settings = training_settings({**DEFAULTS, **chosen})
    assert settings == TrainingSettings(
        rate_hz=5.0, window=30, states=7, kernel='gaussian', horizons=(0, 3)
    )


@pytest.mark.parametrize(
    ('path', 'words'), [('', 'No model is named'), ('/nowhere/m.npz', 'missing')]
)
def test_a_target_that_cannot_be_written_is_refused(path: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        check_target(path)


def test_a_target_that_can_be_written_is_fine(tmp_path: Path) -> None:
    check_target(str(tmp_path / 'model.npz'))
