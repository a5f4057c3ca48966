# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Only what was not given is changed, by one step, and times stay when the rate changes."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TYPE_CHECKING

import pytest

from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.route_training import usual_tuning
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.tuning import given_names, ORDER, settle, Steps
from two_manifold_ros.training.validation import usual_candidate

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.route.learning import Tuning


def steps(usual: TrainingSettings, native_hz: float = 100.0) -> Steps:
    return Steps(usual, frozenset(), native_hz)


@pytest.mark.parametrize(
    ('name', 'change', 'values'),
    [
        ('sharpness', {}, [0.1, 0.4]),
        ('sharpness', {'sharpness': 0.8}, [0.4]),
        ('persistence', {}, [0.2, 1.0]),
        ('window', {}, [30, 120]),
        ('window', {'window': 19}, [38]),
        ('states', {}, [10, 40]),
        ('neighbours', {}, [15, 60]),
        ('neighbours', {'kernel': 'gaussian'}, []),
        ('neighbours', {'kernel': 'isomap'}, [15, 60]),
        ('kernel', {}, ['gaussian', 'locally-linear', 'diffusion-map-beltrami']),
        (
            'kernel',
            {'kernel': 'isomap'},
            ['laplacian-eigenmap', 'gaussian', 'locally-linear', 'diffusion-map-beltrami'],
        ),
        ('coupling', {}, ['gram-product', 'canonical', 'reduced-rank']),
        ('dimension', {}, [50, 200]),
        ('readout', {}, ['ridge']),
        ('observation', {}, ['ridge']),
        ('bandwidth_factor', {'bandwidth_factor': 1.4}, [1.0, 2.0]),
        ('ridge', {'ridge': 1.0}, []),
        ('ridge', {'ridge': 1.0, 'observation': 'ridge'}, [0.3, 3.0]),
    ],
)
def test_one_step_along_a_setting(
    name: str, change: dict[str, Any], values: list[Any], usual: TrainingSettings
) -> None:
    settings = replace(usual, **change)
    around = steps(usual).around(name, settings)
    assert [getattr(each, name) for each in around] == values
    assert [replace(each, **{name: getattr(settings, name)}) for each in around] == [
        settings
    ] * len(values)


@pytest.mark.parametrize(
    ('horizons', 'native_hz', 'rates'),
    [
        ((0, 10), 100.0, {10.0: (30, (0, 5)), 40.0: (120, (0, 20))}),
        ((0, 5), 100.0, {40.0: (120, (0, 10))}),  # 2.5 ticks are no horizon
        ((0, 10), 39.0, {10.0: (30, (0, 5)), 40.0: (120, (0, 20))}),
        ((0, 10), 38.0, {10.0: (30, (0, 5))}),
    ],
)
def test_a_rate_keeps_the_times_of_window_and_horizons(
    horizons: tuple[int, ...],
    native_hz: float,
    rates: dict[float, tuple[int, tuple[int, ...]]],
    usual: TrainingSettings,
) -> None:
    usual = replace(usual, horizons=horizons)
    around = steps(usual, native_hz).around('rate_hz', usual)
    assert {each.rate_hz: (each.window, each.horizons) for each in around} == rates


def test_a_rate_stays_near_the_usual_one(usual: TrainingSettings) -> None:
    slow = replace(usual, rate_hz=10.0, window=30, horizons=(0, 4))
    assert [each.rate_hz for each in steps(usual).around('rate_hz', slow)] == [20.0]


def _given_tuning(settings: TrainingSettings) -> Tuning:
    """Return what is given, and else a persistence that a training could have learned."""
    tuning = usual_tuning(settings)
    return replace(tuning, persistence=tuning.persistence or 0.1)


@pytest.mark.parametrize('method', ['route', 'spectral'])
def test_nothing_is_left_open_and_nothing_else_changes(
    method: str, slot_car_laps: tuple[Recording, Recording]
) -> None:
    settings = TrainingSettings(method=method, horizons=(0, 5))
    dataset = build_dataset(slot_car_laps[:1], settings)
    usual, other = {
        'route': (_given_tuning, {'sharpness': 0.3, 'persistence': 0.7}),
        'spectral': (usual_candidate, {'states': 7, 'neighbours': 8}),
    }[method]
    settled = settle(settings, dataset, usual(settings))
    assert (settled.rate_hz, settled.window) == (10.0, 30)
    assert usual(settled) == usual(settings)
    chosen = replace(usual(settings), **other)
    assert usual(settle(settings, dataset, chosen)) == chosen
    open_names = [each.name for each in fields(settled) if getattr(settled, each.name) is None]
    foreign = {
        'route': 'bandwidth_factor neighbours ridge states', 'spectral': 'persistence sharpness'
    }  # fmt: skip
    assert sorted(open_names) == foreign[method].split()
    assert set(ORDER[method]) <= {each.name for each in fields(settled)} - set(open_names)


def test_a_ridge_is_settled_before_it_is_used(
    slot_car_laps: tuple[Recording, Recording],
) -> None:
    settings = TrainingSettings(method='spectral', horizons=(0, 5))
    dataset = build_dataset(slot_car_laps[:1], settings)
    settled = settle(settings, dataset, usual_candidate(settings))
    ridged = replace(settled, observation='ridge')
    assert usual_candidate(ridged) == usual_candidate(replace(settings, observation='ridge'))


def test_what_was_given_stays(usual: TrainingSettings) -> None:
    assert given_names(TrainingSettings(sharpness=0.3)) == {'sharpness'}
    assert Steps(usual, frozenset({'sharpness'}), 100.0).names == ('persistence', 'rate_hz')
    spectral = TrainingSettings(method='spectral', states=9, ridge=0.5)
    given = given_names(spectral, ['kernel', 'dimension'])
    assert given == {'states', 'ridge', 'kernel', 'dimension'}
    assert Steps(spectral, given, 100.0).names == (
        'bandwidth_factor', 'window', 'neighbours', 'rate_hz', 'readout', 'observation',
        'coupling',
    )  # fmt: skip
    assert not given_names(TrainingSettings())
