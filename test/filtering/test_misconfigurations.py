# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Each misconfiguration is undone by its correction, and is listed once."""

from collections import Counter
from dataclasses import replace

from filter_runs import WRONG
import numpy as np
import pytest

from two_manifold_ros.filtering.hypothesis_search import known_misconfigurations, Misconfiguration
from two_manifold_ros.ticks.segments import Channels, NO_LIMIT

ALL = np.ones(6, dtype=bool)
CHANNELS = Channels(
    np.array([0.1, 0.0, 9.80665, 0.0, 0.0, 0.5]), np.ones(6), np.full(6, NO_LIMIT), ALL
)
SAMPLES = np.random.default_rng(0).normal(size=(8, 6))


def undone(mistake: Misconfiguration, samples: np.ndarray) -> np.ndarray:
    return samples[:, list(mistake.sources)] * mistake.factors + mistake.offsets


def causes(channels: Channels) -> Counter[str]:
    return Counter(mistake.cause for mistake in known_misconfigurations(channels))


@pytest.mark.parametrize('cause', WRONG)
def test_undoing_gives_the_samples_back(cause):
    of_this_cause = [each for each in known_misconfigurations(CHANNELS) if each.cause == cause]
    wrong = WRONG[cause](SAMPLES)
    # Gravity is put back along the mean of training, which is not quite the third axis.
    apart = [np.abs(undone(each, wrong) - SAMPLES).max() for each in of_this_cause]
    assert min(apart) < (0.11 if cause == 'gravity_removed' else 1e-9)


def test_each_turn_is_there_once_and_is_reported_by_its_axes():
    found = causes(CHANNELS)
    half_turns = [found[f'turned_about_{axis}'] for axis in 'xyz']
    # 24 rotations but none, and as many left-handed frames.
    assert sum(half_turns) + found['turned'] == 23
    assert half_turns == [1, 1, 1]
    assert found['axes_exchanged'] == 24
    words = [each.words for each in known_misconfigurations(CHANNELS) if each.cause == 'turned']
    assert len(set(words)) == 20
    assert any('(x is now y, y is now -x)' in each for each in words)


def test_gravity_can_only_be_missing_where_it_was():
    without = replace(CHANNELS, mean=np.zeros(6))
    assert causes(CHANNELS)['gravity_removed'] == 1
    assert causes(CHANNELS)['gravity_added'] == 0
    assert causes(without)['gravity_removed'] == 0
    assert causes(without)['gravity_added'] == 6
    in_g = replace(CHANNELS, mean=np.array([0.0, 0.0, 2.0 * 9.80665, 0.0, 0.0, 0.0]))
    assert causes(in_g)['gravity_removed'] == causes(in_g)['gravity_added'] == 0


def test_what_dead_channels_hide_is_not_reported_apart():
    planar = np.array([True, True, False, False, False, True])
    found = causes(replace(CHANNELS, live=planar))
    assert found['sign_of_az'] == found['sign_of_wx'] == 0
    assert found['sign_of_wz'] == 1
    # The only rate is wz, so all of them are no more than that one.
    assert found['sign_of_rates'] == 0
    assert found['turned_about_x'] == 1
    effects = [
        tuple((undone(each, SAMPLES)[:, planar]).ravel().round(9))
        for each in known_misconfigurations(replace(CHANNELS, live=planar))
    ]
    assert len(set(effects)) == len(effects)


def test_pixels_have_no_known_mistakes():
    names = tuple(f'pixel_{index}' for index in range(6))
    assert known_misconfigurations(replace(CHANNELS, names=names)) == ()
