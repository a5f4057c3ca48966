# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Feed filters, make and compare what they say bit by bit, and misconfigure IMUs."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import Status, TickDiagnostics
from two_manifold_ros.filtering.tracker import TickFilter
from two_manifold_ros.typing import Floats

Stream = Sequence[tuple[int, Floats]]
CAUSES = (
    'non_finite', 'out_of_range', 'zero_stamp', 'duplicate_stamp', 'out_of_order', 'wild_stamp',
)  # fmt: skip


def feed(live: Filter, stream: Iterable[tuple[int, Floats]]) -> list[Estimate]:
    return [estimate for stamp, sample in stream for estimate in live.push(stamp, sample)]


def shifted(stream: Stream, shift: int) -> Stream:
    return [(stamp + shift, sample) for stamp, sample in stream]


def numbers(estimate: Estimate) -> list[Floats]:
    """Return every number of an estimate but its stamp and tick."""
    return [
        estimate.state,
        estimate.positions,
        estimate.covariances,
        estimate.velocity,
        estimate.velocity_covariance,
        np.array([estimate.evidence, estimate.novelty]),
    ]


def bits(estimates: Iterable[Estimate]) -> list[tuple[object, ...]]:
    """Return everything about estimates but their stamps, comparable bit by bit."""
    return [
        (each.tick, each.status, *(one.tobytes() for one in numbers(each))) for each in estimates
    ]


def stamps(estimates: Iterable[Estimate]) -> list[int]:
    return [each.stamp_ns for each in estimates]


def set_aside(counters: Counter[str]) -> int:
    return sum(counters[cause] for cause in CAUSES)


FORCES, RATES = slice(0, 3), slice(3, 6)

Change = Callable[[np.ndarray], np.ndarray]


def scaled(forces: float, rates: float) -> Change:
    return lambda samples: samples * ([forces] * 3 + [rates] * 3)


def turned(matrix: list[list[int]]) -> Change:
    """Return the IMU mounted so that what it reads are these rows times what it read."""
    rows = np.array(matrix)
    return lambda samples: np.hstack([samples[:, FORCES] @ rows.T, samples[:, RATES] @ rows.T])


def reversed_signs(*channels: int) -> Change:
    return lambda samples: samples * [-1 if c in channels else 1 for c in range(6)]


WRONG: dict[str, Change] = {
    'accelerations_in_g': scaled(1 / 9.80665, 1.0),
    'accelerations_in_milli_g': scaled(1000 / 9.80665, 1.0),
    'rates_in_degrees': scaled(1.0, 57.29577951308232),
    'accelerations_in_g_and_rates_in_degrees': scaled(1 / 9.80665, 57.29577951308232),
    'gravity_removed': lambda samples: samples - [0, 0, 9.80665, 0, 0, 0],
    'sign_of_ax': reversed_signs(0),
    'sign_of_ay': reversed_signs(1),
    'sign_of_wz': reversed_signs(5),
    'sign_of_rates': reversed_signs(3, 4, 5),
    'turned_about_x': turned([[1, 0, 0], [0, -1, 0], [0, 0, -1]]),
    'turned_about_z': turned([[-1, 0, 0], [0, -1, 0], [0, 0, 1]]),
    'turned': turned([[0, 1, 0], [-1, 0, 0], [0, 0, 1]]),
    'axes_exchanged': turned([[0, 1, 0], [1, 0, 0], [0, 0, 1]]),
    # The fields of the message are mixed up.
    'sensors_exchanged': lambda samples: np.hstack([samples[:, RATES], samples[:, FORCES]]),
}
"""Samples of misconfigured IMUs, written down once more, by the cause that should be named."""


class Adding(TickFilter):
    """Has the sum of the pixels for its state, and the newest one for a position."""

    seen = 0

    def __init__(self) -> None:
        self.belief: Any = self
        self.start()

    def start(self) -> None:
        self.state, self.seen = np.zeros(2), 0

    def coast(self, ticks: int) -> None:
        self.state[1] += ticks
        self.seen = 0

    def update(self, values: np.ndarray) -> TickDiagnostics:
        self.state[0] = values.sum()
        self.seen += 1
        return TickDiagnostics(1.0, True, 1.0, False)

    def read(self) -> tuple[np.ndarray, np.ndarray]:
        return np.full((2, 2), self.state[0]), np.stack([0.01 * np.eye(2)] * 2)

    def places(self) -> np.ndarray:
        return np.array([[1.0, 2.0, 1.0]])


def estimate_with(**known: Any) -> Estimate:  # noqa: ANN401 - its fields
    """Return an estimate of now and one moment later, which is tracking."""
    usual = {
        'stamp_ns': 10**9, 'tick': 0, 'status': Status.TRACKING, 'cause': '', 'why': 'tracking',
        'state': np.ones(1), 'positions': np.zeros((2, 2)), 'velocity': np.zeros(2),
        'covariances': np.stack([np.eye(2)] * 2), 'velocity_covariance': np.eye(2),
        'evidence': 1.0, 'novelty': 1.0, 'ellipse_m': 0.1,
    }  # fmt: skip
    return Estimate(**usual | known)
