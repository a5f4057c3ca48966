# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The rehearsal: each stretch followed on a map without it, against a filter run by hand."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

from circle_drives import Drives, make_drives, PERIOD_S, WINDOW
import naive
import numpy as np
import pytest

from two_manifold_ros.localisation.belief import RouteBelief
from two_manifold_ros.localisation.pace import FINENESS
from two_manifold_ros.training import rehearsal as module
from two_manifold_ros.training.familiar_anchors import familiar_anchors
from two_manifold_ros.training.rehearsal import Rehearser
from two_manifold_ros.training.route_assembly import route_parts, RouteCandidate
from two_manifold_ros.windows.familiarity import FamiliarAnchors, Familiarity, UNFAMILIAR
from two_manifold_ros.windows.training_ticks import find_training_ticks

MARGIN = WINDOW // 2
LENGTH = 28
"""A tenth of the 283 ticks, which is less than four windows."""


@pytest.fixture(scope='module')
def drives() -> Drives:
    return make_drives()


@pytest.fixture(scope='module')
def rehearser(drives: Drives) -> Rehearser:
    structure = drives.structure
    parts = route_parts(structure, 6, drives.positions, (0, 5), PERIOD_S)
    candidate = RouteCandidate(0.5, 2, averaged=True, states=6, neighbours=10)
    assembly = parts.assembly(candidate)
    assert assembly.route is not None
    anchors = familiar_anchors(structure.training.pasts)
    readout = partial(parts.readout_without, candidate)
    return Rehearser(structure, assembly.route, readout, parts.targets, anchors, PERIOD_S)


def steps_of(drives: Drives) -> list[int]:
    """Return the step of the map at each tick of the series, and the end of the map."""
    steps = [0]
    for positions in drives.positions:
        for tick in range(len(positions)):
            steps.append(steps[-1] + (1 if tick == len(positions) - 1 else FINENESS))
    return steps


def stretches_of(drives: Drives) -> list[tuple[int, int]]:
    """Cover every tick but the first window of each segment, in order."""
    stretches, segment_begin = [], 0
    for positions in drives.positions:
        end = segment_begin + len(positions)
        begin = segment_begin + WINDOW
        while begin < end:
            stretches.append((begin, min(begin + LENGTH, end)))
            begin += LENGTH
        segment_begin = end
    return stretches


class Spy(RouteBelief):
    """Remembers what was hidden and sees that no weight falls there."""

    seen: list[tuple[int, int]]

    def hide(self, begin: int, end: int) -> None:
        type(self).seen.append((begin, end))
        super().hide(begin, end)

    def update(self, observation: np.ndarray) -> float:
        evidence = super().update(observation)
        begin, end = type(self).seen[-1]
        assert (self.weights[begin:end] == 0.0).all()
        assert self.weights.sum() == pytest.approx(1.0)
        return evidence


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Return the list that fills with the parts hidden."""
    Spy.seen = []
    monkeypatch.setattr(module, 'RouteBelief', Spy)
    return Spy.seen


def test_what_is_hidden(drives: Drives, rehearser: Rehearser, seen: list[tuple[int, int]]) -> None:
    """The stretch with its window of warming up and half a window after it, in steps."""
    rehearser.run()
    steps = steps_of(drives)
    last = len(steps) - 1
    stretches = stretches_of(drives)
    assert seen == [
        (steps[begin - WINDOW], steps[min(end + MARGIN, last)]) for begin, end in stretches
    ]
    # The cases that are easily wrong are among them: beyond a seam, and the end of the map.
    seam = len(drives.positions[0])
    assert any(begin < seam < end + MARGIN for begin, end in stretches)
    assert seen[-1][1] == steps[-1] == len(rehearser.truths)


@pytest.mark.parametrize('beyond', range(-3, 4))
def test_steps_around_a_seam_and_the_end(
    beyond: int, drives: Drives, rehearser: Rehearser
) -> None:
    steps = steps_of(drives)
    for place in (0, len(drives.positions[0]), len(steps) - 1):
        tick = place + beyond
        if tick >= 0:
            found = rehearser._steps(np.array([tick])).tolist()
            assert found == [steps[min(tick, len(steps) - 1)]]


def by_hand(drives: Drives, rehearser: Rehearser) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return errors and covariances at familiar ticks, NaN at the others."""
    steps, series, pasts = steps_of(drives), drives.structure.series, rehearser.structure.training
    errors, covariances = [], []
    for begin, end in stretches_of(drives):
        belief = RouteBelief(rehearser.route)
        hidden = (steps[begin - WINDOW], steps[min(end + MARGIN, len(steps) - 1)])
        belief.hide(*hidden)
        readout = rehearser.readout(*hidden)
        familiarity = Familiarity(rehearser.familiarity, WINDOW)
        starts = pasts.pasts.starts
        # A window away from the stretch shares no tick with it, its warming up or its margin.
        away = (starts + WINDOW <= begin - WINDOW) | (starts >= end + MARGIN)
        for tick in range(begin - WINDOW, end):
            belief.update(series[:, tick])
            if tick < begin:
                continue
            mean, covariance = readout.read(belief.weights, belief.state, belief.pace)
            window = series[:, tick + 1 - WINDOW : tick + 1]
            squared = naive.window_distances(series, window)[starts[away]]
            familiar = familiarity.push(squared.min(), squared.mean(), 0) <= UNFAMILIAR
            truth = rehearser.truths[steps[tick]]
            errors.append(mean - truth if familiar else np.full_like(truth, np.nan))
            covariances.append(covariance)
    return errors, covariances


def test_errors_are_those_of_a_filter_run_by_hand(drives: Drives, rehearser: Rehearser) -> None:
    # Held to a route that is more alike than it is, a part of it is strange.
    anchors = replace(rehearser.familiarity, own=rehearser.familiarity.own - 0.15, other=-9.0)
    strict = replace(rehearser, familiarity=anchors)
    found = strict.run()
    errors, covariances = map(np.array, by_hand(drives, strict))
    familiar = np.isfinite(errors[:, 0, 0])
    assert 0.2 < np.mean(familiar) < 0.9
    np.testing.assert_allclose(found.errors, errors[familiar], atol=1e-9)
    np.testing.assert_allclose(found.covariances, covariances[familiar], atol=1e-9)
    assert found.period_s == PERIOD_S


def test_of_the_usual_drive_most_counts(rehearser: Rehearser) -> None:
    found = rehearser.run()
    ticks = sum(end - begin for begin, end in rehearser._stretches())
    assert len(found.errors) > 0.8 * ticks
    assert np.sqrt(np.nanmean(np.square(found.errors[:, 0]).sum(axis=1))) < 0.5
    # Unknown beyond the end of a segment, which tells nothing.
    assert np.isnan(found.errors[:, 1]).any()
    assert np.isfinite(found.errors[:, 0]).all()


def test_nothing_counts_where_everything_is_strange(rehearser: Rehearser) -> None:
    strange = replace(rehearser, familiarity=FamiliarAnchors(1e-9, -3.0, -2.0, 0))
    found = strange.run()
    assert found.errors.shape == (0, *rehearser.truths.shape[1:])
    factors, counts = found.factors()
    np.testing.assert_array_equal(factors, 1.0)
    np.testing.assert_array_equal(counts, 0.0)


def test_the_same_bits_twice(rehearser: Rehearser) -> None:
    first, second = rehearser.run(), rehearser.run()
    np.testing.assert_array_equal(first.errors, second.errors)
    np.testing.assert_array_equal(first.covariances, second.covariances)


def test_of_a_long_training_some_stretches_evenly_spread(
    rehearser: Rehearser,
    seen: list[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rehearser.run()
    every = seen.copy()
    seen.clear()
    monkeypatch.setattr(module, 'MOST_TICKS', 3 * LENGTH)
    found = rehearser.run()
    assert seen == every[::3]
    assert 0 < len(found.errors) <= len(seen) * LENGTH


@pytest.mark.parametrize('ticks', [1, 2 * WINDOW - 1, 2 * WINDOW, 2 * WINDOW + 1])
def test_two_windows_rehearse_nothing(ticks: int, rehearser: Rehearser) -> None:
    series = np.ascontiguousarray(rehearser.structure.series[:, :ticks])
    begins = np.array([0, ticks])
    training = find_training_ticks(series, begins, WINDOW)
    short: Any = SimpleNamespace(series=series, begins=begins, training=training)
    steps = 1 + (ticks - 1) * FINENESS
    route = rehearser.route
    # The map is that of the first ticks; no other pass is left.
    route = replace(
        route,
        features=np.ascontiguousarray(route.features[:, :steps]),
        signs=None,
        since_begin=route.since_begin[:steps],
        passes=np.full((steps, 5), -1),
        shifts=np.zeros((steps, 5), dtype=np.int64),
        states=route.states[:steps],
    )
    found = replace(rehearser, structure=short, route=route, truths=rehearser.truths[:steps]).run()
    assert found.errors.shape == (0, *rehearser.truths.shape[1:])
    assert found.covariances.shape == (*found.errors.shape, 2)
    assert not found.factors()[1].any()
