# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Errors of two filters at the same moments, as soon as it is known where the vehicle was."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.adapting.truth import Truth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.typing import Floats

SILENT = math.inf
"""Error of a filter that said nothing while the other one did."""

_LATE_SLOTS = 200
"""For how many slots the one waits for the other, and predictions for the truth after its time."""


@dataclass(frozen=True)
class Prediction:
    """
    What a filter said.

    Parameters
    ----------
    stamp_ns
        When.
    positions : (H, 2)
        At its horizons, ``None`` if it said nothing.

    """

    stamp_ns: int
    positions: Floats | None


@dataclass(frozen=True)
class ErrorPair:
    """
    How far two filters were from the truth.

    Parameters
    ----------
    stamp_ns
        Of the truth, roughly: the two filters need not tick at the same instant.
    horizon
        Index of it.
    errors
        Metres, of the first and the second; ``SILENT`` where one said nothing.

    """

    stamp_ns: int
    horizon: int
    errors: tuple[float, float]


class PairedErrors:
    """
    Pairs what two filters said in the same slot of time and waits for the truth.

    Parameters
    ----------
    horizons_ns
        How far ahead the predictions are, in nanoseconds; the same for both.
    slot_ns
        Length of a slot: the longer one of the two periods. Of several predictions of a filter
        in one slot the first counts.
    max_gap_ns
        Longest step between reference positions that is interpolated across; a longer step back
        in time makes everything that waits be forgotten.

    """

    def __init__(self, horizons_ns: Sequence[int], slot_ns: int, max_gap_ns: int) -> None:
        self._horizons_ns = tuple(horizons_ns)
        self._slot_ns = slot_ns
        self._max_gap_ns = max_gap_ns
        self._truth = Truth(max_gap_ns)
        self._single: tuple[dict[int, Prediction], dict[int, Prediction]] = ({}, {})
        self._newest = [0, 0]
        self._waiting: list[deque[tuple[Prediction, Prediction]]] = [
            deque(maxlen=_LATE_SLOTS + ahead_ns // slot_ns) for ahead_ns in self._horizons_ns
        ]

    def forget(self) -> None:
        """Forget what waits, and all positions."""
        self._truth.clear()
        self._newest = [0, 0]
        for single in self._single:
            single.clear()
        for waiting in self._waiting:
            waiting.clear()

    def predict(self, side: int, stamp_ns: int, positions: Floats | None) -> None:
        """
        Take what a filter said.

        Parameters
        ----------
        side
            0 or 1.
        stamp_ns
            When, in nanoseconds.
        positions : (H, 2)
            At the horizons; ``None`` or not finite if it could not tell.

        """
        if stamp_ns < self._newest[side] - self._max_gap_ns:
            self.forget()
        self._newest[side] = max(stamp_ns, self._newest[side])
        slot = stamp_ns // self._slot_ns
        mine, others = self._single[side], self._single[1 - side]
        known = positions is not None and bool(np.isfinite(positions).all())
        mine.setdefault(slot, Prediction(stamp_ns, positions if known else None))
        if slot in others:
            self._pair(slot)
        elif len(mine) > _LATE_SLOTS:
            del mine[min(mine)]

    def _pair(self, slot: int) -> None:
        first, second = (single.pop(slot) for single in self._single)
        # What is older will find no partner any more: slots come in order.
        for single in self._single:
            for old in [old for old in single if old < slot]:
                del single[old]
        if first.positions is not None or second.positions is not None:
            for waiting in self._waiting:
                waiting.append((first, second))

    def reach(self, stamp_ns: int, x: float, y: float) -> list[ErrorPair]:
        """
        Take a reference position, and return the errors that are known now, in order of time.

        One that is not newer than the last is ignored.
        """
        newest_ns = self._truth.newest_ns
        if newest_ns is not None and stamp_ns < newest_ns - self._max_gap_ns:
            self.forget()
        elif newest_ns is not None and stamp_ns <= newest_ns:
            return []
        self._truth.add(stamp_ns, x, y)
        found = [
            pair
            for horizon in range(len(self._horizons_ns))
            for pair in self._resolve(horizon, stamp_ns)
        ]
        return sorted(found, key=lambda pair: pair.stamp_ns)

    def _resolve(self, horizon: int, newest_ns: int) -> list[ErrorPair]:
        ahead_ns, waiting = self._horizons_ns[horizon], self._waiting[horizon]
        found = []
        while waiting and max(each.stamp_ns for each in waiting[0]) + ahead_ns <= newest_ns:
            pair = waiting.popleft()
            first, second = (self._error(each, horizon) for each in pair)
            if first is not None and second is not None:
                found.append(ErrorPair(pair[0].stamp_ns + ahead_ns, horizon, (first, second)))
        return found

    def _error(self, prediction: Prediction, horizon: int) -> float | None:
        place = self._truth.at(prediction.stamp_ns + self._horizons_ns[horizon])
        if place is None:
            return None
        if prediction.positions is None:
            return SILENT
        x, y = prediction.positions[horizon].tolist()
        return math.hypot(x - place[0], y - place[1])
