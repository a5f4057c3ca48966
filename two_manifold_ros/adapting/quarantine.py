# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Set aside what must not be learned, until it is known whether it will last."""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.adapting.window_delay import Sample
    from two_manifold_ros.adapting.witness import Witness

WITHOUT_WITNESS = 3
"""Times as long something unfamiliar has to last where no reference shows that it is driving."""


class Verdict(Enum):
    """What to do with the present tick."""

    LEARN = 'learn it'
    REST = 'nothing moves: leave it'
    HOLD = 'set it aside'
    DROP = 'set aside no longer: forget what was'
    ACCEPT = 'it is the new usual: learn all that was set aside'


class Quarantine:
    """
    A queue between the stream and the learner.

    A window tells that something is wrong some ticks after it began. So samples wait for one
    window even when all is well; from the first suspicion on all that wait stay where they are.
    If the stream is calm again they are dropped, with one window of ticks before them. If it is
    as strange after some time, in which a reference says that the vehicle drives on, they are
    learned, but for those of before, which reach from one world into the other. What is known to
    be faulty is dropped in any case and proves nothing.

    Parameters
    ----------
    window
        Ticks in a window.
    lasting
        Ticks after which a suspicion is confirmed; half of that in calm ends it.

    Attributes
    ----------
    held
        Whether there is a suspicion.
    dropped
        How many samples were dropped.

    """

    def __init__(self, window: int, lasting: int) -> None:
        self._window = window
        self._lasting = lasting
        self._queue: deque[Sample] = deque(maxlen=window + WITHOUT_WITNESS * lasting)
        self.held = False
        self.lasted = 0.0
        self.dropped = 0
        self._before = 0
        self._sound_for = window

    @property
    def waiting(self) -> int:
        """Number of samples in the queue."""
        return len(self._queue)

    def push(self, sample: Sample) -> None:
        """Append a sample; where the queue is full the oldest is dropped."""
        self.dropped += len(self._queue) == self._queue.maxlen
        self._queue.append(sample)

    def pop(self, keeping: int) -> Sample | None:
        """Return the oldest sample that may be learned, while more than some wait."""
        return self._queue.popleft() if not self.held and len(self._queue) > keeping else None

    def judge(
        self, *, suspicious: bool, calm_for: int, faulty: bool, resting: bool, witness: Witness
    ) -> Verdict:
        """
        Judge one tick.

        Parameters
        ----------
        suspicious
            Whether the stream is unlike what was learned.
        calm_for
            Ticks for which it has been much like it.
        faulty
            Whether the tick is known to be wrong.
        resting
            Whether the vehicle stands.
        witness
            What the reference says.

        """
        if faulty:
            self.drop()
            self.held, self._sound_for = True, 0
            return Verdict.HOLD
        self._sound_for += 1
        if not self.held and not suspicious:
            return Verdict.REST if resting else Verdict.LEARN
        # Not before the last window that reaches into what was wrong has passed.
        if min(calm_for, self._sound_for) >= max(self._lasting // 2, self._window):
            return self.end()
        if not self.held:
            self._before = len(self._queue)
        self.held = True
        self.lasted += 0.0 if resting else witness.weight
        if self.lasted < self._lasting or not suspicious:
            return Verdict.HOLD
        self.held, self.lasted = False, 0.0
        for _ in range(min(self._before, len(self._queue))):
            self._queue.popleft()
            self.dropped += 1
        return Verdict.ACCEPT

    def end(self) -> Verdict:
        """End a suspicion at a seam, or because all is well again."""
        was_held = self.held
        self.held = False
        if not was_held:
            return Verdict.LEARN
        self.drop()
        return Verdict.DROP

    def drop(self) -> None:
        """Drop what waits, and begin to count anew."""
        self.dropped += len(self._queue)
        self.forget()

    def forget(self) -> None:
        """Forget what waits, and every suspicion."""
        self._queue.clear()
        self.held = False
        self.lasted = 0.0
        self._before = 0
