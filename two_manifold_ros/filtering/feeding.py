# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Feed a filter with one sample and see what it did with it."""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.filtering.filter import Filter
    from two_manifold_ros.typing import Floats


class Fed(NamedTuple):
    """
    What a filter did with a sample.

    Parameters
    ----------
    estimates
        Those that came of it, the oldest first.
    latest
        The newest estimate by now, ``None`` if the filter began anew since.
    used
        Whether a sample was used, this one or one that waited for it.
    broke
        Whether the filter began anew or coasted because of a stamp.

    """

    estimates: list[Estimate]
    latest: Estimate | None
    used: bool
    broke: bool


def feed(
    running: Filter,
    push: Callable[[int, Sequence[float] | Floats], list[Estimate]],
    stamp_ns: int,
    sample: Sequence[float] | Floats,
    latest: Estimate | None,
) -> Fed:
    """
    Push a sample.

    Parameters
    ----------
    running
        The filter.
    push
        Its ``push``, or that of what is around it.
    stamp_ns, sample
        See ``Filter.push``.
    latest
        The newest estimate until now.

    """
    counters = running.counters
    used, gaps, resets = counters['used'], counters['gaps'], counters['resets']
    estimates = push(stamp_ns, sample)
    reset = counters['resets'] != resets
    if estimates:
        latest = estimates[-1]
        # Where samples are sorted, it may come out together with the jump that ended its stream.
        outdated = reset and latest.status is not running.status
    else:
        outdated = reset
    return Fed(
        estimates,
        None if outdated else latest,
        counters['used'] != used,
        reset or counters['gaps'] != gaps,
    )
