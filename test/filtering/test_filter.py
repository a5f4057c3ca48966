# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the filter does with samples: which it uses, and what its estimates are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import fields, replace
import itertools
import sys

from filter_runs import Adding, bits, CAUSES, feed, numbers, set_aside, shifted, stamps, Stream
from hypothesis import given, settings
from hypothesis import strategies as st
import naive
import numpy as np
import pytest
from scipy.spatial import ConvexHull

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.filtering.tracker import half_axis
from two_manifold_ros.model.model import Model, RouteModel
from two_manifold_ros.recordings.recording import ImuStream, Recording
from two_manifold_ros.ticks.segments import cut_segments
from two_manifold_ros.typing import Floats

SECOND = 1_000_000_000


def with_value(sample: Floats, channel: int, value: float) -> Floats:
    changed = sample.copy()
    changed[channel] = value
    return changed


def beyond(model: Model, times: float) -> Floats:
    return model.channels.mean + times * model.channels.limit


FAULTS: dict[str, list[Callable[[int, Floats, Model], tuple[int, Floats]]]] = {
    'non_finite': [
        lambda stamp, sample, _: (stamp + 1, with_value(sample, 5, np.inf)),
        lambda stamp, sample, _: (stamp - 9 * SECOND, with_value(sample, 2, -np.inf)),
        lambda stamp, _, model: (stamp + 1, with_value(beyond(model, 9.0), 5, np.nan)),
    ],
    'out_of_range': [
        lambda stamp, _, model: (stamp + 1, beyond(model, 1.001)),
        lambda stamp, sample, model: (stamp, with_value(sample, 3, beyond(model, -1.001)[3])),
        lambda stamp, sample, _: (stamp + 9 * SECOND, with_value(sample, 1, 1e300)),
    ],
    'duplicate_stamp': [lambda stamp, sample, _: (stamp, -sample)],
    'zero_stamp': [lambda _, sample, __: (0, -sample), lambda _, sample, __: (-5, -sample)],
    'out_of_order': [
        lambda stamp, sample, _: (stamp - 1, -sample),
        lambda stamp, sample, _: (stamp - SECOND // 2 + 1, -sample),
    ],
    'wild_stamp': [lambda stamp, sample, _: (stamp + 9 * SECOND, -sample)],
}


@pytest.mark.parametrize('cause', CAUSES)
def test_a_fault_is_counted_by_its_cause_and_leaves_no_trace(cause, slot_car_model, live, stream):
    clean, found, count = Filter(slot_car_model), [], 0
    wanted = feed(clean, stream)
    for index, (stamp, sample) in enumerate(stream):
        found += live.push(stamp, sample)
        if index % 7 == 3:
            for fault in FAULTS[cause]:
                assert live.push(*fault(stamp, sample, slot_car_model)) == []
                count += 1
    assert bits(found) == bits(wanted)
    assert stamps(found) == stamps(wanted)
    assert live.counters == clean.counters + Counter({'received': count, cause: count})
    # The limit itself is in range.
    fresh = Filter(slot_car_model)
    fresh.push(SECOND, beyond(slot_car_model, 1.0 - 1e-12))
    assert fresh.counters['used'] == 1


@pytest.mark.slow
@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 400))
def test_whatever_comes_every_number_is_sound(slot_car_model, seed, length):
    """Garbage of all kinds mixed: values, stamps, gaps and jumps."""
    generator = np.random.default_rng(seed)
    channels = slot_car_model.channels
    scale = channels.scale * 10.0 ** generator.integers(-3, 3)
    samples = channels.mean + scale * generator.normal(size=(length, 6))
    samples[generator.random(samples.shape) < 0.01] = np.nan
    steps = generator.choice([100, 100, 100, 100, 37, 1, 0, -40, 350, 1500, -700, 5000], length)
    given_stamps = 10**18 + 1_000_000 * np.cumsum(steps)
    given_stamps[generator.random(length) < 0.01] = 0
    live = Filter(slot_car_model)
    estimates = feed(live, zip(given_stamps.tolist(), samples, strict=True))
    counters = live.counters
    assert counters['received'] == length == counters['used'] + set_aside(counters) + live.waiting
    assert counters['ticks'] == len(estimates)
    for estimate in estimates:
        assert all(np.isfinite(array).all() for array in numbers(estimate)[:-1])
        assert -1.0 <= estimate.evidence <= 1.0
        assert estimate.state[0] == pytest.approx(1.0)
        for covariance in (*estimate.covariances, estimate.velocity_covariance):
            assert covariance[0, 1] == covariance[1, 0]
            assert np.linalg.eigvalsh(covariance)[0] > 0.0
        assert estimate.ellipse_m == half_axis(estimate.covariances[0])
        assert not estimate.valid or estimate.ellipse_m <= live.limits.error_m
    present = np.array([each.positions[0] for each in estimates]).reshape(-1, 2)
    hull = ConvexHull(slot_car_model.track[np.isfinite(slot_car_model.track[:, 0])]).equations
    assert (present @ hull[:, :2].T + hull[:, 2] <= 1e-9).all()


@pytest.mark.parametrize('waits', [0, 10, 40])
def test_what_unusable_samples_showed_outlasts_the_hole_they_leave(waits, slot_car_model, stream):
    wrong = [(stamp, sample * ([1000 / 9.80665] * 3 + [1.0] * 3)) for stamp, sample in stream]
    live, silent = Filter(slot_car_model), Filter(slot_car_model)
    for each, end in ((live, 110), (silent, 60)):
        feed(each, stream[:10])
        feed(each, wrong[10:end])
    finding = live.finding
    assert finding == silent.finding
    assert finding is not None
    for each in (live, silent):
        # The first one waits for another, and meanwhile more are unusable.
        more = wrong[111 : 111 + waits] if each is live else []
        feed(each, [stream[110], *more, *stream[111 + waits : 113 + waits]])
        assert each.counters['gaps'] >= 1
    assert live.finding == finding
    assert silent.finding is None


SPAN = 250_000_000


def mixed(stream: Stream) -> Stream:
    """Let every sample arrive with a delay of its own, up to the span."""
    delays = np.random.default_rng(0).integers(0, SPAN, len(stream))
    order = np.argsort([stamp for stamp, _ in stream] + delays)
    return [stream[row] for row in order.tolist()]


@pytest.fixture
def sorting(slot_car_model: RouteModel) -> Filter:
    return Filter(slot_car_model, reorder_ns=SPAN)


@pytest.mark.slow
def test_disorder_within_the_span_changes_no_bit(sorting, live, stream, usual):
    """It costs the span, and nothing ends a tick before it is said."""
    disorder, found = mixed(stream), []
    for stamp, sample in disorder:
        ends = sorting.tick_ends
        for estimate in sorting.push(stamp, sample):
            assert stamp - estimate.stamp_ns >= SPAN
            assert ends <= stamp
            found.append(estimate)
    assert len(usual) - 3 <= len(found) < len(usual)
    assert bits(found) == bits(usual[: len(found)])
    assert stamps(found) == stamps(usual[: len(found)])
    assert sorting.counters['received'] == sorting.counters['used'] + sorting.waiting
    feed(live, disorder)
    assert live.counters['out_of_order'] > 50


def test_a_reset_leaves_nothing_waiting_and_nothing_uncounted(sorting, live, stream):
    feed(sorting, mixed(stream[:50]))
    sorting.push(stream[50][0] + 9 * SECOND, stream[50][1])
    assert sorting.waiting > 2
    sorting.reset('a test')
    assert sorting.waiting == 0
    assert sorting.counters['wild_stamp'] == 1
    assert sorting.counters['received'] == 51 == sorting.counters['used'] + 1
    again = shifted(stream[:80], -SECOND)
    found = feed(sorting, again)
    assert bits(found) == bits(feed(live, again)[: len(found)])
    # Any sample may end a tick while a jump waits.
    live.reset('a test')
    feed(live, stream[:50])
    assert live.tick_ends > 0
    live.push(stream[50][0] - 9 * SECOND, stream[50][1])
    assert live.tick_ends == 0


MS = 1_000_000
STEPS = st.lists(
    st.integers(1, 20)
    | st.sampled_from([0, -1, -30, -499, -500, -501, 200, 201, 800, -3000, 3_600_000]),
    max_size=80,
)
WILD = st.lists(st.sampled_from([0, 0, 0, 0, 0, 0, 0, 4000, -4000, -(10**12) * 2, 7]), max_size=80)


def stamps_of(steps: list[int], wild: list[int]) -> list[int]:
    """Return a course in milliseconds as stamps, some of them far from where they belong."""
    course = itertools.accumulate(steps)
    away = itertools.chain(wild, itertools.repeat(0))
    now = 1_700_000_000_000
    return [max(0, now + step + off) * MS for step, off in zip(course, away, strict=False)]


@pytest.fixture(scope='session')
def summing(slot_car_model: RouteModel) -> RouteModel:
    """Return a model of ticks of 50 ms and gaps from 200 ms on, in the range of which all is."""
    channels = replace(slot_car_model.channels, mean=np.zeros(6), limit=np.full(6, 1e3))
    return replace(slot_car_model, channels=channels, period_ns=50 * MS, max_gap_ns=200 * MS)


@given(STEPS, WILD, st.sampled_from([0, 40 * MS]))
def test_a_live_stream_and_a_recording_give_the_same_ticks(summing, steps, wild, reorder_ns):
    """And every sample is used, refused or waiting."""
    stamps = np.array(stamps_of(steps, wild), dtype=np.int64)
    samples = np.tile(np.arange(float(len(stamps)))[:, None], (1, 6))
    live, found = Filter(summing, tick_filter=Adding(), reorder_ns=reorder_ns), []
    for count, (stamp, sample) in enumerate(zip(stamps.tolist(), samples, strict=True), start=1):
        found += [(each.stamp_ns, each.state[0]) for each in live.push(stamp, sample)]
        assert count == live.counters['used'] + set_aside(live.counters) + live.waiting
    live.reset('the end')
    assert live.waiting == 0
    if reorder_ns:
        return
    recording = Recording('any', ImuStream('/imu', '', stamps, samples, stamps), None)
    segments, counts = cut_segments(recording, summing.period_ns, summing.max_gap_ns)
    wanted = [
        (stamp, values.sum())
        for each in segments
        for stamp, values in zip(each.stamps.tolist(), each.values, strict=True)
    ]
    assert found == wanted
    for cause in ('used', 'zero_stamp', 'duplicate_stamp', 'out_of_order', 'wild_stamp', 'gaps'):
        assert live.counters[cause] == counts[cause], cause


@pytest.mark.parametrize('share', [0.8, 0.5, 0.4, 0.25])
def test_of_an_imu_below_half_of_the_rate_nothing_is_published(share, slot_car_model, stream):
    """Its ellipses would be too small; once it is fast enough again, so are they."""
    thinned = [each for at, each in enumerate(stream) if int((at + 1) * share) > int(at * share)]
    slow = slice(int(80 * share), int(160 * share))
    found = feed(Filter(slot_car_model), [*stream[:80], *thinned[slow], *stream[160:]])
    # The rate is that of two seconds, of which the first may begin before.
    slowly = [each for each in found if 4.1 < (each.stamp_ns - stream[80][0]) * 1e-9 < 7.9]
    assert any(each.valid for each in slowly) == (share >= 0.5)
    # Below a third there are but gaps.
    assert all((each.cause == 'too_slow') == (share < 0.5) for each in slowly)
    assert found[-1].valid


@pytest.mark.parametrize('kind', ['no column', 'NaN', 'no topic'])
def test_without_its_sensors_a_model_filters_to_the_bit_as_one_that_never_had_any(
    kind, sensed_model, slot_car_model, sensed_laps
):
    recording = sensed_laps[1]
    samples = plain = recording.imu.samples
    if kind == 'NaN':
        samples = np.pad(plain, ((0, 0), (0, 4)), constant_values=np.nan)
    elif kind == 'no topic':
        samples = replace(recording, sensors=()).samples_with(sensed_model.further_names)
    bare = RouteModel(**{key.name: getattr(sensed_model, key.name) for key in fields(RouteModel)})
    one, same, other = (
        feed(Filter(model), zip(recording.imu.stamps.tolist(), values, strict=True))
        for model, values in ((sensed_model, samples), (bare, plain), (slot_car_model, plain))
    )
    for mine, alone, trained in zip(one, same, other, strict=True):
        assert mine.status is alone.status is trained.status
        np.testing.assert_array_equal(mine.positions, alone.positions)
        np.testing.assert_array_equal(mine.covariances, alone.covariances)
        # The oldest libraries sum by where an array begins in memory: two trainings differ there.
        np.testing.assert_allclose(mine.covariances, trained.covariances, rtol=1e-9)
    assert len(one) > 100


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
    assert statuses(recovered[: unsure + 2]) == [Status.UNSURE] * unsure + [Status.TRACKING] * 2
    assert {each.cause for each in recovered[:unsure]} == {'gap'}
    assert all(each.valid for each in recovered)
    assert all(np.isnan(each.novelty) for each in recovered[: WINDOW - 1])
    assert recovered[0].stamp_ns == after[0][0] + PERIOD
    elapsed = recovered[0].stamp_ns - tracked[-1].stamp_ns
    assert recovered[0].tick - tracked[-1].tick == round(elapsed / PERIOD)
    assert (live.counters['gaps'], live.counters['resets']) == (1, 0)


@pytest.mark.parametrize(('ticks', 'resets'), [(4, 0), (WINDOW // 2 + 1, 1)])
def test_gaps_with_less_than_a_tick_between_them_are_one(ticks, resets, live, stream):
    feed(live, [*stream[:CUT], stream[CUT + ticks - 1], *stream[CUT + 2 * ticks - 1 :]])
    assert (live.counters['gaps'], live.counters['resets']) == (2, resets)


@pytest.mark.parametrize('ticks', [WINDOW + 1, 60])
def test_a_longer_gap_starts_again(ticks, slot_car_model, live, stream):
    feed(live, stream[:CUT])
    found = feed(live, after := stream[CUT + ticks - 1 :])
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
