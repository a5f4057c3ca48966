# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Which known mistake explains input that is unlike that of training.

A mistake is named if the newest windows would be familiar with it undone, are not as they are,
and would not be with anything else undone.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.recent_window import RecentWindow
from two_manifold_ros.monitoring.finding import Finding
from two_manifold_ros.monitoring.likeness import LikenessToTraining, watched_ticks
from two_manifold_ros.monitoring.mistakes import known_mistakes
from two_manifold_ros.monitoring.wrong_way import WrongWay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.model.head import TrainedModel
    from two_manifold_ros.monitoring.mistakes import Mistake
    from two_manifold_ros.typing import Floats

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
