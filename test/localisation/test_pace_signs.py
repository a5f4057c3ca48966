# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Signs of pace: learned from passes of one place at different speeds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from two_manifold_ros.localisation import pace_signs as module
from two_manifold_ros.localisation.pace_signs import (
    FEWEST_PAIRS,
    LARGEST_RATIO,
    learn_pace_signs,
    LEAST_SPREAD,
    PaceSigns,
    PENALTIES,
)

PLACES = 50
ANGLE = 2.0 * np.pi * np.arange(PLACES) / PLACES


@dataclass(frozen=True)
class Drive:
    """Laps of places, what was felt there, at which speed, and the same place in other laps."""

    features: np.ndarray
    passes: np.ndarray
    speeds: np.ndarray

    def learn(self) -> PaceSigns | None:
        return learn_pace_signs(self.features, self.passes, self.speeds)


def felt_at(speeds: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    """A field of the place times the speed, in unlike units, and a channel that tells nothing."""
    places = np.arange(len(speeds)) % PLACES
    field = np.stack([np.cos(ANGLE), 20.0 * np.sin(ANGLE)], axis=1)[places] * speeds[:, None]
    silent = rng.normal(size=(len(speeds), 1))
    return np.hstack([field + noise * rng.normal(size=field.shape) * [1.0, 20.0], silent])


def make_drive(noise: float = 0.05, vary: float = 0.2, seed: int = 0) -> Drive:
    rng = np.random.default_rng(seed)
    speeds = np.repeat(2.0 * np.exp(vary * rng.normal(size=8)), PLACES)
    ticks = np.arange(len(speeds))
    # The laps after this one come first; the last column has no pass at all.
    passes = (ticks[:, None] + PLACES * np.arange(1, 4)) % len(speeds)
    passes = np.hstack([passes, np.full((len(speeds), 1), -1)])
    return Drive(felt_at(speeds, noise, rng), passes, speeds)


def make_noise(seed: int = 0) -> Drive:
    drive = make_drive(seed=seed)
    rng = np.random.default_rng(seed + 100)
    return Drive(rng.normal(size=drive.features.shape), drive.passes, drive.speeds)


def logarithms(signs: PaceSigns, live: np.ndarray) -> np.ndarray:
    """Return the logarithm of the pace of each live tick relative to each training tick."""
    return live @ signs.slopes + signs.offsets


class NaiveSigns:
    """The same by one pair after the other, and least squares with the penalty as more rows."""

    def __init__(self, drive: Drive) -> None:
        self.scaled = drive.features / drive.features.std(axis=0)
        self.scale = drive.features.std(axis=0)
        self.pairs = []
        for here, others in enumerate(drive.passes):
            for there in others:
                ratio = np.log(drive.speeds[here] / drive.speeds[there])
                if there >= 0 and abs(ratio) < LARGEST_RATIO:
                    self.pairs.append((here, there, ratio))
        errors = [self.left_out(penalty) for penalty in PENALTIES]
        self.penalty = PENALTIES[int(np.argmin(errors))]
        self.spread = np.sqrt(min(errors))
        self.weights = self.fit(self.pairs, self.penalty)

    def row(self, live: np.ndarray, tick: int) -> np.ndarray:
        difference = live - self.scaled[tick]
        return np.concatenate([difference, *(each * self.scaled[tick] for each in difference)])

    def fit(self, pairs: list[tuple[int, int, float]], penalty: float) -> np.ndarray:
        rows = [self.row(self.scaled[here], there) for here, there, _ in pairs]
        extra = np.sqrt(penalty * len(pairs)) * np.eye(len(rows[0]))
        wanted = [ratio for *_, ratio in pairs] + [0.0] * len(extra)
        return np.linalg.lstsq(np.vstack([rows, extra]), wanted, rcond=None)[0]

    def left_out(self, penalty: float) -> float:
        quarter = len(self.scaled) // 4
        squares = []
        for part in range(4):
            seen = [p for p in self.pairs if part not in (p[0] // quarter, p[1] // quarter)]
            weights = self.fit(seen, penalty)
            for here, there, ratio in self.pairs:
                if here // quarter == part and there // quarter != part:
                    row = self.row(self.scaled[here], there)
                    squares.append((ratio - row @ weights) ** 2)
        return float(np.mean(squares))

    def logarithm(self, live: np.ndarray, tick: int) -> float:
        """The formula as it is written down, with vector and matrix."""
        count = len(live)
        vector, matrix = self.weights[:count], self.weights[count:].reshape(count, count)
        difference = live / self.scale - self.scaled[tick]
        return float(difference @ (vector + matrix @ self.scaled[tick]))


@pytest.mark.parametrize('noise', [0.05, 1.3, 5.0])
def test_against_pairs_one_by_one(noise: float) -> None:
    """The stored slopes and offsets are the formula multiplied out."""
    drive = make_drive(noise)
    signs, naive = drive.learn(), NaiveSigns(drive)
    assert signs is not None
    assert signs.spread == pytest.approx(naive.spread, rel=1e-9)
    live = felt_at(np.full(7, 2.2), noise, np.random.default_rng(5))
    expected = [
        [naive.logarithm(each, tick) for tick in range(len(drive.speeds))] for each in live
    ]
    np.testing.assert_allclose(logarithms(signs, live), expected, rtol=1e-7, atol=1e-9)


def test_more_noise_is_met_with_a_larger_penalty() -> None:
    penalties = [NaiveSigns(make_drive(noise)).penalty for noise in (0.05, 1.3, 5.0)]
    assert penalties == [PENALTIES[0], 1.0, PENALTIES[-1]]


def ratios_on_another_drive(signs: PaceSigns, drive: Drive) -> tuple[np.ndarray, np.ndarray]:
    """Return what is read at the same place of every training lap, and what is true."""
    other = make_drive(seed=9)
    here, there = np.meshgrid(np.arange(len(other.speeds)), np.arange(len(drive.speeds)))
    same = here % PLACES == there % PLACES
    found = logarithms(signs, other.features).T[same]
    return found, np.log(other.speeds[here[same]] / drive.speeds[there[same]])


def test_a_known_law_is_found_on_a_drive_that_was_not_seen() -> None:
    drive = make_drive()
    signs = drive.learn()
    assert signs is not None
    found, true = ratios_on_another_drive(signs, drive)
    assert np.corrcoef(found, true)[0, 1] > 0.9
    # Drawn to a pace of 1, so rather too small than too large.
    assert 0.7 < np.polyfit(true, found, 1)[0] < 1.0
    within = np.abs(found - true)[np.abs(true) < 0.3] < 2.0 * signs.spread
    assert np.mean(within) > 0.9


def test_at_the_same_tick_the_pace_is_1() -> None:
    drive = make_drive()
    signs = drive.learn()
    assert signs is not None
    np.testing.assert_allclose(np.diag(logarithms(signs, drive.features)), 0.0, atol=1e-12)


@pytest.mark.parametrize('seed', [0, 1, 3])
def test_where_nothing_tells_the_pace_it_is_drawn_to_1(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive = make_noise(seed)
    signs = drive.learn()
    monkeypatch.setattr(module, 'PENALTIES', PENALTIES[-1:])
    largest = drive.learn()
    assert signs is not None
    assert largest is not None
    np.testing.assert_array_equal(signs.slopes, largest.slopes)
    assert signs.spread == largest.spread
    here, column = np.nonzero(drive.passes >= 0)
    ratios = np.log(drive.speeds[here] / drive.speeds[drive.passes[here, column]])
    ratios = ratios[np.abs(ratios) < LARGEST_RATIO]
    assert signs.spread == pytest.approx(np.sqrt(np.mean(np.square(ratios))), rel=0.08)
    assert np.abs(logarithms(signs, drive.features)).max() < 0.1 * signs.spread


def test_less_than_the_least_spread_is_not_believed() -> None:
    drive = make_drive(noise=0.0, vary=0.01)
    signs = drive.learn()
    assert signs is not None
    assert NaiveSigns(drive).spread < 0.9 * LEAST_SPREAD
    assert signs.spread == LEAST_SPREAD


@pytest.mark.parametrize(('pairs', 'learned'), [(FEWEST_PAIRS - 1, False), (FEWEST_PAIRS, True)])
def test_too_few_pairs_teach_nothing(pairs: int, learned: bool) -> None:
    drive = make_drive()
    every = np.argwhere(drive.passes >= 0)
    spare = every[np.random.default_rng(0).permutation(len(every))[pairs:]]
    drive.passes[tuple(spare.T)] = -1
    assert (drive.learn() is not None) == learned


@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('speed', [np.nan, 0.0, 1e-3], ids=['unknown', 'standing', 'creeping'])
def test_pairs_without_a_ratio_teach_nothing(speed: float) -> None:
    spoilt, without = make_drive(), make_drive()
    slow = np.arange(PLACES, 2 * PLACES)
    spoilt.speeds[slow] = speed
    without.passes[slow] = -1
    without.passes[np.isin(without.passes, slow)] = -1
    found, wanted = spoilt.learn(), without.learn()
    assert found is not None
    assert wanted is not None
    np.testing.assert_array_equal(found.slopes, wanted.slopes)
    assert found.spread == wanted.spread


@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('speed', [np.nan, 0.0], ids=['unknown', 'standing'])
def test_nothing_but_pairs_without_a_ratio(speed: float) -> None:
    drive = make_drive()
    drive.speeds[:] = speed
    assert drive.learn() is None


def test_passes_within_one_quarter_of_the_drives_cannot_be_checked() -> None:
    drive = make_drive()
    quarter = len(drive.speeds) // 4
    ticks = np.arange(len(drive.speeds))
    drive.passes[:] = -1
    drive.passes[:, 0] = ticks // quarter * quarter + (ticks + PLACES) % quarter
    assert drive.learn() is None


def test_a_dead_feature_is_passed_over() -> None:
    drive = make_drive()
    dead = Drive(np.insert(drive.features, 1, 3.0, axis=1), drive.passes, drive.speeds)
    signs, with_dead = drive.learn(), dead.learn()
    assert signs is not None
    assert with_dead is not None
    assert np.isfinite(with_dead.slopes).all()
    found = logarithms(with_dead, dead.features)
    # A constant times a difference is the difference again, so the penalty falls otherwise.
    np.testing.assert_allclose(found, logarithms(signs, drive.features), atol=0.05)


def test_the_same_bits_twice_and_nothing_is_changed() -> None:
    drive, untouched = make_drive(), make_drive()
    first, second = drive.learn(), drive.learn()
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(first.slopes, second.slopes)
    np.testing.assert_array_equal(first.offsets, second.offsets)
    assert first.spread == second.spread
    np.testing.assert_array_equal(drive.features, untouched.features)
    np.testing.assert_array_equal(drive.passes, untouched.passes)
    np.testing.assert_array_equal(drive.speeds, untouched.speeds)
