# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sensors that fail are named, and streams that are well are left alone."""

from dataclasses import replace

from filter_runs import Change, WRONG
import numpy as np
import pytest

from two_manifold_ros.filtering.input_watch import InputWatch
from two_manifold_ros.model.model import RouteModel
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate
from two_manifold_ros.ticks.segments import LIMIT_FACTOR

RATE_HZ = 50
BEGIN = 10 * RATE_HZ
PERIOD_NS = 20_000_000


@pytest.fixture(scope='module')
def samples() -> np.ndarray:
    """Return 25 s of the slot car at five samples a tick of the model."""
    return simulate(SlotCarSettings(seed=1, rate_hz=float(RATE_HZ)), samples=25 * RATE_HZ).imu


@pytest.fixture
def watch(slot_car_model: RouteModel) -> InputWatch:
    return InputWatch(slot_car_model)


def channel(index: int, change: Change) -> Change:
    def spoil(values: np.ndarray) -> np.ndarray:
        values = values.copy()
        values[:, index] = change(values[:, index])
        return values

    return spoil


FAULTS: dict[str, tuple[str, float, Change]] = {
    'the driver repeats itself': ('stuck', 1.5, lambda values: values[:1].repeat(len(values), 0)),
    'all zero': ('stuck', 1.5, np.zeros_like),
    'a channel is dead': ('channel_stuck', 1.5, channel(5, np.zeros_like)),
    'a channel is stuck': ('channel_stuck', 1.5, channel(1, lambda v: np.full_like(v, v[0]))),
    'saturated above': ('cut_off', 4.5, channel(5, lambda v: np.minimum(v, 2.0))),
    'saturated below': ('cut_off', 4.5, channel(1, lambda v: np.maximum(v, -1.5))),
    'quantised': ('coarse', 4.5, channel(0, np.round)),
}


def cause_of(watch: InputWatch) -> str:
    return '' if watch.finding is None else watch.finding.cause


def causes_along(watch: InputWatch, samples: np.ndarray) -> list[str]:
    found = []
    for index, sample in enumerate(samples):
        watch.sample((1 + index) * PERIOD_NS, sample)
        found.append(cause_of(watch))
    return found


@pytest.mark.parametrize('fault', FAULTS)
def test_a_sensor_that_fails_is_named_until_it_is_well(watch, samples, fault):
    cause, within_s, change = FAULTS[fault]
    spoiled, end = samples.copy(), BEGIN + 8 * RATE_HZ
    spoiled[BEGIN:end] = change(samples[BEGIN:end])
    found = causes_along(watch, spoiled)
    assert set(found[:BEGIN]) == {''}
    named = found.index(cause) - BEGIN
    assert 0 < named <= within_s * RATE_HZ
    assert set(found[end + round(4.5 * RATE_HZ) :]) == {''}


@pytest.mark.parametrize('tenths', [61, 66, 71, 76])
def test_a_driver_that_repeated_itself_is_not_called_coarse(watch, samples, tenths):
    """Whenever it goes on, little but repetitions is on record."""
    end = BEGIN + tenths * RATE_HZ // 10
    samples = samples.copy()
    samples[BEGIN:end] = samples[BEGIN]
    assert set(causes_along(watch, samples)) == {'', 'stuck'}


def test_what_was_coarse_in_training_is_no_fault(watch, slot_car_model, samples):
    rounded = channel(0, np.round)(samples)
    coarse = slot_car_model.series.copy()
    scale, mean = slot_car_model.channels.scale[0], slot_car_model.channels.mean[0]
    coarse[0] = (np.round(coarse[0] * scale + mean) - mean) / scale
    trained_so = InputWatch(replace(slot_car_model, series=coarse))
    assert 'coarse' in causes_along(watch, rounded)
    assert set(causes_along(trained_so, rounded)) == {''}
    # What is coarse may stand still for longer.
    still = channel(0, np.zeros_like)(samples[: 5 * RATE_HZ])
    for each, named in ((watch, True), (trained_so, False)):
        each.clear()
        assert ('channel_stuck' in causes_along(each, still)) == named


def test_what_never_reached_further_is_not_cut_off_nor_are_large_steps_of_large_values_coarse(
    watch, slot_car_model, samples
):
    clipped = channel(5, lambda values: np.minimum(values, 2.0))(samples)
    limit = slot_car_model.channels.limit.copy()
    limit[5] = LIMIT_FACTOR * (2.0 + abs(slot_car_model.channels.mean[5]))
    trained_so = replace(slot_car_model, channels=replace(slot_car_model.channels, limit=limit))
    assert 'cut_off' in causes_along(watch, clipped)
    assert set(causes_along(InputWatch(trained_so), clipped)) == {''}
    # Another unit has them too.
    louder = channel(0, lambda values: 300.0 * values)(samples)
    assert set(causes_along(InputWatch(slot_car_model), louder)) == {''}


def test_samples_out_of_range_show_the_unit_unless_they_are_absurd(watch, samples):
    """No filter may use them, so no tick ends, but they say it best what is wrong."""
    for index, sample in enumerate(samples):
        watch.sample((2 + 2 * index) * PERIOD_NS, sample)
        watch.sample_out_of_range((3 + 2 * index) * PERIOD_NS, np.array([-3e38] * 3 + [0.0] * 3))
        assert watch.finding is None
    watch.clear()
    found = set()
    for index, sample in enumerate(WRONG['accelerations_in_milli_g'](samples[: 10 * RATE_HZ])):
        watch.sample_out_of_range((1 + index) * PERIOD_NS, sample)
        found.add(cause_of(watch))
    assert found == {'', 'accelerations_in_milli_g'}
    assert watch.finding.refuses


@pytest.mark.parametrize('cause', ['', 'turned'])
def test_disorder_and_gaps_are_no_faults_and_hide_none(watch, samples, cause):
    wrong, found = WRONG[cause](samples) if cause else samples, set()
    for index, sample in enumerate(wrong):
        stamp = (1 + index) * PERIOD_NS + (index // 400) * 10**9
        watch.sample(stamp, sample)
        watch.sample(stamp, sample)
        watch.sample(stamp - PERIOD_NS, wrong[index - 1])
        found.add(cause_of(watch))
    assert found == {'', cause}


def test_what_is_missing_in_training_may_be_missing(slot_car_model, samples):
    live = np.array([True, True, False, False, False, True])
    channels = replace(slot_car_model.channels, live=live)
    series, still = slot_car_model.series[live], slot_car_model.still[live]
    planar = replace(slot_car_model, channels=channels, series=series, still=still)
    missing = samples.copy()
    missing[:, ~live] = np.nan
    assert set(causes_along(InputWatch(planar), missing)) == {''}
    assert 'sign_of_wz' in causes_along(InputWatch(planar), missing * [1, 1, 1, 1, 1, -1])
