# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Follow each stretch of the training on the map of all others, to learn how far off we are."""

from __future__ import annotations

from dataclasses import dataclass
import itertools
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.localisation.belief import RouteBelief
from two_manifold_ros.localisation.pace import FINENESS
from two_manifold_ros.readout.calibration import calibration_factors, tempered
from two_manifold_ros.windows.familiarity import Familiarity, UNFAMILIAR

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.localisation.route import Route
    from two_manifold_ros.readout.reading import Readout
    from two_manifold_ros.training.structure import Structure
    from two_manifold_ros.typing import Floats, Ints
    from two_manifold_ros.windows.familiarity import FamiliarAnchors

WINDOWS = 4
"""Length of a stretch, in windows."""

LARGEST_SHARE = 0.1
"""Of the training that a stretch may be: what is left has to be like the whole."""

MOST_TICKS = 2000

LEAST_SURPRISE = 0.1
"""Times what is usual: laps that are alike to the last digit tell nothing of those to come."""

INDEPENDENT_S = 2.0
"""Errors farther apart than this are of different causes."""


@dataclass(frozen=True)
class Rehearsal:
    """
    Errors on stretches that were left out of the map, where the filter would have published.

    Parameters
    ----------
    errors : (T, c, 2)
        Metres, then m/s; NaN where the truth is not known.
    covariances : (T, c, 2, 2)
        Uncalibrated.
    surprises : (S,)
        Of every observation that was followed, published or not.
    period_s
        Length of a tick.

    """

    errors: Floats
    covariances: Floats
    surprises: Floats
    period_s: float

    def factors(self) -> tuple[Floats, Floats]:
        """Return the calibration of each target, and how many errors it rests on."""
        factors, counts = calibration_factors(self.errors, self.covariances)
        independent = len(self.errors) * self.period_s / INDEPENDENT_S
        return tempered(factors, independent), counts

    @property
    def usual_surprise(self) -> float:
        """Median surprise, in units of what the belief took for usual; 1 if nothing is known."""
        return (
            max(float(np.median(self.surprises)), LEAST_SURPRISE) if len(self.surprises) else 1.0
        )


@dataclass(frozen=True)
class Rehearser:
    """
    Follows stretches of the training.

    Parameters
    ----------
    structure
        The series and its windows.
    route
        What is rehearsed.
    readout
        Gives the read-out that knows nothing of the steps of the map from one to another.
    truths : (N, c, 2)
        Of the steps of the map.
    familiarity
        Decides what would have been published.
    period_s
        Length of a tick.

    """

    structure: Structure
    route: Route
    readout: Callable[[int, int], Readout]
    truths: Floats
    familiarity: FamiliarAnchors
    period_s: float

    def run(self) -> Rehearsal:
        """Follow stretches evenly spread over the training, each from a cold start."""
        belief = RouteBelief(self.route)
        stretches = self._stretches()
        length = max((end - begin for begin, end in stretches), default=1)
        step = max(1, len(stretches) * length // MOST_TICKS)
        runs = [self._follow(belief, begin, end) for begin, end in stretches[::step]]
        columns = self.truths.shape[1]
        empty = (np.empty((0, columns, 2)), np.empty((0, columns, 2, 2)), np.empty(0))
        errors, covariances, surprises = (
            np.concatenate(each) for each in zip(empty, *runs, strict=True)
        )
        return Rehearsal(errors, covariances, surprises, self.period_s)

    def _stretches(self) -> list[tuple[int, int]]:
        """Return begins and ends, in ticks of the series; a window of warming up comes first."""
        window = self.structure.training.pasts.width
        ticks = self.structure.series.shape[1]
        length = max(window, min(WINDOWS * window, int(LARGEST_SHARE * ticks)))
        return [
            (start, min(start + length, end))
            for begin, end in itertools.pairwise(self.structure.begins.tolist())
            for start in range(begin + window, end, length)
        ]

    def _follow(self, belief: RouteBelief, begin: int, end: int) -> tuple[Floats, Floats, Floats]:
        """Return errors, covariances and surprises on the ticks from begin to end."""
        pasts = self.structure.training.pasts
        window = pasts.width
        first = begin - window
        margin = window // 2
        away = (pasts.starts + window <= first) | (pasts.starts >= end + margin)
        if not away.any():
            shape = (0, *self.truths.shape[1:])
            return np.empty(shape), np.empty((*shape, 2)), np.empty(0)
        hidden = self._steps(np.array([first, end + margin])).tolist()
        belief.hide(*hidden)
        readout = self.readout(*hidden)
        means, covariances, surprises = [], [], []
        for observation in self.structure.series[:, first:end].T:
            belief.update(observation)
            mean, covariance = readout.read(belief.weights, belief.state, belief.pace)
            means.append(mean)
            covariances.append(covariance)
            surprises.append(belief.surprise.newest)
        ticks = np.arange(begin, end)
        published = self._published(ticks, np.flatnonzero(away))
        errors = np.array(means)[window:] - self.truths[self._steps(ticks)]
        return (
            errors[published],
            np.array(covariances)[window:][published],
            np.array(surprises[window:]),
        )

    def _steps(self, ticks: Ints) -> Ints:
        """Return the steps of the map at ticks of the series, at most its end."""
        begins = self.structure.begins
        last = begins[-1] - 1
        inside = np.minimum(ticks, last)
        # A segment of T ticks has 1 + (T - 1) FINENESS steps.
        segment = np.searchsorted(begins, inside, side='right') - 1
        steps: Ints = FINENESS * inside - (FINENESS - 1) * segment + (ticks > last)
        return steps

    def _published(self, ticks: Ints, away: Ints) -> Ints:
        """Return which of the ticks are familiar to the windows away from the stretch."""
        pasts = self.structure.training.pasts
        rows = np.stack(
            [
                self.structure.series[:, tick + 1 - pasts.width : tick + 1].T.ravel()
                for tick in ticks.tolist()
            ]
        )
        distances = pasts.distances_from(rows)[away]
        familiarity = Familiarity(self.familiarity, pasts.width)
        values = [
            familiarity.push(float(nearest), float(mean), 0)
            for nearest, mean in zip(distances.min(axis=0), distances.mean(axis=0), strict=True)
        ]
        return np.flatnonzero(np.array(values) <= UNFAMILIAR)
