# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Time the laps of a recording by a filter, beside those of its positions where it has some."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.evaluation.evaluate import check_fit, estimates_along
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.laps.timing import Lap, LapTimer
from two_manifold_ros.ticks.segments import positions_at
from two_manifold_ros.typing import Floats, Ints

if TYPE_CHECKING:
    from two_manifold_ros.model.circuit import Circuit
    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.recordings.recording import PositionStream, Recording

STANDS = 0.1
"""Share of the usual speed below which positions show no direction of travel."""


@dataclass(frozen=True)
class LapTimes:
    """Laps that are over, and the laps by positions, if any."""

    circuit: Circuit
    laps: tuple[Lap, ...]
    references: tuple[Lap, ...]

    def reference_of(self, lap: Lap) -> Lap | None:
        """Return the lap by positions that began when this one did; None if there is none."""
        if lap.begin_ns is None:
            return None
        began = [
            (abs(each.begin_ns - lap.begin_ns), each)
            for each in self.references
            if each.begin_ns is not None
        ]
        apart_ns, nearest = min(began, key=lambda each: each[0], default=(0, None))
        return nearest if apart_ns < 0.25e9 * self.circuit.lap_s else None

    @property
    def best(self) -> Lap | None:
        """The lap that took least; None if none was timed."""
        timed = [lap for lap in self.laps if math.isfinite(lap.time.seconds)]
        return min(timed, key=lambda lap: lap.time.seconds, default=None)

    def errors(self) -> Floats:
        """Return by how much lap times are longer than by positions, of laps that both have."""
        pairs = [(lap, self.reference_of(lap)) for lap in self.laps]
        apart = [lap.time.seconds - other.time.seconds for lap, other in pairs if other]
        return np.array([each for each in apart if math.isfinite(each)])

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values; unknown numbers are ``null``."""

        def known(number: float) -> float | None:
            return number if math.isfinite(number) else None

        rows = []
        for lap in self.laps:
            other = self.reference_of(lap)
            rows.append(
                {
                    'lap': lap.number,
                    'begin_ns': lap.begin_ns,
                    'seconds': known(lap.time.seconds),
                    'std_s': known(lap.time.deviation_s),
                    'sectors_s': [known(each.seconds) for each in lap.sectors],
                    'sectors_std_s': [known(each.deviation_s) for each in lap.sectors],
                    'reference_s': None if other is None else known(other.time.seconds),
                }
            )
        return {
            'length_m': self.circuit.length_m,
            'usual_s': self.circuit.lap_s,
            'start_line': self.circuit.points[0].tolist(),
            'laps': rows,
            'best_lap': None if self.best is None else self.best.number,
        }


def time_laps(
    model: ModelHead,
    recording: Recording,
    timer: LapTimer,
    progress: Callable[[str, float], None] = lambda *_: None,
) -> LapTimes:
    """Filter a recording that fits the model from a cold start, and time its laps."""
    check_fit(model, recording)
    live = Filter(model)
    live.warm_up()
    stamps = []
    for estimate, _ in estimates_along(live, recording, progress):
        stamps.append(estimate.stamp_ns)
        timer.push(estimate)
    found = laps_by_positions(
        timer.circuit, timer.sectors, recording.positions, np.array(stamps, dtype=np.int64)
    )
    return LapTimes(timer.circuit, tuple(timer.laps), found)


def laps_by_positions(
    circuit: Circuit, sectors: tuple[float, ...], stream: PositionStream | None, stamps: Ints
) -> tuple[Lap, ...]:
    """Return the laps that positions show at (T,) stamps of ticks."""
    if stream is None or len(stamps) < 2:
        return ()
    reference = LapTimer(circuit, sectors)
    positions = positions_at(stream, stamps)
    seconds = (stamps - stamps[0]) * 1e-9
    # A clock that was set has no speed.
    with np.errstate(divide='ignore', invalid='ignore'):
        directions = np.gradient(positions, seconds, axis=0)
    slow = np.linalg.norm(directions, axis=1) < STANDS * circuit.length_m / circuit.lap_s
    directions[slow] = 0.0
    known = np.isfinite(positions).all(axis=1) & np.isfinite(directions).all(axis=1)
    for tick in np.flatnonzero(known).tolist():
        reference.follow(int(stamps[tick]), positions[tick], directions[tick])
    return tuple(reference.laps)
