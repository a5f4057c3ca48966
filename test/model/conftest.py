# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A spectral model in its file, as it is and altered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from altered_models import altering
import pytest

from two_manifold_ros.model.model_file import save_model

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from altered_models import Change

    from two_manifold_ros.model.model import Model


@pytest.fixture(scope='session')
def model_path(spectral_model: Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp('models') / 'spectral.npz'
    save_model(spectral_model, path)
    return path


@pytest.fixture
def altered(model_path: Path, tmp_path: Path) -> Callable[[Change], Path]:
    """See ``altering``."""
    return altering(model_path, tmp_path / 'altered.npz')
