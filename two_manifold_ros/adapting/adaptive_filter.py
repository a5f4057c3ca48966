# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The adaptive filter: samples and reference positions in, estimates out."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from two_manifold_ros.adapting.adaptive_tracker import AdaptiveTracker
from two_manifold_ros.adapting.position_learning import LATE_S
from two_manifold_ros.adapting.reference import Reference
from two_manifold_ros.filtering.filter import Filter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.adapting.adapting_head import AdaptingHead
    from two_manifold_ros.adapting.learning_budget import LearningBudget
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.filtering.limits import EllipseLimits
    from two_manifold_ros.typing import Floats


class AdaptiveFilter:
    """
    A `Filter` that learns from what it filters, and positions from a reference.

    Stamps are treated as by every `Filter`. After a gap or a jump back the windows begin anew and
    nothing is learned across; what was learned stays. At another rate of samples the means over
    ticks are the same but for noise.

    Parameters
    ----------
    head
        Of the stream, from ``make_head`` or ``head_after``.
    budget
        That may drop samples; without one all are learned.
    tracker
        That has learned before, and has its own budget; by default a new one.
    limits, reorder_ns
        See ``Filter``.

    Attributes
    ----------
    filter
        What turns samples into ticks; its ``counters`` and ``why``.
    tracker
        What learns.
    reference
        What refuses positions; its ``counters``.

    """

    def __init__(
        self,
        head: AdaptingHead,
        budget: LearningBudget | None = None,
        tracker: AdaptiveTracker | None = None,
        limits: EllipseLimits | None = None,
        reorder_ns: int = 0,
    ) -> None:
        self.tracker = tracker or AdaptiveTracker(head, budget)
        self.filter = Filter(head, tick_filter=self.tracker, limits=limits, reorder_ns=reorder_ns)
        self.reference = Reference()
        late = round(LATE_S * head.rate_hz)
        self._untold: deque[tuple[int, int]] = deque(maxlen=max(1, late))

    def push(self, stamp_ns: int, sample: Sequence[float] | Floats) -> list[Estimate]:
        """Take one sample, see ``Filter.push``."""
        estimates = self.filter.push(stamp_ns, sample)
        newest = self.tracker.number
        for estimate in estimates:
            # The ticks before a reset count from another beginning, and are over.
            back = estimates[-1].tick - estimate.tick
            if back >= 0:
                self._untold.append((newest - back, estimate.stamp_ns))
        self._tell()
        return estimates

    def add_reference(self, stamp_ns: int, x: float, y: float) -> bool:
        """Take a reference position in metres; return whether it is used, see `Reference`."""
        used = self.reference.add(stamp_ns, x, y)
        if used:
            self._tell()
        return used

    def reset(self, cause: str) -> None:
        """Forget the stream, but nothing that was learned; see ``Filter.reset``."""
        self.filter.reset(cause)
        self._untold.clear()

    def _tell(self) -> None:
        """Tell the tracker where it was at the ticks up to the newest position."""
        untold, newest = self._untold, self.reference.newest_ns
        while untold and untold[0][1] <= newest:
            number, stamp_ns = untold.popleft()
            place = self.reference.at(stamp_ns)
            if place is not None:
                self.tracker.know(number, *place)
