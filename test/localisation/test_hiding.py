# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A part of the map that is hidden: as if it had not been driven."""

from circle_route import felt_at, make_route
import numpy as np
import pytest

from two_manifold_ros.localisation import belief as module
from two_manifold_ros.localisation.belief import RouteBelief

ROUTE = make_route([40, 44, 38], segments=2, signs=True)
STEPS = len(ROUTE.since_begin)
DRIVE = felt_at(0.3 + np.arange(120) / 41.0, seed=9)
FAR = np.array([1e4, -1e4, 1e4])
PARTS = [(0, 60), (60, 200), (STEPS - 70, STEPS), (STEPS // 2 - 20, STEPS // 2 + 20)]


@pytest.mark.parametrize(('begin', 'end'), PARTS)
def test_no_weight_is_ever_on_it(begin: int, end: int) -> None:
    belief = RouteBelief(ROUTE)
    belief.hide(begin, end)
    outside = np.r_[0:begin, end:STEPS]

    def assert_hidden() -> None:
        assert (belief.weights[begin:end] == 0.0).all()
        assert belief.weights[outside].sum() == pytest.approx(1.0)

    assert_hidden()
    np.testing.assert_allclose(belief.weights[outside], 1.0 / len(outside))
    for tick, observation in enumerate(DRIVE):
        if tick % 20 == 10:
            assert belief.update(FAR) == 0.0
            assert_hidden()
            belief.skip(3)
            assert_hidden()
        evidence = belief.update(observation)
        assert 0.0 < evidence <= 1.0
        assert_hidden()
    belief.start()
    assert_hidden()


def test_all_but_a_few_steps() -> None:
    """Whatever is observed, the vehicle is on what is left."""
    belief = RouteBelief(ROUTE)
    belief.hide(3, STEPS)
    for observation in DRIVE:
        belief.update(observation)
        assert belief.weights[:3].sum() == pytest.approx(1.0)


@pytest.mark.parametrize(('begin', 'end'), [(0, STEPS), (0, STEPS + 5), (-STEPS, STEPS)])
def test_a_map_of_which_nothing_is_left_is_refused(begin: int, end: int) -> None:
    belief, only = RouteBelief(ROUTE), RouteBelief(ROUTE)
    for each in (belief, only):
        each.hide(60, 200)
        each.update(DRIVE[0])
    with pytest.raises(ValueError, match=f'the steps {begin} to {end} leaves nothing of the map'):
        belief.hide(begin, end)
    belief.update(DRIVE[1])
    only.update(DRIVE[1])
    np.testing.assert_array_equal(belief.weights, only.weights)


def test_what_is_left_is_compared_as_ever() -> None:
    """Likelihoods on what is left keep their ratios."""
    whole, part = RouteBelief(ROUTE), RouteBelief(ROUTE)
    part.hide(60, 200)
    whole.update(DRIVE[0])
    part.update(DRIVE[0])
    left = np.r_[0:40, 220:STEPS]
    near = left[whole.weights[left] > 1e-6]
    ratios = part.weights[near] / whole.weights[near]
    # The steps after a hidden part and at a seam are reached from fewer others.
    inner = np.isin(near - 7, near) & (ROUTE.since_begin[near] > 7)
    assert np.count_nonzero(inner) > 20
    assert np.ptp(np.log(ratios[inner])) < 0.1


def test_nothing_hidden_is_a_fresh_belief() -> None:
    belief, fresh = RouteBelief(ROUTE), RouteBelief(ROUTE)
    belief.hide(60, 200)
    belief.update(DRIVE[0])
    belief.hide(0, 0)
    np.testing.assert_array_equal(belief.weights, fresh.weights)
    for observation in DRIVE[:30]:
        assert belief.update(observation) == fresh.update(observation)
        np.testing.assert_array_equal(belief.weights, fresh.weights)
        assert belief.pace == fresh.pace


def test_another_part_is_hidden_instead() -> None:
    belief, only = RouteBelief(ROUTE), RouteBelief(ROUTE)
    belief.hide(60, 200)
    belief.update(DRIVE[0])
    belief.hide(10, 50)
    only.hide(10, 50)
    for observation in DRIVE[:30]:
        belief.update(observation)
        only.update(observation)
        np.testing.assert_array_equal(belief.weights, only.weights)
    assert belief.weights[60:200].max() > 0.0


def test_chances_go_on_from_beyond_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vehicle that comes to a hidden part is looked for on the other passes of it."""
    monkeypatch.setattr(module, 'JUMP', 0.0)
    belief = RouteBelief(ROUTE)
    belief.hide(60, 120)
    belief._belief[:] = 0.0
    belief._belief[3, 56] = 1.0
    for _ in range(4):
        belief.skip(1)
    assert belief.weights.sum() == pytest.approx(1.0)
    assert set(ROUTE.passes[50:70].ravel()) & set(np.flatnonzero(belief.weights > 0.01))
