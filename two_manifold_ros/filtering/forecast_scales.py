# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Scale the ellipses of the positions ahead by how earlier ones came true on this drive.

Ellipses are calibrated on days of the training. On another day a driver is steadier or wilder,
tyres and loads differ. What a forecast was worth shows as soon as its time has come, from the
estimates alone: by the law of total variance, the mean now differs from the mean forecast then by
the covariance of the forecast less that of the estimate now.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.compilation import compiled
from two_manifold_ros.hse_hmm.readout import CHI_SQUARE, LEVELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.typing import Bools, Floats, Ints


class ScaleLimits(NamedTuple):
    """
    How scales follow the forecasts.

    In a lap all of whose forecasts miss the 68 % ellipse the logarithm of a factor grows by
    ``step``, before the share that is to miss it is taken off; a miss of the 95 % ellipse weighs
    ``outer`` times as much: heavy tails are covered. A factor, or one over it, is at most
    ``largest``. Forecasts count while the vehicle drives as in training with a probability above
    ``sure``: those of a stop that no training shows would widen ellipses for laps. They are
    remembered for ``longest`` ticks, and count if uncertainty of the way there is ``least`` of the
    squared area of their ellipse.
    """

    step: float = 1.5
    outer: float = 4.0
    largest: float = 50.0
    sure: float = 0.9
    longest: int = 2000
    least: float = 0.01


LIMITS = ScaleLimits()


@compiled
def follow_forecasts(
    means: Floats, covariances: Floats, ahead: Ints, forecasts: Floats, spreads: Floats,
    sure: Bools, levels: Floats, factors: Floats, count: int, is_sure: bool,
) -> None:  # fmt: skip
    """
    Compare the position now with what was forecast for it, and remember the newest forecasts.

    ``means`` (H + 1, 2) and ``covariances`` (H + 1, 2, 2), unscaled, are of positions ``ahead``
    ticks (H,) from now, 0 first, and of the velocity; ``count`` ticks came before. ``levels``
    (2, 3) have of the 68 % and the 95 % ellipse the squared Mahalanobis length, the share outside,
    and what a miss adds to the logarithm of a factor. Updated: the ring of the newest L ticks, of
    ``forecasts`` (L, H, 2), ``spreads`` (L, H, 3) as xx, xy and yy, and ``sure`` (L,), whether the
    vehicle was surely on the route; and ``factors`` (H + 1,), of which those of the present
    position and the velocity stay.
    """
    length = len(sure)
    for c in range(1, len(ahead)):
        then = (count - ahead[c]) % length
        if not is_sure or count < ahead[c] or ahead[c] >= length or not sure[then]:
            continue
        x = means[0, 0] - forecasts[then, c, 0]
        y = means[0, 1] - forecasts[then, c, 1]
        factor = factors[c]
        # Of the forecast, less that of what is known now.
        a = factor * spreads[then, c, 0] - covariances[0, 0, 0]
        b = factor * spreads[then, c, 1] - covariances[0, 0, 1]
        d = factor * spreads[then, c, 2] - covariances[0, 1, 1]
        whole = spreads[then, c, 0] * spreads[then, c, 2] - spreads[then, c, 1] ** 2
        whole *= factor * factor
        left = a * d - b * b
        if not (a > 0.0 and d > 0.0 and left > LIMITS.least * whole):
            continue
        known = covariances[0, 0, 0] * covariances[0, 1, 1] - covariances[0, 0, 1] ** 2
        # The more of the forecast is known by now, the less the way there shows of it.
        share = 1.0 - math.sqrt(max(known, 0.0) / whole)
        square = (d * x * x - 2.0 * b * x * y + a * y * y) / left
        grows = 0.0
        for level in range(len(levels)):
            missed = 1.0 if square > levels[level, 0] else 0.0
            grows += share * levels[level, 2] * (missed - levels[level, 1])
        factor *= math.exp(grows)
        factors[c] = min(max(factor, 1.0 / LIMITS.largest), LIMITS.largest)
    now = count % length
    sure[now] = is_sure
    for c in range(len(ahead)):
        forecasts[now, c, 0] = means[c, 0]
        forecasts[now, c, 1] = means[c, 1]
        spreads[now, c, 0] = covariances[c, 0, 0]
        spreads[now, c, 1] = covariances[c, 0, 1]
        spreads[now, c, 2] = covariances[c, 1, 1]


class ForecastScales:
    """
    Factors (H + 1,) of the covariances at the horizons, 0 first, and of the velocity.

    A start forgets them, a gap only the forecasts made before it. In ``lap`` ticks they change as
    `ScaleLimits` says.
    """

    def __init__(self, horizons: Sequence[int], lap: float) -> None:
        self._ahead = np.array(horizons, dtype=np.int64)
        length, count = min(int(self._ahead[-1]), LIMITS.longest) + 1, len(horizons)
        self._forecasts = np.zeros((length, count, 2))
        self._spreads = np.zeros((length, count, 3))
        self._sure: Bools = np.zeros(length, dtype=np.bool_)
        steps = np.array([1.0, LIMITS.outer]) * LIMITS.step / max(lap, 1.0)
        self._levels = np.column_stack([CHI_SQUARE, 1.0 - np.array(LEVELS), steps])
        self.factors = np.ones(count + 1)
        self._count = 0

    def start(self) -> None:
        """Forget everything."""
        self.factors[:] = 1.0
        self.pause()

    def pause(self) -> None:
        """Forget the forecasts: their time has passed unseen."""
        self._count = 0

    def follow(self, means: Floats, covariances: Floats, driving: float) -> None:
        """Take the newest positions, and how likely the vehicle is ``driving`` as in training."""
        follow_forecasts(
            means, covariances, self._ahead, self._forecasts, self._spreads, self._sure,
            self._levels, self.factors, self._count, driving > LIMITS.sure,
        )  # fmt: skip
        self._count += 1
