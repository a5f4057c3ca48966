# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From the updater's parameters to a learner."""

from __future__ import annotations

from dataclasses import asdict
import hashlib
from typing import Any, TYPE_CHECKING

from two_manifold_ros.adapting.adapting_head import AdaptingHead, head_after, make_head
from two_manifold_ros.adapting.adaptive_filter import AdaptiveFilter
from two_manifold_ros.adapting.map_learner import MapLearner
from two_manifold_ros.adapting.settings import AdaptingSettings
from two_manifold_ros.adapting.training_process import TrainingProcess
from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.limits import limits_of
from two_manifold_ros.inspection.lag_correction import parse_position_lag
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.nodes.fitting_model import check_input
from two_manifold_ros.nodes.image_values import channel_names
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from two_manifold_ros.adapting.learner import Learner
    from two_manifold_ros.adapting.learning_budget import LearningBudget
    from two_manifold_ros.model.head import ModelHead

IMAGE_INPUT = 'image'

MAP, TPSR = 'map', 'tpsr'
"""Names of the learners."""

IDENTITY_WORDS = {
    'learner': (
        'the checkpoint is of another learner, map or tpsr: choose it with the parameter learner, '
        'or choose another checkpoint_folder'
    ),
    'scales': (
        'the checkpoint was made with another model, or none: start with the one it was made '
        'with, or choose another checkpoint_folder'
    ),
}
"""What it means that a checkpoint differs in something that is no setting."""


def adapting_settings(values: Mapping[str, Any]) -> AdaptingSettings:
    """Return the settings of the adaptive filter; raises `InputError` if they make no sense."""
    names = AdaptingSettings.__dataclass_fields__
    chosen = {name: values[name] for name in names}
    chosen['horizons'] = tuple(values['horizons'])
    return AdaptingSettings(**chosen)


def learner_name(values: Mapping[str, Any]) -> str:
    """
    Return what learns: the ``learner`` that was chosen, or the usual one of the input.

    Raises
    ------
    InputError
        If a map is to be learned of images.

    """
    seeing = values['input'] == IMAGE_INPUT
    if seeing and values['learner'] == MAP:
        msg = 'a map is learned of an IMU: leave learner empty where images are learned'
        raise InputError(msg)
    return values['learner'] or (TPSR if seeing else MAP)


def stream_head(values: Mapping[str, Any], topic: str) -> ModelHead:
    """
    Return what is known of the stream on a topic: of a map the given model, if there is one.

    Raises
    ------
    InputError
        If a parameter makes no sense, or the given model cannot be used.

    """
    settings = adapting_settings(values)
    path = values['model']
    if values['input'] == IMAGE_INPUT:
        if path:
            msg = f'{path}: a model of an IMU tells nothing about images; leave model empty'
            raise InputError(msg)
        names = channel_names(values['image_width'], values['image_height'])
        return make_head(settings, names=names, imu_topic=topic)
    if not path:
        return make_head(settings, imu_topic=topic)
    model = load_model(path)
    check_input(model, path)
    return model if learner_name(values) == MAP else head_after(model, settings)


def learner_maker(
    values: Mapping[str, Any], head: ModelHead, budget: LearningBudget
) -> Callable[[], Learner]:
    """
    Return what makes learners of a stream.

    Parameters
    ----------
    values
        Of the parameters.
    head
        From `stream_head`.
    budget
        That may drop samples of a TPSR.

    """
    ellipse = values['ellipse_warn_m'], values['ellipse_error_m']
    reorder_ns = round(1e9 * values['reorder_s'])
    if isinstance(head, AdaptingHead) and learner_name(values) == TPSR:
        limits = limits_of(head, *ellipse)
        return lambda: AdaptiveFilter(head, budget, limits=limits, reorder_ns=reorder_ns)

    # What makes no sense is told at the start, and not with the first map.
    limits_of(head, *ellipse)
    if values['position_lag']:
        parse_position_lag(values['position_lag'])

    def filter_of(model: ModelHead) -> Filter:
        return Filter(model, limits=limits_of(model, *ellipse), reorder_ns=reorder_ns)

    settings = TrainingSettings(horizons=tuple(values['horizons']))

    def make() -> Learner:
        # One for each learner: what one has begun ends with it, and nothing else.
        training = TrainingProcess()
        training.begin()
        return MapLearner(
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
    if not isinstance(head, AdaptingHead) or learner_name(values) == MAP:
        return {'learner': MAP, 'horizons': list(values['horizons'])}
    # Without the name of the learner, as before there was another one.
    channels = head.channels
    identity = {**asdict(head.settings), 'horizons': list(head.horizons)}
    identity['channels'] = f'{len(channels.names)}, {channels.names[0]} to {channels.names[-1]}'
    if head.measured:
        numbers = b''.join(part.tobytes() for part in (channels.mean, channels.scale))
        identity['scales'] = hashlib.sha256(numbers).hexdigest()[:16]
    return identity
