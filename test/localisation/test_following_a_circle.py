# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From observations to where the vehicle is, around a circle: no training code takes part."""

from circle_route import felt_at, make_route, PERIOD_S, place_of, RADIUS_M, turns_of
import numpy as np
import pytest

from two_manifold_ros.localisation.belief import RouteBelief
from two_manifold_ros.localisation.lookahead import pace_drift
from two_manifold_ros.localisation.pace import FINENESS
from two_manifold_ros.localisation.refining import refined
from two_manifold_ros.localisation.route import Route
from two_manifold_ros.readout.forecast import ForecastReadout
from two_manifold_ros.readout.targets import segment_targets

LAPS = [80, 84, 76, 80]
LAP_TICKS = 80
AHEAD = 10
ROUTE = make_route(LAPS)
LINE = refined(place_of(turns_of(LAPS)))


def drive(route: Route, turns: np.ndarray, seed: int = 7) -> tuple[np.ndarray, np.ndarray]:
    """Return how far off (m) the positions now and ahead are at each tick, and the paces."""
    ahead, step_s = (0, AHEAD * FINENESS), PERIOD_S / FINENESS
    targets = segment_targets(LINE, ahead, step_s)
    drift = pace_drift(targets, ahead, step_s)
    readout = ForecastReadout(targets, drift, np.ones(3))
    belief = RouteBelief(route)
    turn = turns[-1] - turns[-2]
    errors, paces = [], []
    for tick, observation in enumerate(felt_at(turns, seed)):
        belief.update(observation)
        means, _ = readout.read(belief.weights, belief.state, belief.pace)
        truth = place_of(turns[tick] + turn * np.array([0, AHEAD]))
        errors.append(np.linalg.norm(means[:2] - truth, axis=1))
        paces.append(belief.pace)
    return np.array(errors), np.array(paces)


def at_pace(pace: float, ticks: int = 300, start: float = 0.4) -> np.ndarray:
    return start + pace * np.arange(ticks) / LAP_TICKS


@pytest.mark.parametrize('start', [0.0, 0.25, 0.4, 0.85])
def test_found_within_a_few_ticks(start: float) -> None:
    errors, _ = drive(ROUTE, at_pace(1.0, ticks=60, start=start))
    assert errors[0, 0] > 0.05
    assert errors[5:, 0].max() < 0.25 * RADIUS_M
    assert np.sqrt(np.mean(errors[5:, 0] ** 2)) < 0.1 * RADIUS_M


@pytest.mark.parametrize('pace', [0.9, 1.0, 1.1])
def test_followed_at_its_pace(pace: float) -> None:
    errors, paces = drive(ROUTE, at_pace(pace))
    now, ahead = np.sqrt(np.mean(errors[50:] ** 2, axis=0))
    # A tick of travel is 0.08 of the radius, and ten ticks at another pace are off by as much.
    assert now < 0.08 * RADIUS_M
    assert ahead < 0.12 * RADIUS_M
    # Few ticks tell the pace, so it is taken for nearer to 1 than it is, but for no less than 3 %.
    assert np.mean(paces[50:]) == pytest.approx(0.5 * (1.0 + pace), abs=0.02)


def test_without_paces_a_faster_vehicle_is_put_behind() -> None:
    still = make_route(LAPS, each_way=0)
    turns = at_pace(1.1)
    with_paces, without = drive(ROUTE, turns)[0][50:], drive(still, turns)[0][50:]
    assert np.mean(with_paces[:, 1]) < 0.7 * np.mean(without[:, 1])


@pytest.mark.parametrize('moved', [0.25, 0.5, 0.8])
def test_found_again_where_it_was_put_down(moved: float) -> None:
    turns = at_pace(1.0, ticks=200)
    turns[100:] += moved
    errors, _ = drive(ROUTE, turns)
    assert errors[95:100, 0].max() < 0.2 * RADIUS_M
    assert errors[100, 0] > 0.2 * RADIUS_M
    assert errors[125:, 0].max() < 0.2 * RADIUS_M


def test_coasting_goes_on_along_the_route() -> None:
    belief = RouteBelief(ROUTE)
    turns = at_pace(1.0, ticks=100)
    for observation in felt_at(turns, 7):
        belief.update(observation)
    belief.skip(20)
    place = belief.weights @ LINE
    assert np.linalg.norm(place - place_of(turns[-1] + 20 / LAP_TICKS)) < 0.25 * RADIUS_M
    assert np.linalg.norm(place - place_of(turns[-1])) > RADIUS_M
