# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions that nobody saw are estimated from the few that were seen."""

from __future__ import annotations

from dataclasses import replace
import re
from typing import TYPE_CHECKING

from circle_drives import Drives, make_drives, RADIUS_M, WINDOW
import numpy as np
import pytest

from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.hse_hmm.mkdr_readout import fit_position_map
from two_manifold_ros.training import holdout
from two_manifold_ros.training.assembly import Candidate
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.holdout import hold_out
from two_manifold_ros.training.settings import METHODS, TrainingSettings
from two_manifold_ros.training.structure import (
    complete_positions,
    Completion,
    FEWEST,
    surroundings,
)
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.training.structure import Structure

QUICK = TrainingSettings(
    window=20, horizons=(0, 5), method='spectral', states=20, neighbours=30, bandwidth_factor=1.4
)


@pytest.fixture(scope='module')
def drives() -> Drives:
    return make_drives()


def seen(drives: Drives, every: int) -> list[np.ndarray]:
    """Return the positions of one tick in so many, NaN at all others."""
    thinned = [np.full_like(positions, np.nan) for positions in drives.positions]
    for few, positions in zip(thinned, drives.positions, strict=True):
        few[::every] = positions[::every]
    return thinned


def test_every_training_tick_gets_a_position(drives: Drives) -> None:
    positions = seen(drives, 9)
    completion = complete_positions(drives.structure, positions)
    assert [len(each) for each in completion.positions] == [len(each) for each in positions]
    found, given = np.concatenate(completion.positions), np.concatenate(positions)
    known = np.isfinite(given).all(axis=1)
    np.testing.assert_array_equal(found[known], given[known])
    ticks = drives.structure.training.ticks
    outside = np.setdiff1d(np.flatnonzero(~known), ticks)
    assert np.isnan(found[outside]).all()
    errors = np.linalg.norm(found - np.concatenate(drives.positions), axis=1)[ticks]
    assert np.sqrt(np.mean(errors**2)) < 0.1 * RADIUS_M
    estimated = np.count_nonzero(~known[ticks])
    told = re.fullmatch(
        rf'{estimated} of {len(ticks)} training ticks have no position; it was estimated with an '
        r'error of about (.*) m',
        completion.note or '',
    )
    assert told is not None, completion.note
    assert 0.5 < float(told[1]) / np.sqrt(np.mean(errors**2)) < 2.0
    assert np.isnan(np.concatenate(positions)).any(), 'what was given has changed'


def test_the_manifold_with_the_least_error_is_taken(
    drives: Drives, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = next(iter(surroundings(drives.structure)))
    noise = np.random.default_rng(0).normal(size=good.shape)
    monkeypatch.setattr(
        'two_manifold_ros.training.structure.surroundings', lambda _: iter([noise, good, noise])
    )
    monkeypatch.setattr('two_manifold_ros.training.structure.PENALTIES', (1e-3,))
    positions = seen(drives, 5)
    found = np.concatenate(complete_positions(drives.structure, positions).positions)
    ticks = drives.structure.training.ticks
    wanted = np.concatenate(positions)[ticks]
    known = np.isfinite(wanted[:, 0])
    expected = fit_position_map(good[known], wanted[known], 1e-3).positions(good)
    # Products of matrices at other places in memory may round otherwise.
    np.testing.assert_allclose(found[ticks[~known]], expected[~known], atol=1e-9)


def test_what_was_seen_from_one_place_tells_nothing_of_others(drives: Drives) -> None:
    positions = [np.where(each[:, :1] > 1.0, each, np.nan) for each in drives.positions]
    completion = complete_positions(drives.structure, positions)
    ticks = drives.structure.training.ticks
    found = np.concatenate(completion.positions)[ticks]
    unknown = np.isnan(np.concatenate(positions)[ticks, 0])
    without = np.isnan(found[:, 0])
    assert without.sum() > 0.7 * unknown.sum()
    assert np.all(unknown[without])
    errors = np.linalg.norm(found - np.concatenate(drives.positions)[ticks], axis=1)
    assert np.nanmax(errors) < 0.4 * RADIUS_M
    assert completion.note is not None
    assert f' m, but {without.sum()} of them are unlike all that have one' in completion.note


def test_nothing_is_estimated_where_all_is_known(drives: Drives) -> None:
    completion = complete_positions(drives.structure, drives.positions)
    assert completion.note is None
    np.testing.assert_array_equal(
        np.concatenate(completion.positions), np.concatenate(drives.positions)
    )


@pytest.mark.parametrize('known', [0, FEWEST - 1])
def test_too_few_positions_are_left_alone(drives: Drives, known: int) -> None:
    positions = [np.full_like(each, np.nan) for each in drives.positions]
    shown = slice(WINDOW, WINDOW + known)
    positions[0][shown] = drives.positions[0][shown]
    completion = complete_positions(drives.structure, positions)
    np.testing.assert_array_equal(np.concatenate(completion.positions), np.concatenate(positions))
    assert completion.note is not None
    assert completion.note.startswith(f'only {known} training ticks have a position')


def test_coordinates_are_scaled_by_the_inverse_eigenvalue(drives: Drives) -> None:
    """The spread of an eigenmap's coordinate is the root of that inverse."""
    for coordinates in surroundings(drives.structure):
        spread = coordinates.std(axis=0)
        assert len(coordinates) == len(drives.structure.training.ticks)
        assert np.all(np.diff(spread) < 1e-9 * spread[0])
        assert spread[0] > 10.0 * spread[9]


@pytest.fixture(scope='module')
def rarely_seen(slot_car_laps: tuple[Recording, Recording]) -> Recording:
    """Return half of the laps with a position every two seconds."""
    recording = slot_car_laps[0].between(None, 70.0)
    assert recording.positions is not None
    rare = np.arange(len(recording.positions.stamps)) % 20 == 0
    return replace(recording, positions=recording.positions.select(rare))


@pytest.mark.parametrize('method', sorted({*METHODS} - {'tpsr'}))
def test_only_what_was_measured_counts_as_known(rarely_seen: Recording, method: str) -> None:
    for readout, least, most in (('sharpened', 0.95, 1.0), ('mkdr', 0.05, 0.2)):
        settings = TrainingSettings(window=20, method=method, readout=readout)
        dataset = build_dataset([rarely_seen], settings)
        positions = np.concatenate([each.positions[20:-20] for each in dataset.segments])
        assert least <= np.isfinite(positions).all(axis=1).mean() <= most
        ends = dataset.segments[0].positions[:20]
        assert np.isfinite(ends).all() == ('route' in method or readout == 'sharpened')


def test_candidates_are_compared_with_completed_positions(
    rarely_seen: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    def all_at_one_place(_: Structure, positions: list[np.ndarray]) -> Completion:
        return Completion([np.full_like(each, 7.0) for each in positions], None)

    monkeypatch.setattr(holdout, 'complete_positions', all_at_one_place)
    settings = replace(QUICK, readout='mkdr')
    dataset = build_dataset([rarely_seen], settings)
    fit, held = hold_out(dataset.segments, dataset.window)
    bench = holdout.HeldOutBench(fit, held, dataset, settings)
    squared = bench.squared_errors(Candidate(20, 1.4))
    for block, found in zip(held, squared, strict=True):
        expected = np.square(block.positions - 7.0).sum(axis=1)
        np.testing.assert_allclose(found[:, 0], expected, rtol=1e-9)


@pytest.mark.long
def test_a_car_that_is_rarely_seen_is_found_better(
    rarely_seen: Recording, slot_car_laps: tuple[Recording, Recording]
) -> None:
    errors = {}
    for readout in ('sharpened', 'mkdr'):
        model = train_model([rarely_seen], replace(QUICK, readout=readout))
        scores = evaluate(model, [slot_car_laps[1]]).scores
        errors[readout] = [each.model.rmse_m for each in scores]
        estimated = any('it was estimated' in note for note in model.summary['notes'])
        assert estimated == (readout == 'mkdr')
    assert np.all(np.array(errors['mkdr']) < 0.85 * np.array(errors['sharpened'])), errors
