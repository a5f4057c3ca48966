# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Following each part of the drives on the map of all others: no part knows itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from circuit import Circuit, Drive, LAP_TICKS
import numpy as np
import pytest

from two_manifold_ros.route import fitting
from two_manifold_ros.route.fitting import fit, FOLDS, PERSISTENCES, SHARPNESSES
from two_manifold_ros.route.learning import Tuning

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.route.fitting import Fitted
    from two_manifold_ros.route.learning import Passes

LEAD = 30


@pytest.fixture(scope='module')
def fitted(laps: Drive, passes: Passes) -> Fitted:
    found = fit(passes, [laps.observations], [laps.track], LEAD)
    assert found is not None
    return found


def test_the_best_log_score_is_taken(fitted: Fitted) -> None:
    best = fitted.tried[int(np.argmax(fitted.scores))]
    assert Tuning(**best) == fitted.tuning
    assert len(fitted.tried) == len(fitted.scores) == len(fitted.errors_m)
    assert {row['sharpness'] for row in fitted.tried} == set(SHARPNESSES)
    assert {row['persistence'] for row in fitted.tried} == set(PERSISTENCES)
    assert len({tuple(row.values()) for row in fitted.tried}) == len(fitted.tried)
    assert fitted.score_m == fitted.errors_m[int(np.argmax(fitted.scores))]


def test_parts_are_followed_without_knowing_them(fitted: Fitted, laps: Drive) -> None:
    """Well all the same, as other laps went there."""
    assert fitted.ticks == len(laps.track) - FOLDS * LEAD
    assert 0.05 < fitted.score_m < 1.0
    assert fitted.lost_m == pytest.approx(
        0.25 * np.sqrt(np.var(laps.track, axis=0).sum()), rel=1e-9
    )
    assert (fitted.factors > 0.0).all()
    assert len(fitted.factors) == 4


def test_parts_cover_every_tick_once(laps: Drive, laid_out: Callable[..., Passes]) -> None:
    two = [laps, Circuit().laps(5, seed=1)]
    passes = laid_out(*two)
    observations, tracks = [each.observations for each in two], [each.track for each in two]
    parts = fitting._parts(passes, observations, tracks, LEAD)
    assert sum(len(part.observations) for part in parts) == sum(map(len, tracks))
    np.testing.assert_array_equal(
        np.concatenate([part.observations for part in parts]), np.concatenate(observations)
    )
    when = passes.places.times + np.array([0, len(tracks[0])])[passes.places.segments]
    begin = 0
    for part in parts:
        end = begin + len(part.observations)
        # Edges lie between two ticks.
        own = (when >= begin + 1) & (when < end - 1)
        assert own.any()
        assert not part.kept[own].any()
        begin = end


def test_what_is_followed_has_no_part_in_its_map(
    laps: Drive, passes: Passes, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: list[np.ndarray] = []
    learn = fitting.learn_route

    def learned(passes: Passes, kept: np.ndarray, tuning: Tuning) -> object:
        known.append(kept)
        return learn(passes, kept, tuning)

    monkeypatch.setattr(fitting, 'learn_route', learned)
    fit(passes, [laps.observations], [laps.track], LEAD, (0.2, 0.5))
    assert len(known) == FOLDS
    left_out = ~np.array(known)
    np.testing.assert_array_equal(left_out.sum(axis=0), 1)


def test_what_is_given_is_taken(laps: Drive, passes: Passes) -> None:
    found = fit(passes, [laps.observations], [laps.track], LEAD, (0.3, 0.7))
    assert found is not None
    assert found.tuning == Tuning(0.3, 0.7)
    assert len(found.tried) == 1
    found = fit(passes, [laps.observations], [laps.track], LEAD, (None, 0.7))
    assert found is not None
    assert {row['persistence'] for row in found.tried} == {0.7}


def test_too_short_a_drive(laid_out: Callable[..., Passes]) -> None:
    short = Circuit().drive(np.zeros(LAP_TICKS), seed=0)
    passes = laid_out(short)
    assert fit(passes, [short.observations], [short.track], LAP_TICKS // 4) is None


def test_factors_make_ellipses_hold_their_share(fitted: Fitted, passes: Passes) -> None:
    """Of other drives of the same kind; two seconds ahead laps faster than any seen lie out."""
    route = fitting.learn_route(
        passes, np.ones(len(passes.settled), dtype=np.bool_), fitted.tuning
    )
    squares: list[list[np.ndarray]] = [[], [], []]
    for seed in range(1, 7):
        drive = Circuit().laps(6, seed=seed)
        means, covariances, _ = fitting._run(route, drive.observations)
        truth = fitting.segment_targets(drive.track, passes.horizons, passes.period_s)
        errors, spreads = (means - truth)[LEAD:], covariances[LEAD:]
        for column, found in enumerate(squares):
            known = np.isfinite(errors[:, column]).all(axis=1)
            wide = spreads[known, column] * fitted.factors[column]
            found.append(fitting.squared_mahalanobis(errors[known, column], wide))
    for found, least in zip(squares, (0.85, 0.82, 0.75), strict=True):
        every = np.concatenate(found)
        assert np.mean(every < 2.28) == pytest.approx(0.68, abs=0.1)
        assert least < np.mean(every < 5.99) < 0.99


def test_the_score_is_the_log_density_of_the_truth(passes: Passes) -> None:
    every = np.ones(len(passes.settled), dtype=np.bool_)
    route = fitting.learn_route(passes, every, Tuning())
    spread = np.array([[4.0, 1.0], [1.0, 2.0]])
    errors = np.array([[0.5, -1.0], [np.nan, 0.0], [1e6, 0.0]])
    scores = fitting._scores(errors, np.tile(spread, (3, 1, 1)), route)
    whole = np.sqrt(np.linalg.det(np.cov(route.targets[:, 0].T)))
    density = np.exp(-0.5 * errors[0] @ np.linalg.solve(spread, errors[0]))
    density /= np.sqrt(np.linalg.det(spread))
    least = fitting.LEAST_DENSITY / whole
    assert scores[0] == pytest.approx(np.log(density + least))
    assert np.isnan(scores[1])
    assert scores[2] == pytest.approx(np.log(least))
