# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Score hypotheses: how near the newest window is to training with a misconfiguration undone.

Windows are smoothed to about ``PARTS`` parts, which takes out what shakes and leaves few numbers.
A misconfiguration changes each channel by a factor and an offset, or exchanges channels, so the
products of the learned channels with the seen ones are computed once and serve all hypotheses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.ticks.novelty import contrast, contrast_gap, SMALLEST_RATIO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.filtering.misconfigurations import Misconfiguration
    from two_manifold_ros.model.head import TrainedModel
    from two_manifold_ros.typing import Bools, Floats, Ints


PARTS = 20
"""Means to which a window is smoothed."""


@dataclass(frozen=True)
class Scores:
    """
    Scores of one window, read as it is and then with each misconfiguration undone.

    Parameters
    ----------
    distance : (H + 1,)
        Logarithm of the squared distance to the nearest window of training over the usual one.
    novelty : (H + 1,)
        Logarithm to base 2 of the familiarity: about 0 on the route and 1 on another one.
    driving : (H + 1,)
        Whether every channel varies as it does when driving.

    """

    distance: Floats
    novelty: Floats
    driving: Bools


def watched_ticks(model: TrainedModel) -> int:
    """Return the ticks of a window to score: 4 s, at least 20 ticks, at most the model's."""
    return min(model.window, max(20, round(4.0 * model.rate_hz)))


class HypothesisScorer:
    """
    Compare windows with those of training under each of some hypotheses.

    Parameters
    ----------
    model
        With its training windows.
    hypotheses
        Misconfigurations to undo.

    """

    def __init__(self, model: TrainedModel, hypotheses: Sequence[Misconfiguration]) -> None:
        channels = model.channels
        own = np.flatnonzero(channels.live)
        width = watched_ticks(model)
        self._each = max(1, round(width / PARTS))
        self._parts = width // self._each
        self._windows, starts = _smoothed(model, self._each, self._parts)  # (d, parts, n)
        # A channel that varies by less than this share of the usual is not that of a drive.
        self._least_spreads = 0.2 * self._windows.std(axis=1).mean(axis=1)
        self._usual, self._own, self._gap = _anchors(self._windows, starts, width)
        # How each learned channel is read from the seen ones, first with nothing undone.
        self._sources = np.stack([own, *(np.array(each.sources)[own] for each in hypotheses)])
        factors = np.stack([np.ones(len(own)), *(each.factors[own] for each in hypotheses)])
        offsets = np.stack([np.zeros(len(own)), *(each.offsets[own] for each in hypotheses)])
        scale = channels.scale[own]
        centre = channels.mean[own] / scale
        self._factors = factors / scale
        self._added = offsets / scale - centre
        self._weights = -2.0 * np.concatenate([self._factors, offsets / scale], axis=1)
        self._terms = _terms(hypotheses, self._sources, len(channels.live))
        sums = self._windows.sum(axis=1)
        self._base = np.square(self._windows).sum(axis=(0, 1)) + 2.0 * centre @ sums
        # Of each learned channel with each seen one, forwards and backwards, and with one.
        pairs = 2 * len(channels.live) * len(sums)
        self._products = np.concatenate([np.zeros((pairs, len(starts))), sums])
        self._flat = self._windows.reshape(-1, len(starts))

    def score_plain(self, window: Floats) -> Scores:
        """Score a (w, c) window of ticks only as it is, which costs less."""
        seen = self._smooth(window)
        own = self._sources[0]
        factors = self._weights[0, : len(own), None] * seen[own]
        distances = factors.reshape(-1) @ self._flat
        distances += self._base
        return self._score(seen, np.array([[distances.min(), distances.mean()]]))

    def score_all(self, window: Floats) -> Scores:
        """Score a (w, c) window of ticks, in the units of the samples, under all hypotheses."""
        seen = self._smooth(window)
        both = np.concatenate([seen, seen[:, ::-1]])
        count, _, windows = self._windows.shape
        products = self._products[: count * len(both)].reshape(count, len(both), windows)
        np.matmul(both, self._windows, out=products)
        found = np.empty((len(self._terms), 2))
        for row, terms, weights in zip(found, self._terms, self._weights, strict=True):
            distances = self._base + weights @ self._products[terms]
            row[:] = distances.min(), distances.mean()
        return self._score(seen, found)

    def _smooth(self, window: Floats) -> Floats:
        """Return the (c, parts) smoothed channels."""
        used = window[len(window) - self._each * self._parts :]
        means: Floats = used.reshape(self._parts, self._each, -1).mean(axis=1)
        return np.ascontiguousarray(means.T)

    def _score(self, seen: Floats, found: Floats) -> Scores:
        """Score (H, 2) smallest and mean squared distances, still without those of the window."""
        ways = len(found)
        read = seen[self._sources[:ways]] * self._factors[:ways, :, None]
        read += self._added[:ways, :, None]
        found = found + np.square(read).sum(axis=(1, 2))[:, None]
        nearest = np.maximum(found[:, 0], SMALLEST_RATIO * self._usual)
        ratio = np.maximum(nearest / np.maximum(found[:, 1], nearest), SMALLEST_RATIO)
        return Scores(
            distance=np.log(nearest / self._usual),
            novelty=(np.log(ratio) - self._own) / self._gap,
            driving=(read.std(axis=2) >= self._least_spreads).all(axis=1),
        )


def _smoothed(
    model: TrainedModel, each: int, parts: int, most: int = 2_000
) -> tuple[Floats, Ints]:
    """Return at most so many windows of means (d, parts, n), evenly chosen, and their starts."""
    summed = np.cumsum(np.pad(model.series, ((0, 0), (1, 0))), axis=1)
    means = (summed[:, each:] - summed[:, :-each]) / each
    starts = model.starts[:: -(-len(model.starts) // most)]
    places = np.arange(parts)[:, None] * each + starts
    return np.ascontiguousarray(means[:, places]), starts


def _anchors(
    windows: Floats, starts: Ints, width: int, sampled: int = 100
) -> tuple[float, float, float]:
    """
    Return what is usual for a window whose surroundings had not been driven.

    Its squared distance to the nearest, its contrast, and by how much that of a window with its
    halves swapped is above, see ``familiar_anchors``. Windows two widths apart count as different
    drives.
    """
    chosen = np.linspace(0, len(starts) - 1, min(len(starts), sampled)).astype(np.int64)
    away = np.abs(starts - starts[chosen, None])
    other = away >= np.minimum(2 * width, away.max(axis=1, keepdims=True))
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


def _terms(hypotheses: Sequence[Misconfiguration], sources: Ints, channels: int) -> Ints:
    """
    Return which products make up the distances (H + 1, 2 d).

    First that of each learned channel with its source, one row of products for every seen
    channel forwards and then backwards, and then that with one, which come after all of them.
    """
    count = sources.shape[1]
    back = np.array([False, *(each.backwards for each in hypotheses)])
    places = 2 * channels * np.arange(count) + sources + np.where(back, channels, 0)[:, None]
    ones = np.broadcast_to(2 * channels * count + np.arange(count), places.shape)
    return np.concatenate([places, ones], axis=1)
