# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The first seconds of driving: from them scales, bandwidths and feature maps are taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.adapting.frozen_channels import longest_stillness
from two_manifold_ros.adapting.senses import Senses
from two_manifold_ros.features.fourier import fourier_features
from two_manifold_ros.features.with_constant import WithConstant
from two_manifold_ros.ticks.channels import Channels, LIMIT_FACTOR, NO_LIMIT

if TYPE_CHECKING:
    from two_manifold_ros.adapting.settings import AdaptingSettings
    from two_manifold_ros.typing import Bools, Floats

DRIVING = 3.0
"""
Variance within a window over half the mean square of its steps, in one channel at least, from
which on it was driven: for a sensor that only trembles it is one, whatever its units.
"""

PAIRS = 4000
AT_ONCE = 1_000_000
"""Numbers of a part of the pairs: windows of images are tens of thousands of numbers each."""


class WarmUp:
    """
    Collect ticks until there are enough of them in which the vehicle drove.

    Parameters
    ----------
    settings
        How much is enough, and which features are drawn.
    names
        Of the channels.
    channels
        Of a model that was given; else they are measured.

    """

    def __init__(
        self,
        settings: AdaptingSettings,
        names: tuple[str, ...],
        channels: Channels | None = None,
    ) -> None:
        self._settings = settings
        self._names = names
        self._channels = channels
        self._stretch: list[Floats] = []
        self._driven: list[Floats] = []

    @property
    def progress(self) -> float:
        """What part of it is done, 0 to 1."""
        needed = self._settings.ticks(self._settings.warm_up_s)
        return min(1.0, len(self._driven) * self._settings.window / needed)

    def seam(self) -> None:
        """Do not go on with the stretch that was begun: there is a gap."""
        self._stretch.clear()

    def push(self, values: Floats) -> bool:
        """Take the (c,) means of one tick; return whether there is enough."""
        self._stretch.append(values.copy())
        if len(self._stretch) == self._settings.window:
            stretch = np.array(self._stretch)
            self._stretch.clear()
            if was_driven(stretch, self._live(stretch)):
                self._driven.append(stretch)
        return self.progress >= 1.0

    def senses(self) -> Senses:
        """Return what was found."""
        settings, stretches = self._settings, np.array(self._driven)
        channels = self._channels or _measure(np.concatenate(self._driven), self._names)
        observations = channels.standardise(stretches)
        windows = observations.reshape(len(observations), -1)
        ticks = observations.reshape(-1, observations.shape[-1])
        rng = np.random.Generator(np.random.PCG64(settings.seed))
        of_window = fourier_features(
            windows.shape[1], settings.features, _median_distance(windows, rng), settings.seed
        )
        of_tick = fourier_features(
            ticks.shape[1],
            settings.observation_features,
            _median_distance(ticks, rng),
            settings.seed + 1,
        )
        still = np.max([longest_stillness(stretch) for stretch in observations], axis=0)
        return Senses(channels, of_tick, WithConstant(of_window), still)

    def _live(self, stretch: Floats) -> Bools:
        if self._channels is None:
            return np.ones(stretch.shape[1], dtype=np.bool_)
        return self._channels.live


def was_driven(stretch: Floats, live: Bools) -> bool:
    """Return whether a (w, c) stretch has a live channel that did more than tremble."""
    spread = stretch.var(axis=0)
    steps = np.square(np.diff(stretch, axis=0)).mean(axis=0)
    return bool((live & (spread > 0.0) & (spread > 0.5 * DRIVING * steps)).any())


def _measure(ticks: Floats, names: tuple[str, ...]) -> Channels:
    mean, scale = ticks.mean(axis=0), ticks.std(axis=0)
    live = scale > 1e-9 * np.maximum(1.0, np.abs(mean))
    limit = LIMIT_FACTOR * (np.abs(ticks).max(axis=0) + np.abs(mean))
    return Channels(mean, scale, np.where(live, limit, NO_LIMIT), live, names)


def _median_distance(points: Floats, rng: np.random.Generator) -> float:
    first, second = rng.integers(0, len(points), (2, PAIRS))
    rows = max(1, AT_ONCE // points.shape[1])
    apart = [
        np.linalg.norm(points[first[at : at + rows]] - points[second[at : at + rows]], axis=1)
        for at in range(0, PAIRS, rows)
    ]
    return float(np.median(np.concatenate(apart)[first != second]))
