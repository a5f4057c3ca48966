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

NAN = float('nan')
Content = tuple[dict[str, Any], dict[str, Any]]
Refusal = Callable[..., str]


RANGES: dict[str, list[tuple[str, Any, Any]]] = {
    'spectral': [
        ('novelty.squared', ..., 0.0), ('novelty.own', ..., 1.0), ('novelty.still', ..., -1),
        ('novelty.still', ..., 2**31), ('state_bound', ..., -2.0),
        ('operator.bandwidth', ..., 0.0), ('readout.factors', 1, 0.0), ('readout.added', 1, -1e9),
        ('rate_hz', ..., 0.0), ('period_ns', ..., 10**13), ('max_gap_ns', ..., -1),
        ('window', ..., 0), ('channels.scale', 1, 0.0), ('channels.scale', 1, 1e-200),
        ('starts', 3, -1), ('starts', 3, 10**6),
    ],
    'route': [
        ('route.likelihood.gains', 0, 0.0), ('route.likelihood.noise', 3, 0.0),
        ('route.likelihood.shifts', 1, -0.1), ('route.likelihood.exponents', 1, 2.1),
        ('route.likelihood.sharpness', ..., 1e-300), ('route.likelihood.persistence', ..., -1.0),
        ('route.likelihood.new_level', ..., 1e9), ('route.likelihood.rest.level', ..., -1e9),
        ('route.likelihood.slow.tail', ..., 0.0), ('route.readout.factors', 1, 0.0),
        ('route.geometry.targets_of', 3, 10**6), ('route.geometry.steps_of', 3, 10**6),
        ('route.geometry.shares_of', 3, -0.1), ('route.motion.rates', 0, 0.0),
        ('route.motion.tick_lengths', 0, 1e4), ('route.motion.fastest', 0, 0.5),
        ('route.motion.forward', 0, -1e4), ('route.motion.ratio_spread', ..., 0.0),
        ('route.motion.trust', ..., 1.5), ('route.switching.stops', (0, 3), -0.1),
        ('route.motion.usual_change', ..., -1.0), ('route.motion.forward_offset', ..., 1e4),
        ('route.switching.halts', ..., 1.5), ('route.switching.mistakable', ..., -1.0),
        ('route.motion.moves_a_row', ..., 0.0),
        ('most_still', ..., -1), ('least_evidence', ..., 1.5), ('still', 2, -1),
        ('still', 2, 2**40), ('circuit.deviations', 1, -1.0), ('circuit.spreads', 1, -1.0),
        ('circuit.repeated', ..., 1.5), ('circuit.sureness', ..., 0.0),
        ('circuit.length_m', ..., 0.0), ('circuit.reach_m', ..., -1.0),
    ],
    'lines': [
        ('lines.passes', (3, 0), 2.0), ('lines.forks', 0, -1), ('lines.kept_s', ..., 0.0),
        ('lines.apart_m', ..., 0.0),
    ],
    'network': [
        ('network.usual_mps', 3, -1.0), ('network.chances', 1, 0.0), ('network.speeds', 0, -1.0),
        ('network.shakes', (0, 1), 1e4), ('network.scales', (0, 1), 0.0),
        ('network.turning_spread', ..., 0.0), ('network.courses', 1, 1e4),
    ],
}  # fmt: skip
"""A number of each kind beside its range, by model: its field, its place there, and it."""


@pytest.mark.parametrize('kind', RANGES)
def test_a_number_beyond_its_range_is_refused_by_name(kind, refusal):
    for name, index, value in RANGES[kind]:
        assert f'{name} holds {value:g}, which is not within' in refusal(kind, name, value, index)


@pytest.mark.parametrize(
    ('name', 'value', 'words'),
    [
        ('rest', {'ticks': 1, 'limit': 0.1}, 'rest.ticks holds 1'),
        ('rest', {'ticks': 10**8, 'limit': 0.1}, 'rest.ticks would take'),
        ('rest', {'ticks': 3, 'limit': 0.0}, 'rest.limit holds 0'),
        ('warm_start.response.neighbours', 0, 'its warm start does not fit: neighbours is 0'),
        ('warm_start.response.bandwidth', -1.0, 'its warm start does not fit: bandwidth is -1'),
        ('tables.weights', lambda array: array[:3], 'states of 3 windows: more than those'),
        ('tables.states', lambda array: array + 1.0, 'do not keep the sum of the weights'),
        ('tables.states', lambda array: array * [1.0, *[3.0] * 39], 'grows without bound'),
        ('tables.weights', lambda array: array * [0.9, *[1.0] * 39], 'do not keep the sum'),
        *(
            ('readout.targets', lambda array, gone=gone: array * gone, 'are nowhere known')
            for gone in (NAN, [[NAN], [1.0], [1.0], [1.0]], [[1.0], [1.0], [NAN], [1.0]])
        ),
        # What no filter can take.
        ('rate_hz', 20.0, 'its rate and the length of its tick disagree'),
        ('max_gap_ns', 10**17, 'max_gap_ns would take'),
        ('window', 10**6, 'starts holds'),
        ('window', 10**9, 'window would take'),
        ('horizons', [], 'its horizons do not start with 0 and increase'),
        ('horizons', [0, 9, 5], 'its horizons do not start with 0 and increase'),
        ('horizons', [5, 9], 'its horizons do not start with 0 and increase'),
        ('horizons', [0, 5, 10**9], 'its last horizon is more than a day ahead'),
        ('horizons', [0, 5], 'readout.targets has the shape'),
        ('channels.names', ['x'] * 5, 'channel'),
        ('series', lambda array: 1e200 * array, 'series holds numbers beyond 1e+100'),
        ('starts', lambda array: array[:0], 'it has no windows'),
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
        ('route.likelihood.new_whitening', 0, 0.0, 'likelihood.new_whitening is singular'),
        ('route.likelihood.new_whitening', (0, 0), 1e-150, 'new_whitening is singular'),
        ('route.likelihood.rest_alone.root', 1, 0.0, 'likelihood.rest_alone.root is singular'),
        ('route.readout.states', (2, 0), 0.5, 'route do not start with the constant'),
        ('route.readout.targets', (2, 0, 1), NAN, 'targets holds numbers that are not finite'),
        ('route.readout.covariances', (2, 1), -np.eye(2), 'covariances are no covariances'),
        ('route.geometry.begins', 1, 0, 'begins does not count the ways of each place'),
        ('route.geometry.begins', -1, 7, 'begins does not count the ways of each place'),
        ('route.geometry.steps_of', slice(4), 0, 'shares_of lead more than everything on'),
        ('route.motion.moves', (0, 0), 0.9, 'moves are no chances that sum to one'),
        ('route.switching.beginnings', (0, 0), 0.9, 'beginnings are no chances that sum to one'),
        ('route.switching.exchanges', (0, 1), -0.1, 'exchanges and jumps are no chances'),
        ('route.switching.exchanges', (7, 1), 0.1, 'lead from elsewhere to a place'),
        ('lowest', 0, 1e6, 'means whose least is above the largest'),
        ('circuit.seconds', 0, 1e-3, 'do not increase from 0'),
        ('circuit.seconds', 5, 0.0, 'do not increase'),
        ('circuit.seconds', ..., 0.0, 'the time of a lap'),
        ('lines.names', ..., ['right', 'left'], 'not in order'),
        ('lines.names', ..., [], 'there are none'),
        ('lines.names', ..., ['left', 'none'], 'is no name of a route'),
        ('network.turns', ..., lambda a: a[::-1], 'do not ascend'),
        ('network.turns', ..., lambda a: 1e-310 * (a - a[0]), 'do not ascend'),
        ('network.turns', ..., lambda a: a**3, 'the turns of its network are no even steps'),
        ('network.speeds', ..., lambda a: a[[0, 2, 1]], 'do not ascend'),
    ],
)
def test_a_map_that_cannot_be_run(name, index, value, words, refusal):
    kind = name.partition('.')[0]
    assert words in refusal(kind if kind in RANGES else 'route', name, value, index)


ANY_LENGTH = {'track', 'starts', 'route.motion.moves'}
"""A track, the windows of a model, and the speed ratios that a map knows."""


@pytest.mark.parametrize('kind', RANGES)
def test_no_array_may_have_another_shape(kind, contents, refusal):
    arrays = contents[kind][1]
    for name, array in arrays.items():
        if kind in {'lines', 'network'} and not name.startswith(kind):
            continue
        changes = [lambda each: np.stack([each] * 2)]
        if array.size and array.ndim:
            changes += [lambda each: each[..., :0], lambda each: each[1:]]
        for change in changes[: 2 if name in ANY_LENGTH else 3]:
            assert 'the model is refused' in refusal(kind, name, change), name


def test_a_model_with_sensors_and_a_network_is_refused(sensed_model):
    places = sensed_model.route.places
    network = network_of(sensed_model.live, places, np.linspace(-3.0, 3.0, places))
    with pytest.raises(UnfitError, match='it has sensors and a network'):
        replace(sensed_model, network=network).validate()
