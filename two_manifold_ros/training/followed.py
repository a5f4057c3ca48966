# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parts of the drives that were left out and followed: scores, calibration and costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
import itertools
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.estimate import ERROR_SHARE, half_axis
from two_manifold_ros.hse_hmm.readout import (
    Calibration,
    calibration_factors,
    floors,
    squared_mahalanobis,
)
from two_manifold_ros.training.held_out import (
    beside_mean_position,
    capped_mean,
    LOST_SHARE,
    publishable,
    squared_distances,
    Validation,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.route.belief import RouteBelief
    from two_manifold_ros.route.learning import Tuning
    from two_manifold_ros.typing import Bools, Floats

PIECES = 4
"""Pieces of a part whose mean errors are compared at two rates: shorter ones err alike."""

ANYWHERE = 0.01
"""Share of the positions that may be anywhere on the route: one lost start does not decide."""

TICK_S, PLACE_S = 1e-4, 2.5e-6
"""
Time of a tick, and for each place with any probability, on a small robot: five times that of
the machine of results.md, as a Raspberry Pi 4 has beside it.
"""


class Run(NamedTuple):
    """
    A stretch of T ticks that was followed from a cold start, its covariances not calibrated.

    Where the vehicle crashed its position is wrong by as much as it slid, which says nothing of a
    drive: only where it drives on the route as in training ellipses are calibrated.
    """

    errors: Floats  # (T, H + 1, 2), NaN where the truth is unknown
    covariances: Floats  # (T, H + 1, 2, 2)
    driving: Bools
    active: Floats  # places with any probability
    evidences: Floats
    truths: Floats  # (T, H + 1, 2)


def follow(
    belief: RouteBelief,
    observations: Floats,
    truths: Floats,
    lead: int,
    before: Callable[[int], None] = lambda _: None,
) -> Run:
    """
    Follow a stretch of observations (T, d) with a fresh belief.

    The place is not known yet in the first ``lead`` ticks, which are left out. ``before`` is
    called with the number of each tick before it is observed.
    """
    read = []
    for tick, row in enumerate(observations):
        before(tick)
        evidence = belief.update(row)
        read.append((*belief.read(), belief.driving > 0.5, float(belief.active), evidence))
    means, *others = map(np.array, zip(*read, strict=True))
    return Run(*(each[lead:] for each in (means - truths, *others, truths)))


@dataclass(frozen=True)
class Followed:
    """Parts of the drives, as they were followed with one tuning."""

    parts: tuple[tuple[Run, ...], ...]  # runs of each part
    tuning: Tuning
    positions: Floats  # (P, 2), of the places of the map
    noise: float  # variance in an axis of the velocities that were compared with

    @cached_property
    def run(self) -> Run:
        """All runs in one."""
        runs = zip(*itertools.chain.from_iterable(self.parts), strict=True)
        return Run(*map(np.concatenate, runs))

    @cached_property
    def factors(self) -> Floats:
        """Factors (H + 1,) of the covariances."""
        run = self.run
        errors, covariances = run.errors[run.driving], run.covariances[run.driving]
        # Noise of positions stays in their ellipses: on other days than those of the parts errors
        # are larger by about as much. In velocities it is most of what is seen.
        noise = np.zeros(errors.shape[1])
        noise[-1] = self.noise
        return calibration_factors(errors, covariances, noise)

    @cached_property
    def log_score(self) -> float:
        """Mean log density of the true positions, nats, beside the centre of a unit normal one."""
        known = np.isfinite(self.run.errors[:, 0]).all(axis=1)
        if not known.any():
            return math.nan
        covariances = self.factors[0] * self.run.covariances[known, 0]
        logs = -0.5 * squared_mahalanobis(self.run.errors[known, 0], covariances)
        logs -= 0.5 * np.log(np.linalg.det(covariances))
        # A straight route is as thin as its floor.
        spread = np.cov(self.positions.T) + floors(self.positions[:, None])[0] * np.eye(2)
        anywhere = math.log(ANYWHERE) - 1.0 - 0.5 * np.linalg.slogdet(spread)[1]
        return float(np.logaddexp(math.log(1.0 - ANYWHERE) + logs, anywhere).mean())

    @property
    def least_evidence(self) -> float:
        """Least evidence of a tick at which the vehicle drives as in training; 0 if none does."""
        driving = self.run.driving & np.isfinite(self.run.errors[:, 0]).all(axis=1)
        return float(self.run.evidences[driving].min()) if driving.any() else 0.0

    @property
    def timed(self) -> list[tuple[Floats, Floats, Floats, Floats, Floats]]:
        """What `circuit_learning.calibrated` takes of each run, true only where it drives."""
        found = []
        for run in itertools.chain.from_iterable(self.parts):
            estimated, truths = run.truths + run.errors, run.truths.copy()
            truths[~run.driving] = np.nan
            covariances = self.factors[0] * run.covariances[:, 0]
            ends = estimated[:, 0], estimated[:, -1], covariances, truths[:, 0], truths[:, -1]
            found.append(ends)
        return found

    @property
    def lost_m(self) -> float:
        """Error of a vehicle that is plainly lost, metres, as the maps know the route."""
        return LOST_SHARE * float(np.sqrt(self.positions.var(axis=0).sum()))

    @property
    def score_m(self) -> float:
        """Mean error of the present position, metres, each cut where the vehicle is lost."""
        return capped_mean(squared_distances(self.run.errors[:, :2])[:, 0], self.lost_m)

    def errs_more(self, than: Followed) -> bool:
        """
        Return whether the mean error is larger than with another rate, by more than chance.

        Chance is the standard error of the differences between pieces, each of the same time. If
        the vehicle is lost in some, or the number of parts differs, any larger error counts.
        """
        (pieces, largest_m), (others, other_m) = self._pieces, than._pieces
        if max(largest_m, other_m) >= self.lost_m or len(pieces) != len(others):
            return self.score_m > than.score_m
        differences = (pieces - others)[np.isfinite(pieces - others)]
        count = len(differences)
        chance = differences.std(ddof=1) / math.sqrt(count) if count > 1 else 0.0
        return bool(differences.mean() > chance)

    @property
    def _pieces(self) -> tuple[Floats, float]:
        """Mean errors of ``PIECES`` of each part, cut as in ``score_m``, and the largest error."""
        squares = [
            piece
            for part in self.parts
            for piece in np.array_split(
                squared_distances(np.concatenate([run.errors[:, :2] for run in part]))[:, 0],
                PIECES,
            )
        ]
        means = np.array([capped_mean(each, self.lost_m) for each in squares])
        return means, math.sqrt(np.nanmax(np.concatenate(squares), initial=0.0))

    def published(self, factor: float) -> Bools:
        """
        Return which ticks (T,) of all runs a filter would publish, see `publishable`.

        The largest ellipse is ``ERROR_SHARE`` of the one of a vehicle anywhere on the map, and
        covariances of present positions grow by a ``factor``.
        """
        error_m = ERROR_SHARE * half_axis(min(factor, 1.0) * np.cov(self.positions.T))
        runs = itertools.chain.from_iterable(self.parts)
        return np.concatenate(
            [publishable(factor * run.covariances[:, 0], run.driving, error_m) for run in runs]
        )

    @property
    def work(self) -> float:
        """Places times ticks that count, with which the time grows that following takes."""
        return float(self.run.active.sum())

    def load(self, rate_hz: float) -> float:
        """Return the mean share of a core of a small robot that ticks take, see ``PLACE_S``."""
        return rate_hz * (TICK_S + PLACE_S * float(self.run.active.mean()))

    def every_other(self) -> Followed:
        """Return every other part, the first among them."""
        return replace(self, parts=self.parts[::2])

    def validation(self, middle: Floats, factors: Floats | None = None) -> Validation:
        """Return errors and calibration; with ``factors`` as what a filter publishes of them."""
        run, lost_m = self.run, self.lost_m
        published = self.published(float((self.factors if factors is None else factors)[0]))
        chosen = None if factors is None else published
        beside = beside_mean_position(run.errors, run.truths, middle, lost_m, chosen)
        calibration = Calibration(np.zeros(len(self.factors)), self.factors)
        share = float(published[np.isfinite(run.errors[:, 0]).all(axis=1)].mean())
        return Validation((), len(run.errors), self.score_m, lost_m, *beside, calibration, share)
