# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The configuration of the paper of 2012, by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.holdout import hold_out
from two_manifold_ros.training.spectral_scales import at_usual_rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.training.settings import TrainingSettings

PAPER: dict[str, Any] = {
    'method': 'spectral',
    'kernel': 'laplacian-eigenmap',
    'states': 20,
    'neighbours': 50,
    'coupling': 'gram-product',
    'observation': 'raw',
    'readout': 'ridge',
    'clock': 'time',
}
"""What the paper settles."""

WINDOW = 150


def paper_settings(asked: TrainingSettings, recordings: Sequence[Recording]) -> TrainingSettings:
    """
    Return what was asked for with all that the paper settles.

    Parameters
    ----------
    asked
        Its rate, horizons and dimension stay, and its window if there is one.
    recordings
        To train on: without a window asked for they get that of the paper where they are long
        enough for a training with validation, else the usual one, at the usual rate.

    """
    settings = replace(asked, **PAPER)
    if asked.window is not None:
        return settings
    wide = replace(settings, window=WINDOW)
    return wide if _long_enough(wide, recordings) else at_usual_rate(recordings, settings)


def _long_enough(settings: TrainingSettings, recordings: Sequence[Recording]) -> bool:
    try:
        dataset = build_dataset(recordings, settings)
    except InputError:
        # Whatever it is, the training says it.
        return False
    fit, held = hold_out(dataset.segments, dataset.window)
    return bool(fit and held)
