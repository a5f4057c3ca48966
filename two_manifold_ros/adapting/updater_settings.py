# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From the updater's parameters to a learner."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from two_manifold_ros.adapting.stream_learner import LEARNERS, StreamLearner
from two_manifold_ros.adapting.stream_memory import make_head
from two_manifold_ros.adapting.training_process import TrainingProcess
from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.tick_estimator import limits_of
from two_manifold_ros.inspection.lag import parse_position_lag
from two_manifold_ros.interface.image_values import channel_names
from two_manifold_ros.interface.model_swap import check_input
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from two_manifold_ros.model.head import ModelHead


IMAGE_INPUT = 'image'

IDENTITY_WORDS = {
    'learner': (
        'the checkpoint is of another learner, map or tpsr, or of an earlier version of this '
        'program: choose the other learner, or another checkpoint_folder, or remove it'
    ),
}
"""What it means that a checkpoint differs in something that is no setting."""


def learner_name(values: Mapping[str, Any]) -> str:
    """
    Return what learns: the ``learner`` that was chosen, or the usual one of the input.

    Raises
    ------
    InputError
        If a map is to be learned of images.

    """
    seeing = values['input'] == IMAGE_INPUT
    if seeing and values['learner'] == 'map':
        msg = 'a map is learned of an IMU: leave learner empty where images are learned'
        raise InputError(msg)
    return values['learner'] or ('tpsr' if seeing else 'map')


def stream_head(values: Mapping[str, Any], topic: str) -> ModelHead:
    """
    Return what is known of the stream on a topic: the given model, if there is one.

    Raises
    ------
    InputError
        If a parameter makes no sense, or the given model cannot be used.

    """
    horizons, path = tuple(values['horizons']), values['model']
    if values['input'] == IMAGE_INPUT:
        if path:
            msg = f'{path}: a model of an IMU tells nothing about images; leave model empty'
            raise InputError(msg)
        names = channel_names(values['image_width'], values['image_height'])
        return make_head(horizons, names=names, imu_topic=topic)
    head = make_head(horizons, imu_topic=topic)
    if not path:
        return head
    model = load_model(path)
    check_input(model, path)
    return model


def learner_maker(values: Mapping[str, Any], head: ModelHead) -> Callable[[], StreamLearner]:
    """
    Return what makes learners of a stream.

    Parameters
    ----------
    values
        Of the parameters.
    head
        From `stream_head`.

    Raises
    ------
    InputError
        If a parameter makes no sense.

    """
    ellipse = values['ellipse_warn_m'], values['ellipse_error_m']
    reorder_ns = round(1e9 * values['reorder_s'])
    # What makes no sense is told at the start, and not with the first model.
    limits_of(head, *ellipse)
    if values['position_lag']:
        parse_position_lag(values['position_lag'])

    def filter_of(model: ModelHead) -> Filter:
        return Filter(model, limits=limits_of(model, *ellipse), reorder_ns=reorder_ns)

    settings = TrainingSettings(
        horizons=tuple(values['horizons']), method=LEARNERS[learner_name(values)]
    )

    def make() -> StreamLearner:
        # One for each learner: what one has begun ends with it, and nothing else.
        training = TrainingProcess(settings.method)
        training.begin()
        return StreamLearner(
            head,
            settings,
            train=training.train,
            make=filter_of,
            position_lag=values['position_lag'],
            reorder_ns=reorder_ns,
            close=training.close,
        )

    return make


def checkpoint_identity(values: Mapping[str, Any], head: ModelHead) -> dict[str, Any]:
    """Return what a checkpoint must agree in to be resumed, as JSON values."""
    names = head.channels.names
    return {
        'learner': learner_name(values),
        'horizons': list(values['horizons']),
        'channels': f'{len(names)}, {names[0]} to {names[-1]}',
    }
