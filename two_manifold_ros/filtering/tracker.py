# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filters over ticks of the spectral model, of a TPSR and of a map of the route."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
import itertools
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.compilation import compiled, shared
from two_manifold_ros.filtering.fixes import FixedPlaces, Weights
from two_manifold_ros.filtering.network_lines import LineFollower, LineState
from two_manifold_ros.filtering.status import (
    LEAST_STEADY,
    MOST_STEADY,
    REJECTED_BEFORE_RESTART,
    StateMachine,
    TickDiagnostics,
)
from two_manifold_ros.filtering.witness import Witness
from two_manifold_ros.hse_hmm.hmm import Belief, Recollection
from two_manifold_ros.hse_hmm.readout import CHI_SQUARE, LEVELS, RidgeReadout, SharpenedReadout
from two_manifold_ros.names import NOVEL
from two_manifold_ros.network.belief import misfits, NetworkBelief, shakes_of
from two_manifold_ros.route.belief import RouteBelief, SensedBelief
from two_manifold_ros.route.route import OFF
from two_manifold_ros.ticks.rest import alike, Rest
from two_manifold_ros.ticks.sliding import NoveltyScore, SlidingWindow
from two_manifold_ros.tpsr.features import FourierFeatures
from two_manifold_ros.tpsr.parameters import RememberingBelief
from two_manifold_ros.typing import Bools, Floats, Ints

if TYPE_CHECKING:
    from two_manifold_ros.filtering.fixes import Fix
    from two_manifold_ros.model.model import Model, RouteModel, TpsrModel
    from two_manifold_ros.tpsr.thin_svd import Move


@shared
def half_axis(covariance: Floats) -> float:
    """Return half the long axis of the 95 % ellipse of a (2, 2) covariance."""
    middle = 0.5 * (covariance[0, 0] + covariance[1, 1])
    apart = 0.5 * (covariance[0, 0] - covariance[1, 1])
    variance = middle + math.sqrt(apart * apart + covariance[0, 1] * covariance[0, 1])
    # The root of -2 log 0.05, the 95 % quantile of chi-square with two degrees of freedom.
    return 2.4477468306808166 * math.sqrt(max(variance, 0.0))


class TickFilter(ABC):
    """
    A filter over ticks, without stamps.

    Its status is better after ``steady`` ticks in a row that are. ``lines`` say which route or
    line was driven at the last tick, and its branches. All else that it says, also before it has
    seen a tick, is about the route ``chosen``, a number in the order of `ModelHead.routes`.
    """

    chosen = 0
    steady = MOST_STEADY
    lines = LineState()
    belief: Belief | RememberingBelief | RouteBelief

    @property
    @abstractmethod
    def seen(self) -> int:
        """Ticks in a row that were seen."""

    @abstractmethod
    def start(self) -> None:
        """Forget everything but what was learned."""

    @abstractmethod
    def coast(self, ticks: int) -> None:
        """Move on by some ticks without observations; the window has to fill again."""

    @abstractmethod
    def update(self, values: Floats) -> TickDiagnostics:
        """Take the (c,) means of one tick, in the units of the samples."""

    @abstractmethod
    def read(self) -> tuple[Floats, Floats]:
        """Return means (H + 1, 2) and covariances (H + 1, 2, 2) of positions and velocity."""

    def places(self) -> Floats | None:
        """Return the (m, 3) modes of the position; ``None`` if they are not known."""
        return None

    def lose(self) -> None:  # noqa: B027 - of a network alone
        """Know, after a start, that no drive begins here: nothing shows the place then."""

    def place(self, chances: Floats) -> None:  # noqa: ARG002 - of a route alone
        """Be at the places of a route with these ``chances`` (P,), after a start."""
        raise TypeError('only the filter of a route has places to start at')

    def fix(self, fix: Fix, ago: float) -> float:  # noqa: ARG002 - of a route alone
        """
        Take a position fix of so many ticks ago; return the probability that it is right.

        NaN if it says nothing, as where there is no map in its frame.
        """
        return math.nan

    def spread_anywhere(self) -> list[Floats]:
        """Return the (2, 2) covariance of a start anywhere; none if a belief has no say in it."""
        return []


class WindowTracker(TickFilter):
    """
    The part of a `TickFilter` that compares windows with those of training, and the clock.

    If the clock of the model stands while the vehicle does, observations at rest are left out:
    belief, window and predicted positions, whose horizons count ticks of driving, stay as they
    were, and the velocity is zero.
    """

    belief: Belief | RememberingBelief

    def __init__(self, model: Model | TpsrModel) -> None:
        channels = model.channels
        self._readout = model.readout
        self._mean = channels.mean[channels.live]
        self._inverse_scale = 1.0 / channels.scale[channels.live]
        self._live = np.flatnonzero(channels.live)
        self._novelty = NoveltyScore(model.novelty, model.window)
        ticks, self._rest_limit = (2, 0.0) if model.rest is None else model.rest
        self._rest = Rest(ticks, len(model.series))
        self._driven = TickDiagnostics(math.nan, accepted=True, novelty=math.nan, restarted=False)
        self._stands = False
        self._rejected = 0
        self._window = SlidingWindow(model.series, model.starts, model.window)

    @property
    def seen(self) -> int:
        """Ticks in a row that were seen."""
        return self._window.count

    def start(self) -> None:
        """Forget everything."""
        self._novelty.clear()
        self._rest.clear()
        self._stands = False
        self.belief.start()
        self._window.clear()
        self._rejected = 0

    def coast(self, ticks: int) -> None:
        """Move on by some ticks, see `TickFilter`; a vehicle that stood is taken to stand."""
        if not self._stands:
            self.belief.skip(ticks)
        self._window.clear()
        self._rejected = 0

    def update(self, values: Floats) -> TickDiagnostics:
        """Take the (c,) means of one tick, in the units of the samples."""
        observation = (values[self._live] - self._mean) * self._inverse_scale
        spread, still = self._rest.push(observation)
        self._stands = spread < self._rest_limit
        if self._stands:
            # A sensor that broke stands still to the last digit, which no vehicle does.
            novelty = max(self._driven.novelty, self._novelty.frozen(still))
            return self._driven._replace(novelty=novelty, standing=True)
        evidence, restarted = self._follow(observation)
        self._window.push(observation)
        novelty = self._novelty.push(*self._window.nearest_and_mean(), still)
        self._driven = TickDiagnostics(evidence, self.belief.accepted, novelty, restarted)
        return self._driven

    @abstractmethod
    def _follow(self, observation: Floats) -> tuple[float, bool]:
        """Take an observation (d,); return the evidence, and whether the belief was restarted."""

    def read(self) -> tuple[Floats, Floats]:
        """Return means (H + 1, 2) and covariances (H + 1, 2, 2) of positions and velocity."""
        means, covariances = self._readout.read(self.belief.weights, self.belief.state)
        if self._stands:
            means[-1] = 0.0
        return means, covariances

    def spread_anywhere(self) -> list[Floats]:
        """Return the covariance (2, 2) of a start; a ridge read-out has one for every belief."""
        return [] if isinstance(self._readout, RidgeReadout) else [self.read()[1][0]]


class Tracker(WindowTracker):
    """A `TickFilter` of the spectral model."""

    belief: Belief

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._longest = 1.0 + model.state_bound**2
        self._guarded = model.guarded
        # A ridge read-out was fitted to states that were left alone.
        self._mixes = model.guarded and isinstance(self._readout, SharpenedReadout)
        self.belief = Belief(model.tables, model.operator, guarded=model.guarded)
        self._recollection = Recollection(self._window, model.warm_start)

    def _follow(self, observation: Floats) -> tuple[float, bool]:
        if self._mixes and self._driven.novelty <= NOVEL:
            self._recollection.remind(self.belief)
        evidence = self.belief.update(observation)
        self._rejected = 0 if self.belief.accepted else self._rejected + 1
        state = self.belief.state
        escaped = not float(np.dot(state, state)) <= self._longest
        restarted = self.belief.lost
        if self._guarded and (escaped or self._rejected >= REJECTED_BEFORE_RESTART):
            restarted = True
            # From the window before this observation if there is one, mathematics (6.4), else from
            # the prior; then this observation is taken as any other: the weights stay those at
            # this tick.
            self._rejected = 0
            self.belief.start(self._recollection.state())
            evidence = self.belief.update(observation)
        return evidence, restarted


class TpsrTracker(WindowTracker):
    """A `TickFilter` of a TPSR, which filters by Boots & Gordon 2011, eq. 2."""

    belief: RememberingBelief

    def __init__(self, model: TpsrModel) -> None:
        super().__init__(model)
        features = FourierFeatures(model.frequencies, model.phases)
        self.belief = RememberingBelief(model.tpsr, features, model.weights, model.features)

    def adopt(self, model: TpsrModel, move: Move) -> None:
        """Go on with newer parameters of the model, whose bases moved."""
        self.belief.adopt(model.tpsr, move, model.weights, model.features)
        self._readout = model.readout

    def _follow(self, observation: Floats) -> tuple[float, bool]:
        evidence = self.belief.update(observation)
        self._rejected = 0 if self.belief.accepted else self._rejected + 1
        restarted = self._rejected >= REJECTED_BEFORE_RESTART
        if restarted:
            self._rejected = 0
            self.belief.start()
        return evidence, restarted


class ScaleLimits(NamedTuple):
    """
    How scales follow the forecasts.

    In a lap all of whose forecasts miss the 68 % ellipse the logarithm of a factor grows by
    ``step``, before the share that is to miss it is taken off; a miss of the 95 % ellipse weighs
    ``outer`` times as much. A factor, or one over it, is at most ``largest``. Forecasts count
    while the vehicle drives as in training with a probability above ``sure``, for ``longest``
    ticks, and if uncertainty of the way there is ``least`` of the squared area of their ellipse.
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
    means: Floats, covariances: Floats, ahead: Ints, forecasts: Floats, levels: Floats,
    factors: Floats, now: int, is_sure: bool,
) -> None:  # fmt: skip
    """
    Compare the position now with what was forecast for it, and remember the newest forecasts.

    ``means`` (H + 1, 2) and ``covariances`` (H + 1, 2, 2), unscaled, are of positions ``ahead``
    ticks (H,) from now, 0 first, and of the velocity. ``levels`` (2, 3) have of the 68 % and the
    95 % ellipse the squared Mahalanobis length, the share outside, and what a miss adds to the
    logarithm of a factor. Updated: ``forecasts`` (L, H, 5), x, y, xx, xy and yy, a ring of which
    those of ``now`` are newest, NaN where the vehicle was not surely on the route; and ``factors``
    (H + 1,), of which those of the present position and the velocity stay.
    """
    length = len(forecasts)
    for c in range(1, len(ahead)):
        if not is_sure or ahead[c] >= length:
            continue
        then = forecasts[(now - ahead[c]) % length, c]
        x, y = means[0, 0] - then[0], means[0, 1] - then[1]
        factor = factors[c]
        # Of the forecast, less that of what is known now.
        a = factor * then[2] - covariances[0, 0, 0]
        b = factor * then[3] - covariances[0, 0, 1]
        d = factor * then[4] - covariances[0, 1, 1]
        whole = then[2] * then[4] - then[3] ** 2
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
    for c in range(len(ahead)):
        newest = forecasts[now, c]
        newest[0] = means[c, 0] if is_sure else math.nan
        newest[1] = means[c, 1]
        newest[2] = covariances[c, 0, 0] if is_sure else math.nan
        newest[3] = covariances[c, 0, 1]
        newest[4] = covariances[c, 1, 1]


class ForecastScales:
    """
    Factors (H + 1,) of the covariances at the horizons, 0 first, and of the velocity.

    A start forgets them, a gap only the forecasts made before it. In ``lap`` ticks they change as
    `ScaleLimits` says.
    """

    def __init__(self, horizons: Sequence[int], lap: float) -> None:
        self._ahead = np.array(horizons, dtype=np.int64)
        length, count = min(int(self._ahead[-1]), LIMITS.longest) + 1, len(horizons)
        self._forecasts = np.full((length, count, 5), np.nan)
        steps = np.array([1.0, LIMITS.outer]) * LIMITS.step / max(lap, 1.0)
        self._levels = np.column_stack([CHI_SQUARE, 1.0 - np.array(LEVELS), steps])
        self.factors = np.ones(count + 1)
        self._now = 0

    def start(self) -> None:
        """Forget everything."""
        self.factors[:] = 1.0
        self.pause()

    def pause(self) -> None:
        """Forget the forecasts: their time has passed unseen."""
        self._forecasts[:] = np.nan

    def follow(self, means: Floats, covariances: Floats, driving: float) -> None:
        """Take the newest positions, and how likely the vehicle is ``driving`` as in training."""
        follow_forecasts(
            means, covariances, self._ahead, self._forecasts, self._levels, self.factors,
            self._now, driving > LIMITS.sure,
        )  # fmt: skip
        self._now = (self._now + 1) % len(self._forecasts)


MEAN, INVERSE_SCALE, LOW, HIGH, SLACK = range(5)


@compiled
def _take(
    values: Floats, live: Ints, known: Floats, now: Floats, recent: Floats, count: int
) -> tuple[bool, float]:
    """
    Take the means of a tick (c,); return whether no channel changed, and how unusual the mean is.

    ``known`` (5, d), rows ``MEAN`` to ``SLACK``: mean and inverse scale of training; lowest and
    highest mean of a window, standardised, and how far beyond is usual, in multiples of which the
    mean of the newest window is beyond (0 until there is one). Updated: ``now`` (2, d), the
    observation before and the sum of the ``recent`` ones (w, d). ``count`` observations came
    before.
    """
    before, total = 0, 1
    width, place = len(recent), count % len(recent)
    for k in range(len(live)):
        value = (values[live[k]] - known[MEAN, k]) * known[INVERSE_SCALE, k]
        now[total, k] += value - recent[place, k]
        recent[place, k] = value
    same = alike(recent[place], now[before])
    # One by one: compiling the assignment of a row, and the words of its errors, takes seconds.
    for k in range(len(live)):
        now[before, k] = recent[place, k]
        if place == width - 1:
            # So that rounding cannot build up for ever.
            now[total, k] = 0.0
            for tick in range(width):
                now[total, k] += recent[tick, k]
    beyond = 0.0
    if count + 1 >= width:
        for k in range(len(live)):
            average = now[total, k] / width
            far = max(known[LOW, k] - average, average - known[HIGH, k]) / known[SLACK, k]
            beyond = max(beyond, far)
    return same, beyond


class PositionModes:
    """
    Modes of the belief about the place, at positions (N, 2): nearby places are summed in cells.

    At most 50 are returned, and none below a chance of 0.001.
    """

    def __init__(self, positions: Floats) -> None:
        known: Bools = np.asarray(np.isfinite(positions).all(axis=1))
        self._known = np.flatnonzero(known)
        self._positions = positions[self._known]
        corner = self._positions.min(axis=0)
        # A hundred cells along the longer side of the track.
        size = float(np.ptp(self._positions, axis=0).max()) / 100
        squares = np.rint((self._positions - corner) / (size or 1.0)).astype(np.int64)
        _, cells = np.unique(squares, axis=0, return_inverse=True)
        self._cells = cells.reshape(-1)

    def read(self, weights: Floats) -> Floats:
        """Return modes (m, 3) of chances (N,): x, y in metres and chance, the likeliest first."""
        own = weights[self._known]
        chances = np.bincount(self._cells, own)
        chosen = np.flatnonzero(chances >= 1e-3)
        chosen = chosen[np.argsort(-chances[chosen], kind='stable')][:50]
        sums = [np.bincount(self._cells, own * axis)[chosen] for axis in self._positions.T]
        return np.column_stack([*(each / chances[chosen] for each in sums), chances[chosen]])


JUMPS = 0.5
"""Share of a belief about the place that a fix leaves where it was, below which it jumped."""


class RouteTracker(TickFilter):
    """A `TickFilter` of the route model; ``with_places`` if ``places`` will be asked for."""

    seen = 0

    def __init__(self, model: RouteModel, *, with_places: bool = False) -> None:
        channels, route = model.channels, model.route
        self._model = model
        self._fixed: FixedPlaces | None = None
        self._live = np.flatnonzero(channels.live)
        scale = channels.scale[self._live]
        # Beyond the training, another slope, load or day: gravity turned by 18 degrees and a
        # gyroscope off by 29 degrees a second; of other channels, five standard deviations.
        imu = np.array([3.0, 3.0, 3.0, 0.5, 0.5, 0.5])
        least = imu[self._live] / scale if channels.of_imu else 5.0
        slack = np.maximum(model.highest - model.lowest, least)
        self._inverse = 1.0 / scale
        self._known = np.array(
            [channels.mean[self._live], self._inverse, model.lowest, model.highest, slack]
        )
        self._now = np.zeros((2, len(self._live)))
        self._recent = np.zeros((model.window, len(self._live)))
        self._most_still = model.most_still + model.window
        self._least_evidence = model.least_evidence
        # No more than the memory of the observations, in which they say the same thing once; a
        # persistence that is given may mean no memory at all.
        memory = round(1.0 / route.likelihood.persistence)
        self.steady = min(max(memory, LEAST_STEADY), MOST_STEADY)
        self._modes = PositionModes(route.readout.targets[:, 0]) if with_places else None
        self._columns: list[slice] = []
        self._network: NetworkBelief | None = None
        if model.sensors:
            # Behind the channels of the IMU, sensor by sensor.
            ends = np.cumsum([len(channels.names), *(len(each.names) for each in model.sensors)])
            self._columns = [slice(*pair) for pair in itertools.pairwise(ends.tolist())]
            self._sensed = SensedBelief(route, model.sensors, model.period_ns * 1e-9)
            self.belief: RouteBelief = self._sensed
        elif model.network is not None:
            self._network = NetworkBelief(route, model.network, model.period_ns * 1e-9)
            self.belief = self._network
            self._map = model.network
            self._misfits = np.zeros(model.window)
        else:
            self.belief = RouteBelief(route)
        # On a network drivers brake and stop anywhere.
        self._witness = Witness(route) if self._network is None else Witness(route, math.inf)
        self._lines = None
        if model.lines is not None:
            period_s = model.period_ns * 1e-9
            ahead_s = [each * period_s for each in model.horizons]
            self._lines = LineFollower(model.lines, self.belief, ahead_s, period_s)
        self._scales = ForecastScales(model.horizons, float((1.0 / route.motion.rates).sum()))
        self.start()

    def start(self) -> None:
        """Forget everything."""
        self._recent[:] = 0.0
        self._now[1] = 0.0
        self._now[0] = np.inf
        self._ticks = self._still = 0
        self.belief.start()
        if self._lines is not None:
            self._lines.start()
        self._scales.start()
        self._witness.start()
        self._read = self.belief.read()
        self.seen = 0

    def place(self, chances: Floats) -> None:
        """Be at the places with these ``chances`` (P,) in place of anywhere, after a start."""
        self.belief.place(chances)
        self._read = self.belief.read()

    def weigh(self, fix: Fix, ago: float, *, usual: bool = False) -> Weights | None:
        """
        Weigh a position fix of so many ticks ago; ``None`` if it is not in the frame.

        The last row is of the ``usual`` speed, the only one if nothing else is asked for.
        """
        there = fix.on_map_of(self._model)
        if there is None:
            return None
        if self._fixed is None:
            self._fixed = FixedPlaces(self._model.route)
        # What came to a place by the fix alone came at the usual speed.
        known = self.belief.ratios[:, : 0 if usual else OFF].T
        return self._fixed.weigh(there, ago, np.vstack([known, np.ones((1, known.shape[1]))]))

    def fix(self, fix: Fix, ago: float) -> float:
        """Take a position fix of so many ticks ago, see `TickFilter.fix`."""
        weights, belief = self.weigh(fix, ago), self.belief
        if weights is None:
            return math.nan
        before = belief.weights
        right = belief.fix(weights.near, weights.away)
        jumped = float(np.minimum(before, belief.weights).sum()) < JUMPS
        # What was seen on the way to other places says nothing any more, and a fix that agrees
        # says more than bends.
        if jumped or right > StateMachine.likely:
            self._witness.start()
        if jumped:
            self._scales.pause()
            if self._lines is not None:
                self._lines.start()
        if self._lines is not None:
            self._lines.follow(0)
            self.lines = self._lines.read()
        self._read = belief.read()
        return right

    def spread_anywhere(self) -> list[Floats]:
        """Return the covariance (2, 2) of a start anywhere; on a network a start is not."""
        if self._network is not None:
            places = self._network.chances.shape[0]
            self.place(np.full(places, 1.0 / places))
        return [self.read()[1][0]]

    def lose(self) -> None:
        """Be on no way from where drives begin, after a start; nothing changes on a route."""
        self.belief.lose()
        self._read = self.belief.read()

    def coast(self, ticks: int) -> None:
        """Move on by some ticks without observations; the window has to fill again."""
        self.belief.skip(ticks)
        if self._lines is not None:
            self._lines.follow(ticks)
        self._scales.pause()
        self._read = self.belief.read()
        self.seen = 0

    def update(self, values: Floats) -> TickDiagnostics:
        """Take the (c,) means of one tick, in the units of the samples."""
        same, beyond = _take(values, self._live, self._known, self._now, self._recent, self._ticks)
        broken = 0.0
        if self._network is not None:
            # Behind the means are those of what shakes.
            spreads = np.sqrt(values[len(values) // 2 :][self._live])
            shaken = shakes_of(spreads * self._inverse)
            self._network.take(shaken)
            known, place = self._map, self._ticks % len(self._misfits)
            self._misfits[place] = misfits(shaken, known.shakes, known.scales)
            broken = float(self._misfits.mean()) / known.largest_misfit
        self._ticks += 1
        self._still = self._still + 1 if same else 0
        evidence = self.belief.update(self._now[0])
        if self._columns:
            self._sensed.sense([values[each] for each in self._columns])
        if self._lines is not None:
            self._lines.follow()
            self.lines = self._lines.read()
        self.seen += 1
        self._read = self.belief.read()
        on_route, driving, unlike = self.belief.shares
        self._witness.follow(self._now[0], self.belief)
        self._scales.follow(*self._read, driving)
        broken = max(self._still / self._most_still, beyond, broken)
        if broken > 1.0:
            # What is no motion of the vehicle is no sign of another road.
            self._witness.start()
        full = self.seen >= len(self._recent)
        return TickDiagnostics(
            evidence,
            accepted=evidence > 0.0,
            # A broken input is novel; whether it is the route is decided apart.
            novelty=max(1.0, NOVEL * broken) if full else math.nan,
            restarted=evidence == 0.0,
            off_route=max(1.0 - on_route, 0.0),
            unlike=unlike,
            stays_off=self._network is not None,
            unlikely=evidence < self._least_evidence and driving > 0.5,
            disagrees=not self._witness.agrees,
        )

    def read(self) -> tuple[Floats, Floats]:
        """Return means (H + 1, 2) and covariances (H + 1, 2, 2) of positions and velocity."""
        means, covariances = self._read
        return means, covariances * self._scales.factors[:, None, None]

    def places(self) -> Floats | None:
        """Return the (m, 3) modes of the position; ``None`` if they were not asked for."""
        return None if self._modes is None else self._modes.read(self.belief.weights)
