# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The belief on a network against Bayes' rule in loops, and what it does as a whole."""

from dataclasses import replace

import numpy as np
import pytest
from small_network import branching_network, branching_route, COUNT, leads_to, PERIOD_S, TURN

from two_manifold_ros.network import belief as module
from two_manifold_ros.network.belief import FIRST_USUAL, Network, NetworkBelief, RATIOS
from two_manifold_ros.route.route import ON, Route, SLOW, STANDS

STEPS_A_MPS, FARTHEST, LEAST, FAINT = 20.0, 20.0, 1e-12, 1e-5
STARTS_ELSEWHERE = 0.1
RATIO_STEP = float(np.log(1.06))


def between(rows: np.ndarray, place: float) -> np.ndarray:
    """Return a row between those of a table, or its last."""
    low = min(int(place), len(rows) - 2)
    return np.asarray(rows[low] + (place - low) * (rows[low + 1] - rows[low]))


class NaiveNetworkBelief:
    """Bayes over places and speed ratios, and elsewhere; drops what the other does."""

    def __init__(self, route: Route, network: Network) -> None:
        self.route, self.network = route, network
        steps = route.motion.moves.shape[1]
        self.powers = [np.linalg.matrix_power(leads_to(), step) for step in range(steps)]
        spread = max(route.motion.ratio_spread, RATIO_STEP)
        memory_s = PERIOD_S / route.likelihood.persistence
        self.exchanges = module.exchanges_of_ratios(spread, PERIOD_S, memory_s)
        self.usual = module.usual_ratios(spread)
        # Half of those who leave a route are on a road of the same pieces: here, elsewhere too.
        self.leave = 2.0 * route.switching.exchanges[0, -1]
        # The shares of time at each ratio that any vehicle comes to.
        lasting = self.usual
        for _ in range(10000):
            lasting = lasting @ self.exchanges
        self.lasting = lasting / lasting.sum()
        self.start()

    def start(self) -> None:
        on = 1.0 - STARTS_ELSEWHERE
        rolls, stands = (each - each.min() for each in self.route.switching.beginnings)
        whole = rolls.sum() + stands.sum()
        rolls, stands = rolls / whole, stands / whole
        self.now = on * np.outer(rolls, self.usual)
        self.now[:, 0] += on * stands
        self._drop()
        self.elsewhere = 1.0 - self.now.sum()

    def _drop(self) -> None:
        self.now[self.now.sum(axis=1) < FAINT] = 0.0

    def shakes_like(self, shaken: np.ndarray) -> np.ndarray:
        """Return the likelihoods at speeds in even steps, over the largest."""
        likelihood, network = self.route.likelihood, self.network
        fastest = network.usual_mps.max() * RATIOS[-1]
        logs = []
        for step in range(int(fastest * STEPS_A_MPS) + 3):
            total = 0.0
            for k, found in enumerate(shaken):
                middle = np.interp(step / STEPS_A_MPS, network.speeds, network.shakes[:, k])
                scale = np.interp(step / STEPS_A_MPS, network.speeds, network.scales[:, k])
                squared = ((found - middle) / scale) ** 2
                total -= np.log(scale)
                total -= 0.5 * (likelihood.tail + 1.0) * np.log(1.0 + squared / likelihood.tail)
            logs.append(likelihood.sharpness * total)
        return np.exp(np.array(logs) - max(logs))

    def turn_like(self, apart: float) -> float:
        """Return the likelihood of a turn so far from what is expected."""
        squared = (apart / self.network.turning_spread) ** 2
        return float(np.exp(-min(0.5 * squared, FARTHEST)))

    def elsewhere_like(self, turned: float, shakes: np.ndarray) -> float:
        """Return the likelihood of a turn and of what shakes on any road at any speed."""
        network = self.network
        chance = float(np.interp(turned, network.turns, network.chances))
        like = self.lasting[0] * shakes[0] * self.turn_like(turned)
        for lasts, ratio in zip(self.lasting[1:], RATIOS[1:], strict=True):
            for usual in network.usual_mps:
                shaken_so = shakes[round(usual * ratio * STEPS_A_MPS)]
                like += lasts * chance * shaken_so / len(network.usual_mps)
        return float(like)

    def tick(self, seen: np.ndarray | None, shaken: np.ndarray) -> float:
        """Predict, and update with an observation if there is one; return the evidence."""
        network, motion = self.network, self.route.motion
        turned, shakes = 0.0, None
        if seen is not None:
            turned = float(network.turning @ seen) + network.turning_offset
            shakes = self.shakes_like(shaken)
        then = np.zeros_like(self.now)
        for i in np.flatnonzero(self.now.any(axis=1)):
            ratios = self.now[i] @ self.exchanges
            for r in np.flatnonzero(ratios >= LEAST):
                moves = between(motion.moves, motion.rates[i] * RATIOS[r] * motion.moves_a_row)
                like = 1.0
                if shakes is not None:
                    place = network.usual_mps[i] * RATIOS[r] * STEPS_A_MPS
                    like = float(between(shakes, place))
                for step, power in enumerate(self.powers):
                    for target in np.flatnonzero(power[i]):
                        part = ratios[r] * moves[step] * power[i, target] * like
                        if seen is not None:
                            bend = network.courses[target] - network.courses[i]
                            part *= self.turn_like(np.angle(np.exp(1j * (bend - turned))))
                        then[target, r] += part
        away = self.elsewhere
        if shakes is not None:
            away *= self.elsewhere_like(turned, shakes)
        total = then.sum() + away
        then *= 1.0 - self.leave
        self.now = then / total
        self.elsewhere = 1.0 - self.now.sum()
        self._drop()
        return float(min(total, 1.0))

    def chances(self) -> np.ndarray:
        """Return the probabilities (P, 3) of driving as usual, slowly, and standing."""
        usual, slow = self.now[:, FIRST_USUAL:], self.now[:, 1:FIRST_USUAL]
        return np.stack([usual.sum(axis=1), slow.sum(axis=1), self.now[:, 0]], axis=1)


SUMS_TO_ONE = COUNT * FAINT
"""What is dropped in a tick at most."""


def both(seed: int) -> tuple[NetworkBelief, NaiveNetworkBelief]:
    route, network = branching_route(seed), branching_network(seed)
    return NetworkBelief(route, network, PERIOD_S), NaiveNetworkBelief(route, network)


def assert_same(belief: NetworkBelief, naive: NaiveNetworkBelief) -> None:
    expected = naive.chances()
    found = belief.chances[:, [ON, SLOW, STANDS]]
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-15)
    assert belief.elsewhere == pytest.approx(naive.elsewhere, rel=1e-9, abs=1e-12)
    others = [row for row in range(found.shape[1]) if row not in {ON, SLOW, STANDS}]
    assert not belief.chances[:, others].any()
    assert set(belief.support) == set(np.flatnonzero(expected.any(axis=1)))
    total = belief.chances.sum() + belief.elsewhere
    assert total == pytest.approx(1.0, abs=SUMS_TO_ONE)


def random_input(network: Network, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return observations and shakes (40, 2) as of any roads, or of none."""
    rng = np.random.default_rng([seed, 1])
    turns = rng.choice([0.0, 0.0, 0.4 * TURN, -0.4 * TURN, 0.2], 40) + 0.1 * rng.normal(size=40)
    # The smallest observations of a vehicle that turns so far in a tick.
    whole = (turns - network.turning_offset) / (network.turning @ network.turning)
    seen = whole[:, None] * network.turning
    at = rng.choice(len(network.speeds), 40)
    return seen, network.shakes[at] + network.scales[at] * rng.normal(size=seen.shape)


@pytest.mark.parametrize(('seed', 'skips'), [(0, ()), (1, ()), (2, ()), (0, (0, 5, 1, 9, 0, 20))])
def test_ticks_with_and_without_observations_are_those_of_bayes_rule(seed, skips):
    belief, naive = both(seed)
    assert_same(belief, naive)
    rows = zip(*random_input(naive.network, seed), skips or [0] * 40, strict=False)
    for seen, shaken, skipped in rows:
        belief.take(shaken)
        assert belief.update(seen) == pytest.approx(naive.tick(seen, shaken), rel=1e-9)
        belief.skip(skipped)
        for _ in range(skipped):
            naive.tick(None, shaken)
        assert_same(belief, naive)


def follow(belief: NetworkBelief, ticks: list[tuple[np.ndarray, np.ndarray]]) -> list[float]:
    evidence = []
    for seen, shaken in ticks:
        belief.take(shaken)
        evidence.append(belief.update(seen))
        total = belief.chances.sum() + belief.elsewhere
        assert total == pytest.approx(1.0, abs=SUMS_TO_ONE)
    return evidence


def test_a_start_is_elsewhere_with_a_tenth_whatever_kind_of_start_was_seen():
    for kind in (0, 1):
        route = branching_route()
        beginnings = np.full((2, COUNT), 0.5 / COUNT)
        beginnings[kind, 3] += 0.4
        switching = route.switching._replace(beginnings=beginnings / beginnings.sum())
        belief = NetworkBelief(replace(route, switching=switching), branching_network(), PERIOD_S)
        assert belief.elsewhere == pytest.approx(belief.starts_elsewhere)
        assert belief.weights[3] == pytest.approx(1.0)


def test_what_nothing_explains_is_elsewhere_until_a_start():
    belief, fresh = both(1)[0], both(1)[0]
    ticks = [*zip(*random_input(branching_network(1), 1), strict=True)]
    follow(belief, ticks[:5])
    # No speed shakes so much: as a number it overflows.
    belief.take(np.full(2, 1e200))
    assert belief.update(ticks[5][0]) == 0.0
    assert belief.elsewhere == 1.0
    follow(belief, ticks)
    assert belief.elsewhere == 1.0
    belief.start()
    assert np.array_equal(belief.chances, fresh.chances)
    assert follow(belief, ticks) == follow(fresh, ticks)
    assert belief.chances.tobytes() == fresh.chances.tobytes()
