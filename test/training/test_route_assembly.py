# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The parts of the route: the map of half ticks says at every tick what the drive said."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from circle_drives import Drives, make_drives, PERIOD_S, WINDOW
import numpy as np
import pytest

from two_manifold_ros.localisation.features import features_along, gains_for, MEMORIES_S
from two_manifold_ros.localisation.pace import FINENESS
from two_manifold_ros.localisation.passes import APART_S
from two_manifold_ros.readout.forecast import ForecastReadout
from two_manifold_ros.training.route_assembly import (
    HOP,
    route_parts,
    RouteCandidate,
    RouteParts,
)

if TYPE_CHECKING:
    from two_manifold_ros.training.assembly import Assembly

STATES = 6
HORIZONS = (0, 3, 12)
CANDIDATE = RouteCandidate(0.7, 2, averaged=True, states=STATES, neighbours=10)


@pytest.fixture(scope='module')
def drives() -> Drives:
    return make_drives()


@pytest.fixture(scope='module')
def parts(drives: Drives) -> RouteParts:
    return route_parts(drives.structure, STATES, drives.positions, HORIZONS, PERIOD_S)


def steps_of(drives: Drives) -> list[np.ndarray]:
    """Return the step of the map at each tick of each segment, counted one by one."""
    steps, count = [], 0
    for positions in drives.positions:
        own = []
        for _ in positions:
            own.append(count)
            count += FINENESS
        # The last tick of a segment has no half tick after it.
        count -= FINENESS - 1
        steps.append(np.array(own))
    return steps


def test_a_map_of_every_tick_and_what_is_between(drives: Drives, parts: RouteParts) -> None:
    last = steps_of(drives)[-1][-1]
    for part in (parts.features, parts.states, parts.targets, parts.averaged, parts.drift):
        assert len(part) == last + 1
    assert parts.passes.max() <= last
    route = parts.assembly(CANDIDATE).route
    assert route is not None
    assert route.features.shape[1] == last + 1
    begins = np.flatnonzero(route.since_begin == 0)
    assert begins.tolist() == [steps[0] for steps in steps_of(drives)]
    for steps in steps_of(drives):
        np.testing.assert_array_equal(route.since_begin[steps], FINENESS * np.arange(len(steps)))


def test_the_features_are_those_of_the_live_stream(drives: Drives, parts: RouteParts) -> None:
    gains = gains_for(MEMORIES_S, PERIOD_S)
    np.testing.assert_array_equal(parts.gains, gains)
    for steps, observations in zip(steps_of(drives), drives.observations, strict=True):
        live = features_along(observations, gains)
        place = live[:, : len(parts.whitening)] @ parts.whitening
        np.testing.assert_allclose(parts.features[steps], place, atol=1e-9)
        between = 0.5 * (place[1:] + place[:-1])
        np.testing.assert_allclose(parts.features[steps[:-1] + 1], between, atol=1e-9)


def test_passes_of_one_place_differ_by_one_sphere(parts: RouteParts) -> None:
    settled = np.flatnonzero(parts.ground.since_begin > 30)
    here, column = np.nonzero(parts.passes >= 0)
    there = parts.passes[here, column]
    both = np.isin(here, settled) & np.isin(there, settled)
    differences = (parts.features[here] - parts.features[there])[both]
    scatter = np.sum(differences**2) / (2.0 * len(differences) * differences.shape[1])
    # Somewhat less, as the covariance is shrunk.
    assert scatter == pytest.approx(1.0, abs=0.3)


def test_the_signs_of_pace_take_the_features_as_they_come(
    drives: Drives, parts: RouteParts
) -> None:
    assert parts.signs is not None
    for steps, observations in zip(steps_of(drives), drives.observations, strict=True):
        live = features_along(observations, parts.gains)
        slopes, offsets = parts.signs.slopes[:, steps], parts.signs.offsets[steps]
        # Against itself a tick has the pace 1.
        np.testing.assert_allclose((live.T * slopes).sum(axis=0) + offsets, 0.0, atol=1e-12)
        assert np.abs(offsets).max() > 0.0


def test_every_tick_has_its_state_or_the_prior(drives: Drives, parts: RouteParts) -> None:
    tables = drives.structure.tables(drives.structure.directions(STATES))
    steps = np.concatenate(steps_of(drives))
    ticks = drives.structure.training.ticks
    np.testing.assert_allclose(parts.states[steps[ticks]], tables.states, atol=1e-12)
    rest = np.delete(steps, ticks)
    prior = np.eye(STATES)[0]
    between = ticks[:-1][np.diff(ticks) == 1]
    owned = {*steps[ticks].tolist(), *(steps[between] + 1).tolist()}
    for step in rest:
        lent = [place for place in parts.passes[step] if place in owned]
        wanted = parts.states[lent[0]] if lent else prior
        np.testing.assert_array_equal(parts.states[step], wanted)
    assert (np.abs(parts.states[rest, 1:]).max(axis=1) > 0.0).any()
    # What has no state of its own has passes all the same, by its place.
    assert (parts.passes[rest, 0] >= 0).any()
    # The window before the first training tick, and the future of the last, of each segment.
    assert len(rest) == 2 * 2 * WINDOW
    means = 0.5 * (parts.states[steps[between]] + parts.states[steps[between + 1]])
    np.testing.assert_allclose(parts.states[steps[between] + 1], means, atol=1e-12)
    np.testing.assert_array_equal(parts.states[:, 0], 1.0)


def test_targets_are_so_many_ticks_ahead_not_steps(drives: Drives, parts: RouteParts) -> None:
    for steps, positions in zip(steps_of(drives), drives.positions, strict=True):
        for column, horizon in enumerate(HORIZONS):
            known = steps[: len(steps) - horizon]
            np.testing.assert_array_equal(parts.targets[known, column], positions[horizon:])
            assert np.isnan(parts.targets[steps[len(steps) - horizon :], column]).all()
        between = 0.5 * (positions[1:] + positions[:-1])
        np.testing.assert_allclose(parts.targets[steps[:-1] + 1, 0], between, atol=1e-12)
        velocity = (positions[2:] - positions[:-2]) / (2.0 * PERIOD_S)
        np.testing.assert_allclose(parts.targets[steps[1:-1], -1], velocity, atol=1e-9)


def test_what_a_pace_adds_is_by_the_clock(drives: Drives, parts: RouteParts) -> None:
    for steps in steps_of(drives):
        for column, horizon in enumerate(HORIZONS):
            lasts = horizon * PERIOD_S
            here, there = steps[: len(steps) - horizon], steps[horizon:]
            gained = np.nan_to_num(parts.targets[there, -1]) * lasts
            np.testing.assert_allclose(parts.drift[here, column], gained, atol=1e-12)


def test_passes_are_other_laps_of_the_same_place(drives: Drives, parts: RouteParts) -> None:
    here, column = np.nonzero(parts.passes >= 0)
    there = parts.passes[here, column]
    positions = parts.targets[:, 0]
    assert len(here) > 0.5 * len(positions)
    apart = np.linalg.norm(positions[here] - positions[there], axis=1)
    assert apart.max() <= parts.ground.near_m
    assert (np.abs(here - there) * PERIOD_S / FINENESS > APART_S).all()
    seam = steps_of(drives)[1][0]
    assert ((here < seam) != (there < seam)).any()


def test_averages_keep_what_is_known_and_the_present(parts: RouteParts) -> None:
    # The ends of the drives are told by other passes where they lead to.
    assert not (np.isnan(parts.averaged) & ~np.isnan(parts.targets)).any()
    assert np.isnan(parts.averaged).sum() < np.isnan(parts.targets).sum()
    np.testing.assert_array_equal(parts.averaged[:, [0, -1]], parts.targets[:, [0, -1]])
    moved = np.linalg.norm(parts.averaged - parts.targets, axis=2)[:, 1:-1]
    assert 0.01 < np.nanmax(moved) < 1.0


def readout_of(assembly: Assembly) -> ForecastReadout:
    assert isinstance(assembly.readout, ForecastReadout)
    return assembly.readout


def test_a_readout_without_a_stretch_knows_nothing_of_where_it_led(
    parts: RouteParts,
) -> None:
    # Lead the stretch elsewhere: nothing but its own targets may change.
    begin, end = 100, 140
    elsewhere = parts.targets.copy()
    elsewhere[begin:end, 1:-1] += 50.0
    changed = replace(parts, targets=elsewhere)
    first, second = (each.readout_without(CANDIDATE, begin, end) for each in (parts, changed))
    outside = np.delete(np.arange(len(elsewhere)), np.arange(begin, end))
    np.testing.assert_array_equal(first.targets[outside], second.targets[outside])
    with_it = changed.readout_without(CANDIDATE, 0, 0)
    assert not np.array_equal(with_it.targets[outside], parts.averaged[outside], equal_nan=True)
    same = parts.readout_without(CANDIDATE, 0, 0).targets
    np.testing.assert_array_equal(same, parts.averaged)


@pytest.mark.parametrize('averaged', [True, False])
def test_the_readout_of_a_candidate(averaged: bool, parts: RouteParts) -> None:
    readout = readout_of(parts.assembly(replace(CANDIDATE, averaged=averaged)))
    wanted = parts.averaged if averaged else parts.targets
    np.testing.assert_array_equal(readout.targets, wanted)
    np.testing.assert_array_equal(readout.drift, parts.drift)
    np.testing.assert_array_equal(readout.factors, 1.0)


@pytest.mark.parametrize('each_way', [0, 2])
def test_the_route_of_a_candidate(each_way: int, parts: RouteParts) -> None:
    route = parts.assembly(replace(CANDIDATE, paces_each_way=each_way)).route
    assert route is not None
    assert route.sharpness == CANDIDATE.sharpness
    assert route.hop == HOP
    assert len(route.paces.factors) == 1 + 2 * each_way
    assert np.abs(route.shifts).max() <= each_way
    assert route.signs is parts.signs
    assert route.features.flags.c_contiguous
    np.testing.assert_array_equal(route.features, parts.features.T)


def test_at_the_pace_of_the_training_alone_nothing_drifts(parts: RouteParts) -> None:
    readout = readout_of(parts.assembly(replace(CANDIDATE, paces_each_way=0)))
    np.testing.assert_array_equal(readout.drift, 0.0)
    assert np.abs(parts.drift).max() > 0.1


def test_positions_unknown_for_a_while(drives: Drives) -> None:
    """What is unknown stays so, and is no pass of anything."""
    positions = [each.copy() for each in drives.positions]
    positions[0][50:60] = np.nan
    parts = route_parts(drives.structure, STATES, positions, HORIZONS, PERIOD_S)
    steps = steps_of(drives)[0]
    unknown = np.arange(steps[49] + 1, steps[60])
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(parts.targets[:, 0, 0])), unknown)
    assert (parts.passes[unknown] == -1).all()
    assert not np.isin(parts.passes, unknown).any()
    assert np.isfinite(parts.features).all()
    assert np.isfinite(parts.states).all()
    assert np.isfinite(parts.drift).all()


def test_the_same_bits_twice(drives: Drives, parts: RouteParts) -> None:
    again = route_parts(drives.structure, STATES, drives.positions, HORIZONS, PERIOD_S)
    for name in ('features', 'whitening', 'passes', 'states', 'targets', 'averaged', 'drift'):
        np.testing.assert_array_equal(getattr(again, name), getattr(parts, name))
