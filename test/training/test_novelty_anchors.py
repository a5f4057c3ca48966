# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Novelty of unseen windows, learned by leaving out the surroundings of each window."""

from __future__ import annotations

import naive
import numpy as np
import pytest

from two_manifold_ros.ticks.novelty import NoveltyAnchors
from two_manifold_ros.ticks.windows import WindowSet
from two_manifold_ros.training.embeddings import novelty_anchors

WIDTH = 5


def window_set(series: np.ndarray) -> WindowSet:
    starts = np.arange(series.shape[1] - WIDTH + 1)
    return WindowSet(np.ascontiguousarray(series), starts, WIDTH)


def naive_anchors(series: np.ndarray) -> NoveltyAnchors:
    nearest, own, other = [], [], []
    for start in range(series.shape[1] - WIDTH + 1):
        window = series[:, start : start + WIDTH]
        swapped = np.concatenate([window[:, WIDTH // 2 :], window[:, : WIDTH // 2]], axis=1)
        away = abs(np.arange(series.shape[1] - WIDTH + 1) - start) >= 2 * WIDTH
        usual = naive.window_distances(series, window)[away]
        mixed = naive.window_distances(series, swapped)[away]
        nearest.append(usual.min())
        own.append(np.log(usual.min() / usual.mean()))
        other.append(np.log(mixed.min() / mixed.mean()))
    return NoveltyAnchors(
        float(np.median(nearest)), float(np.median(own)), float(np.median(other)), 0
    )


def test_against_windows_compared_one_by_one() -> None:
    series = np.random.default_rng(0).normal(size=(3, 90)).cumsum(axis=1)
    found, wanted = novelty_anchors(window_set(series)), naive_anchors(series)
    assert vars(found) == pytest.approx(vars(wanted), rel=1e-9)


def test_where_a_window_is_a_lap_another_route_is_spliced() -> None:
    """Swapped halves of a lap are the lap as it is half a lap later."""
    rng = np.random.default_rng(5)
    lap = rng.normal(size=(3, WIDTH - 1))
    series = np.tile(lap, 40) + 0.05 * rng.normal(size=(3, 40 * (WIDTH - 1)))
    starts = np.arange(series.shape[1] - WIDTH + 2)
    windows = WindowSet(series, starts, WIDTH - 1)
    swapped, both = novelty_anchors(windows), novelty_anchors(windows, spliced=True)
    assert swapped.other == pytest.approx(swapped.own, abs=0.3)
    assert both.other > swapped.other + 2.0
    assert (both.own, both.squared) == (swapped.own, swapped.squared)


def test_a_drive_too_short_to_leave_anything_out_is_compared_with_its_farthest_window() -> None:
    series = np.random.default_rng(3).normal(size=(2, WIDTH + 4))
    anchors = novelty_anchors(window_set(series))
    assert anchors.squared > 0.0
    assert np.isfinite([anchors.own, anchors.other]).all()


def test_how_long_training_stood_still() -> None:
    series = np.random.default_rng(4).normal(size=(2, 80))
    series[:, 30:40] = series[:, 30:31]
    series[0, 60:70] = 0.0
    assert novelty_anchors(window_set(series)).still == 9


def test_noise_that_never_repeats_is_as_novel_as_another_route() -> None:
    anchors = novelty_anchors(window_set(np.random.default_rng(2).normal(size=(2, 600))))
    assert anchors.own == pytest.approx(anchors.other, abs=0.1)
