# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gaps, jumps back, resets and wrong input: when the filter goes on, and when it starts again."""

from collections import Counter
import sys

from filter_runs import bits, feed, shifted, stamps
import naive
import numpy as np
import pytest

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import Status

PERIOD = 100_000_000
WINDOW = 20
CUT = 150


def statuses(estimates: list[Estimate]) -> list[Status]:
    return [estimate.status for estimate in estimates]


def test_nothing_is_valid_until_a_window_is_full(usual, live, stream):
    filling = [tick < WINDOW - 1 for tick in range(len(usual))]
    assert statuses(usual) == [Status.FILLING if each else Status.TRACKING for each in filling]
    assert [each.valid for each in usual] == [not each for each in filling]
    assert [bool(np.isnan(each.novelty)) for each in usual] == filling
    assert [each.tick for each in usual] == list(range(len(usual)))
    # A gap meanwhile ends the window.
    feed(live, stream[:10])
    found = feed(live, stream[15:50])
    assert statuses(found[:WINDOW]) == [Status.FILLING] * (WINDOW - 1) + [Status.TRACKING]


@pytest.mark.parametrize('ticks', [4, 10, WINDOW])
def test_after_a_short_gap_the_belief_goes_on(ticks, live, stream):
    """Of which the step from one sample to the next is so many ticks."""
    tracked, after = feed(live, stream[:CUT]), stream[CUT + ticks - 1 :]
    recovered = feed(live, after)
    unsure = WINDOW - 1 + live.ticks.steady - 1
    wanted = [Status.UNSURE] * unsure + [Status.TRACKING] * 2
    assert statuses(recovered[: unsure + 2]) == wanted
    assert {each.cause for each in recovered[:unsure]} == {'gap'}
    assert all(each.valid for each in recovered)
    assert all(np.isnan(each.novelty) for each in recovered[: WINDOW - 1])
    assert recovered[0].stamp_ns == after[0][0] + PERIOD
    elapsed = recovered[0].stamp_ns - tracked[-1].stamp_ns
    assert recovered[0].tick - tracked[-1].tick == round(elapsed / PERIOD)
    assert (live.counters['gaps'], live.counters['resets']) == (1, 0)


@pytest.mark.parametrize(('ticks', 'resets'), [(4, 0), (WINDOW // 2 + 1, 1)])
def test_gaps_with_less_than_a_tick_between_them_are_one(ticks, resets, live, stream):
    after = stream[CUT + ticks - 1 :]
    feed(live, [*stream[:CUT], after[0], *after[ticks:]])
    assert (live.counters['gaps'], live.counters['resets']) == (2, resets)


@pytest.mark.parametrize('ticks', [WINDOW + 1, 60])
def test_a_longer_gap_starts_again(ticks, slot_car_model, live, stream):
    feed(live, stream[:CUT])
    after = stream[CUT + ticks - 1 :]
    found = feed(live, after)
    assert bits(found) == bits(feed(Filter(slot_car_model), after))
    assert (found[0].tick, found[0].status) == (0, Status.FILLING)
    assert live.counters['gaps'] == live.counters['resets'] == 1


@pytest.mark.slow
@pytest.mark.parametrize('shift', [0, -(10**9), 10**12])
def test_a_reset_forgets_everything_but_the_counters(shift, live, stream, usual):
    feed(live, stream[:77])
    before = live.counters.copy()
    live.reset('asked for')
    assert live.counters == before + Counter(resets=1)
    # What a shift changes are stamps only.
    found = feed(live, shifted(stream, shift))
    assert bits(found) == bits(usual)
    assert stamps(found) == [stamp + shift for stamp in stamps(usual)]
    assert live.counters['resets'] == 1


def test_novelty_is_the_mean_contrast_of_the_last_windows(spectral_model, stream):
    width, anchors = spectral_model.window, spectral_model.novelty
    # The standardised tick means of an even stream of one sample a tick.
    seen = spectral_model.channels.standardise(np.array([sample for _, sample in stream[:-1]]))
    found = feed(Filter(spectral_model), stream)
    contrasts = np.full(len(found), np.nan)
    for tick in range(width - 1, len(found)):
        window = seen[tick - width + 1 : tick + 1].T
        squared = naive.window_distances(spectral_model.series, window)[spectral_model.starts]
        contrasts[tick] = np.log(squared.min() / squared.mean())
    for tick in (width - 1, width, width + 57, len(found) - 1):
        last = contrasts[max(tick - width + 1, width - 1) : tick + 1]
        wanted = 2.0 ** ((last.mean() - anchors.own) / (anchors.other - anchors.own))
        np.testing.assert_allclose(found[tick].novelty, wanted, rtol=1e-9)


def test_warming_up_in_the_middle_leaves_no_trace(live, stream, usual):
    """Nor do estimates change after they are given."""
    found = feed(live, stream[:100])
    early = bits(found)
    live.warm_up()
    found += feed(live, stream[100:])
    assert bits(found[: len(early)]) == early
    assert bits(found) == bits(usual)
    # And none looks ahead.
    live.reset('a test')
    changed = [*stream[:120], *[(stamp, -sample) for stamp, sample in stream[120:]]]
    other = feed(live, changed)
    assert bits(other[:120]) == bits(usual[:120])
    assert bits(other[120:121]) != bits(usual[120:121])


def compiled() -> dict[tuple[str, str], int]:
    """Return for how many kinds of arguments each loop of the package was compiled."""
    return {
        (module, name): len(value.signatures)
        for module, loaded in list(sys.modules.items())
        if module.startswith('two_manifold_ros.')
        for name, value in vars(loaded).items()
        if hasattr(value, 'signatures')
    }


def test_no_sample_waits_for_a_compiler(each_model, stream):
    live = Filter(each_model)
    live.warm_up()
    before = compiled()
    feed(live, stream[:80])
    feed(live, stream[90:120])
    feed(live, [(stamp, 3.0 * sample) for stamp, sample in stream[125:200]])
    feed(live, [(stamp, np.zeros(6)) for stamp, _ in stream])
    assert compiled() == before
