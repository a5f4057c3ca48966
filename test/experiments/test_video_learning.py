# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Windows of frames in features, and states that move with a basis."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from two_manifold_ros.experiments.video_learning import (
    FilmSettings,
    FrameBelief,
    FrameWindows,
    reduced,
    Trail,
    VideoLearner,
)
from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner

WINDOW = 8
SETTINGS = FilmSettings(WINDOW, 3_000, 3_000, states=3, ridge=1.0)


@pytest.fixture(scope='module')
def pictures() -> np.ndarray:
    """Return pictures that drift away from the first one, so that windows differ by their lag."""
    begin, drift = np.random.default_rng(0).uniform(0.0, 1.0, (2, 16, 24))
    steps = np.arange(32)[:, None, None]
    drifting: np.ndarray = (100.0 * begin + 4.0 * steps * drift).astype(np.uint8)
    return drifting


def distance(first: np.ndarray, second: np.ndarray, weights: np.ndarray) -> float:
    return float(np.sqrt((((first - second) * weights[:, None]) ** 2).sum()))


def test_samples_are_windows_around_a_frame(pictures):
    stream = FrameWindows(SETTINGS, seed=3)
    samples = [stream.push(picture) for picture in pictures]
    assert [index for index, sample in enumerate(samples) if sample is None] == list(range(16))
    found = [sample for sample in samples if sample is not None]
    for sample, after in pairwise(found):
        np.testing.assert_array_equal(sample.next_test, after.test)
    for sample, later in zip(found, found[8:], strict=False):
        np.testing.assert_allclose(sample.newest, later.observation, atol=1e-12)
    assert found[0].history[-1] == found[0].test[-1] == 1.0  # the constant


def test_features_are_of_faded_windows_of_reduced_frames(pictures):
    stream = FrameWindows(SETTINGS, seed=3)
    samples = [stream.push(picture) for picture in pictures]
    frames = np.array([reduced(picture) for picture in pictures])
    # Each frame is reduced to the means of rectangles.
    assert frames.shape == (32, 64)
    assert frames[0, [0, -2]] == pytest.approx(
        [pictures[0, :2, :3].mean(), pictures[0, -2:, -6:-3].mean()]
    )
    fading = np.exp(-np.arange(WINDOW) / (SETTINGS.fading * WINDOW))
    first, second = samples[16], samples[20]
    windows = [frames[begin : begin + WINDOW] for begin in range(WINDOW + 2)]
    scale = np.median([distance(*pair, fading) for pair in combinations(windows, 2)])
    past = distance(frames[0:8], frames[4:12], fading[::-1])
    future = distance(frames[8:16], frames[12:20], fading)
    breadth = SETTINGS.breadth * np.median(
        [np.linalg.norm(first - second) for first, second in combinations(frames[:17], 2)]
    )
    present = np.linalg.norm(frames[8] - frames[12])
    for found, expected in (
        (first.history[:-1] @ second.history[:-1], past / scale),
        (first.test[:-1] @ second.test[:-1], future / scale),
        (first.observation @ second.observation, present / breadth),
    ):
        assert found == pytest.approx(np.exp(-0.5 * expected**2), abs=0.06)


def test_a_trail_moves_with_the_basis():
    random = np.random.default_rng(1)
    learner = OnlineLearner(LearnerSettings(6, 6, ridge=1.0, fold_every=1), np.eye(9)[-1], 9, 2)
    histories = np.column_stack([random.normal(size=(5, 8)), np.ones(5)])
    trail = Trail(6)
    for history in histories:
        test, observation = random.normal(size=9), random.normal(size=2)
        move = learner.add(test, test, history, observation)
        trail.move(move.right)
        trail.append(learner.svd.newest[-1])
    expected = histories @ learner.svd.right.T
    np.testing.assert_allclose(trail.rows[:, :5], expected, atol=1e-9)
    assert not trail.rows[:, 5:].any()
    short = Trail(2)
    short.append(np.array([1.0, 2.0, 3.0]))
    short.move(np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 5.0], [0.0, 0.0, 1.0]]))
    assert short.rows.tolist() == [[2.0, 1.0]]


def test_the_learner_keeps_a_state_a_frame_and_the_first_views(pictures):
    settings = FilmSettings(4, 50, 10, states=3, ridge=1.0)
    stream, learner, together = FrameWindows(settings, 0), VideoLearner(settings), 10
    samples = [stream.push(picture) for picture in pictures]
    known = []
    for sample in samples[8:]:
        learner.learn(sample)
        known.append(len(learner.beliefs.rows))
    assert known == [0] * (together - 1) + list(range(1, 25 - together + 1))
    assert learner.views.rows.shape == (together, 3)
    assert np.isfinite(learner.beliefs.rows).all()
    followed = learner.follow()
    assert followed.shape == learner.beliefs.rows.shape
    np.testing.assert_array_equal(followed, learner.follow())
    assert not np.allclose(followed[:5], learner.beliefs.rows[:5])


def test_a_belief_restarts_once_frames_contradict_it_for_long():
    random = np.random.default_rng(2)
    learner = OnlineLearner(LearnerSettings(2, 4, ridge=0.01, fold_every=1), np.eye(3)[-1], 3, 2)
    for index in range(60):
        one = np.append(np.eye(2)[index % 2], 1.0)
        other = np.append(np.eye(2)[(index + 1) % 2], 1.0)
        learner.add(one, other, other, np.eye(2)[index % 2] + 0.01 * random.normal(size=2))
    tpsr = learner.parameters()
    belief = FrameBelief(tpsr, SETTINGS.lost)
    for index in range(6):
        belief.update(np.eye(2)[index % 2])
    sure = belief.state
    for _ in range(SETTINGS.lost - 1):
        belief.update(np.zeros(2))
    assert not np.array_equal(belief.state, tpsr.start)
    belief.update(np.zeros(2))
    np.testing.assert_array_equal(belief.state, tpsr.start)
    assert not np.allclose(sure, tpsr.start)
