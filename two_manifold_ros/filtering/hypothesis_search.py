# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Search for the misconfiguration that explains input unlike that of training.

A misconfiguration is named if the newest windows would be familiar with it undone, are not as
they are, and would not be with anything else undone.
"""

from __future__ import annotations

from collections import deque
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.hypothesis_score import HypothesisScorer, PARTS, watched_ticks
from two_manifold_ros.filtering.misconfigurations import known_misconfigurations
from two_manifold_ros.filtering.status import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.filtering.misconfigurations import Misconfiguration
    from two_manifold_ros.model.head import TrainedModel
    from two_manifold_ros.typing import Floats


class RecentWindow:
    """
    The newest observations.

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
    def rows(self) -> Floats:
        """The newest window (w, d), the oldest observation first."""
        begin = self.count % self._width
        return self._twice[begin : begin + self._width]

    def clear(self) -> None:
        """Forget everything, as after a gap."""
        self.count = 0

    def push(self, observation: Floats) -> None:
        """Append one (d,) observation."""
        place = self.count % self._width
        self._twice[place] = observation
        self._twice[place + self._width] = observation
        self.count += 1


def alignment_cost(stretch: Floats, learned: Floats, skipped: float = 0.5) -> Floats:
    """
    Return the least cost of laying a stretch over the training, by the part where it ends (n,).

    Parameters
    ----------
    stretch, learned : (k, d), (n, d)
        Standardised parts; each part of the stretch costs its squared distance.
    skipped
        Cost of staying on a part of the training or of leaving one out, in squared deviations.

    """
    apart = np.square(learned).sum(axis=1) + np.square(stretch).sum(axis=1)[:, None]
    apart -= 2.0 * stretch @ learned.T
    total = apart[0]
    for row in apart[1:]:
        least = total + skipped
        np.minimum(least[1:], total[:-1], out=least[1:])
        np.minimum(least[2:], total[:-2] + skipped, out=least[2:])
        total = least + row
    floored: Floats = np.maximum(total, np.finfo(float).tiny)
    return floored


class ReversedRoute:
    """
    Detect the route driven the other way round.

    The same bends come in reversed order then, left for right, but not at the same speed: who
    comes out of a bend one way goes into it the other. So the newest two windows, read backwards,
    are laid over the training with the time stretched or pressed as it fits best, and compared
    with how well they fit read forwards. It is found if the logarithm of the cost over the usual
    one is above ``forward_cost`` forwards, below ``backward_cost`` backwards, and lower backwards
    by ``gain``: on other tracks that is .3 at most, and seldom below .5 for the slot car driven
    the other way round.

    Parameters
    ----------
    model
        Of an IMU; of other sensors nothing is found.

    Attributes
    ----------
    finding
        The finding in force, if there is one.
    stretch
        Parts that are laid over the training at once.

    """

    forward_cost, backward_cost, gain = 0.7, 2.3, 0.45
    stretch = 2 * PARTS

    def __init__(self, model: TrainedModel) -> None:
        live = np.flatnonzero(model.channels.live)
        # Bends, slopes and banks; forward acceleration is the driver's choice.
        bends = np.isin(live, (1, 2, 3, 4, 5))
        self._channels = live[bends]
        self._each = max(1, round(watched_ticks(model) / PARTS))
        self._mean = model.channels.mean[self._channels]
        self._scale = model.channels.scale[self._channels]
        # Of longer trainings the beginning is used: some laps are enough.
        self._learned = _parts(model.series[bends, : 2_000 * self._each].T, self._each)
        able = model.channels.of_imu and bends.any() and len(self._learned) > 2 * self.stretch
        self._usual = self._usual_cost() if able else math.inf
        self._window = RecentWindow(self.stretch * self._each, len(self._channels))
        # A look each second of the stream, averaged over two.
        self._every = max(1, round(model.rate_hz))
        self._looks: deque[tuple[float, float]] = deque(maxlen=2)
        self.finding: Finding | None = None

    def clear(self) -> None:
        """Forget the stream and what was found in it."""
        self.pause()
        self.finding = None

    def pause(self) -> None:
        """Forget the stream, as after a gap, but not what was found in it."""
        self._window.clear()
        self._looks.clear()

    def push(self, means: Floats, *, strange: bool) -> None:
        """Take the (c,) means of a tick, and whether the newest window needs an explanation."""
        self._window.push(means[self._channels])
        if not self._window.full or self._window.count % self._every:
            return
        if not strange:
            self._looks.clear()
            self.finding = None
        elif math.isfinite(self._usual):
            self._looks.append(self._costs())
            if len(self._looks) == self._looks.maxlen:
                self._decide(*np.mean(self._looks, axis=0))

    def _decide(self, forth: float, back: float) -> None:
        words = (
            'the bends come as on the route driven the other way round: compare direction and '
            'track with training'
        )
        fits = forth > self.forward_cost and back < self.backward_cost
        found = fits and forth - back > self.gain
        self.finding = Finding('wrong_way', words, refuses=True) if found else None

    def _costs(self) -> tuple[float, float]:
        """Return the costs of the newest stretch read forwards and backwards, over the usual."""
        rows = self._window.rows
        signs = np.array([1.0, -1.0, 1.0, 1.0, 1.0, -1.0])[self._channels]
        ahead = _parts((rows - self._mean) / self._scale, self._each)
        back = _parts((rows[::-1] * signs - self._mean) / self._scale, self._each)
        forth, reversed_ = (alignment_cost(each, self._learned).min() for each in (ahead, back))
        return math.log(forth / self._usual), math.log(reversed_ / self._usual)

    def _usual_cost(self) -> float:
        """Return the median cost of stretches of training, away from where they are."""
        found = []
        for end in np.linspace(self.stretch, len(self._learned), 20).astype(int):
            costs = alignment_cost(self._learned[end - self.stretch : end], self._learned)
            costs[max(0, end - 2 * self.stretch) : end + 2 * self.stretch] = math.inf
            found.append(costs.min())
        return max(float(np.median(found)), 0.5)


def _parts(rows: Floats, each: int) -> Floats:
    """Return the means of so many (t, d) rows each."""
    count = len(rows) // each
    means: Floats = rows[: count * each].reshape(count, each, -1).mean(axis=1)
    return means


class HypothesisSearch:
    """
    Search for misconfigurations along a stream.

    Parameters
    ----------
    model
        What was learned.

    Attributes
    ----------
    strange, far
        ``Scores.novelty`` and ``Scores.distance`` from which on a window needs an explanation.
    familiar, near
        The same below which it has one; not less, for another IMU has other biases.
    gain, lasting
        By how much the distance has to shrink, and for what was named to stay named.
    apart
        Misconfigurations whose distances differ by less cannot be told apart.
    agreeing, well
        Answers in a row that have to be the same before one is given, and good looks that end it.

    """

    strange, far = 0.5, 1.5
    familiar, near = 0.8, 2.0
    gain, lasting = 0.8, 0.4
    apart = 0.35
    agreeing, well = 2, 4

    def __init__(self, model: TrainedModel) -> None:
        self._hypotheses = known_misconfigurations(model.channels)
        self._scorer = HypothesisScorer(model, self._hypotheses)
        self._reversed = ReversedRoute(model)
        self._window = RecentWindow(watched_ticks(model), len(model.channels.mean))
        # A look each half second of the stream, averaged over four: one window may err.
        self._every = max(1, round(0.5 * model.rate_hz))
        self._looks: deque[tuple[Floats, Floats, float]] = deque(maxlen=4)
        self._named: tuple[int, ...] = ()
        self._found: Finding | None = None
        self._forget_stream()

    @property
    def finding(self) -> Finding | None:
        """The finding in force, if there is one."""
        return self._found or self._reversed.finding

    def clear(self) -> None:
        """Forget the stream and what was found in it."""
        self._forget_stream()
        self._name(())
        self._reversed.clear()

    def pause(self) -> None:
        """Forget the stream, as after a gap, but not what was found in it."""
        self._forget_stream()
        self._reversed.pause()

    def _forget_stream(self) -> None:
        self._window.clear()
        self._looks.clear()
        self._answer: tuple[int, ...] = ()
        self._agreeing_looks = self._good_looks = 0
        self._strange = False

    def push(self, means: Floats) -> None:
        """Take the (c,) means of one tick, in the units of the samples."""
        self._window.push(means)
        if self._hypotheses and self._window.full and self._window.count % self._every == 0:
            self._look(self._window.rows)
        self._reversed.push(means, strange=self._strange)

    def _look(self, window: Floats) -> None:
        plain = self._scorer.score_plain(window)
        self._strange = bool(plain.novelty[0] >= self.strange or plain.distance[0] >= self.far)
        self._good_looks = 0 if self._strange else self._good_looks + 1
        if not self._strange:
            # Also when the vehicle stands as it stood in training: nothing is wrong with that.
            self._looks.clear()
            if self._good_looks >= self.well:
                self._name(())
            return
        scores = self._scorer.score_all(window)
        # Of a vehicle that hardly drives nothing is learned: its windows count as far away.
        never = 8.0
        distance = np.where(scores.driving, scores.distance, never)
        if distance.min() < never:
            self._looks.append((distance, scores.novelty, float(scores.distance[0])))
        if len(self._looks) == self._looks.maxlen:
            answer = self._explain()
            self._agreeing_looks = self._agreeing_looks + 1 if answer == self._answer else 1
            self._answer = answer
            if self._agreeing_looks >= self.agreeing:
                self._name(answer)

    def _explain(self) -> tuple[int, ...]:
        """Return which misconfigurations would explain the last looks equally well."""
        distances, novelties, plain = zip(*self._looks, strict=True)
        distance, novelty = np.mean(distances, axis=0), np.mean(novelties, axis=0)
        gain = np.mean(plain) - distance
        best = int(np.argmin(distance))
        explains = distance[best] < self.near and novelty[best] < self.familiar
        if best > 0 and explains and gain[best] > self.gain:
            return tuple(np.flatnonzero(distance < distance[best] + self.apart))
        lasts = bool(self._named) and gain[list(self._named)].min() > self.lasting
        return self._named if lasts else ()

    def _name(self, which: tuple[int, ...]) -> None:
        if which != self._named:
            self._named = which
            self._found = _finding([self._hypotheses[index - 1] for index in which])


def _finding(named: Sequence[Misconfiguration]) -> Finding | None:
    words = {each.cause: each.words for each in named}
    if not words:
        return None
    if len(words) > 2:
        return Finding(
            'axes_or_signs',
            'the input would be familiar with other axes or signs, but several explain it equally '
            'well: compare the driver and the mounting of the IMU',
            refuses=True,
        )
    return Finding('_or_'.join(words), ', or '.join(words.values()), refuses=True)
