# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
How much the newest window would be like those of training if a mistake were undone.

Windows are smoothed to about ``PARTS`` parts, which takes out what shakes and leaves few numbers.
A mistake changes each channel by a factor and an offset, or exchanges channels, so the products
of the learned channels with the seen ones are computed once and serve all mistakes.
"""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled, HAVE_NUMBA
from two_manifold_ros.ticks.novelty import contrast, contrast_gap, SMALLEST_RATIO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.filtering.mistakes import Mistake
    from two_manifold_ros.model.head import TrainedModel
    from two_manifold_ros.typing import Bools, Floats, Ints


PARTS = 20

LONGEST_S, FEWEST_TICKS = 4.0, 20
"""Longer windows than that, if they have more ticks than these, would take too long to fill."""

MOST_WINDOWS = 2_000
"""Of longer trainings the windows are taken more sparsely, so that a look stays cheap."""

SAMPLED = 100
"""Windows of training from which is learned what is usual."""

APART = 2
"""Windows between the beginnings of two that count as different drives."""

DRIVING_SHARE = 0.2
"""Of what a channel usually varies within a window; below it the vehicle hardly drives."""


@dataclass(frozen=True)
class Likeness:
    """
    Of one window, read as it is and then with each of the mistakes undone.

    Parameters
    ----------
    far : (H + 1,)
        Logarithm of the squared distance to the nearest window of training over the usual one.
    strange : (H + 1,)
        Logarithm to base 2 of the familiarity: about 0 on the route and 1 on another one.
    driving : (H + 1,)
        Whether every channel varies as it does when driving.

    """

    far: Floats
    strange: Floats
    driving: Bools


@compiled
def _nearest_and_mean_loops(
    base: Floats, products: Floats, terms: Ints, factors: Floats, found: Floats
) -> None:
    distances = np.empty_like(base)
    for h in range(len(factors)):
        # One by one: numba takes a second longer to compile the assignment of an array.
        for n in range(base.size):
            distances[n] = base[n]
        for t in range(factors.shape[1]):
            factor = factors[h, t]
            if factor != 0.0:
                row = products[terms[h, t]]
                for n in range(base.size):
                    distances[n] += factor * row[n]
        smallest = np.inf
        total = 0.0
        for n in range(base.size):
            smallest = min(smallest, distances[n])
            total += distances[n]
        found[h, 0] = smallest
        found[h, 1] = total / base.size


def _nearest_and_mean_arrays(
    base: Floats, products: Floats, terms: Ints, factors: Floats, found: Floats
) -> None:
    for row, places, weights in zip(found, terms, factors, strict=True):
        distances = base + weights @ products[places]
        row[:] = distances.min(), distances.mean()


_nearest_and_mean = _nearest_and_mean_loops if HAVE_NUMBA else _nearest_and_mean_arrays


@compiled
def _read_loops(
    seen: Floats, sources: Ints, factors: Floats, added: Floats, sums: Floats, spreads: Floats
) -> None:
    parts = seen.shape[1]
    for h in range(len(sums)):
        sums[h] = 0.0
        for c in range(sources.shape[1]):
            row, factor, offset = seen[sources[h, c]], factors[h, c], added[h, c]
            total = 0.0
            for k in range(parts):
                value = row[k] * factor + offset
                total += value
                sums[h] += value * value
            variance = 0.0
            for k in range(parts):
                apart = row[k] * factor + offset - total / parts
                variance += apart * apart / parts
            spreads[h, c] = math.sqrt(variance)


def _read_arrays(
    seen: Floats, sources: Ints, factors: Floats, added: Floats, sums: Floats, spreads: Floats
) -> None:
    read = seen[sources] * factors[:, :, None]
    read += added[:, :, None]
    sums[:] = np.square(read).sum(axis=(1, 2))
    spreads[:] = read.std(axis=2)


_read = _read_loops if HAVE_NUMBA else _read_arrays
"""
Read a window with some mistakes undone.

Parameters
----------
seen : (c, parts)
    Its smoothed channels.
sources : (H, d) int64, factors, added : (H, d)
    From which channel each learned one is read, and how.
sums : (H,), spreads : (H, d)
    Filled with the sums of all squares, and the standard deviation of each channel.

"""


class LikenessToTraining:
    """
    Compare windows with those of training under each of some mistakes.

    Parameters
    ----------
    model
        With its training windows.
    mistakes
        What is undone.

    """

    def __init__(self, model: TrainedModel, mistakes: Sequence[Mistake]) -> None:
        channels = model.channels
        live = channels.live
        width = watched_ticks(model)
        self._each = max(1, round(width / PARTS))
        self._parts = width // self._each
        self._windows, starts = _smoothed(model, self._each, self._parts)  # (d, parts, n)
        self._usually = self._windows.std(axis=1).mean(axis=1)
        self._usual, self._own, self._gap = _anchors(self._windows, starts, width)
        self._sources, factors, offsets = _readings(mistakes, live)
        scale = channels.scale[live]
        centre = channels.mean[live] / scale
        self._factors = factors / scale
        self._added = offsets / scale - centre
        self._weights = -2.0 * np.concatenate([self._factors, offsets / scale], axis=1)
        self._terms = _terms(mistakes, self._sources, len(live))
        sums = self._windows.sum(axis=1)
        self._base = np.square(self._windows).sum(axis=(0, 1)) + 2.0 * centre @ sums
        # Of each learned channel with each seen one, forwards and backwards, and with one.
        self._products = np.concatenate([np.zeros((2 * len(live) * len(sums), len(starts))), sums])
        self._found = np.empty((len(self._terms), 2))
        self._flat = self._windows.reshape(-1, len(starts))
        self._sums, self._spreads = np.empty(len(self._terms)), np.empty(self._sources.shape)

    def plain(self, window: Floats) -> Likeness:
        """Compare a (w, c) window of ticks only as it is, which costs less."""
        seen = self._seen(window)
        own = self._sources[0]
        factors = self._weights[0, : len(own), None] * seen[own]
        distances = factors.reshape(-1) @ self._flat
        distances += self._base
        self._found[0] = distances.min(), distances.mean()
        return self._judge(seen, 1)

    def all(self, window: Floats) -> Likeness:
        """Compare a (w, c) window of ticks, in the units of the samples, in all ways."""
        seen = self._seen(window)
        both = np.concatenate([seen, seen[:, ::-1]])
        count, _, windows = self._windows.shape
        products = self._products[: count * len(both)].reshape(count, len(both), windows)
        np.matmul(both, self._windows, out=products)
        _nearest_and_mean(self._base, self._products, self._terms, self._weights, self._found)
        return self._judge(seen, len(self._found))

    def _seen(self, window: Floats) -> Floats:
        """Return the (c, parts) smoothed channels."""
        used = window[len(window) - self._each * self._parts :]
        means: Floats = used.reshape(self._parts, self._each, -1).mean(axis=1)
        return np.ascontiguousarray(means.T)

    def _judge(self, seen: Floats, ways: int) -> Likeness:
        sums, spreads = self._sums[:ways], self._spreads[:ways]
        chosen = self._sources[:ways], self._factors[:ways], self._added[:ways]
        _read(seen, *chosen, sums, spreads)
        found = self._found[:ways] + sums[:, None]
        nearest = np.maximum(found[:, 0], SMALLEST_RATIO * self._usual)
        ratio = np.maximum(nearest / np.maximum(found[:, 1], nearest), SMALLEST_RATIO)
        varied = spreads >= DRIVING_SHARE * self._usually
        return Likeness(
            far=np.log(nearest / self._usual),
            strange=(np.log(ratio) - self._own) / self._gap,
            driving=varied.all(axis=1),
        )


def watched_ticks(model: TrainedModel) -> int:
    """Return of how many ticks the windows are that are compared."""
    return min(model.window, max(FEWEST_TICKS, round(LONGEST_S * model.rate_hz)))


def _smoothed(model: TrainedModel, each: int, parts: int) -> tuple[Floats, Ints]:
    """Return windows of means of so many ticks (d, parts, n), and where they start (n,)."""
    summed = np.cumsum(np.pad(model.series, ((0, 0), (1, 0))), axis=1)
    means = (summed[:, each:] - summed[:, :-each]) / each
    starts = model.starts[:: -(-len(model.starts) // MOST_WINDOWS)]
    places = np.arange(parts)[:, None] * each + starts
    return np.ascontiguousarray(means[:, places]), starts


def _anchors(windows: Floats, starts: Ints, width: int) -> tuple[float, float, float]:
    """
    Return what is usual for a window whose surroundings had not been driven.

    Its squared distance to the nearest, its contrast, and by how much that of a window with its
    halves swapped is above, see ``familiar_anchors``.
    """
    chosen = np.linspace(0, len(starts) - 1, min(len(starts), SAMPLED)).astype(np.int64)
    away = np.abs(starts - starts[chosen, None])
    other = away >= np.minimum(APART * width, away.max(axis=1, keepdims=True))
    rows = windows[:, :, chosen]
    swapped = np.roll(rows, rows.shape[1] // 2, axis=1)
    near, own = _nearest_and_contrast(windows, rows, other)
    _, elsewhere = _nearest_and_contrast(windows, swapped, other)
    return max(near, float(np.finfo(float).tiny)), own, contrast_gap(own, elsewhere)


def _nearest_and_contrast(windows: Floats, rows: Floats, other: Bools) -> tuple[float, float]:
    """Return the medians over (d, parts, m) rows, each compared with other windows (m, n)."""
    flat = windows.reshape(-1, windows.shape[2])
    points = rows.reshape(-1, rows.shape[2])
    squared = np.square(flat).sum(axis=0) + np.square(points).sum(axis=0)[:, None]
    squared = np.maximum(squared - 2.0 * points.T @ flat, 0.0)
    nearest = np.where(other, squared, np.inf).min(axis=1)
    means = np.where(other, squared, 0.0).sum(axis=1) / other.sum(axis=1)
    contrasts = [contrast(*pair) for pair in zip(nearest, means, strict=True)]
    return float(np.median(nearest)), float(np.median(contrasts))


def _readings(mistakes: Sequence[Mistake], live: Bools) -> tuple[Ints, Floats, Floats]:
    """Return sources, factors and offsets (H + 1, d), the first row for nothing to undo."""
    own = np.flatnonzero(live)
    sources = [own, *(np.array(each.sources)[own] for each in mistakes)]
    factors = [np.ones(len(own)), *(each.factors[own] for each in mistakes)]
    offsets = [np.zeros(len(own)), *(each.offsets[own] for each in mistakes)]
    return np.stack(sources), np.stack(factors), np.stack(offsets)


def _terms(mistakes: Sequence[Mistake], sources: Ints, channels: int) -> Ints:
    """
    Return which products make up the distances (H + 1, 2 d).

    First that of each learned channel with its source, one row of products for every seen
    channel forwards and then backwards, and then that with one, which come after all of them.
    """
    count = sources.shape[1]
    back = np.array([False, *(each.backwards for each in mistakes)])
    places = 2 * channels * np.arange(count) + sources + np.where(back, channels, 0)[:, None]
    ones = np.broadcast_to(2 * channels * count + np.arange(count), places.shape)
    return np.ascontiguousarray(np.concatenate([places, ones], axis=1))
