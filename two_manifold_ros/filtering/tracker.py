# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The spectral filter over ticks: belief, window and read-out together.

What no place on any road can bring about is told apart by the mean of the newest window: other
units, missing gravity, a sensor on its side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled
from two_manifold_ros.hse_hmm.belief import Belief, Recollection
from two_manifold_ros.hse_hmm.sharpened import SharpenedReadout
from two_manifold_ros.ticks.novelty import Familiarity, UNFAMILIAR
from two_manifold_ros.ticks.rest import alike, Rest, Stillness
from two_manifold_ros.ticks.sliding import SlidingWindow

if TYPE_CHECKING:
    from two_manifold_ros.model.model import Model
    from two_manifold_ros.model.route_model import RouteModel
    from two_manifold_ros.typing import Floats, Ints


REJECTED_BEFORE_RESTART = 10
"""Observations in a row that fit nothing before the belief is started anew (section 6.5)."""


@dataclass(frozen=True)
class Step:
    """
    What one observation did.

    Parameters
    ----------
    evidence
        See ``Belief.update``.
    accepted
        Whether the observation moved the belief.
    familiarity
        See ``Estimate``; NaN until the window is full.
    restarted
        Whether the belief had to be started anew.
    off_route
        Probability that the vehicle is not on the trained route; NaN of who cannot tell.
    unlike
        Probability that it does what training never saw; NaN of who cannot tell.
    standing
        Whether the observation was left out because the vehicle stands; all else is then what
        the last one did that was not.

    """

    evidence: float
    accepted: bool
    familiarity: float
    restarted: bool
    off_route: float = math.nan
    unlike: float = math.nan
    standing: bool = False


class RecentWindow:
    """
    Keep the newest observations.

    Parameters
    ----------
    width
        Ticks in a window.
    channels
        Numbers in an observation, d.

    Attributes
    ----------
    count
        Ticks in a row that were seen.

    """

    def __init__(self, width: int, channels: int) -> None:
        self._width = width
        # Each observation is there twice, so that the newest window is always in one piece.
        self._twice = np.zeros((2 * width, channels))
        self.count = 0

    @property
    def full(self) -> bool:
        """Whether a whole window was seen."""
        return self.count >= self._width

    @property
    def point(self) -> Floats:
        """The newest window (w d,): the oldest observation first, its channels together."""
        begin = self.count % self._width
        return self._twice[begin : begin + self._width].reshape(-1)

    def clear(self) -> None:
        """Forget everything, as after a gap."""
        self.count = 0

    def push(self, observation: Floats) -> None:
        """Append one (d,) observation."""
        place = self.count % self._width
        self._twice[place] = observation
        self._twice[place + self._width] = observation
        self.count += 1


LEAST_IMU = np.array([3.0, 3.0, 3.0, 0.5, 0.5, 0.5])
"""
Beyond the training, m/s^2 and rad/s, that is still another slope, load or day.

Gravity turned by 18 degrees, and a gyroscope that is off by 29 degrees a second.
"""

LEAST_SCALES = 5.0
"""The same for other channels, in standard deviations."""

MEAN, INVERSE_SCALE, LOW, HIGH, SLACK = range(5)
"""Rows of what is known of the channels."""

OBSERVATION, SUM = range(2)
"""Rows of what changes from tick to tick."""


@compiled
def _take(
    values: Floats, live: Ints, known: Floats, now: Floats, recent: Floats, count: int
) -> tuple[bool, float]:
    """
    Take the means of a tick.

    Parameters
    ----------
    values : (c,)
        In the units of the samples.
    live : (d,) int64
        Channels that are used.
    known : (5, d)
        Mean and one over the standard deviation of training; lowest and highest mean of a window
        of it, standardised, and how far beyond is still usual.
    now : (2, d)
        The observation before, and the sum of the newest ones; updated.
    recent : (w, d)
        The newest observations, standardised; updated.
    count
        How many there were before this one.

    Returns
    -------
    same : bool
        Whether nothing changed.
    beyond : float
        How far the mean of the newest ones is beyond those of training, in multiples of what may
        be; 0 until there is a whole window.

    """
    width, place = len(recent), count % len(recent)
    for k in range(len(live)):
        value = (values[live[k]] - known[MEAN, k]) * known[INVERSE_SCALE, k]
        now[SUM, k] += value - recent[place, k]
        recent[place, k] = value
    same = alike(recent[place], now[OBSERVATION])
    now[OBSERVATION] = recent[place]
    if place == width - 1:
        # So that rounding cannot build up for ever.
        now[SUM] = 0.0
        for tick in range(width):
            now[SUM] += recent[tick]
    beyond = 0.0
    if count + 1 >= width:
        for k in range(len(live)):
            mean = now[SUM, k] / width
            far = max(known[LOW, k] - mean, mean - known[HIGH, k]) / known[SLACK, k]
            beyond = max(beyond, far)
    return same, beyond


class TickInput:
    """
    Standardise the means of ticks and hold them against those of training.

    Parameters
    ----------
    model
        With the means of its training windows.

    Attributes
    ----------
    observation : (d,)
        The newest, standardised; changed by the next tick.
    still
        Observations in a row that were the same as the one before.
    beyond
        How far the mean of the newest window is beyond those of training, see `_take`.

    """

    def __init__(self, model: RouteModel) -> None:
        channels = model.channels
        self._live = np.flatnonzero(channels.live)
        scale = channels.scale[self._live]
        least = LEAST_IMU[self._live] / scale if channels.of_imu else LEAST_SCALES
        slack = np.maximum(model.highest - model.lowest, least)
        self._known = np.array(
            [channels.mean[self._live], 1.0 / scale, model.lowest, model.highest, slack]
        )
        self._now = np.zeros((2, len(self._live)))
        self._recent = np.zeros((model.window, len(self._live)))
        self.observation = self._now[OBSERVATION]
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._recent[:] = 0.0
        self._now[SUM] = 0.0
        self._now[OBSERVATION] = np.inf
        self._count = self.still = 0
        self.beyond = 0.0

    def push(self, values: Floats) -> None:
        """Take the (c,) means of one tick, in the units of the samples."""
        same, self.beyond = _take(
            values, self._live, self._known, self._now, self._recent, self._count
        )
        self._count += 1
        self.still = self.still + 1 if same else 0


class Tracker:
    """
    Belief and window of one model.

    Where the model has a clock that stands while the vehicle does, observations at rest are left
    out: belief and window are those of the last tick of driving, and so are the positions ahead,
    which count ticks of driving; the velocity is nought.

    Parameters
    ----------
    model
        Any.

    Attributes
    ----------
    belief
        The HMM's belief.
    window
        The newest observations and their distances to the training windows.

    """

    def __init__(self, model: Model) -> None:
        channels = model.channels
        self._readout = model.readout
        self._mean = channels.mean[channels.live]
        self._inverse_scale = 1.0 / channels.scale[channels.live]
        self._live = np.flatnonzero(channels.live)
        self._state_bound = model.state_bound
        self._familiarity = Familiarity(model.familiarity, model.window)
        self._stillness = Stillness(len(model.series))
        self._rest = None if model.rest is None else Rest(model.rest, len(model.series))
        self._driven = Step(math.nan, accepted=True, familiarity=math.nan, restarted=False)
        self._stands = False
        self._rejected = 0
        # A ridge read-out was fitted to states that were left alone.
        self._mixes = isinstance(self._readout, SharpenedReadout)
        self._window_known = False
        self.belief = Belief(model.tables, model.operator)
        self.window = SlidingWindow(model.series, model.starts, model.window)
        self._recollection = Recollection(self.window, model.warm_start)

    def start(self) -> None:
        """Forget everything."""
        self._familiarity.clear()
        self._stillness.clear()
        if self._rest is not None:
            self._rest.clear()
        self._stands = False
        self.belief.start()
        self.window.clear()
        self._rejected = 0

    def coast(self, ticks: int) -> None:
        """
        Move on by some ticks without observations; the window has to fill anew.

        A vehicle that stood is taken for one that still does: the first tick after the gap shows
        whether that is so, since it is compared with those before.
        """
        if not self._stands:
            self.belief.skip(ticks)
        self.window.clear()
        self._rejected = 0

    def update(self, values: Floats) -> Step:
        """Take the (6,) means of one tick, in the units of the IMU."""
        observation = (values[self._live] - self._mean) * self._inverse_scale
        still = self._stillness.push(observation)
        if self._rest is not None and self._rest.push(observation):
            # A sensor that broke stands still to the last digit, which no vehicle does.
            familiarity = max(self._driven.familiarity, self._familiarity.frozen(still))
            self._stands = True
            return replace(self._driven, familiarity=familiarity, standing=True)
        self._driven = self._drive(observation, still)
        self._stands = False
        return self._driven

    def _drive(self, observation: Floats, still: int) -> Step:
        if self._mixes and self._window_known:
            self._recollection.remind(self.belief)
        evidence = self.belief.update(observation)
        self._rejected = 0 if self.belief.accepted else self._rejected + 1
        restarted = self._rejected >= REJECTED_BEFORE_RESTART or self._escaped()
        if restarted:
            # From the window before this observation, which is then taken as any other: the
            # weights stay those at this tick.
            self._restart()
            evidence = self.belief.update(observation)
        self.window.push(observation)
        familiarity = self._familiarity.push(*self.window.nearest_and_mean(), still)
        self._window_known = familiarity <= UNFAMILIAR
        return Step(evidence, self.belief.accepted, familiarity, restarted)

    def _escaped(self) -> bool:
        state = self.belief.state
        return not float(np.dot(state, state)) <= 1.0 + self._state_bound**2

    def read(self) -> tuple[Floats, Floats]:
        """Return means (H + 1, 2) and covariances (H + 1, 2, 2) of positions and velocity."""
        means, covariances = self._readout.read(self.belief.weights, self.belief.state)
        if self._stands:
            means[-1] = 0.0
        return means, covariances

    def places(self) -> None:
        """Return ``None``: weights that may be negative are no chances of places."""

    def _restart(self) -> None:
        """Start from the newest window where there is one, else from the prior (section 6.4)."""
        self._rejected = 0
        self.belief.start(self._recollection.state())
