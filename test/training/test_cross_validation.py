# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Closed-loop validation on held-out blocks chooses, and calibrates."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from two_manifold_ros.hse_hmm.readout import calibrate
from two_manifold_ros.training import spectral
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.held_out import hold_out, Run
from two_manifold_ros.training.settings import SpectralSettings, TrainingSettings
from two_manifold_ros.training.spectral import chosen_of, validate


class Chosen(NamedTuple):
    """Settings that are compared."""

    states: int
    bandwidth_factor: float = 1.4
    ridge: float | None = None
    neighbours: int = 30


Choose = Callable[..., tuple[Chosen, list[Any]]]

USUAL = SpectralSettings(window=20, horizons=(0, 5))
DATASET = SimpleNamespace(window=1, tracks=[np.zeros((1, 2))])


def silent(stage: str, share: float) -> None:
    assert stage == 'comparing settings'
    assert 0.0 < share <= 1.0


def bench_of(
    score: Callable[[Any], float], errors: np.ndarray, windows: int = 0, lost_m: float = 1.0
) -> SimpleNamespace:
    """Stand in for a part that was held out, with errors (n, c, 2) and unit ellipses."""
    run = Run(errors, np.tile(np.eye(2), (*errors.shape[:2], 1, 1)), errors)
    return SimpleNamespace(windows=windows, lost_m=lost_m, score=score, run=lambda *_: [run])


@pytest.fixture
def choose(monkeypatch: pytest.MonkeyPatch) -> Choose:
    """Return a function that lets given scores decide."""

    def chosen(
        score: Callable[[Any], float], settings: TrainingSettings = USUAL, windows: int = 0
    ) -> tuple[Chosen, list[Any]]:
        bench = bench_of(score, np.ones((1, 3, 2)), windows=windows)
        monkeypatch.setattr(spectral, 'Fold', lambda *_: bench)
        best, found = validate([([], [])], DATASET, settings, silent)
        return Chosen(**chosen_of(best)), list(found.table)

    return chosen


def test_the_best_is_chosen_and_among_alike_the_narrowest(choose):
    best, table = choose(
        lambda each: 9 * abs(each.bandwidth_factor - 2) + abs(each.states - 60) + 1
    )
    assert best == Chosen(60, 2.0)
    assert [(row['states'], row['bandwidth_factor']) for row in table] == [
        (40, 1.0), (40, 1.4), (40, 2.0), (40, 2.8), (20, 2.0), (60, 2.0)
    ]  # fmt: skip
    scores = {1.0: 1.06, 1.4: 1.04, 2.0: 1.0, 2.8: 1.02}
    best, _ = choose(lambda each: scores[each.bandwidth_factor] + abs(each.states - 40))
    assert best == Chosen(40, 1.4)


@pytest.mark.parametrize(
    ('change', 'windows', 'neighbours'),
    [
        ({}, 1000, 100),
        ({}, 999, 30),
        ({'kernel': 'gaussian'}, 5000, 30),
        ({'kernel': 'diffusion-map'}, 1000, 100),
        ({'neighbours': 12}, 5000, 12),
    ],
)
def test_more_neighbours_are_tried_where_there_are_windows_enough(
    change, windows, neighbours, choose
):
    settings = replace(USUAL, **change)
    best, _ = choose(lambda each: 100.0 / each.neighbours + each.states, settings, windows)
    assert best == Chosen(20, 1.0, None, neighbours)


@pytest.mark.parametrize(
    ('given', 'best', 'compared'),
    [
        ({'bandwidth_factor': 3.0}, Chosen(7, 3.0), 1),
        ({'bandwidth_factor': 3.0, 'observation': 'ridge'}, Chosen(7, 3.0, 0.3), 2),
        ({'ridge': 0.5, 'observation': 'ridge'}, Chosen(7, 1.0, 0.5), 2),
        ({'ridge': 0.5}, Chosen(7, 1.0), 4),
    ],
)
def test_of_the_spectral_filter_only_what_is_not_given_is_chosen(given, best, compared, choose):
    settings = replace(USUAL, states=7, **given)
    found, table = choose(lambda each: 1.0 + 1e-3 * (each.ridge or 0.0), settings)
    assert found == best
    assert len(table) == compared


@pytest.mark.parametrize('turns', [1, 3])
def test_all_that_was_held_out_in_turn_counts_alike(turns, monkeypatch):
    rng = np.random.default_rng(turns)
    errors = rng.normal(size=(turns, 40, 2, 2))
    made = iter(
        [
            bench_of(lambda _, turn=turn: 1.0 + turn, errors[turn], lost_m=float(turn))
            for turn in range(turns)
        ]
    )
    monkeypatch.setattr(spectral, 'Fold', lambda *_: next(made))
    settings = replace(USUAL, states=9, neighbours=9, bandwidth_factor=1.0)
    _, found = validate([([], [])] * turns, DATASET, settings, silent)
    mean = float(np.mean(range(turns)))
    assert (found.score_m, found.lost_m, found.ticks) == (1.0 + mean, mean, 40 * turns)
    # Truths that are the errors, and a mean position at 0.
    assert found.followed_m == found.mean_m
    whole = errors.reshape(-1, 2, 2)
    wanted = calibrate(whole, np.tile(np.eye(2), (len(whole), 2, 1, 1)), len(whole))
    np.testing.assert_allclose(found.calibration.added, wanted.added)
    np.testing.assert_allclose(found.calibration.factors, wanted.factors)


@pytest.mark.slow
def test_over_the_slot_car(slot_car_laps, monkeypatch):
    """Scores are errors on blocks the fit did not see, cut where the vehicle is plainly lost."""
    settings = replace(USUAL, states=40)
    dataset = build_dataset([slot_car_laps[0]], settings)
    fit, held = hold_out(dataset.segments, dataset.window)
    _, found = validate([(fit, held)], dataset, settings, silent)
    scores = [row['score_m'] for row in found.table]
    positions = np.concatenate([segment.positions for segment in fit])
    lost = 0.25 * float(np.sqrt(np.nanvar(positions, axis=0).sum()))
    assert all(0.0 < score < 0.5 * lost for score in scores if score is not None)
    assert found.ticks == sum(len(block) - dataset.window for block in held)

    # Of long blocks the beginnings are followed.
    window, most = dataset.window, 60
    assert len(held) * most < sum(map(len, held))
    monkeypatch.setattr(spectral, 'MOST_CALIBRATED', len(held) * most)
    _, part = validate([(fit, held)], dataset, settings, silent)
    assert part.ticks == sum(min(len(block), most) - window for block in held)
    assert [row['score_m'] for row in part.table] == scores
    assert 0.0 < part.followed_m < lost
    monkeypatch.undo()

    scrambled = [replace(block, positions=-block.positions[::-1]) for block in held]
    _, wrong = validate([(fit, scrambled)], dataset, settings, silent)
    assert min(row['score_m'] or 0.0 for row in wrong.table) > 2.0 * max(scores)
    assert max(row['score_m'] or 0.0 for row in wrong.table) <= lost * (1.0 + 1e-12)
    # Ellipses of the same spread, a hundredth of the route, have to hold larger errors.
    spread = np.tile(1e-4 * np.nanvar(positions, axis=0).sum() * np.eye(2), (3, 1, 1))
    narrow, wide = (each.calibration.of(spread)[:2, 0, 0] for each in (found, wrong))
    assert (narrow > 0.0).all()
    assert (wide > 10.0 * narrow).all()
