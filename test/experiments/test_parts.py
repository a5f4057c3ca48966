# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Maps, rolls, chains and films of the experiments, and how their results are scored."""

from itertools import combinations

import numpy as np
import pytest

pytest.importorskip('matplotlib')
pytest.importorskip('sklearn')

from two_manifold_ros.experiments import mkdr, rr_hmm
from two_manifold_ros.experiments.independent_components import (
    agreement,
    best_mixture,
    lines_of,
    place_error,
    slowest,
    worst_line,
)
from two_manifold_ros.experiments.two_views import draw_views
from two_manifold_ros.experiments.video import FilmSettings, FrameBelief, FrameWindows, reduced
from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner


def test_scores():
    places = np.random.default_rng(0).random((300, 2))
    cosines = np.cos(np.pi * places)
    turned = cosines @ np.array([[0.8, -0.6], [0.6, 0.8]])
    assert agreement(-cosines[:, ::-1], places) == pytest.approx(1.0)
    assert agreement(turned, places) < 0.9
    assert best_mixture(turned, places) == pytest.approx(1.0)
    assert best_mixture(np.stack([cosines[:, 0], places[:, 0]], axis=1), places) < 0.2
    # Of mean square one, as what is found.
    assert place_error(np.sqrt(2.0) * cosines[:, ::-1] * [-1.0, 1.0], places) < 1e-9
    assert place_error(np.sqrt(2.0) * turned, places) > 0.15
    lines = lines_of(np.exp(-0.005 * np.pi**2 / 2.0 * np.array([1, 1, 2, 4, 4, 5, 5.5])), 0.005)
    assert worst_line(lines) == pytest.approx(0.5)
    # The indicator of a point is no coordinate.
    smooth = np.cos(np.linspace(0.0, np.pi, 200))
    indicator = np.full(200, -0.01)
    indicator[17] = 2.0
    np.testing.assert_array_equal(slowest(np.stack([indicator, smooth], axis=1)), smooth)
    # Few points far out are no indicator of one.
    indicator[18] = 2.0
    np.testing.assert_array_equal(slowest(np.stack([indicator, smooth], axis=1)), indicator)


def test_a_projection_rises_with_the_response_and_hides_some():
    rng = np.random.default_rng(1)
    columns = rng.standard_normal((300, 4))
    responses = 7.0 - columns[:, 2] + 0.1 * rng.standard_normal(300)
    found = mkdr.project(columns, responses, seed=0)
    assert np.corrcoef(found.values, responses)[0, 1] == pytest.approx(found.correlation)
    assert found.correlation > 0.98
    assert found.hidden_correlation > 0.98
    assert mkdr.multiple_correlation(columns[:, :2], responses) < 0.3
    noise = mkdr.project(rng.standard_normal((50, 30)), rng.standard_normal(50), seed=0)
    assert noise.correlation > 0.6
    assert abs(noise.hidden_correlation) < 0.4
    # A response whose square takes another direction.
    tube, axis = mkdr.angles_of_grid(14)
    points, disk = mkdr.on_torus(tube, axis)
    eigenvectors = mkdr.eigenvectors_of(points, 20, 10)
    claims = [
        mkdr.claim_one_direction('', [mkdr.project(eigenvectors, responses, seed=0)], 0.9)
        for responses in (disk, np.sin(tube))
    ]
    assert [claim.passed for claim in claims] == [True, False]
    assert claims[0].ours.endswith(' (rank 2)')


def test_the_chain_is_the_one_of_the_paper_and_learned_online_as_in_batch():
    np.testing.assert_allclose(rr_hmm.TRUE, [1.0, 0.7144, 0.7142], atol=1e-4)
    # Exact frequencies give them.
    chances = np.empty(rr_hmm.CODES)
    # By the forward algorithm.
    for code in range(rr_hmm.CODES):
        state = np.full(4, 0.25)
        for symbol in f'{code:011b}':
            state = rr_hmm.TRANSITION.T @ (state * (int(symbol) == rr_hmm.SYMBOLS))
        chances[code] = state.sum()
    assert rr_hmm.errors_of(rr_hmm.eigenvalues_of(chances)) < 1e-6
    # Online is batch where nothing is cut off.
    symbols = rr_hmm.sample_symbols(4_000, seed=11)
    batch = rr_hmm.errors_of(rr_hmm.learn_in_batch(symbols, (4_000,)))
    online = rr_hmm.learn_online(symbols, (2_000, 4_000))
    assert rr_hmm.errors_of(online)[1] == pytest.approx(batch[0], rel=0.05)
    single = rr_hmm.learn_online(symbols[:1_000], (1_000,), one_by_one=True)
    early = rr_hmm.errors_of(rr_hmm.learn_in_batch(symbols, (1_000,)))
    assert rr_hmm.errors_of(single)[0] == pytest.approx(early[0], rel=0.25)


def test_noise_is_anisotropic_and_biases_the_principal_components_by_an_angle():
    for view in draw_views(seed=0):
        strengths = np.linalg.svd(view.noise_root, compute_uv=False)
        assert strengths[0] > 10.0 * strengths[-1]
        assert view.bias() > 10.0
    assert view.angle(view.mixing @ [[1.0, 2.0], [3.0, -1.0]]) == pytest.approx(0.0, abs=1e-6)
    first, second, outside, *_ = np.linalg.qr(view.mixing, mode='complete')[0].T
    tilted = np.stack([first + np.tan(np.radians(20.0)) * outside, second], axis=1)
    assert view.angle(tilted) == pytest.approx(20.0)


WINDOW = 8
SETTINGS = FilmSettings(WINDOW, 3_000, 3_000, states=3, ridge=1.0)


def test_features_are_of_faded_windows_of_reduced_frames():
    # They drift away from the first one, so that windows differ by their lag.
    begin, drift = np.random.default_rng(0).uniform(0.0, 1.0, (2, 16, 24))
    pictures = (100.0 * begin + 4.0 * np.arange(32)[:, None, None] * drift).astype(np.uint8)
    stream = FrameWindows(SETTINGS, seed=3)
    samples = [stream.push(picture) for picture in pictures]
    frames = np.array([reduced(picture) for picture in pictures])
    # Each frame is reduced to the means of rectangles.
    assert frames.shape == (32, 64)
    assert frames[0, [0, -2]] == pytest.approx(
        [pictures[0, :2, :3].mean(), pictures[0, -2:, -6:-3].mean()]
    )
    fading = np.exp(-np.arange(WINDOW) / (SETTINGS.fading * WINDOW))[:, None]
    first, second = samples[16], samples[20]
    windows = [fading * frames[begin : begin + WINDOW] for begin in range(WINDOW + 2)]
    scale, breadth = (
        np.median([np.linalg.norm(one - other) for one, other in combinations(each, 2)])
        for each in (windows, SETTINGS.breadth * frames[:17])
    )
    past = np.linalg.norm(fading[::-1] * (frames[0:8] - frames[4:12]))
    future = np.linalg.norm(fading * (frames[8:16] - frames[12:20]))
    present = np.linalg.norm(frames[8] - frames[12])
    for found, expected in (
        (first.history[:-1] @ second.history[:-1], past / scale),
        (first.test[:-1] @ second.test[:-1], future / scale),
        (first.observation @ second.observation, present / breadth),
    ):
        assert found == pytest.approx(np.exp(-0.5 * expected**2), abs=0.06)


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
    for _ in range(SETTINGS.lost - 1):
        belief.update(np.zeros(2))
    assert not np.array_equal(belief.state, tpsr.start)
    belief.update(np.zeros(2))
    np.testing.assert_array_equal(belief.state, tpsr.start)
