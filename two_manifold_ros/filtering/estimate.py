# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The estimate of a tick, the check of its numbers, and the filter of ticks that grades each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
import math
import sys
from typing import Final, Protocol, TYPE_CHECKING

import numpy as np

from two_manifold_ros.compilation import compiled
from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.status import (
    EllipseLimits,
    LEAST_STEADY,
    MOST_STEADY,
    StateMachine,
    TickDiagnostics,
    USABLE,
)
from two_manifold_ros.filtering.tracker import RouteTracker, TpsrTracker, Tracker
from two_manifold_ros.hse_hmm.readout import RidgeReadout
from two_manifold_ros.model.model import Model, RouteModel, TpsrModel

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Mapping

    from two_manifold_ros.filtering.network_lines import Branch, LineState
    from two_manifold_ros.filtering.status import Finding, Status
    from two_manifold_ros.filtering.tracker import UpdateResult
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.model.path_ahead import Ahead
    from two_manifold_ros.tpsr.thin_svd import Move
    from two_manifold_ros.typing import Floats


_NO_CHANCES: dict[str, float] = {}


@dataclass(frozen=True)
class Estimate:
    """
    The filter's answer at one tick.

    Parameters
    ----------
    stamp_ns
        End of the tick, nanoseconds; every observation used is older.
    tick
        Ticks since the filter was last reset, those without observations included, from 0.
    status
        Whether the estimate may be used.
    cause, why
        Why it is so, see ``Verdict``: a short key, empty if all is well, and one sentence.
    state : (k,)
        Latent state after this tick's observation: the belief about the next tick,
        mathematics (6.1).
    positions : (H, 2)
        Position at each horizon of the model, metres; horizon 0 is the position at ``stamp_ns``.
    covariances : (H, 2, 2)
        Calibrated covariance of each position, m^2, positive definite.
    velocity : (2,), velocity_covariance : (2, 2)
        Velocity at ``stamp_ns``, m/s, and its covariance, (m/s)^2.
    evidence
        Share of the observation's weight that survives cancellation, in [-1, 1]; 1 is best
        (mathematics, section 6.5).
    novelty
        Novelty score of the last windows, see ``NoveltyScore``: about 1 on the trained route,
        about 2 on another and more where units or mounting are wrong; NaN until a window is full.
    ellipse_m
        Half the long axis of the 95 % ellipse of the position at ``stamp_ns``, metres; NaN if a
        number above is not finite or a covariance not positive definite.
    off_route
        Probability that the vehicle is off the trained route, or of an atlas that it is not where
        the estimate says; NaN where the filter has none.
    places : (m, 3), optional
        x, y and chance of the modes of the position, see `PositionModes`; only now and then, as
        the filter was asked, and only of a route belief.
    route
        Name of the known route that the estimate is of; empty where the model knows one alone.
    line
        Name of the line of a network that is driven; empty where the map has no lines.
    chances
        Probability that the vehicle drives on each known route or line, by name; the rest up to
        one is the probability that it drives on none of them.
    branches
        The ways ahead that may be driven, those of the route first, the likeliest of them before
        the others; empty where there is one alone.
    fork
        Index of the first horizon at which lines on the map of the route lead to different places,
        from which on positions and covariances are those of a mixture; ``None`` where they do not.
    ahead
        Returns the path ahead where it is not along the map of the model; ``None`` where it is.

    """

    stamp_ns: int
    tick: int
    status: Status
    cause: str
    why: str
    state: Floats
    positions: Floats
    covariances: Floats
    velocity: Floats
    velocity_covariance: Floats
    evidence: float
    novelty: float
    ellipse_m: float
    off_route: float = math.nan
    places: Floats | None = None
    route: str = ''
    line: str = ''
    chances: Mapping[str, float] = field(default_factory=lambda: _NO_CHANCES)
    branches: tuple[Branch, ...] = ()
    fork: int | None = None
    ahead: Callable[[], Ahead] | None = None

    @property
    def name(self) -> str:
        """Name of the line or route that is driven; empty where none has a name."""
        return self.line or self.route

    @property
    def path(self) -> Floats:
        """Positions (H, 2) along the likeliest way ahead, metres."""
        return self.positions if self.fork is None else self.branches[0].positions

    @property
    def path_name(self) -> str:
        """Name of the line or route of `path`; empty where none has a name."""
        return self.name if self.fork is None else self.branches[0].name

    @property
    def valid(self) -> bool:
        """True if the estimate may be published; then every number of it is finite."""
        return self.status in USABLE


LARGEST = 0.5 * math.sqrt(sys.float_info.max)
"""The product of two variances below it is finite, and so is the root of their sum of squares."""


@compiled
def is_valid_gaussian(state: Floats, means: Floats, covariances: Floats) -> bool:
    """
    Return whether every number is finite and every covariance symmetric and positive definite.

    Parameters
    ----------
    state : (k,), means : (c, 2), covariances : (c, 2, 2)
        A latent state and what was read out of it.

    """
    for i in range(len(means)):
        a, b, c = covariances[i, 0, 0], covariances[i, 0, 1], covariances[i, 1, 1]
        if not (0.0 < a < LARGEST and 0.0 < c < LARGEST and b == covariances[i, 1, 0]):
            return False
        if not (abs(b) < LARGEST and a * c > b * b):
            return False
        if not (math.isfinite(means[i, 0]) and math.isfinite(means[i, 1])):
            return False
    for value in state:  # noqa: SIM110 - numba compiles no generators
        if not math.isfinite(value):
            return False
    return True


@compiled
def half_axis(covariance: Floats) -> float:
    """Return half the long axis of the 95 % ellipse of a (2, 2) covariance."""
    middle = 0.5 * (covariance[0, 0] + covariance[1, 1])
    apart = 0.5 * (covariance[0, 0] - covariance[1, 1])
    variance = middle + math.sqrt(apart * apart + covariance[0, 1] * covariance[0, 1])
    # The root of -2 log 0.05, the 95 % quantile of chi-square with two degrees of freedom.
    return 2.4477468306808166 * math.sqrt(max(variance, 0.0))


class TickFilter(Protocol):
    """A filter over ticks, without stamps."""

    @property
    def state(self) -> Floats:
        """Latent state (k,) after the last observation."""

    @property
    def seen(self) -> int:
        """Ticks in a row that were seen."""

    def start(self) -> None:
        """Forget everything but what was learned."""

    def coast(self, ticks: int) -> None:
        """Move on by some ticks without observations; the window has to fill again."""

    def update(self, values: Floats) -> UpdateResult:
        """Take the (c,) means of one tick, in the units of the samples."""

    def read(self) -> tuple[Floats, Floats]:
        """Return means (H + 1, 2) and covariances (H + 1, 2, 2) of positions and velocity."""

    def places(self) -> Floats | None:
        """Return the (m, 3) modes of the position; ``None`` if they are not known."""

    def lines(self) -> LineState | None:
        """Return which line of a network is driven, and its branches; ``None`` without lines."""


def make_tick_filter(model: ModelHead, *, with_places: bool = False) -> TickFilter:
    """Return a fresh filter for the model; only one of a route can be asked for ``places``."""
    if isinstance(model, RouteModel):
        return RouteTracker(model, with_places=with_places)
    if isinstance(model, Model):
        return Tracker(model)
    if isinstance(model, TpsrModel):
        return TpsrTracker(model)
    msg = f'no filter runs a {type(model).__name__}'
    raise TypeError(msg)


WARN_SHARE, ERROR_SHARE = 0.35, 0.7
"""
Default limits of the 95 % ellipse, as shares of that of a uniform prior over the route.

Above the second, hardly more than the route is known. Held-out drives of three slot cars and two
real cars stay below the first but for stretches where they are indeed wrong.
"""


def limits_of(model: ModelHead, warn_m: float = 0.0, error_m: float = 0.0) -> EllipseLimits:
    """
    Return the limits of the ellipse for a model.

    Parameters
    ----------
    model
        Any; without positions there are no limits but those that are given.
    warn_m, error_m
        In metres; 0 for what the model says.

    Raises
    ------
    InputError
        If a limit is negative or no number, or the first is above the second.

    """
    whole_m = _prior_ellipse_m(model)
    error = error_m or ERROR_SHARE * whole_m
    warn = warn_m or min(WARN_SHARE * whole_m, error)
    if not 0.0 < warn <= error:
        msg = (
            f'ellipse_warn_m is {warn:.3g} m and ellipse_error_m {error:.3g} m, where 0 takes '
            f'what fits the model: set both so that the first is above 0 and not above the second'
        )
        raise InputError(msg)
    return EllipseLimits(warn, error)


def steady_ticks(model: ModelHead) -> int:
    """
    Return the ticks in a row that have to be better before a status is.

    No more than the memory of the observations, one over the persistence of a route, where that is
    short: within it they say the same thing once. With ten always the simulated slot car, whose
    memory is four ticks, is published on 92 % of its ticks on other days in place of 93 %.
    """
    if not isinstance(model, RouteModel):
        return MOST_STEADY
    memory = round(1.0 / model.route.likelihood.persistence)
    # A persistence that is given may be that of no memory at all.
    return min(max(memory, LEAST_STEADY), MOST_STEADY)


ANYWHERE: Final = np.array([[-math.inf] * 2, [math.inf] * 2])
"""The region of a filter that nothing is known of."""


def region_of(model: ModelHead, margin: float) -> Floats:
    """
    Return the (2, 2) least and greatest coordinates that a sound estimate of a model can have.

    A mean of training positions is among them. A belief of signed weights, such as that of a
    spectral filter without guards, is thrown far outside when its normaliser comes near zero, and
    its ellipse need not show that. The ``margin`` is the ellipse above which none is published.
    """
    known = model.track[np.isfinite(model.track).all(axis=1)]
    if not len(known) or not math.isfinite(margin):
        return ANYWHERE
    return np.array([known.min(axis=0) - margin, known.max(axis=0) + margin])


def is_worse_than_mean(model: ModelHead) -> bool:
    """Return whether a model erred no less than the mean position on what training held out."""
    held_out = model.summary.get('validation')
    # A summary may be anything.
    found = held_out if isinstance(held_out, dict) else {}
    own_m, mean_m = found.get('followed_m'), found.get('mean_position_m')
    return isinstance(own_m, float) and isinstance(mean_m, float) and own_m >= mean_m


def _prior_ellipse_m(model: ModelHead) -> float:
    """Return half the long axis of the 95 % ellipse of a uniform prior over the route, metres."""
    known = model.track[np.isfinite(model.track).all(axis=1)]
    whole = half_axis(np.cov(known.T, bias=True)) if len(known) > 1 else math.nan
    calibrated = math.nan
    # The ridge read-out has the same covariance for every belief.
    if isinstance(model, (RouteModel, TpsrModel)) or (
        isinstance(model, Model) and not isinstance(model.readout, RidgeReadout)
    ):
        # The calibration may give less than the spread: a belief may err often but rarely by much.
        tick_filter = make_tick_filter(model)
        if isinstance(tick_filter, RouteTracker):
            tick_filter.place_anywhere()
        calibrated = half_axis(tick_filter.read()[1][0])
    return min((each for each in (whole, calibrated) if each > 0.0), default=math.inf)


class TickEstimator:
    """
    A tick filter and the status of its estimates.

    Parameters
    ----------
    tick_filter
        The filter to run.
    limits
        Limits of the ellipse.
    window
        Ticks in a window.
    places_every
        Ticks after which an estimate has its ``places``; 0 for never.
    steady
        See `steady_ticks`.
    region
        See `region_of`.

    Attributes
    ----------
    machine
        Status and cause.
    rivals
        How much likelier than any unknown road the routes are, all together, that the vehicle may
        drive on in place of this one; 0 where no other is known.
    off_route
        Probability that the vehicle is off this route as if no other were known.

    """

    def __init__(
        self,
        tick_filter: TickFilter,
        limits: EllipseLimits,
        window: int,
        places_every: int,
        steady: int,
        region: Floats,
    ) -> None:
        self._tracker = tick_filter
        self._region = region
        self._window = window
        self._places_every = places_every
        self._tick = self._missed = 0
        self._recovering = False
        self.machine = StateMachine(limits, window, steady)
        self.rivals = 0.0
        self.off_route = math.nan

    @property
    def _full(self) -> bool:
        return self._tracker.seen >= self._window

    def adopt(self, model: TpsrModel, move: Move) -> None:
        """Go on with newer parameters of the TPSR that runs, whose bases moved."""
        if not isinstance(self._tracker, TpsrTracker):
            msg = 'parameters of a TPSR fit no other filter'
            raise TypeError(msg)
        self._tracker.adopt(model, move)

    def reset(self) -> None:
        """Forget the stream."""
        self._tracker.start()
        self.machine.reset()
        self._tick = self._missed = 0
        self._recovering = False

    def lose(self) -> None:
        """Know, after a reset, that no drive begins here: on a network nothing shows the place."""
        if isinstance(self._tracker, RouteTracker):
            self._tracker.lose()

    def place(self, chances: Floats) -> None:
        """Start at the places of a route with these ``chances`` (P,), after a reset."""
        if not isinstance(self._tracker, RouteTracker):
            msg = 'only the filter of a route has places to start at'
            raise TypeError(msg)
        self._tracker.place(chances)

    def coast(self, ticks: int) -> bool:
        """Move on over a gap if that is short enough; return whether it was."""
        # Gaps with less than a tick between them are one.
        self._missed += ticks
        if self._missed > self._window or not self._tick:
            return False
        self._recovering = self._recovering or self._full
        self._tracker.coast(ticks)
        self.machine.pause()
        self._tick += ticks
        return True

    def update(
        self, stamp_ns: int, values: Floats, finding: Finding | None, counters: Counter[str]
    ) -> Estimate:
        """
        Return the estimate of a tick that ended at ``stamp_ns`` with the means ``values`` (c,).

        ``finding`` is what is wrong with the input; ``counters`` count ticks and their fates.
        """
        tracker, tick = self._tracker, self._tick
        result = tracker.update(values)
        self.off_route = result.off_route
        off_route = result.off_route
        if self.rivals > 0.0:
            # Bayes' rule with the rivals beside any unknown road.
            weight = (1.0 + self.rivals) * off_route
            off_route = weight / (1.0 - off_route + weight)
        counters['ticks'] += 1
        if not result.standing:
            counters['restarts'] += result.restarted
            counters['rejected_observations'] += not result.accepted
        means, covariances = tracker.read()
        state = tracker.state.copy()
        # The one check of all numbers: without an ellipse no estimate is valid.
        sound = is_valid_gaussian(state, means, covariances)
        ellipse_m = half_axis(covariances[0]) if sound else math.nan
        low, high = self._region
        # What is unknown is neither below nor above.
        outside = bool(((means[:-1] < low) | (means[:-1] > high)).any())
        self._recovering = self._recovering and not self._full
        verdict = self.machine.step(
            TickDiagnostics(
                window_full=self._full,
                recovering=self._recovering,
                accepted=result.accepted,
                restarted=result.restarted,
                novelty=result.novelty,
                ellipse_m=ellipse_m,
                finding=finding,
                seen=tracker.seen,
                off_route=off_route,
                unlike=result.unlike,
                standing=result.standing,
                stays_off=result.stays_off,
                unlikely=result.unlikely,
                outside=outside,
            )
        )
        self._tick += 1
        self._missed = 0
        asked = self._places_every and tick % self._places_every == 0
        lines = tracker.lines()
        estimate = Estimate(
            stamp_ns=stamp_ns,
            tick=tick,
            status=verdict.status,
            cause=verdict.cause,
            why=verdict.why,
            state=state,
            positions=means[:-1],
            covariances=covariances[:-1],
            velocity=means[-1],
            velocity_covariance=covariances[-1],
            evidence=result.evidence,
            novelty=result.novelty,
            ellipse_m=ellipse_m,
            off_route=off_route,
            places=tracker.places() if asked else None,
        )
        return estimate if lines is None else _on_line(estimate, lines, self.off_route)


def _on_line(estimate: Estimate, lines: LineState, off_route: float) -> Estimate:
    """Return an estimate with the chances of lines, of a map that is left with ``off_route``."""
    on_map = 1.0 - off_route
    return replace(
        estimate,
        line=lines.name,
        chances={name: on_map * each for name, each in lines.chances.items()},
        branches=tuple(each._replace(chance=on_map * each.chance) for each in lines.branches),
        fork=lines.fork,
    )
