# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The loop of a drive: laps and phases, laws, and drives without one."""

from functools import partial

from lap_drives import driven, phases_driven, recorded, signal, wrong_by
import numpy as np
import pytest
from worlds.drive import drive
from worlds.shuttle import Line, shuttle
from worlds.table import world_named

from two_manifold_ros.errors import InputError
from two_manifold_ros.laps.loop import find_loop, unevenness
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.typing import Floats


@pytest.mark.parametrize('seed', range(3))
def test_the_loop_is_found(seed: int) -> None:
    recording, phases = driven(seed=seed)
    loop = find_loop(recording)
    assert loop.laps == pytest.approx(phases[-1] - phases[0], abs=0.15)
    assert wrong_by(loop.phases, phases[: len(loop.phases)]) < 0.01
    assert (np.diff(loop.phases) >= -1e-9).all()
    assert 0.95 <= loop.confidence <= 1.0
    assert loop.confidence == pytest.approx(
        1.0 - (1.0 - loop.explained) ** (loop.laps - 1.0), abs=0.02
    )


def alike_halves() -> tuple[Recording, float]:
    phases = phases_driven(8.0, 20.0, 3)
    seen = signal(2.0 * phases, 3) + 0.7 * signal(phases, 4)
    seen += 0.3 * np.random.default_rng(0).standard_normal(seen.shape)
    return recorded(seen), float(phases[-1])


def many_laps(laps: float, seed: int) -> tuple[Recording, float]:
    """Return a drive in which windows that are most alike lie any number of laps apart."""
    recording, phases = driven(laps=laps, noise=1.0, seed=seed)
    return recording, float(phases[-1] - phases[0])


def kart() -> tuple[Recording, float]:
    """Return a drive of which only windows some laps apart look alike."""
    made = drive(world_named('kart_25hz'), day=1, laps=12, seed=1)
    return made.recording, float(made.laps[-1] - made.laps[0])


@pytest.mark.parametrize(
    ('made', 'within'),
    [
        (alike_halves, 0.3),
        (partial(many_laps, 60.0, 0), 0.5),
        pytest.param(partial(many_laps, 300.0, 2), 0.5, marks=pytest.mark.slow),
        (kart, 0.5),
        # There and back: the ways look alike to a vehicle that turns at its ends, and not quite.
        (lambda: (shuttle(16, Line(turns=True), day=1, seed=1).recording, 7.85), 0.3),
    ],
)
def test_neither_half_a_lap_nor_several_are_taken_for_one(made, within) -> None:
    recording, laps = made()
    assert find_loop(recording).laps == pytest.approx(laps, abs=within)


def changed(recording: Recording, how: str) -> Recording:
    samples = recording.imu.samples
    if how == 'scaled':
        return recorded(samples * np.array([1.0, 0.01, 30.0, 2.0, 5.0, 0.3]) + 7.0)
    if how == 'reversed':
        return recorded(samples[::-1].copy())
    if how == 'later':
        return recorded(samples[300:])
    return recorded(np.repeat(samples, 2, axis=0), 40.0)


@pytest.mark.parametrize('how', ['scaled', 'reversed', 'later', 'faster'])
def test_the_lap_is_the_same(how: str) -> None:
    recording, _ = driven(laps=8.0, seed=5)
    usual = find_loop(recording).lap_s
    assert find_loop(changed(recording, how)).lap_s == pytest.approx(usual, rel=0.02)


def without_a_loop(kind: str, seed: int) -> Floats:
    random = np.random.default_rng(seed)
    noise: Floats = random.standard_normal((3000, 6))
    if kind == 'one lap':
        return signal(np.linspace(0.0, 1.0, 3000), seed) + 0.3 * noise
    if kind == 'errands':
        knots = random.normal(size=(151, 6))
        return np.stack([np.interp(np.arange(3000), 20 * np.arange(151), k) for k in knots.T], 1)
    return noise if kind == 'noise' else 1e-3 * noise


@pytest.mark.parametrize('kind', ['one lap', 'errands', 'noise', 'standing'])
@pytest.mark.parametrize('seed', range(2))
def test_nothing_is_claimed_where_nothing_repeats(kind: str, seed: int) -> None:
    with pytest.raises(InputError, match='nothing repeats'):
        find_loop(recorded(without_a_loop(kind, seed)))


def test_a_steady_drive_is_even_and_a_wild_one_is_not() -> None:
    steady = np.arange(500)
    stops = np.concatenate([steady[:200], np.full(100, 199), steady[200:]])
    wild = np.cumsum(np.random.default_rng(0).permutation(np.repeat([0, 3], [30, 30]).repeat(8)))
    # Between two drives the way leaps, and nothing is seen.
    leaps = np.concatenate([np.arange(200), 260 + np.arange(300)])
    seen = abs(np.arange(500) - 200) > 5
    assert unevenness(steady, 50, seen) == unevenness(leaps, 50, seen) == 0.0
    # Where it stands it has no speed.
    assert unevenness(stops, 50, np.ones(len(stops), dtype=np.bool_)) < 0.3
    assert unevenness(wild, 50, np.ones(len(wild), dtype=np.bool_)) > 0.5
    assert unevenness(leaps, 50, np.zeros(500, dtype=np.bool_)) == np.inf
