# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which samples and positions of a recording can be used: finite, and not absurd."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.ticks.channels import LIMIT_FACTOR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.typing import Bools, Floats

ABSURD_SHARE = 0.001
"""Samples that may be absurd without moving the range: one in a thousand, and at least one."""

LARGEST_POSSIBLE = 1e9
"""No sensor and no place on earth has a larger number, in whatever unit; wrong bytes often do."""


def unmeasured_axes(samples: Floats) -> Bools:
    """
    Return which columns of (N, 6) samples hold no finite number: (6,).

    Some drivers fill the axes that they do not measure with NaN; those are dead channels.
    """
    return np.asarray(~np.isfinite(samples).any(axis=0))


def usable_samples(samples: Floats) -> tuple[Bools, Floats]:
    """
    Return where (N, 6) samples are finite, and the samples with unmeasured axes set to zero.

    A sample of which no axis is finite is not usable.
    """
    finite = np.isfinite(samples)
    unmeasured = unmeasured_axes(samples)
    usable = (finite | unmeasured).all(axis=1) & finite.any(axis=1)
    return np.asarray(usable), np.where(unmeasured, 0.0, samples)


def largest_believable(samples: Sequence[Floats]) -> Floats:
    """
    Return the largest magnitude of each channel over recordings, absurd samples left out: (6,).

    A bit flipped on a bus makes one sample of 10^4 m/s^2 or 10^308; it must neither enter the
    training nor widen the range in which the filter believes the sensor. More of them may be
    above ``LARGEST_POSSIBLE``.
    """
    magnitudes = np.abs(np.concatenate(samples))
    magnitudes = magnitudes[np.isfinite(magnitudes).all(axis=1)]
    if not len(magnitudes):
        return np.zeros(6)
    largest: Floats = np.where(magnitudes <= LARGEST_POSSIBLE, magnitudes, 0.0).max(axis=0)
    # What np.quantile calls the lower one, by a name that changed with NumPy 1.22.
    rank = int((len(magnitudes) - 1) * (1.0 - ABSURD_SHARE))
    usual: Floats = np.partition(magnitudes, rank, axis=0)[rank]
    believed: Floats = np.where(usual > 0.0, np.minimum(usual, largest), largest)
    return believed


def absurd_values(samples: Floats, usable: Bools) -> Bools:
    """Return which of (N, 6) samples that are usable training would not believe: (N, 6)."""
    limit = LIMIT_FACTOR * largest_believable([samples[usable]]) + np.finfo(float).tiny
    return np.asarray(usable[:, None] & (np.abs(samples) > limit))


def usable_places(positions: Floats) -> Bools:
    """Return which of (M, 2) positions, metres, are finite and somewhere on earth: (M,)."""
    return np.asarray((np.abs(positions) <= LARGEST_POSSIBLE).all(axis=1))


def believable(samples: Floats, largest: Floats) -> Bools:
    """Return where every channel of (N, 6) samples is within the range of ``Channels.limit``."""
    inside = np.abs(samples) <= LIMIT_FACTOR * largest + np.finfo(float).tiny
    return np.asarray(inside.all(axis=1))
