# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The coarse belief: which of many routes is driven, where on it, and filters that start there."""

import numpy as np
import pytest

from two_manifold_ros.filtering.coarse import CoarseBelief
from two_manifold_ros.filtering.filter import Filter

NAMES = ('hall', 'paddock', 'ring')


def samples_of(kart_drives, name, seconds):
    """Return stamps and samples of the second day, up to that time."""
    imu = kart_drives[name][1].imu
    count = int(np.searchsorted(imu.stamps, imu.stamps[0] + round(1e9 * seconds)))
    return imu.stamps[:count].tolist(), imu.samples[:count]


def true_place(kart_drives, name, stamp):
    stream = kart_drives[name][1].positions
    return np.array([np.interp(stamp, stream.stamps, column) for column in stream.positions.T])


@pytest.mark.parametrize('number', range(3))
def test_the_route_that_is_driven_becomes_the_likeliest_and_its_place_is_known(
    number, kart_atlas, kart_drives
):
    belief = CoarseBelief(kart_atlas.members)
    assert np.allclose(belief.shares, 1.0 / 3.0)
    best, apart = [], []
    stamps, samples = samples_of(kart_drives, NAMES[number], 60.0)
    for stamp, sample in zip(stamps, samples, strict=True):
        if belief.push(stamp, sample) and stamp > stamps[0] + 15e9:
            best.append(int(np.argmax(belief.shares)))
            place = belief.positions[number]
            apart.append(np.linalg.norm(place - true_place(kart_drives, NAMES[number], stamp)))
            assert belief.shares.sum() == pytest.approx(1.0)
    assert np.mean(np.array(best) == number) > 0.9
    assert np.median(apart) < 20.0
    places = belief.places(number)
    assert len(places) == kart_atlas.members[number].route.places
    assert places.sum() == pytest.approx(1.0)
    belief.start()
    assert np.allclose(belief.shares, 1.0 / 3.0)


@pytest.mark.parametrize('huge', [1e4, 1e200, 1e308, np.nan])
def test_after_huge_numbers_and_none_it_finds_the_route_again(huge, kart_atlas, kart_drives):
    belief = CoarseBelief(kart_atlas.members)
    stamps, samples = samples_of(kart_drives, 'hall', 50.0)
    for number, (stamp, sample) in enumerate(zip(stamps, samples, strict=True)):
        belief.push(stamp, np.full(6, huge) if 1000 < number < 1100 else sample)
        assert np.isfinite(belief.shares).all()
    assert np.argmax(belief.shares) == 0


def test_a_filter_that_starts_at_places_knows_its_own_at_once(kart_atlas, kart_drives):
    stamps, samples = samples_of(kart_drives, 'hall', 41.0)
    belief, member = CoarseBelief(kart_atlas.members), kart_atlas.members[0]
    begins = int(np.searchsorted(stamps, stamps[0] + 40e9))
    for stamp, sample in zip(stamps[:begins], samples[:begins], strict=True):
        belief.push(stamp, sample)
    true = true_place(kart_drives, 'hall', stamps[-1])
    apart = []
    for placed in (False, True):
        live = Filter(member)
        live.reset('a test')
        if placed:
            live.ticks.place(belief.places(0))
        for stamp, sample in zip(stamps[begins:], samples[begins:], strict=True):
            live.push(stamp, sample)
        apart.append(np.linalg.norm(live.latest.positions[0] - true))
    assert apart[1] < 20.0 < apart[0]


def test_only_a_filter_of_a_route_starts_at_places(spectral_model):
    with pytest.raises(TypeError, match='places'):
        Filter(spectral_model).ticks.place(np.ones(3) / 3.0)
