# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From parameters to the head of the stream and to what checkpoints must agree in."""

from __future__ import annotations

import json
from multiprocessing import active_children
from typing import Any, TYPE_CHECKING

import pytest

from two_manifold_ros.adapting.checkpoints import Checkpoints
from two_manifold_ros.adapting.stream_memory import StreamHead
from two_manifold_ros.adapting.updater_settings import (
    checkpoint_identity,
    IDENTITY_WORDS,
    learner_maker,
    learner_name,
    stream_head,
)
from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.parameters import UpdaterParameters
from two_manifold_ros.model.head import TrainedModel
from two_manifold_ros.model.model_file import load_model

if TYPE_CHECKING:
    from pathlib import Path


def chosen(**changed: object) -> dict[str, Any]:
    """Return the parameters of a TPSR, or what is asked for."""
    return vars(UpdaterParameters()) | {'learner': 'tpsr'} | changed


def test_of_a_stream_only_horizons_and_topic_are_known() -> None:
    head = stream_head(chosen(horizons=[0, 7]), '/imu')
    assert isinstance(head, StreamHead)
    assert (head.imu_topic, head.horizons, head.channels.of_imu) == ('/imu', (0, 7), True)


def test_senseless_settings_are_refused() -> None:
    with pytest.raises(InputError, match='horizons'):
        stream_head(chosen(horizons=[5, 7]), '/imu')


@pytest.mark.parametrize('learner', ['map', 'tpsr'])
def test_a_given_model_is_what_runs_first(learner: str, model_path: Path) -> None:
    head = stream_head(chosen(learner=learner, model=str(model_path)), '/imu')
    assert head.frame_id == load_model(model_path).frame_id
    assert isinstance(head, TrainedModel)
    with pytest.raises(InputError, match='a model of an IMU tells nothing about images'):
        stream_head(chosen(model=str(model_path), input='image'), '/image')
    with pytest.raises(InputError, match='none'):
        stream_head(chosen(model='none.npz'), '/imu')


def test_images_have_a_channel_for_each_box() -> None:
    head = stream_head(chosen(input='image', image_width=5, image_height=4), '/image')
    assert len(head.channels.names) == 20
    assert not head.channels.of_imu


def test_a_checkpoint_of_another_learner_is_refused_in_words(tmp_path: Path) -> None:
    before, after = (
        checkpoint_identity(each, stream_head(each, '/x'))
        for each in (chosen(), chosen(learner='map'))
    )
    kept = Checkpoints(tmp_path, 'updater', before)
    kept.write({}, {})
    kept.close()
    with pytest.raises(InputError, match='npz: the checkpoint is of another learner, map or tpsr'):
        Checkpoints(tmp_path, 'updater', after, words=IDENTITY_WORDS)


def test_a_checkpoint_of_anything_else_is_told_apart() -> None:
    others = [
        chosen(),
        chosen(horizons=[0, 5]),
        chosen(input='image'),
        chosen(input='image', image_width=8, image_height=25),
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
def test_what_makes_no_sense_is_refused_at_the_start(wrong: dict[str, Any]) -> None:
    values = chosen(learner='map', **wrong)
    with pytest.raises(InputError):
        learner_maker(values, stream_head(values, '/imu'))


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
    make = learner_maker(values, stream_head(values, '/imu'))
    before, after = make(), make()
    before.close()
    (process,) = [each for each in active_children() if each.name == 'training']
    assert process.is_alive()
    after.close()
    assert not [each for each in active_children() if each.name == 'training']
