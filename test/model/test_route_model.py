# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A route in its file: the same after reading, and refused where it cannot be run."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from altered_models import altering, refusal
import numpy as np
import pytest

from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.model.model_file import header_of, load_model, save_model

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from altered_models import Change

    from two_manifold_ros.model.route_model import RouteModel
    from two_manifold_ros.recordings.recording import Recording


@pytest.fixture(scope='module')
def route_path(slot_car_model: RouteModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp('models') / 'route.npz'
    save_model(slot_car_model, path)
    return path


@pytest.fixture
def altered(route_path: Path, tmp_path: Path) -> Callable[[Change], Path]:
    return altering(route_path, tmp_path / 'altered.npz')


def test_a_model_filters_the_same_after_reading(
    slot_car_model: RouteModel, route_path: Path, slot_car_laps: tuple[Recording, Recording]
) -> None:
    read = load_model(route_path)
    runs = [evaluate(model, [slot_car_laps[1]]).runs[0] for model in (slot_car_model, read)]
    np.testing.assert_array_equal(runs[0].positions, runs[1].positions)
    np.testing.assert_array_equal(runs[0].covariances, runs[1].covariances)


@pytest.mark.parametrize(
    ('name', 'where', 'value', 'words'),
    [
        ('route.gains', 0, 0.0, 'route.gains are no shares'),
        ('route.gains', 0, 1.5, 'route.gains are no shares'),
        ('route.noise', 3, 0.0, 'route.noise are not positive'),
        ('route.noise', 3, -1.0, 'route.noise are not positive'),
        ('route.factors', 1, 0.0, 'route.factors are not positive'),
        ('route.states', (2, 0), 0.5, 'the states of its route do not begin with the constant'),
        ('route.targets', (2, 0, 1), float('nan'), 'route.targets are not known at every place'),
        ('route.targets', (2, 0, 1), float('inf'), 'targets holds numbers that are not finite'),
        ('route.covariances', (2, 1), -np.eye(2), 'route.covariances are no covariances'),
        ('route.covariances', (2, 1, 0, 1), 9.0, 'route.covariances are no covariances'),
        ('route.begins', 0, 1, 'route.begins does not count the ways of each place'),
        ('route.begins', -1, 3, 'route.begins does not count the ways of each place'),
        ('route.begins', 5, 0, 'route.begins does not count the ways of each place'),
        ('route.begins', 5, 2**40, 'route.begins does not count the ways of each place'),
        ('route.targets_of', 3, 10**6, 'route.targets_of names what is not there'),
        ('route.targets_of', 3, -1, 'route.targets_of names what is not there'),
        ('route.steps_of', 3, 10**6, 'route.steps_of names what is not there'),
        ('route.steps_of', 3, -1, 'route.steps_of names what is not there'),
        ('route.shares_of', 3, -0.1, 'route.shares_of are no shares'),
        ('route.shares_of', 3, 1.1, 'route.shares_of are no shares'),
        ('route.steps_of', slice(4), 0, 'route.shares_of lead more than everything on'),
        ('route.rates', 0, 0.0, 'route.rates are not positive and possible'),
        ('route.tick_lengths', 0, 1e4, 'route.tick_lengths are not positive and possible'),
        ('route.forward', 0, -1e4, 'route.pulls and route.forward are no accelerations'),
        ('route.shifts', 1, -0.1, 'route.shifts are no standard deviations'),
        ('route.moves', (0, 0), 0.9, 'route.moves are no chances that sum to one'),
        ('route.beginnings', (0, 0), 0.9, 'route.beginnings are no chances that sum to one'),
        (
            'route.stops',
            (0, 3),
            -0.1,
            'route.stops are no chances beside those of',
        ),
        ('route.stops', (1, 3), 0.8, 'route.stops are no chances beside those of'),
        ('route.exchanges', (0, 1), -0.1, 'route.exchanges and route.jumps are no chances'),
        ('route.exchanges', (6, 1), 0.1, 'lead from elsewhere to the same place'),
        ('route.steps_of', 3, -(2**63), 'route.steps_of names what is not there'),
        ('starts', 3, -1, 'its windows lie outside its series'),
        ('starts', 3, 10**6, 'its windows lie outside its series'),
        ('still', 2, -1, 'still is -1, not a number of ticks'),
        ('lowest', 0, 1e6, 'means whose least is above the largest'),
    ],
    ids=str,
)
def test_what_cannot_be_run_is_refused(
    name: str,
    where: int | slice | tuple[int | slice, ...],
    value: object,
    words: str,
    altered: Callable[[Change], Path],
) -> None:
    def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[name][where] = value

    assert words in refusal(altered(change))


@pytest.mark.parametrize('name', ['moves', 'states', 'rates', 'gains', 'targets_of'])
def test_a_map_without_entries(name: str, altered: Callable[[Change], Path]) -> None:
    def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[f'route.{name}'] = arrays[f'route.{name}'][..., :0]

    assert 'route' in refusal(altered(change))


@pytest.mark.parametrize(
    ('changes', 'words'),
    [
        ({'sharpness': 1e-300}, 'route.sharpness is 1e-300, too large or too small'),
        ({'sharpness': 0.0}, 'route.sharpness is 0.0, not a positive number'),
        ({'persistence': -1.0}, 'route.persistence is -1.0, not a positive number'),
        ({'new_level': 1e9}, 'route.new_level is 1000000000.0, not the logarithm of a density'),
        ({'trust': 1.5}, 'route.trust is 1.5, not a share'),
        ({'usual_change': -1.0}, 'route.usual_change is -1.0, no change of a pace'),
        ({'mistakable': -1.0}, 'route.mistakable is -1.0, no difference of logarithms'),
        ({'pace_spread': 0.0}, 'route.pace_spread is 0.0, not a positive number'),
        ({'sharpness': 'no'}, 'sharpness is no number'),
    ],
    ids=str,
)
def test_numbers_of_a_route_that_make_no_sense(
    changes: dict[str, Any], words: str, altered: Callable[[Change], Path]
) -> None:
    def change(header: dict[str, Any], _: dict[str, Any]) -> None:
        header['route']['route'] |= changes

    assert words in refusal(altered(change))


def test_its_header_tells_people_what_it_is(route_path: Path, slot_car_model: RouteModel) -> None:
    header = header_of(route_path)
    assert header['format'] == 'two_manifold_ros route model'
    assert (header['version'], header['kernel']) == (10, 'laplacian-eigenmap')
    assert header['summary'] == slot_car_model.summary


@pytest.mark.parametrize(
    'name',
    [
        'series', 'starts', 'lowest', 'highest', 'still', 'route.means', 'route.whitening',
        'route.begins', 'route.targets_of', 'route.targets', 'route.covariances', 'route.states',
        'rest.offset', 'other_means.root',
    ],
)  # fmt: skip
class TestArraysOfARoute:
    """Each array is needed, in its shape, of its type, and finite."""

    def test_missing(self, name: str, altered: Callable[[Change], Path]) -> None:
        assert 'refused' in refusal(altered(lambda _, arrays: arrays.pop(name)))

    def test_of_another_shape(self, name: str, altered: Callable[[Change], Path]) -> None:
        def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
            arrays[name] = np.stack([arrays[name]] * 2)

        assert 'refused' in refusal(altered(change))

    def test_of_another_type(self, name: str, altered: Callable[[Change], Path]) -> None:
        def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
            arrays[name] = arrays[name].astype(np.float32)

        assert 'holds float32 instead of' in refusal(altered(change))

    def test_not_finite(self, name: str, altered: Callable[[Change], Path]) -> None:
        def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
            arrays[name] = arrays[name].astype(float)
            arrays[name].flat[-1] = np.inf

        assert 'refused' in refusal(altered(change))
