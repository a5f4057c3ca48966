# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""States of one and of two views, as `./run bench two_manifold` learns and reads them."""

import numpy as np
from numpy.testing import assert_allclose
import pytest
from two_view_states import learn_state, LEARNERS, RAW, read, State, Views

from two_manifold_ros.ticks.windows import WindowSet

WIDTH, LAP = 10, 60


def circle(ticks: int, seed: int, noise: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """Return channels (3, T) that show the angle, and the place on the unit circle (T, 2)."""
    rng = np.random.default_rng(seed)
    angle = 2.0 * np.pi * np.arange(ticks) / LAP
    shown = np.stack([np.cos(angle), np.sin(2.0 * angle), np.cos(3.0 * angle + 1.0)])
    places = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return shown + noise * rng.standard_normal(shown.shape), places


@pytest.fixture(scope='module')
def drives() -> tuple[Views, np.ndarray, np.ndarray]:
    """Return past and future windows of ten laps, those of three to follow, and the places."""
    series, places = circle(10 * LAP, 0)
    followed, truth = circle(3 * LAP, 1)
    ticks = np.arange(WIDTH, 10 * LAP - WIDTH)
    asked = np.arange(WIDTH, 3 * LAP)
    views = Views(
        WindowSet(series, ticks - WIDTH, WIDTH),
        WindowSet(series, ticks, WIDTH),
        WindowSet(followed, asked - WIDTH, WIDTH),
    )
    return views, places[ticks - 1], truth[asked - 1]


def rmse(found: np.ndarray, truth: np.ndarray) -> float:
    return float(np.sqrt(np.square(found - truth).sum(axis=1).mean()))


@pytest.mark.parametrize('learner', LEARNERS)
def test_places_are_read_from_every_state(drives, learner):
    views, places, truth = drives
    state = learn_state(views, learner)
    assert len(state.training) == len(views.first)
    found, best = read([state], np.arange(len(places)), places)
    assert best == 0
    assert rmse(found, truth) < 0.2


def test_the_state_that_shows_places_is_read_and_only_labels_are_looked_at(drives):
    views, places, truth = drives
    good = learn_state(views, 'manifold')
    noise = np.random.default_rng(3).normal(size=(len(places), 5))
    bad = State(noise, noise[: len(truth)])
    labels = np.arange(0, len(places), 20)
    found, best = read([bad, good], labels, places)
    assert best == 1
    hidden = np.full_like(places, np.nan)
    hidden[labels] = places[labels]
    assert_allclose(read([bad, good], labels, hidden)[0], found)


def test_of_noise_that_views_do_not_share_two_are_better_than_one(drives):
    """The first view has two channels of its own that say nothing, and drift within a window."""
    views, places, truth = drives
    rng = np.random.default_rng(5)

    def disturbed(windows: WindowSet) -> WindowSet:
        drift = np.cumsum(rng.standard_normal((2, windows.series.shape[1])), axis=1)
        drift -= np.stack([np.convolve(each, np.ones(WIDTH) / WIDTH, 'same') for each in drift])
        series = np.concatenate([windows.series, 1.5 * drift])
        return WindowSet(np.ascontiguousarray(series), windows.starts, WIDTH)

    noisy = Views(disturbed(views.first), views.second, disturbed(views.followed))
    labels = np.arange(0, len(places), 20)
    errors = {
        learner: rmse(read([learn_state(noisy, learner)], labels, places)[0], truth)
        for learner in ('manifold', 'one view', RAW)
    }
    assert errors['manifold'] < 0.8 * min(errors['one view'], errors[RAW])
