# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The adaptive filter: samples and reference positions in, estimates out."""

from __future__ import annotations

from collections import deque
from typing import Any, TYPE_CHECKING

from two_manifold_ros.adapting.adaptive_tracker import AdaptiveTracker
from two_manifold_ros.adapting.learner import Lacking
from two_manifold_ros.adapting.position_learning import ENOUGH, LATE_S
from two_manifold_ros.adapting.reference import Reference
from two_manifold_ros.adapting.seen import NoBelief
from two_manifold_ros.adapting.snapshot import snapshot
from two_manifold_ros.adapting.state import adaptive_arrays, adaptive_from
from two_manifold_ros.filtering.causes import READOUT_UNPROVEN
from two_manifold_ros.filtering.filter import Filter

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from two_manifold_ros.adapting.adapting_head import AdaptingHead
    from two_manifold_ros.adapting.learning_budget import LearningBudget
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.filtering.limits import EllipseLimits
    from two_manifold_ros.model.head import ModelHead
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
    head
        As given, until somebody who knows more of the stream puts another one here.
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
        self.head: ModelHead = head
        self._stream, self._budget = head, budget
        self._limits, self._reorder_ns = limits, reorder_ns
        self.reference = Reference()
        self._follow(tracker or AdaptiveTracker(head, budget))
        late = round(LATE_S * head.rate_hz)
        self._untold: deque[tuple[int, int]] = deque(maxlen=max(1, late))

    @property
    def running(self) -> ModelHead:
        """What is known of the stream: it is never exchanged."""
        return self.head

    @property
    def counters(self) -> Counter[str]:
        """What became of the samples, see ``AdaptiveTracker.counters``."""
        return self.tracker.counters

    @property
    def changes(self) -> int:
        """How often what was learned has become something else, or is read in another way."""
        counters = self.tracker.counters
        return counters['changes'] + counters['turns']

    @property
    def news(self) -> tuple[float, float]:
        """Something else each time that the bases have moved."""
        return self.tracker.angle, self.tracker.update_s

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

    def model(self) -> ModelHead | None:
        """Return what was learned, frozen; ``None`` as long as positions cannot be told."""
        return snapshot(self.tracker, self.head)

    def lacking(self, reference_topic: str) -> Lacking | None:
        """Return what it lacks to tell positions; ``None`` if nothing but a good estimate."""
        tracker = self.tracker
        if tracker.learning is None:
            needed_s = self._stream.settings.warm_up_s
            why = f'warming up: {tracker.progress:.0%} of {needed_s:g} s of driving seen'
            return Lacking('warming_up', why)
        if isinstance(tracker.belief, NoBelief):
            why = f'learning: {tracker.counters["learned"]} samples, too few for a state'
            return Lacking('learning', why)
        reading = tracker.locating.learning
        if reading.ready:
            return None
        if not self.reference.counters['used']:
            why = (
                f'no position came on {reference_topic} yet: learning goes on, but where the '
                f'vehicle is cannot be told without'
            )
            return Lacking('no_reference', why)
        held = reading.counts.min()
        why = f'learning to read out positions: {held} of {ENOUGH} held against the truth'
        return Lacking(READOUT_UNPROVEN, why)

    def values(self) -> dict[str, float | str]:
        """Return how the learning goes, for diagnostics."""
        tracker = self.tracker
        return {
            'warm_up': round(tracker.progress, 3),
            'basis_angle': tracker.angle,
            'update_us': 1e6 * tracker.update_s,
        } | ({'turned': ', '.join(tracker.turned_names)} if tracker.turned_names else {})

    def progress(self) -> tuple[dict[str, float], Floats]:
        """Return how the bases moved and what became of the samples, and singular values."""
        tracker, counters = self.tracker, self.tracker.counters
        numbers = {'basis_angle': tracker.angle, 'update_s': tracker.update_s}
        for name in ('learned', 'refused', 'quarantined'):
            numbers[name] = float(counters[name])
        return numbers, tracker.values

    def saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what was learned, see ``adaptive_arrays``."""
        return adaptive_arrays(self.tracker)

    def restore(self, numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on with what ``saved`` gave; raises `InputError` if it does not fit."""
        self._follow(adaptive_from(self._stream, numbers, arrays, self._budget))

    def close(self) -> None:
        """Nothing runs beside."""

    def _follow(self, tracker: AdaptiveTracker) -> None:
        self.tracker = tracker
        self.filter = Filter(
            self._stream, tick_filter=tracker, limits=self._limits, reorder_ns=self._reorder_ns
        )

    def _tell(self) -> None:
        """Tell the tracker where it was at the ticks up to the newest position."""
        untold, newest = self._untold, self.reference.newest_ns
        while untold and untold[0][1] <= newest:
            number, stamp_ns = untold.popleft()
            place = self.reference.at(stamp_ns)
            if place is not None:
                self.tracker.know(number, *place)
