# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A route or a read-out that would lead the belief astray is refused when it is loaded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TYPE_CHECKING

from altered_models import refusal
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.model.checks import check_model
from two_manifold_ros.readout.ridge import RidgeReadout

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from altered_models import Change

    from two_manifold_ros.model.model import Model


@pytest.mark.parametrize(
    ('name', 'where', 'value', 'words'),
    [
        ('route.passes', (3, 0), 10**6, 'route.passes names ticks that are not there'),
        ('route.passes', (3, 0), -2, 'route.passes names ticks that are not there'),
        ('route.passes', (0, slice(None)), [-1, 2, 3, 4, 5], 'route.passes has gaps'),
        ('route.shifts', (3, 0), 7, 'route.shifts names paces that are not there'),
        ('route.shifts', (3, 0), -7, 'route.shifts names paces that are not there'),
        ('route.since_begin', 0, 1, 'does not count the ticks of segments'),
        ('route.since_begin', 5, 7, 'does not count the ticks of segments'),
        ('route.states', (2, 0), 0.5, 'the states of its route do not begin with the constant'),
        ('route.gains', 0, 0.0, 'route.gains are no shares'),
        ('route.gains', 0, 1.5, 'route.gains are no shares'),
        ('paces.factors', 0, 9.0, 'paces.factors are not positive and increasing'),
        ('paces.factors', 0, -0.1, 'paces.factors are not positive and increasing'),
        ('paces.moves', (0, 0), 0.9, 'paces.moves are no chances that sum to one'),
        ('paces.changes', (0, slice(2)), [-1.0, 2.0], 'paces.changes are no chances'),
        ('paces.prior', 0, 0.9, 'paces.prior are no chances that sum to one'),
        ('readout.targets', (slice(None), 0), float('nan'), 'readout.targets are nowhere known'),
        ('readout.targets', (slice(None), 2), float('nan'), 'readout.targets are nowhere known'),
        ('readout.factors', 1, 0.0, 'readout.factors are not positive'),
    ],
    ids=str,
)
def test_a_route_that_cannot_be_localised_on(
    name: str,
    where: int | slice | tuple[int | slice, ...],
    value: object,
    words: str,
    altered: Callable[[Change], Path],
) -> None:
    def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[name][where] = value

    assert words in refusal(altered(change))


def test_a_route_that_begins_amid_a_segment(altered: Callable[[Change], Path]) -> None:
    def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays['route.since_begin'] += 1

    assert 'does not count the ticks of segments' in refusal(altered(change))


@pytest.mark.parametrize('name', ['route.passes', 'paces.moves'])
def test_a_route_without_columns(name: str, altered: Callable[[Change], Path]) -> None:
    def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
        for each in {name, 'route.shifts'} if name == 'route.passes' else {name}:
            arrays[each] = arrays[each][:, :0]

    assert f'{name} has the shape' in refusal(altered(change))


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
