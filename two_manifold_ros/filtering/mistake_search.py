# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Which known mistake explains input that is unlike that of training.

The same bends come in reversed order then, left for right, but not at the same speed: who comes
out of a bend one way goes into it the other. So the newest stretch, read backwards, is laid over
that of training with the time stretched or pressed as it fits best, and compared with how well it
fits read forwards.

A mistake is named if the newest windows would be familiar with it undone, are not as they are,
and would not be with anything else undone.
"""

from __future__ import annotations

from collections import deque
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.likeness import LikenessToTraining, PARTS, watched_ticks
from two_manifold_ros.filtering.mistakes import known_mistakes
from two_manifold_ros.filtering.status import Finding
from two_manifold_ros.filtering.tracker import RecentWindow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.filtering.mistakes import Mistake
    from two_manifold_ros.model.head import TrainedModel
    from two_manifold_ros.typing import Floats


STRETCH = 2 * PARTS
"""Parts that are laid over the training at once: two windows."""

MOST_PARTS = 2_000
"""Of longer trainings the beginning is used: some laps are enough."""

BENDS = (1, 2, 3, 4, 5)
"""Channels that tell bends, slopes and banks; forward acceleration is the driver's choice."""

SIGNS = np.array([1.0, -1.0, 1.0, 1.0, 1.0, -1.0])
"""Of a channel driven the other way round."""

SKIPPED = 0.5
"""What it costs to dwell on a part of training or to leave one out, in squared deviations."""

SAMPLED = 20
"""Stretches of training from which is learned what is usual."""

REVERSED_LOOK_S, REVERSED_LOOKS = 1.0, 2
"""Seconds of the stream between two looks, and over how many is averaged."""

REVERSED_STRANGE, REVERSED_NEAR = 0.7, 2.3
"""Logarithm of the cost over the usual: above the first read forwards, below the second back."""

REVERSED_GAIN = 0.45
"""
By how much the logarithm has to be lower backwards.

On other tracks it is .3 at most, and seldom below .5 for the slot car driven the other way round.
"""

FOUND = Finding(
    'wrong_way',
    'the bends come as on the route driven the other way round: compare direction and track with '
    'training',
    refuses=True,
)


class WrongWay:
    """
    Look along a stream whether it is the route the other way round.

    Parameters
    ----------
    model
        Of an IMU.

    Attributes
    ----------
    finding
        That it is, as long as it is.

    """

    def __init__(self, model: TrainedModel) -> None:
        live = np.flatnonzero(model.channels.live)
        told = np.isin(live, BENDS)
        self._channels = live[told]
        self._each = max(1, round(watched_ticks(model) / PARTS))
        self._mean = model.channels.mean[self._channels]
        self._scale = model.channels.scale[self._channels]
        used = model.series[told, : MOST_PARTS * self._each]
        self._learned = _parts(used.T, self._each)
        self._norms = np.square(self._learned).sum(axis=1)
        able = model.channels.of_imu and told.any() and len(self._learned) > 2 * STRETCH
        self._usual = self._usual_cost() if able else math.inf
        self._window = RecentWindow(STRETCH * self._each, len(self._channels))
        self._every = max(1, round(REVERSED_LOOK_S * model.rate_hz))
        self._looks: deque[tuple[float, float]] = deque(maxlen=REVERSED_LOOKS)
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
        """
        Take a tick.

        Parameters
        ----------
        means : (c,)
            Of the samples.
        strange
            Whether the newest window needs an explanation.

        """
        self._window.push(means[self._channels])
        if self._window.full and self._window.count % self._every == 0:
            if strange and math.isfinite(self._usual):
                self._looks.append(self._costs())
                self._settle()
            elif not strange:
                self._looks.clear()
                self.finding = None

    def _costs(self) -> tuple[float, float]:
        """Return the costs of the newest stretch read forwards and backwards, over the usual."""
        rows = self._window.point.reshape(-1, len(self._channels))
        ahead = _parts((rows - self._mean) / self._scale, self._each)
        signed = rows[::-1] * SIGNS[self._channels]
        back = _parts((signed - self._mean) / self._scale, self._each)
        forth, reversed_ = (
            math.log(self._cost(each).min() / self._usual) for each in (ahead, back)
        )
        return forth, reversed_

    def _settle(self) -> None:
        if len(self._looks) == REVERSED_LOOKS:
            forth, back = np.mean(self._looks, axis=0)
            found = (
                forth > REVERSED_STRANGE and back < REVERSED_NEAR and forth - back > REVERSED_GAIN
            )
            self.finding = FOUND if found else None

    def _cost(self, stretch: Floats) -> Floats:
        """Return the least cost of laying (k, d) parts over the training, by where they end."""
        apart = self._norms + np.square(stretch).sum(axis=1)[:, None]
        apart -= 2.0 * stretch @ self._learned.T
        total = apart[0]
        for row in apart[1:]:
            least = total + SKIPPED
            np.minimum(least[1:], total[:-1], out=least[1:])
            np.minimum(least[2:], total[:-2] + SKIPPED, out=least[2:])
            total = least + row
        floored: Floats = np.maximum(total, np.finfo(float).tiny)
        return floored

    def _usual_cost(self) -> float:
        """Return the median cost of stretches of training, away from where they are."""
        found = []
        for end in np.linspace(STRETCH, len(self._learned), SAMPLED).astype(int):
            costs = self._cost(self._learned[end - STRETCH : end])
            costs[max(0, end - 2 * STRETCH) : end + 2 * STRETCH] = math.inf
            found.append(costs.min())
        return max(float(np.median(found)), SKIPPED)


def _parts(rows: Floats, each: int) -> Floats:
    """Return the means of so many (t, d) rows each."""
    count = len(rows) // each
    means: Floats = rows[: count * each].reshape(count, each, -1).mean(axis=1)
    return means


LOOK_S = 0.5
"""Seconds of the stream between two looks at the newest window."""

LOOKS = 4
"""Looks over which is averaged: one window may err."""

AGREEING, WELL = 2, 4
"""Answers in a row that have to be the same before one is given, and good looks that end it."""

STRANGE = 0.5
"""``Likeness.strange`` above which a window needs an explanation."""

FAR = 1.5
"""``Likeness.far`` above which it needs one, whatever its contrast."""

NEAR, FAMILIAR = 2.0, 0.8
"""``far`` and ``strange`` below which it has one; not less, for another IMU has other biases."""

GAIN, LASTING = 0.8, 0.4
"""By how much ``far`` has to shrink, and for what was named to last."""

APART = 0.35
"""Mistakes that differ by less in what they leave of ``far`` cannot be told apart."""

NEVER = 8.0
"""Counts as ``far`` where the vehicle would hardly have driven, of which nothing is learned."""

MOST_NAMED = 2


class MistakeSearch:
    """
    Look for mistakes along a stream.

    Parameters
    ----------
    model
        What was learned.

    """

    def __init__(self, model: TrainedModel) -> None:
        self._mistakes = known_mistakes(model.channels)
        self._likeness = LikenessToTraining(model, self._mistakes)
        self._wrong_way = WrongWay(model)
        self._shape = (watched_ticks(model), len(model.channels.mean))
        self._window = RecentWindow(*self._shape)
        self._every = max(1, round(LOOK_S * model.rate_hz))
        self._looks: deque[tuple[Floats, Floats, float]] = deque(maxlen=LOOKS)
        self._answer: tuple[int, ...] = ()
        self._agreeing = 0
        self._strange = False
        self._well = 0
        self._named: tuple[int, ...] = ()
        self._found: Finding | None = None

    @property
    def finding(self) -> Finding | None:
        """The mistake in force, if any."""
        return self._found or self._wrong_way.finding

    def clear(self) -> None:
        """Forget the stream and what was found in it."""
        self.pause()
        self._name(())
        self._wrong_way.clear()

    def pause(self) -> None:
        """Forget the stream, as after a gap, but not what was found in it."""
        self._window.clear()
        self._looks.clear()
        self._answer, self._agreeing = (), 0
        self._strange = False
        self._well = 0
        self._wrong_way.pause()

    def push(self, means: Floats) -> None:
        """Take the (c,) means of one tick, in the units of the samples."""
        self._window.push(means)
        if self._mistakes and self._window.full and self._window.count % self._every == 0:
            self._look(self._window.point.reshape(self._shape))
        self._wrong_way.push(means, strange=self._strange)

    def _look(self, window: Floats) -> None:
        plain = self._likeness.plain(window)
        self._strange = bool(plain.strange[0] >= STRANGE or plain.far[0] >= FAR)
        self._well = 0 if self._strange else self._well + 1
        if not self._strange:
            # Also when the vehicle stands as it stood in training: nothing is wrong with that.
            self._looks.clear()
            if self._well >= WELL:
                self._name(())
            return
        tried = self._likeness.all(window)
        far = np.where(tried.driving, tried.far, NEVER)
        if far.min() < NEVER:
            self._looks.append((far, tried.strange, float(tried.far[0])))
        if len(self._looks) == LOOKS:
            self._settle(self._explanations())

    def _explanations(self) -> tuple[int, ...]:
        """Return which mistakes would explain the last looks equally well."""
        fars, stranges, plain = zip(*self._looks, strict=True)
        far, strange = np.mean(fars, axis=0), np.mean(stranges, axis=0)
        gain = np.mean(plain) - far
        best = int(np.argmin(far))
        if best > 0 and far[best] < NEAR and strange[best] < FAMILIAR and gain[best] > GAIN:
            return tuple(np.flatnonzero(far < far[best] + APART))
        lasts = bool(self._named) and gain[list(self._named)].min() > LASTING
        return self._named if lasts else ()

    def _settle(self, answer: tuple[int, ...]) -> None:
        self._agreeing = self._agreeing + 1 if answer == self._answer else 1
        self._answer = answer
        if self._agreeing >= AGREEING:
            self._name(answer)

    def _name(self, which: tuple[int, ...]) -> None:
        if which != self._named:
            self._named = which
            self._found = _finding([self._mistakes[index - 1] for index in which])


def _finding(mistakes: Sequence[Mistake]) -> Finding | None:
    if not mistakes:
        return None
    words = {each.cause: each.words for each in mistakes}
    if len(words) > MOST_NAMED:
        return Finding(
            'axes_or_signs',
            'the input would be familiar with other axes or signs, but several explain it equally '
            'well: compare the driver and the mounting of the IMU',
            refuses=True,
        )
    return Finding('_or_'.join(words), ', or '.join(words.values()), refuses=True)
