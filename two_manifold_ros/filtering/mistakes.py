# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The mistakes that are made with an IMU, each with what would undo it."""

from __future__ import annotations

from dataclasses import dataclass
import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from two_manifold_ros.ticks.segments import Channels
    from two_manifold_ros.typing import Floats


G = 9.80665
DEGREES = 180.0 / math.pi
SHORT_NAMES = ('ax', 'ay', 'az', 'wx', 'wy', 'wz')

NEAR_G = 0.25
"""How far the mean specific force may be from gravity, as a share of it, and still be it."""

FREE_OF_GRAVITY = 0.4
"""Share of gravity below which it surely was taken out of what was learned from."""

_IN_PLACE = (0, 1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Mistake:
    """
    Something that may have been done to the samples of an IMU, and what would undo it.

    Parameters
    ----------
    cause
        A short key.
    words
        What was done, and what helps.
    sources
        Of each channel, the one in which it is found now.
    factors, offsets : (6,)
        By which it is multiplied then, and what is added, to have it as it was.
    backwards
        Whether time has to run the other way too.

    """

    cause: str
    words: str
    sources: tuple[int, ...]
    factors: Floats
    offsets: Floats
    backwards: bool = False


def known_mistakes(channels: Channels) -> tuple[Mistake, ...]:
    """
    Return what may have been done to samples that a model with these channels is fed with.

    Those whose effect on the channels that the model uses is none, or that of one that is
    likelier, are left out. Only an IMU has known mistakes.
    """
    if not channels.of_imu:
        return ()
    live = np.flatnonzero(channels.live).tolist()
    nothing = _plain('', '', 1.0, 1.0)
    seen = {_effect(nothing, live)}
    kept = []
    for mistake in _all_mistakes(channels.mean[:3]):
        effect = _effect(mistake, live)
        if effect not in seen:
            seen.add(effect)
            kept.append(mistake)
    return tuple(kept)


def _effect(mistake: Mistake, live: Sequence[int]) -> tuple[object, ...]:
    rows = [(mistake.sources[c], mistake.factors[c], mistake.offsets[c]) for c in live]
    return (mistake.backwards, *rows)


def _all_mistakes(mean_force: Floats) -> Iterator[Mistake]:
    """Yield the likelier ones first."""
    yield from _units()
    yield from _gravity(mean_force)
    yield from _signs()
    yield from _turns()
    yield Mistake(
        'sensors_exchanged',
        'acceleration and angular rate look exchanged: compare the fields that the driver fills',
        (3, 4, 5, 0, 1, 2),
        np.ones(6),
        np.zeros(6),
    )
    yield from _wrong_way()


def _plain(cause: str, words: str, forces: Sequence[float] | float, rates: float) -> Mistake:
    factors = np.concatenate([np.ones(3) * forces, np.full(3, rates)])
    return Mistake(cause, words, _IN_PLACE, factors, np.zeros(6))


def _units() -> Iterator[Mistake]:
    cure = 'have the driver publish what the model learned'
    forces = (
        ('accelerations_in_g', 'the accelerations look like g, not m/s^2 as learned', G),
        (
            'accelerations_in_milli_g',
            'the accelerations look like milli-g, not m/s^2 as learned',
            G / 1000.0,
        ),
        ('accelerations_not_in_g', 'the accelerations look like m/s^2, not g as learned', 1 / G),
    )
    rates = (
        (
            'rates_in_degrees',
            'the angular rates look like deg/s, not rad/s as learned',
            1.0 / DEGREES,
        ),
        (
            'rates_not_in_degrees',
            'the angular rates look like rad/s, not deg/s as learned',
            DEGREES,
        ),
    )
    for cause, words, factor in forces:
        yield _plain(cause, f'{words}: {cure}', factor, 1.0)
    for cause, words, factor in rates:
        yield _plain(cause, f'{words}: {cure}', 1.0, factor)
    for (force, words, factor), (rate, more, other) in itertools.product(forces, rates):
        yield _plain(f'{force}_and_{rate}', f'{words}, and {more}: {cure}', factor, other)


def _gravity(mean: Floats) -> Iterator[Mistake]:
    """Yield gravity that is missing, or that is there and was not."""
    size = float(np.linalg.norm(mean))
    if abs(size - G) < NEAR_G * G:
        offsets = np.concatenate([mean * (G / size), np.zeros(3)])
        words = (
            'gravity looks taken out of the accelerations, learned was with it: use the raw '
            'topic of the IMU'
        )
        yield Mistake('gravity_removed', words, _IN_PLACE, np.ones(6), offsets)
    if size < FREE_OF_GRAVITY * G:
        words = (
            'gravity looks left in the accelerations, learned was without it: use the topic that '
            'was trained on'
        )
        for axis, up in itertools.product((2, 1, 0), (G, -G)):
            offsets = np.zeros(6)
            offsets[axis] = -up
            yield Mistake('gravity_added', words, _IN_PLACE, np.ones(6), offsets)


def _signs() -> Iterator[Mistake]:
    cure = 'the other sign than learned: compare the driver and the mounting of the IMU'
    for index, name in enumerate(SHORT_NAMES):
        mistake = _plain(f'sign_of_{name}', f'{name} looks as if it had {cure}', 1.0, 1.0)
        mistake.factors[index] = -1.0
        yield mistake
    words = 'look as if they had'
    yield _plain('sign_of_accelerations', f'all accelerations {words} {cure}', -1.0, 1.0)
    yield _plain('sign_of_rates', f'all angular rates {words} {cure}', 1.0, -1.0)


def _turns() -> Iterator[Mistake]:
    """Yield the IMU turned, half turns first, and then axes that make a left-handed frame."""
    found = []
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1.0, -1.0), repeat=3):
            matrix = np.zeros((3, 3))
            matrix[range(3), order] = signs
            found.append((bool(np.linalg.det(matrix) < 0.0), order, signs))
    for mirrored, order, signs in sorted(found, key=lambda each: each[0]):
        if mirrored:
            cause, words = 'axes_exchanged', 'axes of the IMU look exchanged or reversed'
        elif order == (0, 1, 2):
            cause = f'turned_about_{"xyz"[signs.index(1.0)]}'
            words = f'the IMU looks turned half round about {cause[-1]}'
        else:
            cause, words = 'turned', 'the IMU looks turned'
        yield Mistake(
            cause,
            f'{words} ({_mapping(order, signs)}): mount it as in training, or turn its axes back',
            (*order, *(3 + axis for axis in order)),
            np.array(2 * signs),
            np.zeros(6),
        )


def _mapping(order: Sequence[int], signs: Sequence[float]) -> str:
    rows = zip('xyz', order, signs, strict=True)
    return ', '.join(
        f'{name} is now {"-" if sign < 0.0 else ""}{"xyz"[axis]}'
        for name, axis, sign in rows
        if sign < 0.0 or name != 'xyz'[axis]
    )


def _wrong_way() -> Iterator[Mistake]:
    """
    Yield the route driven the other way round.

    What turned left turns right then, in reversed order. Forward acceleration may have either
    sign: what went up goes down, but where the driver slows down is for him to choose.
    """
    words = 'the route looks driven the other way round: drive it as in training'
    for forward in (1.0, -1.0):
        factors = np.array([forward, -1.0, 1.0, 1.0, 1.0, -1.0])
        yield Mistake('wrong_way', words, _IN_PLACE, factors, np.zeros(6), backwards=True)
