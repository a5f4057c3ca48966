# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Following each part of the drives on the map of all others: no part knows itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from circuit import AT_REST, Circuit, Drive, LAP_TICKS
import numpy as np
import pytest

from two_manifold_ros.hse_hmm.readout import segment_targets, squared_mahalanobis
from two_manifold_ros.route import fitting
from two_manifold_ros.route.fitting import fit, FOLDS
from two_manifold_ros.route.learning import learn_route, Tuning

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.route.fitting import Fitted
    from two_manifold_ros.route.route import Route
    from two_manifold_ros.route.visits import Passes

LEAD = 30


@pytest.fixture(scope='module')
def fitted(laps: Drive, passes: Passes) -> Fitted:
    found = fit(passes, [laps.observations], [laps.track], LEAD, Tuning())
    assert found is not None
    return found


@pytest.mark.parametrize('unknown', [slice(0, 0), slice(400, 600)], ids=['all', 'some'])
def test_what_was_followed_is_scored(
    unknown: slice, laps: Drive, passes: Passes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mean error and mean log density of true positions that are known, calibrated."""
    runs: list[tuple[Route, np.ndarray, np.ndarray]] = []
    run = fitting.follow

    def remembered(route: Route, observations: np.ndarray) -> tuple[np.ndarray, ...]:
        means, covariances, factors = run(route, observations)
        runs.append((route, means[:, 0], covariances[:, 0]))
        return means, covariances, factors

    track = laps.track.copy()
    track[unknown] = np.nan
    monkeypatch.setattr(fitting, 'follow', remembered)
    fitted = fit(passes, [laps.observations], [track], LEAD, Tuning())
    assert fitted is not None
    whole = np.linalg.det(np.cov(runs[-1][0].readout.targets[:, 0].T))
    least = fitting.LEAST_DENSITY / np.sqrt(whole)
    tick, errors, scores = 0, [], []
    for route, means, covariances in runs:
        assert route.likelihood.sharpness == Tuning.sharpness
        first = tick + LEAD
        for mean, covariance in zip(means, covariances, strict=True):
            apart, wide = mean - track[tick], covariance * fitted.factors[0]
            tick += 1
            if tick <= first or np.isnan(apart).any():
                continue
            errors.append(min(np.linalg.norm(apart), fitted.lost_m))
            density = np.exp(-0.5 * apart @ np.linalg.solve(wide, apart))
            scores.append(np.log(density / np.sqrt(np.linalg.det(wide)) + least))
    assert tick == len(track)
    assert fitted.ticks == tick - FOLDS * LEAD
    assert fitted.score_m == pytest.approx(np.mean(errors))
    assert fitted.log_score == pytest.approx(np.mean(scores))


def test_parts_are_followed_without_knowing_them(fitted: Fitted, laps: Drive) -> None:
    """Well all the same, as other laps went there."""
    assert fitted.ticks == len(laps.track) - FOLDS * LEAD
    assert 0.05 < fitted.score_m < 1.0
    assert fitted.lost_m == pytest.approx(
        0.25 * np.sqrt(np.var(laps.track, axis=0).sum()), rel=1e-3
    )
    assert (fitted.factors > 0.0).all()
    assert len(fitted.factors) == 4


def test_parts_cover_every_tick_once(laps: Drive, laid_out: Callable[..., Passes]) -> None:
    two = [laps, Circuit().laps(5, seed=1)]
    passes = laid_out(*two)
    observations, tracks = [each.observations for each in two], [each.track for each in two]
    parts = fitting.parts_to_follow(passes, observations, tracks, LEAD)
    assert sum(len(seen) for seen, _, _ in parts) == sum(map(len, tracks))
    np.testing.assert_array_equal(
        np.concatenate([seen for seen, _, _ in parts]), np.concatenate(observations)
    )
    when = passes.places.times + np.array([0, len(tracks[0])])[passes.places.segments]
    begin = 0
    for seen, _, kept in parts:
        end = begin + len(seen)
        # Edges lie between two ticks.
        own = (when >= begin + 1) & (when < end - 1)
        assert own.any()
        assert not kept[own].any()
        begin = end


def test_what_is_followed_has_no_part_in_its_map(
    laps: Drive, passes: Passes, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: list[np.ndarray] = []
    given: list[Tuning] = []

    def learned(passes: Passes, kept: np.ndarray, tuning: Tuning) -> Route:
        known.append(kept)
        given.append(tuning)
        return learn_route(passes, kept, tuning)

    monkeypatch.setattr(fitting, 'learn_route', learned)
    monkeypatch.setattr(fitting, 'MOST_TICKS', 0)
    fit(passes, [laps.observations], [laps.track], LEAD, Tuning(0.2))
    assert len(known) == FOLDS
    left_out = ~np.array(known)
    np.testing.assert_array_equal(left_out.sum(axis=0), 1)
    # And is followed as sharply as was asked for.
    assert set(given) == {Tuning(0.2)}


def test_only_so_many_ticks_are_followed(
    laps: Drive, passes: Passes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stretch at the start of each part."""
    monkeypatch.setattr(fitting, 'MOST_TICKS', 800)
    parts = fitting.parts_to_follow(passes, [laps.observations], [laps.track], LEAD)
    assert [len(seen) for seen, _, _ in parts] == [200] * FOLDS
    edges = np.linspace(0, len(laps.track), FOLDS + 1)[:-1].astype(int)
    for edge, (_, truth, _) in zip(edges, parts, strict=True):
        np.testing.assert_array_equal(truth[:, 0], laps.track[edge : edge + 200])


def test_ellipses_are_calibrated_where_it_drives_on_the_route(
    laps: Drive, passes: Passes, fitted: Fitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error while the vehicle is believed elsewhere does not count."""
    run = fitting.follow

    def blind(route: Route, observations: np.ndarray) -> tuple[np.ndarray, ...]:
        means, covariances, published = run(route, observations)
        published[-100:] = False
        means[-100:] += 5.0
        return means, covariances, published

    monkeypatch.setattr(fitting, 'follow', blind)
    found = fit(passes, [laps.observations], [laps.track], LEAD, Tuning())
    assert found is not None
    np.testing.assert_allclose(found.factors, fitted.factors, rtol=0.25)
    assert found.score_m > fitted.score_m + 0.5
    assert found.log_score < fitted.log_score


def test_nothing_is_reported_where_no_position_is_known(
    laps: Drive, passes: Passes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, 'MOST_TICKS', 0)
    unknown = np.full_like(laps.track, np.nan)
    assert fit(passes, [laps.observations], [unknown], LEAD, Tuning()) is None
    assert fit(passes, [laps.observations], [laps.track], LEAD, Tuning()) is not None


def test_too_short_a_drive(laid_out: Callable[..., Passes]) -> None:
    short = Circuit().drive(np.zeros(LAP_TICKS), seed=0)
    passes = laid_out(short)
    assert fit(passes, [short.observations], [short.track], LAP_TICKS // 2, Tuning()) is None


def test_factors_make_ellipses_hold_their_share(laid_out: Callable[..., Passes]) -> None:
    """Of other drives of the same kind; two seconds ahead laps faster than any seen lie out."""
    # Observations are independent here, so each of them counts in full.
    tuning = Tuning(1.0)
    squares: list[list[np.ndarray]] = [[], [], []]
    for trained in (0, 10, 20):
        laps = Circuit().laps(12, seed=trained)
        passes = laid_out(laps)
        fitted = fit(passes, [laps.observations], [laps.track], LEAD, tuning)
        assert fitted is not None
        route = learn_route(passes, np.ones(len(passes.settled), dtype=np.bool_), tuning)
        for seed in range(1, 4):
            drive = Circuit().laps(6, seed=trained + seed)
            means, covariances, _ = fitting.follow(route, drive.observations)
            truth = segment_targets(drive.track, passes.horizons, passes.period_s)
            errors, spreads = (means - truth)[LEAD:], covariances[LEAD:]
            for column, found in enumerate(squares):
                known = np.isfinite(errors[:, column]).all(axis=1)
                wide = spreads[known, column] * fitted.factors[column]
                found.append(squared_mahalanobis(errors[known, column], wide))
    for found, least, near in zip(squares, (0.85, 0.82, 0.75), (0.1, 0.1, 0.13), strict=True):
        every = np.concatenate(found)
        assert np.mean(every < 2.28) == pytest.approx(0.68, abs=near)
        assert least < np.mean(every < 5.99) < 0.99


def test_the_score_is_the_log_density_of_the_truth(passes: Passes) -> None:
    every = np.ones(len(passes.settled), dtype=np.bool_)
    route = learn_route(passes, every, Tuning())
    spread = np.array([[4.0, 1.0], [1.0, 2.0]])
    errors = np.array([[0.5, -1.0], [np.nan, 0.0], [1e6, 0.0]])
    scores = fitting.log_scores(errors, np.tile(spread, (3, 1, 1)), route)
    whole = np.sqrt(np.linalg.det(np.cov(route.readout.targets[:, 0].T)))
    density = np.exp(-0.5 * errors[0] @ np.linalg.solve(spread, errors[0]))
    density /= np.sqrt(np.linalg.det(spread))
    least = fitting.LEAST_DENSITY / whole
    assert scores[0] == pytest.approx(np.log(density + least))
    assert np.isnan(scores[1])
    assert scores[2] == pytest.approx(np.log(least))


def test_places_on_a_line_have_finite_scores(laps: Drive, laid_out: Callable[..., Passes]) -> None:
    flat = replace(laps, track=laps.track * [1.0, 0.0] + [0.0, 3.0])
    fitted = fit(laid_out(flat), [flat.observations], [flat.track], LEAD, Tuning())
    assert fitted is not None
    assert np.isfinite([fitted.log_score, fitted.score_m, *fitted.factors]).all()


def test_of_a_drive_that_is_parked_first_each_part_has_some_driving(
    laps: Drive, laid_out: Callable[..., Passes]
) -> None:
    ticks = 4 * len(laps.track)
    parked = replace(
        laps,
        observations=np.concatenate([np.repeat(AT_REST[None], ticks, 0), laps.observations]),
        track=np.concatenate([np.repeat(laps.track[:1], ticks, 0), laps.track]),
    )
    passes = laid_out(parked)
    parts = fitting.parts_to_follow(passes, [parked.observations], [parked.track], LEAD)
    assert len(parts) == FOLDS
    for _, _, kept in parts:
        assert 0.5 < kept.mean() < 0.9
