# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How forecasts of measurements are scored: Fig. 2B of Boots & Gordon (2011)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.typing import Floats, Ints

MOST_STARTS = 15

LAST_SHARE = 0.75
"""Of what a short test part has beside the horizons, at most, for filtering."""


@dataclass(frozen=True)
class Forecaster:
    """
    A filter, and forecasts that are linear in its state.

    Parameters
    ----------
    filter
        From the first T observations (T, d) of a stretch to the states after each: (T, k).
    table : (H, d, k)
        Its product with a state is the observation 1, 2, ..., H ticks after the newest one.

    """

    filter: Callable[[Floats], Floats]
    table: Floats


@dataclass(frozen=True)
class Protocol:
    """
    Filter for a while, then foretell.

    Parameters
    ----------
    shortest, longest
        Ticks that are filtered, t1; all lengths from one to the other count alike.
    horizons
        Ticks that are foretold, t2 = 1, ..., horizons.

    """

    shortest: int = 100
    longest: int = 250
    horizons: int = 100

    @classmethod
    def fitting(cls, ticks: int, window: int) -> Protocol:
        """
        Return the paper's protocol, shortened for a test part that is too short for it.

        Nothing is foretold beyond one window, since each test ends there.
        """
        horizons = min(cls.horizons, window)
        longest = min(cls.longest, int(LAST_SHARE * (ticks - horizons)))
        return cls(longest * cls.shortest // cls.longest, longest, horizons)

    def starts(self, ticks: int) -> Ints:
        """Return where in a test part a filter is started, evenly spread."""
        spare = ticks - self.longest - self.horizons
        return np.unique(np.linspace(0, spare, MOST_STARTS).astype(np.int64))

    def errors(self, forecaster: Forecaster, observations: Floats) -> Floats:
        """
        Score a forecaster.

        Parameters
        ----------
        forecaster
            Foretells at least as far as the horizons.
        observations : (T, d)
            Standardised.

        Returns
        -------
        (horizons,)
            Squared error, summed over the channels, averaged over the starts and t1.

        """
        table = forecaster.table[: self.horizons]
        total = np.zeros(self.horizons)
        starts = self.starts(len(observations))
        for start in starts.tolist():
            stretch = observations[start : start + self.longest + self.horizons]
            states = forecaster.filter(stretch[: self.longest])[self.shortest - 1 :]
            ahead = sliding_window_view(stretch[self.shortest :], self.horizons, axis=0)
            foretold = np.einsum('hdk,tk->tdh', table, states, optimize=True)
            total += np.square(ahead - foretold).sum(axis=1).mean(axis=0)
        errors: Floats = total / len(starts)
        return errors


def choose(candidates: dict[float, Forecaster], observations: Floats, protocol: Protocol) -> float:
    """Return the name of the candidate that errs least on held-out observations, all told."""
    means = {
        name: float(protocol.errors(forecaster, observations).mean())
        for name, forecaster in candidates.items()
    }
    return min(means, key=lambda name: means[name])
