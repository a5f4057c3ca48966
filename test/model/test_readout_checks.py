# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A read-out that would lead the filter astray is refused when it is loaded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TYPE_CHECKING

from altered_models import refusal
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.readout import RidgeReadout
from two_manifold_ros.model.model import check_model

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from altered_models import Change

    from two_manifold_ros.model.model import Model


@pytest.mark.parametrize(
    ('name', 'where', 'value', 'words'),
    [
        ('readout.targets', (slice(None), 0), float('nan'), 'readout.targets are nowhere known'),
        ('readout.targets', (slice(None), 2), float('nan'), 'readout.targets are nowhere known'),
        ('readout.factors', 1, 0.0, 'readout.factors are not positive'),
    ],
    ids=str,
)
def test_a_readout_of_nothing(
    name: str,
    where: int | tuple[int | slice, ...],
    value: float,
    words: str,
    altered: Callable[[Change], Path],
) -> None:
    def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[name][where] = value

    assert words in refusal(altered(change))


@pytest.mark.parametrize('wrong', [[[0.1, 0.2], [0.0, 0.1]], [[0.1, 0.2], [0.2, 0.1]]])
def test_a_linear_readout_with_covariances_that_are_none(
    wrong: list[list[float]], spectral_model: Model
) -> None:
    covariances = np.tile(np.eye(2), (4, 1, 1))
    readout = RidgeReadout(np.ones((4, 2, spectral_model.states)), covariances)
    check_model(replace(spectral_model, readout=readout))
    covariances[2] = wrong
    with pytest.raises(InputError, match='covariances are no covariances'):
        check_model(replace(spectral_model, readout=readout))
