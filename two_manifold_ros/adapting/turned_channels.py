# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Whether an unfamiliar stream would be familiar with the signs of some channels reversed.

An IMU that was taken off and put back the other way round, or a driver that was updated, needs no
new learning: what was learned still holds once the signs are put right, and it takes a lap to
tell so rather than many to learn anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.span_familiarity import shown_share, SMALLEST_OUTSIDE

if TYPE_CHECKING:
    from two_manifold_ros.features.feature_map import FeatureMap
    from two_manifold_ros.ticks.channels import Channels
    from two_manifold_ros.typing import Floats

HALF_TURNS = ((1, 2, 4, 5), (0, 2, 3, 5), (0, 1, 3, 4))
"""Channels of an IMU of which a half turn about x, y and z reverses the signs."""

STRANGE = 1.5
"""
Share of a window outside of the learned directions, over the usual, that needs an explanation.

Averaged over a window of ticks it mostly is 3 to 8 after the sign of a channel of the slot car was
reversed, and less where the track looks alike either way.
"""

EXPLAINED = 0.5
"""
What may be left of it with other signs.

With the right ones it was .15 to .31 for the slot car, with any other ones above .8; where the
speed or the noise had changed instead it was above 1.2 with any.
"""


class TurnedChannels:
    """
    Try the signs of single channels, and of half turns of the IMU.

    Parameters
    ----------
    channels
        As they are read at present.
    window
        Ticks in a window, and over which is judged.

    """

    def __init__(self, channels: Channels, window: int) -> None:
        live = np.flatnonzero(channels.live)
        singles = [(int(index),) for index in live]
        self._window = window
        self._turns = [*singles, *HALF_TURNS] if channels.of_imu else []
        signs = np.ones((len(self._turns) + 1, len(live)))
        for row, turn in zip(signs[1:], self._turns, strict=True):
            row[np.isin(live, turn)] = -1.0
        self._signs = signs
        # With its sign reversed a sample v reads (-v - mean) / scale.
        self._offsets = (signs - 1.0) * (channels.mean / channels.scale)[live]
        self._outside = np.zeros(len(signs))
        self._count = 0

    def clear(self) -> None:
        """Forget what was seen."""
        self._outside[:] = 0.0
        self._count = 0

    def push(
        self, point: Floats, feature_map: FeatureMap, directions: Floats, usual: float
    ) -> tuple[int, ...]:
        """
        Take one unfamiliar window.

        Parameters
        ----------
        point : (w d,)
            The window, the oldest observation first.
        feature_map
            Of windows.
        directions : (r, D)
            What was learned of them, orthonormal rows.
        usual
            Share of a window that usually is shown by the directions.

        Returns
        -------
        tuple of int
            The channels whose signs explain everything, once that is sure; else none.

        """
        if not self._turns:
            return ()
        rows = point.reshape(self._window, -1)
        tried = rows * self._signs[:, None, :] + self._offsets[:, None, :]
        features = feature_map.transform(tried.reshape(len(tried), -1))
        self._outside += [1.0 - shown_share(directions, each) for each in features]
        self._count += 1
        if self._count < self._window:
            return ()
        plain, *turned = self._outside / (self._count * max(1.0 - usual, SMALLEST_OUTSIDE))
        self.clear()
        best = int(np.argmin(turned))
        strange = plain > STRANGE and turned[best] < EXPLAINED * plain
        return self._turns[best] if strange else ()
