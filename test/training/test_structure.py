# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The embeddings of pasts and futures belong together tick by tick."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.selection import KERNELS
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.structure import FEWEST_TICKS, learn_structure, Structure

WINDOW = 10
LENGTHS = (150, 90)
SETTINGS = TrainingSettings(dimension=20)
NEIGHBOURS = 12


def segments(lengths: tuple[int, ...] = LENGTHS) -> list[np.ndarray]:
    """Return a noisy rotation in two channels, cut into segments."""
    generator = np.random.default_rng(0)
    angle = 2 * np.pi * np.arange(sum(lengths)) / 23.0
    series = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    series += generator.normal(scale=0.1, size=series.shape)
    return np.split(series, np.cumsum(lengths)[:-1])


@pytest.fixture(scope='module', params=KERNELS)
def structure(request: pytest.FixtureRequest) -> Structure:
    return learn_structure(segments(), WINDOW, replace(SETTINGS, kernel=request.param), NEIGHBOURS)


def test_every_training_tick_has_its_windows_in_one_segment(structure: Structure) -> None:
    first = np.arange(WINDOW, LENGTHS[0] - WINDOW)
    second = LENGTHS[0] + np.arange(WINDOW, LENGTHS[1] - WINDOW)
    assert structure.training.ticks.tolist() == [*first, *second]
    assert structure.begins.tolist() == [0, 150, 240]
    np.testing.assert_array_equal(
        structure.observations, np.concatenate(segments())[structure.training.ticks]
    )


def test_coordinates_are_centred_over_the_training_ticks(structure: Structure) -> None:
    for coordinates in (structure.past, structure.future):
        scale = np.abs(coordinates).max()
        np.testing.assert_allclose(coordinates.mean(axis=0) / scale, 0.0, atol=1e-12)


def test_a_shifted_future_is_the_future_of_the_next_tick(structure: Structure) -> None:
    """Also in centring: else each step of the HMM would carry a constant error."""
    next_is_here = np.diff(structure.training.ticks) == 1
    assert np.count_nonzero(~next_is_here) == 1
    np.testing.assert_allclose(
        structure.shifted[:-1][next_is_here], structure.future[1:][next_is_here], atol=1e-12
    )


def test_the_warm_start_finds_the_state_of_a_training_window(structure: Structure) -> None:
    """A window up to a tick stands for the state about that tick."""
    directions = structure.directions(6)
    wanted = structure.future @ directions.future_map
    warm = structure.warm_start(directions)
    starts = structure.training.pasts.starts
    pasts = np.stack([structure.series[:, s : s + WINDOW].ravel() for s in starts])
    for index in (0, 60, 150):
        squared = np.square(pasts - pasts[index]).sum(axis=1)
        found = warm.transform(squared)
        assert found is not None
        assert np.linalg.norm(found - wanted[index]) < 0.5 * np.linalg.norm(wanted[index])


def test_states_are_one_more_than_directions(structure: Structure) -> None:
    tables = structure.tables(structure.directions(5))
    assert tables.states.shape == tables.weights.shape == (len(structure.training.ticks), 5)


def test_too_few_training_ticks_are_refused() -> None:
    enough = FEWEST_TICKS + 2 * WINDOW
    learn_structure(segments((enough,)), WINDOW, SETTINGS, NEIGHBOURS)
    with pytest.raises(InputError) as caught:
        learn_structure(segments((enough - 1,)), WINDOW, SETTINGS, NEIGHBOURS)
    assert str(caught.value) == (
        'only 49 ticks have a whole window of 10 ticks before and after them; at least 50 are '
        'needed: record longer or shorten --window'
    )
