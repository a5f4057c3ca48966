# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Prepare a filter in a thread while another one runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, TypeAlias

from two_manifold_ros.errors import why_it_fails
from two_manifold_ros.filtering.fixes import Fix

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.filtering.filter import Filter
    from two_manifold_ros.typing import Floats


Sample: TypeAlias = 'tuple[int, Sequence[float] | Floats]'
"""Stamp in nanoseconds and values."""

WINDOWS_FED = 3
"""Windows of past samples that it is fed with; a belief needs one or two to find its way."""


class Successor:
    """
    Load or learn a filter, compile it and let it catch up without delaying any sample.

    ``make`` returns a warm ``filter``, in the thread; ``past`` are the newest samples until now.
    With ``at_once`` samples wait until the thread has ended, and all that follows is the same
    every time. Once ``prepared`` there is the filter, or a ``failure`` in a sentence, with
    ``details`` of a bug.
    """

    def __init__(
        self, make: Callable[[], Filter], past: Sequence[Sample] = (), *, at_once: bool = False
    ) -> None:
        self.filter: Filter
        self.failure = ''
        self.details = ''
        self._newer: SimpleQueue[Sample | Fix | str] = SimpleQueue()

        def prepare() -> None:
            live = make()
            # An estimate from the old samples that it was made with is not about the present.
            live.latest = None
            if past:
                # A drive that goes on does not begin here.
                live.lose()
            self.filter = live
            span_ns = WINDOWS_FED * live.model.window_ns
            for stamp_ns, values in past:
                if past[-1][0] - stamp_ns <= span_ns:
                    live.push(stamp_ns, values)
            self._use_newer([])

        # A daemon, so that Ctrl-C ends the node while it loads.
        self._thread = Thread(target=self._attempt, args=(prepare,), daemon=True, name='successor')
        self._thread.start()
        if at_once:
            self._thread.join()

    @property
    def prepared(self) -> bool:
        """True if the thread has ended, with a filter or with a ``failure``."""
        return not self._thread.is_alive()

    @property
    def latest(self) -> Estimate | None:
        """The newest estimate of the filter since its last reset, if there is one."""
        made: Filter | None = vars(self).get('filter')
        return None if made is None else made.latest

    @property
    def tracks(self) -> bool:
        """True if its newest estimate might be published."""
        return self.latest is not None and self.latest.valid

    def take(self, stamp_ns: int, values: Sequence[float] | Floats) -> list[Estimate]:
        """Take a sample that the running filter takes as well; see `catch_up`."""
        self._newer.put((stamp_ns, values))
        return self.catch_up()

    def fix(self, fix: Fix) -> None:
        """Take a position fix that the running filter takes as well."""
        self._newer.put(fix)

    def reset(self, cause: str) -> None:
        """Forget the samples taken."""
        self._newer.put(cause)
        self.catch_up()

    def catch_up(self) -> list[Estimate]:
        """Use samples that came too late for the thread, if that has ended; return estimates."""
        estimates: list[Estimate] = []
        # Until it is prepared the thread alone may touch the filter.
        if self.prepared and not self.failure:
            self._attempt(lambda: self._use_newer(estimates))
        return estimates

    def _attempt(self, work: Callable[[], None]) -> None:
        self.failure, self.details = why_it_fails(work)

    def _use_newer(self, estimates: list[Estimate]) -> None:
        while True:
            try:
                sample = self._newer.get_nowait()
            except Empty:
                return
            if isinstance(sample, str):
                self.filter.reset(sample)
            elif isinstance(sample, Fix):
                self.filter.fix(sample)
            else:
                estimates += self.filter.push(*sample)
