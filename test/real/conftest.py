# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Models of real cars that several tests filter with."""

from collections.abc import Callable
from pathlib import Path

import pytest

from two_manifold_ros.model.model import RouteModel
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model


@pytest.fixture(scope='session')
def read_real(recordings_folder: Path) -> Callable[[str], Recording]:
    """Return a function that reads a recording by its folder, or skips the test."""
    pytest.importorskip('rosbags')

    def read(name: str) -> Recording:
        folder = recordings_folder / name
        if not folder.is_dir():
            pytest.skip(f'the real recording {name} is not beside the checkout')
        return read_recording(str(folder))

    return read


@pytest.fixture(scope='session')
def six_runs(read_real: Callable[[str], Recording]) -> RouteModel:
    """Return a model of six runs of a car, of whose six channels three are dead."""
    runs = [read_real(f'f1tenth_ipz20/run_{i}') for i in range(1, 7)]
    return train_model(runs, TrainingSettings(horizons=(0, 25, 50)))
