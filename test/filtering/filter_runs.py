# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Feed filters, and compare what they say bit by bit."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.typing import Floats

Stream = Sequence[tuple[int, Floats]]


CAUSES = (
    'non_finite',
    'out_of_range',
    'zero_stamp',
    'duplicate_stamp',
    'out_of_order',
    'wild_stamp',
)


def feed(live: Filter, stream: Iterable[tuple[int, Floats]]) -> list[Estimate]:
    """Push a stream of stamps and samples."""
    return [estimate for stamp, sample in stream for estimate in live.push(stamp, sample)]


def shifted(stream: Stream, shift: int) -> Stream:
    """Add a constant to all stamps."""
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
        (each.tick, each.status, *(array.tobytes() for array in numbers(each)))
        for each in estimates
    ]


def stamps(estimates: Iterable[Estimate]) -> list[int]:
    """Return the stamps of estimates."""
    return [each.stamp_ns for each in estimates]


def set_aside(counters: Counter[str]) -> int:
    """Return how many samples were not used."""
    return sum(counters[cause] for cause in CAUSES)
