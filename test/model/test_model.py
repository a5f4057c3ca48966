# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Models that would make a filter diverge are refused."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from small_network import network_of

from two_manifold_ros.hse_hmm.readout import RidgeReadout
from two_manifold_ros.hse_hmm.tables import make_ridge_kernel
from two_manifold_ros.model.container import UnfitError
from two_manifold_ros.model.model_file import model_from

NAN = float('nan')
Content = tuple[dict[str, Any], dict[str, Any]]
Refusal = Callable[..., str]


@pytest.mark.parametrize(
    ('name', 'value', 'words'),
    [
        ('novelty.squared', 0.0, 'novelty.squared holds 0'),
        ('novelty.own', 1.0, 'novelty.own holds 1'),
        ('novelty.still', -1, 'novelty.still holds -1'),
        ('novelty.still', 2**31, 'novelty.still holds'),
        ('state_bound', -2.0, 'state_bound holds -2'),
        ('operator.bandwidth', 0.0, 'operator.bandwidth holds 0'),
        ('rest', {'ticks': 1, 'limit': 0.1}, 'rest.ticks holds 1'),
        ('rest', {'ticks': 10**8, 'limit': 0.1}, 'rest.ticks would take'),
        ('rest', {'ticks': 3, 'limit': 0.0}, 'rest.limit holds 0'),
        ('warm_start.response.neighbours', 0, 'its warm start does not fit: neighbours is 0'),
        ('warm_start.response.bandwidth', -1.0, 'its warm start does not fit: bandwidth is -1'),
        ('tables.weights', lambda array: array[:3], 'states of 3 windows: more than those'),
        ('tables.states', lambda array: array[1:], 'tables.states has the shape'),
        ('tables.states', lambda array: array + 1.0, 'do not keep the sum of the weights'),
        ('tables.states', lambda array: array * [1.0, *[3.0] * 39], 'grows without bound'),
        ('tables.weights', lambda array: array * [0.9, *[1.0] * 39], 'do not keep the sum'),
        *(
            ('readout.targets', lambda array, gone=gone: array * gone, 'are nowhere known')
            for gone in (NAN, [[NAN], [1.0], [1.0], [1.0]], [[1.0], [1.0], [NAN], [1.0]])
        ),
        ('readout.factors', lambda array: 0.0 * array, 'readout.factors holds 0'),
        ('readout.added', lambda array: array - 1e9, 'readout.added holds -'),
        # What no filter can take.
        ('rate_hz', 0.0, 'rate_hz holds 0, which is not within'),
        ('rate_hz', 20.0, 'its rate and the length of its tick disagree'),
        ('period_ns', 10**13, 'period_ns holds 1e+13, which is not within'),
        ('max_gap_ns', -1, 'max_gap_ns holds -1, which is not within'),
        ('max_gap_ns', 10**17, 'max_gap_ns would take'),
        ('window', 0, 'window holds 0, which is not within'),
        ('window', 10**6, 'starts holds'),
        ('window', 10**9, 'window would take'),
        ('horizons', [], 'its horizons do not start with 0 and increase'),
        ('horizons', [0, 9, 5], 'its horizons do not start with 0 and increase'),
        ('horizons', [5, 9], 'its horizons do not start with 0 and increase'),
        ('horizons', [0, 5, 10**9], 'its last horizon is more than a day ahead'),
        ('horizons', [0, 5], 'readout.targets has the shape'),
        ('channels.names', ['x'] * 5, 'channel'),
        ('channels.scale', np.zeros_like, 'channels.scale holds 0'),
        ('channels.scale', lambda array: 1e-200 * array, 'channels.scale holds'),
        ('series', lambda array: 1e200 * array, 'series holds numbers beyond 1e+100'),
        ('starts', lambda array: array[:0], 'it has no windows'),
        ('starts', lambda array: array - 1, 'starts holds -1, which is not within'),
        ('starts', lambda array: array + 10**6, 'starts holds'),
    ],
)
def test_what_would_make_a_filter_diverge(name, value, words, refusal):
    assert words in refusal('spectral', name, value)


@pytest.mark.parametrize('wrong', [[[0.1, 0.2], [0.0, 0.1]], [[0.1, 0.2], [0.2, 0.1]]])
def test_a_linear_readout_with_covariances_that_are_none(wrong, spectral_model):
    covariances = np.tile(np.eye(2), (4, 1, 1))
    readout = RidgeReadout(np.ones((4, 2, spectral_model.states)), covariances)
    model = replace(spectral_model, readout=readout)
    model.validate()
    covariances[2] = wrong
    with pytest.raises(UnfitError, match='covariances are no covariances'):
        model.validate()


def test_a_ridge_kernel_of_other_windows(spectral_model):
    observations = spectral_model.series.T[: len(spectral_model.starts)]
    operator = make_ridge_kernel(observations, 1.0, 1e-3)
    replace(spectral_model, operator=operator).validate()
    shorter = replace(operator, features=operator.features[1:])
    with pytest.raises(UnfitError, match='features has the shape'):
        replace(spectral_model, operator=shorter).validate()


@pytest.mark.parametrize(
    ('name', 'index', 'value', 'words'),
    [
        ('likelihood.gains', 0, 0.0, 'gains holds 0'),
        ('likelihood.noise', 3, 0.0, 'noise holds 0'),
        ('likelihood.new_whitening', 0, 0.0, 'likelihood.new_whitening is singular'),
        ('likelihood.new_whitening', (0, 0), 1e-150, 'likelihood.new_whitening is singular'),
        ('likelihood.rest_alone.root', 1, 0.0, 'likelihood.rest_alone.root is singular'),
        ('readout.factors', 1, 0.0, 'factors holds 0'),
        ('readout.states', (2, 0), 0.5, 'the states of its route do not start with the constant'),
        ('readout.targets', (2, 0, 1), NAN, 'targets holds numbers that are not finite'),
        ('readout.covariances', (2, 1), -np.eye(2), 'covariances are no covariances'),
        ('geometry.begins', 1, 0, 'begins does not count the ways of each place'),
        ('geometry.begins', -1, 7, 'begins does not count the ways of each place'),
        ('geometry.targets_of', 3, 10**6, 'targets_of holds'),
        ('geometry.steps_of', 3, 10**6, 'steps_of holds'),
        ('geometry.steps_of', slice(4), 0, 'shares_of lead more than everything on'),
        ('geometry.shares_of', 3, -0.1, 'shares_of holds -0.1'),
        ('motion.rates', 0, 0.0, 'rates holds 0'),
        ('motion.tick_lengths', 0, 1e4, 'tick_lengths holds 10000'),
        ('motion.fastest', 0, 0.5, 'fastest holds 0.5'),
        ('motion.forward', 0, -1e4, 'forward holds -10000'),
        ('likelihood.shifts', 1, -0.1, 'shifts holds -0.1'),
        ('likelihood.exponents', 1, 2.1, 'exponents holds 2.1'),
        ('motion.moves', (0, 0), 0.9, 'moves are no chances that sum to one'),
        ('switching.beginnings', (0, 0), 0.9, 'beginnings are no chances that sum to one'),
        ('switching.stops', (0, 3), -0.1, 'stops holds -0.1'),
        ('switching.exchanges', (0, 1), -0.1, 'exchanges and jumps are no chances'),
        ('switching.exchanges', (7, 1), 0.1, 'lead from elsewhere to a place'),
        ('likelihood.sharpness', ..., 1e-300, 'sharpness holds 1e-300'),
        ('likelihood.persistence', ..., -1.0, 'persistence holds -1'),
        ('motion.ratio_spread', ..., 0.0, 'ratio_spread holds 0'),
        ('likelihood.new_level', ..., 1e9, 'new_level holds 1e+09'),
        ('likelihood.rest.level', ..., -1e9, 'rest.level holds -1e+09'),
        ('likelihood.slow.tail', ..., 0.0, 'slow.tail holds 0'),
        ('motion.trust', ..., 1.5, 'trust holds 1.5'),
        ('most_still', ..., -1, 'most_still holds -1'),
        ('least_evidence', ..., 1.5, 'least_evidence holds 1.5'),
        ('still', 2, -1, 'still holds -1'),
        ('still', 2, 2**40, 'still holds'),
        ('lowest', 0, 1e6, 'means whose least is above the largest'),
    ],
)
def test_a_map_that_cannot_be_run(name, index, value, words, refusal):
    name = f'route.{name}' if '.' in name else name
    assert words in refusal('route', name, value, index)


ANY_LENGTH = {'track', 'starts', 'route.motion.moves'}
"""A track, the windows of a model, and the speed ratios that a map knows."""


@pytest.mark.parametrize('kind', ['spectral', 'route'])
def test_no_array_may_have_another_shape(kind, contents, refusal):
    arrays = contents[kind][1]
    for name, array in arrays.items():
        changes = [lambda each: np.stack([each] * 2)]
        if array.size and array.ndim:
            changes += [lambda each: each[..., :0], lambda each: each[1:]]
        for change in changes[: 2 if name in ANY_LENGTH else 3]:
            assert 'the model is refused' in refusal(kind, name, change), name


def test_a_channel_that_is_left_out_may_have_any_limit(changed):
    model_from('m.npz', *changed('route', 'channels.limit', 1e300))


@pytest.mark.parametrize(
    ('name', 'change', 'words'),
    [
        ('usual_mps', lambda a: -a, 'network.usual_mps holds -'),
        ('turns', lambda a: a[:1], 'network.turns has the shape'),
        ('turns', lambda a: a[::-1], 'the turns or speeds of its network do not ascend'),
        (
            'turns',
            lambda a: 1e-310 * (a - a[0]),
            'the turns or speeds of its network do not ascend',
        ),
        ('turns', lambda a: a**3, 'the turns of its network are no even steps'),
        ('chances', np.zeros_like, 'network.chances holds 0'),
        ('speeds', lambda a: a[:0], 'network.speeds has the shape'),
        ('speeds', lambda a: a[[0, 2, 1]], 'the turns or speeds of its network do not ascend'),
        ('shakes', lambda a: 1e4 * a, 'network.shakes holds'),
        ('scales', np.zeros_like, 'network.scales holds 0'),
        ('turning_spread', lambda _: 0.0, 'network.turning_spread holds 0'),
    ],
)
def test_a_model_with_a_network_that_would_stop_a_filter_is_refused(
    name, change, words, slot_car_model
):
    places = slot_car_model.route.places
    network = network_of(slot_car_model.live, places, np.linspace(-3.0, 3.0, places))
    replace(slot_car_model, network=network).validate()
    wrong = replace(network, **{name: change(getattr(network, name))})
    with pytest.raises(UnfitError, match=words):
        replace(slot_car_model, network=wrong).validate()


def test_no_array_of_a_network_may_be_shorter(slot_car_model):
    places = slot_car_model.route.places
    network = network_of(slot_car_model.live, places, np.linspace(-3.0, 3.0, places))
    for name in ('courses', 'usual_mps', 'turning', 'chances', 'shakes', 'scales'):
        shorter = replace(network, **{name: getattr(network, name)[1:]})
        with pytest.raises(UnfitError, match=f'network.{name} has the shape'):
            replace(slot_car_model, network=shorter).validate()


def test_a_model_with_sensors_and_a_network_is_refused(sensed_model):
    places = sensed_model.route.places
    network = network_of(sensed_model.live, places, np.linspace(-3.0, 3.0, places))
    with pytest.raises(UnfitError, match='it has sensors and a network'):
        replace(sensed_model, network=network).validate()
