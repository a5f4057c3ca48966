# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Dead reckoning where the drive is known, its drift computed by hand."""

from dataclasses import replace

import numpy as np
import pytest
from small_trains import driven, GRAVITY, MOUNT, PERIOD_S, steady, train_of, varied

from two_manifold_ros.comparison.rivals import learn_motion, Motion
from two_manifold_ros.errors import InputError

GIVEN = 20
"""Ticks after which no position is given any more."""
HORIZONS = (0, 5, 20)


@pytest.fixture(scope='module')
def fitted() -> Motion:
    return learn_motion(train_of(varied(900), horizons=HORIZONS))


def test_the_mount_is_found(fitted):
    """Upside down, turned and in other units, with the biases of gravity."""
    weights = np.linalg.pinv(MOUNT)
    np.testing.assert_allclose(fitted.weights[:, :6], weights, atol=5e-3)
    np.testing.assert_allclose(fitted.weights[:, 6], -weights @ GRAVITY, atol=0.02)
    assert fitted.usual_m_s == pytest.approx(2.0, abs=0.2)
    assert fitted.fastest_m_s == pytest.approx(2 * 2.6, abs=0.2)


def test_dead_axes_and_too_little_known_motion_are_refused():
    for dead, named in ((slice(0, 3), 'accelerometer'), (slice(3, 6), 'gyroscope')):
        segment = varied(200)
        segment.values[:, dead] = 0.0
        with pytest.raises(InputError, match=f'no {named} axis'):
            learn_motion(train_of(segment))
    segment = varied(200)
    for known in (14, 0):
        segment.positions[known:] = np.nan
        with pytest.raises(InputError, match='too few'):
            learn_motion(train_of(segment, window=9))


@pytest.mark.parametrize('rate', [1.0, -2.0])
def test_the_speed_is_corrected_in_bends(fitted, rate):
    """A forward bias b is held at b / (gain |rate|); on the straight it would add up."""
    segment = steady(400, rate, 2.0)
    segment.values[:] += MOUNT[:, 1] * 0.2
    states = replace(fitted, gain=0.5).predict(segment).states
    assert states[-1, 3] - 2.0 == pytest.approx(0.2 / (0.5 * abs(rate)), abs=0.05)


@pytest.mark.parametrize('bias', [0.01, -0.02])
def test_a_gyroscope_bias_drifts_as_by_hand(fitted, bias):
    """Heading b t, and sideways v b t^2 / 2, after the positions are no longer given."""
    straight, wrong = steady(220, 0.0, 2.0), steady(220, 0.0, 2.0)
    wrong.values[:, 5] -= 0.5 * bias  # in the units and the sense of the mount
    apart, exact = fitted.predict(wrong), fitted.predict(straight)
    begun = int(np.flatnonzero(np.isfinite(apart.states[:, 0]))[0])
    since = PERIOD_S * (len(wrong) - begun)
    assert apart.states[-1, 2] - exact.states[-1, 2] == pytest.approx(bias * since, rel=0.1)
    aside = apart.positions[-1, 0, 1] - exact.positions[-1, 0, 1]
    assert aside == pytest.approx(2.0 * bias * since**2 / 2.0, rel=0.1)


def test_ahead_it_drives_on_as_now(fitted):
    segment = steady(120, 0.5, 2.0)
    predicted = fitted.predict(segment).positions
    for column, horizon in ((1, 5), (2, 20)):
        apart = predicted[GIVEN + 5 : -horizon, column] - predicted[GIVEN + 5 + horizon :, 0]
        assert np.linalg.norm(apart, axis=1).max() < 0.15


def test_standing_is_reported_until_it_sets_off(fitted):
    """Without a course there is nothing to integrate; the start is where it drives off."""
    segment = driven(200, lambda t: 0.2 * np.tanh(t - 8.0) + 0.2, lambda t: 1.0 + np.tanh(t - 8.0))
    course = fitted.predict(segment)
    begun = int(np.flatnonzero(np.isfinite(course.states[:, 0]))[0])
    assert 60 < begun < 110
    np.testing.assert_array_equal(
        course.positions[:begun], segment.positions[:begun, None] + np.zeros((begun, 3, 2))
    )
