# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From the updater's parameters to what the adaptive filter wants."""

from __future__ import annotations

from dataclasses import asdict
import hashlib
from typing import Any, TYPE_CHECKING

from two_manifold_ros.adapting.adapting_head import head_after, make_head
from two_manifold_ros.adapting.settings import AdaptingSettings
from two_manifold_ros.errors import InputError
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.nodes.fitting_model import check_input
from two_manifold_ros.nodes.image_values import channel_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.adapting.adapting_head import AdaptingHead

IMAGE_INPUT = 'image'

IDENTITY_WORDS = {
    'scales': (
        'the checkpoint was made with another model, or none: start with the one it was made '
        'with, or choose another checkpoint_folder'
    )
}
"""What it means that a checkpoint differs in something that is no setting."""


def adapting_settings(values: Mapping[str, Any]) -> AdaptingSettings:
    """Return the settings of the adaptive filter; raises `InputError` if they make no sense."""
    names = AdaptingSettings.__dataclass_fields__
    chosen = {name: values[name] for name in names}
    chosen['horizons'] = tuple(values['horizons'])
    return AdaptingSettings(**chosen)


def stream_head(values: Mapping[str, Any], topic: str) -> AdaptingHead:
    """
    Return the head of the stream on a topic.

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
    return head_after(model, settings)


def checkpoint_identity(head: AdaptingHead) -> dict[str, Any]:
    """Return what a checkpoint must agree in to be resumed, as JSON values."""
    channels = head.channels
    identity = {**asdict(head.settings), 'horizons': list(head.horizons)}
    identity['channels'] = f'{len(channels.names)}, {channels.names[0]} to {channels.names[-1]}'
    if head.measured:
        numbers = b''.join(part.tobytes() for part in (channels.mean, channels.scale))
        identity['scales'] = hashlib.sha256(numbers).hexdigest()[:16]
    return identity
