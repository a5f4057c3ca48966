# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Embeddings, positions estimated from windows, and choices on held-out blocks."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import naive
import numpy as np
import pytest
from rounds import felt, on_circle

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.readout import calibrate
from two_manifold_ros.names import KERNELS
from two_manifold_ros.ticks.sliding import NoveltyAnchors
from two_manifold_ros.ticks.windows import WindowSet
from two_manifold_ros.training import spectral
from two_manifold_ros.training.held_out import Run
from two_manifold_ros.training.settings import SpectralSettings, TrainingSettings
from two_manifold_ros.training.spectral import embed, novelty_anchors
from two_manifold_ros.training.train import train_model, with_readout

WINDOW = 10
LENGTHS = (150, 90)
SETTINGS = TrainingSettings(dimension=20, neighbours=12)


def segments(lengths: tuple[int, ...] = LENGTHS) -> list[np.ndarray]:
    """Return a noisy rotation in two channels, cut into segments."""
    series = on_circle(2 * np.pi * np.arange(sum(lengths)) / 23.0)
    series += np.random.default_rng(0).normal(scale=0.1, size=series.shape)
    return np.split(series, np.cumsum(lengths)[:-1])


@pytest.fixture(scope='module', params=KERNELS)
def structure(request: pytest.FixtureRequest) -> spectral.Embeddings:
    return embed(segments(), WINDOW, replace(SETTINGS, kernel=request.param))


def test_every_training_tick_has_its_windows_in_one_segment(structure):
    first = np.arange(WINDOW, LENGTHS[0] - WINDOW)
    second = LENGTHS[0] + np.arange(WINDOW, LENGTHS[1] - WINDOW)
    ticks = structure.training.ticks
    assert ticks.tolist() == [*first, *second]
    assert structure.begins.tolist() == [0, 150, 240]
    np.testing.assert_array_equal(structure.observations, np.concatenate(segments())[ticks])
    # A shifted future is that of the next tick, also in centring: else each step of the HMM
    # would carry a constant error.
    next_is_here = np.diff(structure.training.ticks) == 1
    assert np.count_nonzero(~next_is_here) == 1
    np.testing.assert_allclose(
        structure.shifted[:-1][next_is_here], structure.future[1:][next_is_here], atol=1e-12
    )


def test_the_warm_start_finds_the_state_of_a_training_window(structure):
    """A window up to a tick stands for the state about that tick."""
    directions = structure.directions(6)
    wanted = structure.future @ directions.future_map
    warm = structure.warm_start(directions)
    starts = structure.training.pasts.starts
    pasts = np.stack([structure.series[:, s : s + WINDOW].ravel() for s in starts])
    for index in (0, 60, 150):
        squared = np.square(pasts - pasts[index]).sum(axis=1)
        found = warm.transform(squared)
        assert np.linalg.norm(found - wanted[index]) < 0.5 * np.linalg.norm(wanted[index])


def test_too_few_training_ticks_are_refused():
    enough = 50 + 2 * WINDOW
    embed(segments((enough,)), WINDOW, SETTINGS)
    with pytest.raises(InputError, match=r'only 49 ticks .* at least 50 are needed'):
        embed(segments((enough - 1,)), WINDOW, SETTINGS)


def test_every_training_tick_gets_a_position():
    rng, observations, true, given = np.random.default_rng(0), [], [], []
    # Ticks of each lap of each segment.
    for laps in ((40, 43, 38, 41), (42, 39, 40)):
        angle = np.concatenate([2.0 * np.pi * np.arange(ticks) / ticks for ticks in laps])
        observations.append(felt(angle)[:, [0, 1, 5]] + 0.2 * rng.normal(size=(len(angle), 3)))
        true.append(on_circle(angle, 2.0))
        given.append(np.where(np.arange(len(angle))[:, None] % 9 == 0, true[-1], np.nan))
    structure = embed(observations, WINDOW, TrainingSettings(neighbours=10))
    before = np.concatenate(given)
    tracks, note = spectral.impute_positions(structure, given)
    assert [len(each) for each in tracks] == [len(each) for each in given]
    np.testing.assert_array_equal(np.concatenate(given), before)
    found, known = np.concatenate(tracks), np.isfinite(before).all(axis=1)
    np.testing.assert_array_equal(found[known], before[known])
    ticks = structure.training.ticks
    assert np.isnan(found[np.setdiff1d(np.flatnonzero(~known), ticks)]).all()
    errors = np.linalg.norm(found - np.concatenate(true), axis=1)[ticks]
    rms_m = np.sqrt(np.mean(errors**2))
    assert rms_m < 0.2
    assert note.startswith(f'{np.count_nonzero(~known[ticks])} of {len(ticks)} training ticks ')
    assert 0.5 < float(note.split()[-2]) / rms_m < 2.0


@pytest.mark.parametrize('method', ['route', pytest.param('spectral', marks=pytest.mark.slow)])
def test_a_training_estimates_positions_where_few_are_known_and_says_so(slot_car_laps, method):
    part = slot_car_laps[0].between(None, 40.0)
    # One in two seconds.
    rare = part.positions.select(np.arange(len(part.positions.stamps)) % 20 == 0)
    rarely_seen = replace(part, positions=rare)
    asked = TrainingSettings(method=method)
    assert with_readout([rarely_seen], asked) == replace(asked, readout='mkdr')
    assert with_readout([part], asked) == replace(asked, readout='sharpened')
    given = replace(asked, readout='sharpened')
    assert with_readout([rarely_seen], given) == given
    quick = TrainingSettings(
        method='spectral', window=20, horizons=(0, 5), states=20, neighbours=30,
        bandwidth_factor=1.4,
    )  # fmt: skip
    model = train_model([rarely_seen], quick.with_method(method, readout='mkdr'))
    assert any('it was estimated' in note for note in model.summary['notes'])
    assert np.isfinite(model.track).all(axis=1).mean() > 0.9


def test_scores_are_errors_on_blocks_that_the_fit_did_not_see(spectral_model):
    """Cut where the vehicle is plainly lost."""
    found = spectral_model.summary['validation']
    lost = 0.25 * float(np.sqrt(np.nanvar(spectral_model.track, axis=0).sum()))
    scores = [row['score_m'] for row in found['compared'] if row['score_m'] is not None]
    assert 0.0 < min(scores) <= max(scores) < 0.5 * lost


WIDTH = 5


def window_set(series: np.ndarray, width: int = WIDTH) -> WindowSet:
    starts = np.arange(series.shape[1] - width + 1)
    return WindowSet(np.ascontiguousarray(series), starts, width)


def test_against_windows_compared_one_by_one():
    series, rows = np.random.default_rng(0).normal(size=(3, 90)).cumsum(axis=1), []
    for start in range(91 - WIDTH):
        window = series[:, start : start + WIDTH]
        swapped = np.concatenate([window[:, WIDTH // 2 :], window[:, : WIDTH // 2]], axis=1)
        away = abs(np.arange(91 - WIDTH) - start) >= 2 * WIDTH
        usual, mixed = (naive.window_distances(series, each)[away] for each in (window, swapped))
        own, other = (np.log(each.min() / each.mean()) for each in (usual, mixed))
        rows.append((usual.min(), own, other))
    wanted = NoveltyAnchors(*np.median(rows, axis=0), 0)
    assert vars(novelty_anchors(window_set(series))) == pytest.approx(vars(wanted), rel=1e-9)


def test_where_a_window_is_a_lap_another_route_is_spliced():
    """Swapped halves of a lap are the lap as it is half a lap later."""
    rng = np.random.default_rng(5)
    lap = rng.normal(size=(3, WIDTH - 1))
    series = np.tile(lap, 40) + 0.05 * rng.normal(size=(3, 40 * (WIDTH - 1)))
    windows = window_set(series, WIDTH - 1)
    swapped, both = novelty_anchors(windows), novelty_anchors(windows, spliced=True)
    assert swapped.other == pytest.approx(swapped.own, abs=0.3)
    assert both.other > swapped.other + 2.0
    assert (both.own, both.squared) == (swapped.own, swapped.squared)


def test_anchors_of_a_short_drive_of_standstills_and_of_noise():
    """Too short to leave anything out it is compared with its farthest window."""
    series = np.random.default_rng(3).normal(size=(2, WIDTH + 4))
    anchors = novelty_anchors(window_set(series))
    assert anchors.squared > 0.0
    assert np.isfinite([anchors.own, anchors.other]).all()
    series = np.random.default_rng(4).normal(size=(2, 80))
    series[:, 30:40] = series[:, 30:31]
    series[0, 60:70] = 0.0
    assert novelty_anchors(window_set(series)).still == 9
    # What never repeats is as novel as another route.
    anchors = novelty_anchors(window_set(np.random.default_rng(2).normal(size=(2, 600))))
    assert anchors.own == pytest.approx(anchors.other, abs=0.1)


class Chosen(NamedTuple):
    states: int
    bandwidth_factor: float = 1.4
    ridge: float | None = None
    neighbours: int = 30


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
def choose(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Chosen, list[Any]]]:
    def chosen(
        score: Callable[[Any], float], settings: TrainingSettings = USUAL, windows: int = 0
    ) -> tuple[Chosen, list[Any]]:
        bench = bench_of(score, np.ones((1, 3, 2)), windows=windows)
        monkeypatch.setattr(spectral, 'Fold', lambda *_: bench)
        best, found = spectral.validate([([], [])], DATASET, settings, silent)
        return Chosen(**spectral.chosen_of(best)), list(found.table)

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


def test_only_what_is_not_given_is_chosen_and_more_neighbours_where_windows_are_enough(choose):
    for given, windows, neighbours in (
        ({}, 1000, 100),
        ({}, 999, 30),
        ({'kernel': 'gaussian'}, 5000, 30),
        ({'kernel': 'diffusion-map'}, 1000, 100),
        ({'neighbours': 12}, 5000, 12),
    ):
        settings = replace(USUAL, **given)
        best, _ = choose(lambda each: 100.0 / each.neighbours + each.states, settings, windows)
        assert best == Chosen(20, 1.0, None, neighbours)
    for given, best, compared in (
        ({'bandwidth_factor': 3.0}, Chosen(7, 3.0), 1),
        ({'bandwidth_factor': 3.0, 'observation': 'ridge'}, Chosen(7, 3.0, 0.3), 2),
        ({'ridge': 0.5, 'observation': 'ridge'}, Chosen(7, 1.0, 0.5), 2),
        ({'ridge': 0.5}, Chosen(7, 1.0), 4),
    ):
        settings = replace(USUAL, states=7, **given)
        found, table = choose(lambda each: 1.0 + 1e-3 * (each.ridge or 0.0), settings)
        assert (found, len(table)) == (best, compared)


@pytest.mark.parametrize('turns', [1, 3])
def test_all_that_was_held_out_in_turn_counts_alike(turns, monkeypatch):
    rng = np.random.default_rng(turns)
    errors = rng.normal(size=(turns, 40, 2, 2))
    made = [
        bench_of(lambda _, turn=turn: 1.0 + turn, errors[turn], lost_m=float(turn))
        for turn in range(turns)
    ]
    monkeypatch.setattr(spectral, 'Fold', lambda *_: made.pop(0))
    settings = replace(USUAL, states=9, neighbours=9, bandwidth_factor=1.0)
    _, found = spectral.validate([([], [])] * turns, DATASET, settings, silent)
    mean = float(np.mean(range(turns)))
    assert (found.score_m, found.lost_m, found.ticks) == (1.0 + mean, mean, 40 * turns)
    # Truths that are the errors, and a mean position at 0.
    assert found.followed_m == found.mean_m
    whole = errors.reshape(-1, 2, 2)
    wanted = calibrate(whole, np.tile(np.eye(2), (len(whole), 2, 1, 1)), len(whole))
    np.testing.assert_allclose(found.calibration.added, wanted.added)
    np.testing.assert_allclose(found.calibration.factors, wanted.factors)
