# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Nearest windows by sketches against the exact search by diagonals."""

import numpy as np
import pytest

from two_manifold_ros.manifold.selection import has_neighbours, KERNELS, make_learner
from two_manifold_ros.ticks import approximate
from two_manifold_ros.ticks.approximate import near_windows
from two_manifold_ros.ticks.neighbours import Neighbours, window_neighbours
from two_manifold_ros.ticks.windows import WindowSet

WIDTH, COUNT = 40, 12


def laps(count: int, seed: int = 0) -> np.ndarray:
    """Return a series (3, count) of laps of uneven speed with noise."""
    rng = np.random.default_rng(seed)
    phase = (1.0 + 0.2 * rng.normal(size=count).cumsum() / np.sqrt(count)).cumsum() / 15.0
    clean = np.stack([np.sin(phase), np.cos(2.0 * phase), np.sin(3.0 * phase + 1.0)])
    return np.ascontiguousarray(clean + 0.1 * rng.normal(size=clean.shape))


def noise(count: int) -> np.ndarray:
    """Return white noise (3, count): no window resembles another one."""
    return np.random.default_rng(1).normal(size=(3, count))


def exact(series: np.ndarray, starts: np.ndarray, count: int = COUNT) -> Neighbours:
    return Neighbours(*window_neighbours(series, starts, WIDTH, count))


def recall(found: Neighbours, expected: Neighbours) -> float:
    """Return the share of the true neighbours, by index, that are found."""
    pairs = zip(found.indices, expected.indices, strict=True)
    shares = [len(np.intersect1d(*pair)) / len(pair[1]) for pair in pairs]
    return float(np.mean(shares))


def noted(found: Neighbours) -> float:
    (note,) = found.notes
    assert note.startswith(f'neighbours of {len(found.indices):,} windows by an approximate ')
    return float(note.split('that finds ')[1].split(' %')[0]) / 100.0


def rows_of(series: np.ndarray, starts: np.ndarray) -> np.ndarray:
    return np.array([series[:, start : start + WIDTH].T.ravel() for start in starts])


@pytest.fixture
def few_lists(monkeypatch):
    """Look in a share of the lists, as among millions of windows."""
    monkeypatch.setattr(approximate, 'PROBED', 8)


@pytest.mark.usefixtures('few_lists')
def test_nearly_all_neighbours_on_laps_are_found():
    series, starts = laps(8000), np.arange(7900)
    found = near_windows(series, starts, WIDTH, COUNT)
    share = recall(found, exact(series, starts))
    assert share >= 0.99
    assert noted(found) == pytest.approx(share, abs=0.005)


@pytest.mark.usefixtures('few_lists')
def test_where_windows_resemble_no_other_the_note_says_how_few_are_found():
    series, starts = noise(8000), np.arange(7900)
    found = near_windows(series, starts, WIDTH, COUNT)
    share = recall(found, exact(series, starts))
    assert share < 0.9
    assert noted(found) == pytest.approx(share, abs=0.03)


def test_distances_are_those_of_the_windows_smallest_first():
    series = laps(5000)
    # Between drives no window begins, and the last run is of one window.
    starts = np.concatenate(
        [np.arange(1700), np.arange(1745, 3333), np.arange(3400, 4900), [4950]]
    )
    found = near_windows(series, starts, WIDTH, COUNT)
    rows = rows_of(series, starts)
    for index in range(0, len(starts), 7):
        near = found.indices[index]
        assert len(set(near) - {index}) == COUNT, 'a window twice, or itself'
        squared = np.square(rows[near] - rows[index]).sum(axis=1)
        np.testing.assert_allclose(found.squared[index], squared, rtol=1e-9)
    assert np.all(np.diff(found.squared, axis=1) >= 0.0)
    assert recall(found, exact(series, starts)) >= 0.99


def test_windows_of_which_none_follows_another_have_neighbours():
    series, starts = laps(6000), np.arange(0, 5900, 3)
    found = near_windows(series, starts, WIDTH, COUNT)
    assert recall(found, exact(series, starts)) >= 0.99


def test_in_small_lists_as_many_candidates_are_compared(monkeypatch):
    monkeypatch.setattr(approximate, 'PROBED', 1)
    series, starts = laps(4000), np.arange(3900)
    assert recall(near_windows(series, starts, WIDTH, COUNT), exact(series, starts)) >= 0.97


def test_a_row_left_with_too_few_is_found_exactly(monkeypatch):
    # Ten windows follow each other, among others that are alone: only the middle one has pairs.
    series, starts = laps(6000), np.concatenate([np.arange(10), np.arange(40, 5900, 3)])
    expected = exact(series, starts)
    found = near_windows(series, starts, WIDTH, COUNT)
    assert np.array_equal(found.indices[:10], expected.indices[:10])
    np.testing.assert_allclose(found.squared[:10], expected.squared[:10], rtol=1e-9)
    monkeypatch.setattr(approximate, 'TRIED', 3)
    assert np.array_equal(near_windows(series, starts, WIDTH, COUNT).indices, found.indices)


def test_copies_are_at_distance_0():
    lap = laps(500)
    series = np.tile(lap, 8)
    found = near_windows(series, np.arange(3900), WIDTH, 5)
    assert found.squared[:, :5].max() < 1e-12
    assert found.squared.min() >= 0.0


@pytest.mark.usefixtures('few_lists')
def test_the_result_is_the_same_bytes_twice_and_with_any_number_of_threads():
    series, starts = laps(6000), np.arange(5900)
    one, *others = (
        near_windows(series, starts, WIDTH, COUNT, threads) for threads in (1, 1, 2, 3)
    )
    for other in others:
        assert one.indices.tobytes() == other.indices.tobytes()
        assert one.squared.tobytes() == other.squared.tobytes()
        assert one.notes == other.notes


def test_a_set_is_searched_exactly_up_to_a_size(monkeypatch):
    windows = WindowSet(laps(1200), np.arange(1100), WIDTH)
    monkeypatch.setattr(approximate, 'LEAST', 1101)
    before = windows.neighbours(COUNT)
    assert before.notes == ()
    monkeypatch.setattr(approximate, 'LEAST', 1100)
    after = windows.neighbours(COUNT)
    assert noted(after) == pytest.approx(recall(after, before), abs=0.01)


@pytest.mark.parametrize('kernel', [name for name in KERNELS if has_neighbours(name)])
def test_what_is_missing_is_a_note_of_every_embedding_with_a_graph(kernel, monkeypatch):
    windows = WindowSet(laps(700), np.arange(600), WIDTH)
    learner = make_learner(kernel, 3, 12)
    assert not any('approximate' in note for note in learner.fit(windows).notes)
    monkeypatch.setattr(approximate, 'LEAST', 600)
    assert learner.fit(windows).notes[0].startswith('neighbours of 600 windows by an approximate')
