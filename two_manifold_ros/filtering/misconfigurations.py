# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Known misconfigurations of an IMU, each with the correction that undoes it."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.recordings.recording import GRAVITY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from two_manifold_ros.ticks.segments import Channels
    from two_manifold_ros.typing import Floats


class Misconfiguration(NamedTuple):
    """
    Something that may have been done to the samples of an IMU, and the correction.

    Channels (6,) are multiplied by their ``factors``, then ``offsets`` are added; ``sources`` are
    the channels in which they are found now.
    """

    cause: str
    words: str
    factors: Floats
    offsets: Floats
    sources: tuple[int, ...] = tuple(range(6))


def known_misconfigurations(channels: Channels) -> tuple[Misconfiguration, ...]:
    """
    Return the possible misconfigurations of the input of a model with these channels.

    Those without an effect on the channels that the model uses, or with that of a likelier one,
    are left out. Only an IMU has known ones.
    """
    if not channels.of_imu:
        return ()
    live = np.flatnonzero(channels.live).tolist()

    def effect(each: Misconfiguration) -> tuple[object, ...]:
        return tuple((each.sources[c], each.factors[c], each.offsets[c]) for c in live)

    seen = {effect(_scaled('', '', 1.0, 1.0))}
    kept = []
    # The likelier ones first.
    for each in [*_units(), *_gravity(channels.mean[:3]), *_signs(), *_axes(), _EXCHANGED]:
        if effect(each) not in seen:
            seen.add(effect(each))
            kept.append(each)
    return tuple(kept)


_EXCHANGED = Misconfiguration(
    'sensors_exchanged',
    'acceleration and angular rate look exchanged: compare the fields that the driver fills',
    np.ones(6),
    np.zeros(6),
    (3, 4, 5, 0, 1, 2),
)


def _scaled(cause: str, words: str, force: float, rate: float) -> Misconfiguration:
    return Misconfiguration(cause, words, np.repeat([force, rate], 3), np.zeros(6))


def _units() -> Iterator[Misconfiguration]:
    cure = 'as in training: have the driver publish the units of the training'
    degrees = 180.0 / math.pi
    forces = {
        'accelerations_in_g': ('look like g, not m/s^2', GRAVITY),
        'accelerations_in_milli_g': ('look like milli-g, not m/s^2', GRAVITY / 1000.0),
        'accelerations_not_in_g': ('look like m/s^2, not g', 1 / GRAVITY),
    }
    rates = {
        'rates_in_degrees': ('look like deg/s, not rad/s', 1.0 / degrees),
        'rates_not_in_degrees': ('look like rad/s, not deg/s', degrees),
    }
    for force, (words, factor) in forces.items():
        yield _scaled(force, f'the accelerations {words} {cure}', factor, 1.0)
    for rate, (words, factor) in rates.items():
        yield _scaled(rate, f'the angular rates {words} {cure}', 1.0, factor)
    for force, rate in itertools.product(forces, rates):
        (first, factor), (second, other) = forces[force], rates[rate]
        words = f'the accelerations {first}, and the angular rates {second}, {cure}'
        yield _scaled(f'{force}_and_{rate}', words, factor, other)


def has_gravity(mean: Floats) -> bool | None:
    """
    Return whether gravity is in accelerations of a mean (3,), m/s^2; ``None`` if that is unclear.

    The mean specific force is gravity but for slopes, biases and the driving.
    """
    size = float(np.linalg.norm(mean))
    if abs(size - GRAVITY) < 0.25 * GRAVITY:
        return True
    return False if size < 0.4 * GRAVITY else None


def _gravity(mean: Floats) -> Iterator[Misconfiguration]:
    """Yield gravity that is missing, or that is there and was not in training."""
    had = has_gravity(mean)
    if had:
        offsets = np.concatenate([mean * (GRAVITY / np.linalg.norm(mean)), np.zeros(3)])
        words = (
            'gravity looks removed from the accelerations, but training had it: use the raw topic '
            'of the IMU'
        )
        yield Misconfiguration('gravity_removed', words, np.ones(6), offsets)
    words = (
        'gravity looks left in the accelerations, but training had none: use the topic that was '
        'trained on'
    )
    for axis, down in itertools.product((2, 1, 0) if had is False else (), (-GRAVITY, GRAVITY)):
        offsets = down * np.eye(6)[axis]
        yield Misconfiguration('gravity_added', words, np.ones(6), offsets)


def _signs() -> Iterator[Misconfiguration]:
    cure = 'the opposite sign to training: compare the driver and the mounting of the IMU'
    for index, name in enumerate(('ax', 'ay', 'az', 'wx', 'wy', 'wz')):
        single = _scaled(f'sign_of_{name}', f'{name} looks as if it had {cure}', 1.0, 1.0)
        single.factors[index] = -1.0
        yield single
    words = f'look as if they had {cure}'
    yield _scaled('sign_of_accelerations', f'all accelerations {words}', -1.0, 1.0)
    yield _scaled('sign_of_rates', f'all angular rates {words}', 1.0, -1.0)


def _axes() -> Iterator[Misconfiguration]:
    """Yield the IMU turned, half turns first, and then axes that make a left-handed frame."""
    signs = list(itertools.product((1.0, -1.0), repeat=3))
    found = list(itertools.product(itertools.permutations(range(3)), signs))
    for order, sign in sorted(found, key=lambda each: _is_mirrored(*each)):
        if _is_mirrored(order, sign):
            cause, words = 'axes_exchanged', 'axes of the IMU look exchanged or reversed'
        elif order == (0, 1, 2):
            cause = f'turned_about_{"xyz"[sign.index(1.0)]}'
            words = f'the IMU looks turned by half a turn about {cause[-1]}'
        else:
            cause, words = 'turned', 'the IMU looks turned'
        mapping = ', '.join(
            f'{name} is now {"-" if each < 0.0 else ""}{"xyz"[axis]}'
            for name, axis, each in zip('xyz', order, sign, strict=True)
            if each < 0.0 or name != 'xyz'[axis]
        )
        words = f'{words} ({mapping}): mount it as in training, or turn its axes back'
        sources = (*order, *(3 + axis for axis in order))
        yield Misconfiguration(cause, words, np.array(2 * sign), np.zeros(6), sources)


def _is_mirrored(order: Sequence[int], signs: Sequence[float]) -> bool:
    return bool(np.linalg.det(np.eye(3)[list(order)] * np.array(signs)[:, None]) < 0.0)
