# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""By how much one signal comes later than another that explains it, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats, Ints

FURTHEST_S = 2.0
"""Lags that are looked at, to both sides: of a camera or receiver and its driver, not of clocks
that nobody set; and on a short track one curve soon looks like the next."""

_BLOCKS = 8
_POINTS_IN_WINDOW = 12
_LEAST_S = 10.0
_TELLING = 0.36
_VAGUE_S = 0.1
_ALMOST = 0.8
_CONSTANT = 1e-9


@dataclass(frozen=True)
class Witness:
    """
    What one sensor says of the lag.

    Parameters
    ----------
    name
        Of the sensor.
    lag_s, error_s
        Lag of the positions in seconds, and its standard error.
        Infinite where it could be anything.
    explained
        Share of the variance of the motion that the sensor explains at that lag, in [0, 1].

    """

    name: str
    lag_s: float
    error_s: float
    explained: float

    @property
    def tells(self) -> bool:
        """Whether what it says is worth anything."""
        return self.explained >= _TELLING and self.error_s <= _VAGUE_S


def hear(name: str, early: Floats, late: Floats, step_s: float, window: int) -> Witness:
    """
    Find the lag at which a linear combination of some signals explains another one best.

    The standard error is that of a jackknife: an eighth of the time is left out in turn.

    Parameters
    ----------
    name
        Of the sensor.
    early : (G, k) float64
        Signals of the sensor on an even grid; NaN where unknown.
    late : (G,) float64
        What they are to explain, on the same grid; NaN where unknown.
    step_s
        Step of the grid, seconds.
    window
        Points over which both are smoothed; those far closer together say the same.

    """
    stride = max(1, window // _POINTS_IN_WINDOW)
    early, late, step_s = early[::stride], late[::stride], step_s * stride
    least = round(_LEAST_S / step_s)
    if min(np.isfinite(late).sum(), np.isfinite(early).all(axis=1).sum()) < least:
        return Witness(name, 0.0, np.inf, 0.0)
    reach = math.ceil(FURTHEST_S / step_s) + 1
    shares = _explained(early, late, np.arange(-reach, reach + 1), least)
    peaks = shares.argmax(axis=0)
    best = float(shares[peaks[0], 0])
    lag_s = float(peaks[0] - reach) * step_s
    if _ambiguous(shares[:, 0]) or peaks.min() == 0 or peaks.max() == 2 * reach:
        return Witness(name, lag_s, np.inf, best)
    tops = [_vertex(curve, peak) for peak, curve in zip(peaks.tolist(), shares.T, strict=True)]
    lags = (peaks - reach + tops) * step_s
    error_s = float(np.sqrt((_BLOCKS - 1) * np.var(lags[1:])))
    return Witness(name, float(lags[0]), error_s if abs(lags[0]) <= FURTHEST_S else np.inf, best)


def _ambiguous(curve: Floats) -> bool:
    """Return whether lags far apart explain almost as much, as on the two halves of an oval."""
    high = np.flatnonzero(curve >= _ALMOST * curve.max())
    return bool(high[-1] - high[0] >= len(high))


def _explained(early: Floats, late: Floats, lags: Ints, least: int) -> Floats:
    """Return (lags, 1 + blocks) shares of explained variance: of all, and without each block."""
    early, late = _standardised(early), _standardised(late[:, None])
    # Once, as it takes longer than all else of a lag.
    known_early: Bools = np.asarray(np.isfinite(early).all(axis=1))
    known_late: Bools = np.isfinite(late[:, 0])
    sums = np.stack(
        [_block_moments(early, late, (known_early, known_late), lag) for lag in lags.tolist()]
    )
    total = sums.sum(axis=1, keepdims=True)
    return _share(np.concatenate([total, total - sums], axis=1), least)


def _standardised(signals: Floats) -> Floats:
    scale = np.nanstd(signals, axis=0)
    centred: Floats = signals - np.nanmean(signals, axis=0)
    return centred / np.where(scale > 0, scale, 1.0)


def _block_moments(early: Floats, late: Floats, known: tuple[Bools, Bools], lag: int) -> Floats:
    """Return sums of products (blocks, k + 2, k + 2) of one, the signals, and what comes later."""
    size = len(late)
    rows = np.zeros((-(-size // _BLOCKS) * _BLOCKS, early.shape[1] + 2))
    paired = slice(max(0, lag), size + min(0, lag))
    before = slice(max(0, -lag), size - max(0, lag))
    inside = rows[paired]
    inside[:, 0] = 1.0
    inside[:, 1:-1] = early[before]
    inside[:, -1:] = late[paired]
    inside[~(known[0][before] & known[1][paired])] = 0.0
    blocks = rows.reshape(_BLOCKS, -1, rows.shape[1])
    moments: Floats = blocks.transpose(0, 2, 1) @ blocks
    return moments


def _share(moments: Floats, least: int) -> Floats:
    """Return which share of the last variable's variance the others explain; 0 from too few."""
    counts = np.maximum(moments[..., :1, :1], 1.0)
    means = moments[..., 0, 1:] / counts[..., 0]
    covariance = moments[..., 1:, 1:] / counts - means[..., :, None] * means[..., None, :]
    inverse = np.linalg.pinv(covariance[..., :-1, :-1], rcond=1e-6, hermitian=True)
    shared, whole = covariance[..., :-1, -1], covariance[..., -1, -1]
    explained = np.einsum('...i,...ij,...j->...', shared, inverse, shared)
    enough = (counts[..., 0, 0] >= least) & (whole > _CONSTANT)
    share: Floats = np.where(enough, explained / np.maximum(whole, _CONSTANT), 0.0)
    return share


def _vertex(values: Floats, peak: int) -> float:
    """Return where the parabola through a peak and its neighbours has its top, in steps."""
    left, top, right = values[peak - 1 : peak + 2]
    bend = left - 2 * top + right
    return 0.0 if bend == 0 else float((left - right) / (2 * bend))
