# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which models the filter node runs, and which may take the place of the one that runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from two_manifold_ros.model.head import ModelHead


def check_input(model: ModelHead, path: str) -> None:
    """
    Refuse a model that does not take an IMU.

    Raises
    ------
    InputError
        If it does not.

    """
    if not model.channels.of_imu:
        msg = (
            f'{path}: the model takes {model.channels.names[0]} and its like, but this node '
            f'listens to an IMU; name a model that was learned from one'
        )
        raise InputError(msg)


def check_successor(model: ModelHead, present: ModelHead, path: str) -> None:
    """
    Refuse a model after whose swap the same numbers would mean something else.

    Rate, window, horizons, states and method may be others: messages tell them. Frames they name
    too, but whoever listens to them has chosen them once.

    Parameters
    ----------
    model, path
        What shall run, and its file.
    present
        What runs.

    Raises
    ------
    InputError
        If it takes no IMU, or its positions or its IMU are in another frame, where both are
        known.

    """
    check_input(model, path)
    _check_frame(path, 'its positions are', model.frame_id, present.frame_id)
    _check_frame(path, 'its IMU was', model.imu_frame_id, present.imu_frame_id)
    if model.origin != present.origin:
        msg = (
            f'{path}: its positions have another geodetic origin than those that are published; '
            'configure the node with it instead'
        )
        raise InputError(msg)


def _check_frame(path: str, what: str, wanted: str, present: str) -> None:
    if wanted and present and wanted != present:
        msg = (
            f'{path}: {what} in the frame {wanted!r}, but that of the model in use is '
            f'{present!r}; configure the node with it instead'
        )
        raise InputError(msg)
