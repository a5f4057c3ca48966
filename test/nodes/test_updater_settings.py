# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From parameters to the head of the stream and to what checkpoints must agree in."""

from __future__ import annotations

import json
from multiprocessing import active_children
from typing import Any, TYPE_CHECKING

import pytest

from two_manifold_ros.adapting.checkpoints import Checkpoints
from two_manifold_ros.adapting.learning_budget import LearningBudget
from two_manifold_ros.adapting.settings import AdaptingSettings
from two_manifold_ros.errors import InputError
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.nodes.updater_parameters import UPDATER
from two_manifold_ros.nodes.updater_settings import (
    checkpoint_identity,
    IDENTITY_WORDS,
    learner_maker,
    learner_name,
    stream_head,
)

if TYPE_CHECKING:
    from pathlib import Path


def chosen(**changed: object) -> dict[str, Any]:
    """Return the parameters of a TPSR, or what is asked for."""
    return {each.name: each.default for each in UPDATER} | {'learner': 'tpsr'} | changed


def test_the_defaults_are_those_of_the_settings() -> None:
    head = stream_head(chosen(), '/imu')
    assert head.settings == AdaptingSettings()
    assert (head.imu_topic, head.measured, head.channels.of_imu) == ('/imu', False, True)


def test_every_setting_is_a_parameter() -> None:
    given = {
        'rate_hz': 10.0,
        'window_s': 1.5,
        'horizons': [0, 7],
        'features': 50,
        'observation_features': 9,
        'states': 5,
        'rank': 6,
        'ridge': 0.1,
        'memory_s': 50.0,
        'reference_memory_s': 40.0,
        'fold_every': 3,
        'quarantine_s': 4.0,
        'warm_up_s': 12.0,
        'seed': 3,
    }
    settings = stream_head(chosen(**given), '/imu').settings
    assert vars(settings) == {**given, 'horizons': (0, 7)}


def test_senseless_settings_are_refused() -> None:
    with pytest.raises(InputError, match='rank is 10'):
        stream_head(chosen(rank=10), '/imu')


def test_a_given_model_gives_scales_and_frames(model_path: Path) -> None:
    model = load_model(model_path)
    head = stream_head(chosen(model=str(model_path)), '/imu')
    assert head.measured
    assert head.channels is not None
    assert (head.channels.mean == model.channels.mean).all()
    assert (head.frame_id, head.imu_frame_id) == (model.frame_id, model.imu_frame_id)
    with pytest.raises(InputError, match='a model of an IMU tells nothing about images'):
        stream_head(chosen(model=str(model_path), input='image'), '/image')
    with pytest.raises(InputError, match='none'):
        stream_head(chosen(model='none.npz'), '/imu')


def test_images_have_a_channel_for_each_box() -> None:
    head = stream_head(chosen(input='image', image_width=5, image_height=4), '/image')
    assert len(head.channels.names) == 20
    assert not head.channels.of_imu


def test_a_checkpoint_made_without_the_model_is_refused_in_words(
    model_path: Path, tmp_path: Path
) -> None:
    without, with_it = (
        checkpoint_identity(each, stream_head(each, '/x'))
        for each in (chosen(), chosen(model=str(model_path)))
    )
    before = Checkpoints(tmp_path, 'updater', without)
    before.write({}, {})
    before.close()
    with pytest.raises(InputError, match='npz: the checkpoint was made with another model, or'):
        Checkpoints(tmp_path, 'updater', with_it, words=IDENTITY_WORDS)


def test_a_checkpoint_of_anything_else_is_told_apart(model_path: Path) -> None:
    others = [
        chosen(),
        chosen(states=50),
        chosen(horizons=[0, 5]),
        chosen(input='image'),
        chosen(input='image', image_width=8, image_height=24),
        chosen(model=str(model_path)),
        chosen(learner='map'),
        chosen(learner='map', horizons=[0, 5]),
    ]
    identities = [
        json.dumps(checkpoint_identity(each, stream_head(each, '/x'))) for each in others
    ]
    assert len(set(identities)) == len(others)
    again = json.dumps(checkpoint_identity(chosen(), stream_head(chosen(), '/y')))
    assert again == identities[0]


@pytest.mark.parametrize(
    'wrong', [{'position_lag': '0.2 s'}, {'ellipse_warn_m': 5.0, 'ellipse_error_m': 1.0}]
)
def test_what_makes_no_sense_for_a_map_is_refused_at_the_start(wrong: dict[str, Any]) -> None:
    values = chosen(learner='map', **wrong)
    with pytest.raises(InputError):
        learner_maker(values, stream_head(values, '/imu'), LearningBudget(1.0))


def test_what_learns_follows_the_input_unless_it_is_chosen() -> None:
    assert learner_name(chosen(learner='')) == 'map'
    assert learner_name(chosen(learner='', input='image')) == 'tpsr'
    assert learner_name(chosen(learner='tpsr')) == 'tpsr'
    with pytest.raises(InputError, match='a map is learned of an IMU'):
        learner_name(chosen(learner='map', input='image'))


def test_each_learner_of_a_map_trains_in_a_process_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To go on with another one ends what the one before has begun, and nothing else."""
    monkeypatch.setenv('TWO_MANIFOLD_NUMBA', '0')
    values = chosen(learner='map')
    make = learner_maker(values, stream_head(values, '/imu'), LearningBudget(1.0))
    before, after = make(), make()
    before.close()
    (process,) = [each for each in active_children() if each.name == 'training']
    assert process.is_alive()
    after.close()
    assert not [each for each in active_children() if each.name == 'training']
