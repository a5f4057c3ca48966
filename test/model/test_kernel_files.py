# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A model of every kernel is trained, comes back from its file, starts warm and filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.filtering.tracker import Tracker
from two_manifold_ros.manifold.selection import has_neighbours, KERNELS
from two_manifold_ros.model.model_file import load_model, save_model
from two_manifold_ros.ticks.windows import WindowSet
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.model.model import Model
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats

TICKS = 30


def told_by(model: Model, series: Floats) -> list[bytes]:
    """Return what is read out after each of the first ticks of the training."""
    tracker = Tracker(model)
    told = []
    for values in series.T[:TICKS]:
        tracker.update(model.channels.mean + model.channels.scale * values)
        told.append(tracker.read()[0].tobytes())
    return told


@pytest.mark.parametrize('kernel', KERNELS)
def test_a_model_of_every_kernel(
    kernel: str, slot_car_laps: tuple[Recording, Recording], tmp_path: Path
) -> None:
    settings = TrainingSettings(
        window=8, states=5, horizons=(0, 3), kernel=kernel, method='spectral', dimension=12,
        neighbours=9, bandwidth_factor=1.0,
    )  # fmt: skip
    model = train_model([slot_car_laps[0].between(0, 9)], settings)
    assert model.kernel == kernel
    assert model.summary['neighbours'] == (9 if has_neighbours(kernel) else None)
    save_model(model, tmp_path / 'model')
    loaded = load_model(tmp_path / 'model')
    assert isinstance(loaded, type(model))
    told = told_by(loaded, model.series)
    assert told == told_by(model, model.series)
    assert len(set(told)) == TICKS
    squared = WindowSet(model.series, model.starts, model.window).distances_to(np.array([3]))[:, 0]
    warm = loaded.warm_start.transform(squared)
    assert warm is not None
    assert warm.shape == (model.states - 1,)
    np.testing.assert_array_equal(warm, model.warm_start.transform(squared))
    assert 0.0 < np.linalg.norm(warm) < model.state_bound
