# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter over ticks that runs a frozen TPSR."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.recent_window import RecentWindow
from two_manifold_ros.filtering.span_familiarity import shown_share, SpanFamiliarity
from two_manifold_ros.filtering.step import REJECTED_BEFORE_RESTART, Step
from two_manifold_ros.tpsr.belief import TpsrBelief
from two_manifold_ros.windows.stillness import Stillness

if TYPE_CHECKING:
    from two_manifold_ros.model.tpsr_model import TpsrModel
    from two_manifold_ros.typing import Floats


class TpsrTracker:
    """
    Belief, window and read-out of one model, see ``TickFilter``.

    Parameters
    ----------
    model
        Any; several may share it.

    Attributes
    ----------
    belief
        The TPSR's belief.
    window
        The newest observations.

    """

    def __init__(self, model: TpsrModel) -> None:
        channels = model.channels
        self._model = model
        self._live = np.flatnonzero(channels.live)
        self._mean = channels.mean[self._live]
        self._inverse_scale = 1.0 / channels.scale[self._live]
        self._stillness = Stillness(len(self._live))
        self._familiarity = SpanFamiliarity(model.most_still, model.window)
        self._doubt = _doubt(model)
        self._rejected = 0
        self._settled = 0
        self.belief = TpsrBelief(model.tpsr)
        self.window = RecentWindow(model.window, len(self._live))

    def start(self) -> None:
        """Forget everything."""
        self._stillness.clear()
        self._familiarity.clear()
        self.window.clear()
        self._restart()

    def coast(self, ticks: int) -> None:
        """Move on by some ticks without observations; the window has to fill anew."""
        self.belief.skip(ticks)
        self.window.clear()
        self._settled = max(0, self._settled - ticks)
        self._rejected = 0

    def update(self, values: Floats) -> Step:
        """Take the (c,) means of one tick, in the units of the samples."""
        observation = (values[self._live] - self._mean) * self._inverse_scale
        evidence = self._believe(observation)
        self._rejected = 0 if self.belief.accepted else self._rejected + 1
        restarted = self._rejected >= REJECTED_BEFORE_RESTART
        if restarted:
            self._restart()
            evidence = self._believe(observation)
        accepted = self.belief.accepted
        self._settled = min(max(0, self._settled + (1 if accepted else -1)), self._model.window)
        self.window.push(observation)
        return Step(evidence, accepted, self._judge(observation), restarted)

    def read(self) -> tuple[Floats, Floats]:
        """
        Return means (H + 1, 2) and covariances (H + 1, 2, 2) of positions and velocity.

        The covariances are those of a belief that has seen a window; until then they are larger,
        and after no observation as wide as all positions.
        """
        model = self._model
        means: Floats = model.coefficients[:, :, :-1] @ self.belief.state
        means += model.coefficients[:, :, -1]
        unsettled = 1.0 - self._settled / model.window
        return means, model.covariances * (1.0 + unsettled * self._doubt)

    def places(self) -> None:
        """Return ``None``: a predictive state has no weights on places."""

    def _believe(self, observation: Floats) -> float:
        try:
            features = self._model.observation_features.transform(observation[None])[0]
        except InputError:
            # So far out that it has no features: it fits nothing.
            self.belief.skip(1)
            self.belief.accepted = False
            return 0.0
        return self.belief.update(features)

    def _restart(self) -> None:
        self.belief.start()
        self._rejected = 0
        self._settled = 0

    def _judge(self, observation: Floats) -> float:
        still = self._stillness.push(observation)
        if not self.window.full:
            return math.nan
        try:
            features = self._model.window_features.transform(self.window.point[None])[0]
        except InputError:
            return math.inf
        share = shown_share(self._model.directions, features)
        return self._familiarity.push(share, self._model.usual_share, still)


def _doubt(model: TpsrModel) -> Floats:
    """Return by how much each covariance is too small if nothing was seen: (H + 1, 1, 1)."""
    known = model.track[np.isfinite(model.track).all(axis=1)]
    spread = float(((known - model.mean_position) ** 2).sum(axis=1).mean())
    factors = spread / np.trace(model.covariances, axis1=1, axis2=2)
    # Of the velocity nothing else is known than that it is as uncertain as the position is.
    factors[-1] = factors[0]
    doubt: Floats = factors[:, None, None]
    return doubt
