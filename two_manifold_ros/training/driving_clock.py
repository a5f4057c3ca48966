# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A clock that goes on only while the vehicle drives: ours, and no part of the papers.

Windows of one place differ by how long the vehicle stood there before, so that a state of forty
numbers has to tell places and lengths of stops. With stops left out one place has one window.
"""

from __future__ import annotations

from dataclasses import replace
import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from two_manifold_ros.route.merging import standing, usual_speed
from two_manifold_ros.ticks.rest import RestRule, spreads_along
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.windows.stillness import longest_stillness, ROUNDING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.typing import Bools, Floats

REST_S = 1.0
"""
Over which the spread of the ticks is taken: shorter than a stop, longer than a smooth stretch.

At 20 Hz it parts standing from driving in the tram and the AGV in 99 of 100 ticks.
"""

FEWEST_TICKS = 3
"""Compared at a low rate: of two, one in twenty drives as evenly as a tram stands."""

BELOW_DRIVING = 0.5
"""
Times the least spread of one who only drives, below which it must stand.

f1tenth_ipz19, which stands only after the training, has a thirtieth then.
"""


def driving_dataset(
    recordings: Sequence[Recording], settings: TrainingSettings
) -> tuple[Dataset, RestRule | None, int]:
    """
    Cut recordings into training segments, without ticks at rest where the clock stops at them.

    Parameters
    ----------
    recordings, settings
        See `build_dataset`.

    Returns
    -------
    dataset
        As of `build_dataset` where nobody stands.
    rule
        What the ticks left out look like; ``None`` if the clock never stops.
    still
        Most ticks in a row that changed nothing, those left out among them; 0 if none is.

    Raises
    ------
    InputError
        See `build_dataset`.

    """
    dataset = build_dataset(recordings, settings)
    # The default knows standing as a motion, and learns it from the stops.
    if settings.clock != 'driving' or settings.method == 'route':
        return dataset, None, 0
    observations = [dataset.channels.standardise(each.values) for each in dataset.segments]
    tracks = [each.positions for each in dataset.segments]
    rule = learn_rest(observations, tracks, dataset.period_ns * 1e-9)
    if rule is None:
        return dataset, None, 0
    driven = (
        _picked(segment, ~(spreads_along(seen, rule.ticks) < rule.limit))
        for segment, seen in zip(dataset.segments, observations, strict=True)
    )
    segments = tuple(each for each in driven if len(each) > 2 * dataset.window)
    if not any(np.isfinite(each.positions).any() for each in segments):
        # It hardly drives between two stops: with them there is something to learn from.
        return dataset, None, 0
    still = max(longest_stillness(seen.T) for seen in observations)
    return replace(dataset, segments=segments), rule, still


def learn_rest(
    observations: Sequence[Floats], tracks: Sequence[Floats], period_s: float
) -> RestRule | None:
    """
    Learn what rest looks like from where the positions say that the vehicle stands.

    Parameters
    ----------
    observations
        Standardised observations of each segment, (T, d).
    tracks
        Positions of each segment (T, 2), metres, NaN where unknown.
    period_s
        Length of a tick.

    Returns
    -------
    RestRule or None
        The limit takes the fewest ticks for what they are not; ``None`` if nothing is known of
        driving, or rest looks like it.

    """
    ticks = max(math.ceil(REST_S / period_s), FEWEST_TICKS)
    stands = standing(tracks, usual_speed(tracks, period_s), period_s)
    rest, driving = [], []
    for seen, track, still in zip(observations, tracks, stands, strict=True):
        spreads = spreads_along(seen, ticks)
        rest.append(spreads[_throughout(still, ticks)])
        driving.append(spreads[_throughout(~still & np.isfinite(track).all(axis=1), ticks)])
    limit = _limit(np.sort(np.concatenate(rest)), np.sort(np.concatenate(driving)))
    return RestRule(ticks, limit) if limit > 0.0 else None


def _throughout(flags: Bools, ticks: int) -> Bools:
    """
    Return where flags (T,) hold at a tick and at those before it that it is compared with.

    And for as long before and after those, since positions are unsure when a vehicle stops.
    """
    lasting = np.zeros(len(flags), dtype=np.bool_)
    width = 3 * ticks - 2
    if len(flags) >= width:
        lasting[2 * ticks - 2 : len(flags) - ticks + 1] = sliding_window_view(flags, width).all(
            axis=1
        )
    return lasting


def _limit(rest: Floats, driving: Floats) -> float:
    """Return the spread that parts sorted ones at rest (R,) from those of driving (D,)."""
    if not len(driving):
        return 0.0
    if not len(rest):
        return BELOW_DRIVING * float(driving[0])
    every = np.sort(np.concatenate([rest, driving]))
    right = np.searchsorted(rest, every, side='right')
    gained = right - np.searchsorted(driving, every, side='right')
    best = int(np.argmax(gained))
    if gained[best] <= 0:
        return 0.0
    # Half way to the next that is seen, as ratios go.
    low, high = float(every[best]), float(every[min(best + 1, len(every) - 1)])
    # A sensor without noise differs by rounding at rest, or not at all.
    return math.sqrt(max(low, ROUNDING) * max(high, ROUNDING))


def _picked(segment: Segment, kept: Bools) -> Segment:
    return replace(
        segment,
        stamps=segment.stamps[kept],
        values=segment.values[kept],
        positions=segment.positions[kept],
    )
