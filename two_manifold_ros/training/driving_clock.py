# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A clock that goes on only while the vehicle drives: ours, and no part of the papers.

Windows of one place differ by how long the vehicle stood there before, so that a state of forty
numbers has to tell places and lengths of stops. With stops left out one place has one window.

Each window of an even sample is compared with those that begin at least ``APART`` windows before
or after it, as if its surroundings had not been driven. So every lap is held out once, which
tells more than one or a few held-out blocks. The same windows with their halves swapped stand
for another route: bends that occur, in an order that does not.
"""

from __future__ import annotations

from dataclasses import replace
import itertools
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from two_manifold_ros.route.merging import standing, usual_speed
from two_manifold_ros.ticks.novelty import contrast, FamiliarAnchors
from two_manifold_ros.ticks.rest import longest_stillness, RestRule, ROUNDING, spreads_along
from two_manifold_ros.training.dataset import build_dataset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.route.merging import Places
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.ticks.windows import WindowSet
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.typing import Bools, Floats, Ints


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


MOST_TICKS = 3_000
"""
Ticks that a model of a route keeps, and whose windows are embedded, however long the recordings.

Of a window above a sixth of them six windows, of which some have to be whole.
"""

STRETCHES = 10
"""In which they come, unless six windows are longer: what is next to a seam is in no window."""

LEAST_WINDOWS = 6


class Stretch(NamedTuple):
    """
    Ticks of a segment.

    Parameters
    ----------
    segment
        Which one.
    begin, end
        Its first tick, and that after its last.

    """

    segment: int
    begin: int
    end: int


def choose_stretches(
    lengths: Sequence[int], places: Places, window: int, ticks: int = MOST_TICKS
) -> list[Stretch]:
    """
    Choose stretches that visit as many places as they can, then all once more, and so on.

    Parameters
    ----------
    lengths
        Ticks of each segment.
    places
        Of the route.
    window
        Ticks in a window.
    ticks
        Of all stretches together, unless six windows are longer.

    Returns
    -------
    list of Stretch
        In order, none beside another; all of the drives where those are short.

    """
    most = max(ticks, LEAST_WINDOWS * window)
    if sum(lengths) <= most:
        return [Stretch(segment, 0, length) for segment, length in enumerate(lengths)]
    parts = _parts(lengths, max(most // STRETCHES, LEAST_WINDOWS * window))
    visits = [_visited(part, places, window) for part in parts]
    chosen: list[int] = []
    left = most
    seen: set[int] = set()
    while True:
        open_ = [
            index
            for index, part in enumerate(parts)
            if index not in chosen and part.end - part.begin <= left
        ]
        if not open_:
            return _joined(sorted(parts[index] for index in chosen))
        best = max(open_, key=lambda index: len(visits[index] - seen))
        if not visits[best] - seen:
            # All that can be seen was: begin another round.
            seen = set()
            best = max(open_, key=lambda index: len(visits[index]))
        chosen.append(best)
        seen |= visits[best]
        left -= parts[best].end - parts[best].begin


def _parts(lengths: Sequence[int], length: int) -> list[Stretch]:
    parts = []
    for segment, ticks in enumerate(lengths):
        edges = np.linspace(0, ticks, 1 + max(-(-ticks // length), 1)).round().astype(int).tolist()
        parts += [Stretch(segment, *pair) for pair in itertools.pairwise(edges)]
    return parts


def _visited(part: Stretch, places: Places, window: int) -> set[int]:
    """Return which places are visited where there is a window before and after."""
    inside: Ints = np.flatnonzero(
        (places.segments == part.segment)
        & (places.times >= part.begin + window)
        & (places.times < part.end - window)
    )
    return set(places.visited[inside].tolist())


def _joined(parts: Sequence[Stretch]) -> list[Stretch]:
    joined: list[Stretch] = []
    for part in parts:
        if joined and joined[-1].segment == part.segment and joined[-1].end == part.begin:
            joined[-1] = joined[-1]._replace(end=part.end)
        else:
            joined.append(part)
    return joined


MOST_WINDOWS = 200
"""More of them change the medians by less than one lap differs from the next."""

APART = 2


SEED = 0


def familiar_anchors(windows: WindowSet, *, spliced: bool = False) -> FamiliarAnchors:
    """
    Return what is typical for unseen windows of the route, and of another with its bends.

    Parameters
    ----------
    windows
        Of the training.
    spliced
        Whether windows whose second half is that of any other stand for another route too, if
        they are less alike: where a window is nearly a lap, swapped halves are the route itself.

    """
    count = min(len(windows), MOST_WINDOWS)
    chosen = np.linspace(0, len(windows) - 1, count).astype(np.int64)
    rows = windows.rows(chosen)
    half = windows.width // 2 * len(windows.series)
    swapped = np.concatenate([rows[:, half:], rows[:, :half]], axis=1)
    squared, own = _nearest_and_contrast(windows, chosen, rows)
    _, other = _nearest_and_contrast(windows, chosen, swapped)
    if spliced:
        drawn = np.random.default_rng(SEED).permutation(count)
        mixed = np.concatenate([rows[:, :half], rows[drawn, half:]], axis=1)
        other = max(other, _nearest_and_contrast(windows, chosen, mixed)[1])
    return FamiliarAnchors(squared, own, other, longest_stillness(windows.series))


def _nearest_and_contrast(windows: WindowSet, chosen: Ints, rows: Floats) -> tuple[float, float]:
    """Return the medians over the rows, which are made of the chosen windows."""
    distances = windows.distances_from(rows)
    nearest, contrasts = [], []
    for index, row in zip(chosen, distances.T, strict=True):
        away = np.abs(windows.starts - windows.starts[index])
        # Where the drive is too short for that, the farthest is all there is.
        kept = row[away >= min(APART * windows.width, int(away.max()))]
        nearest.append(float(kept.min()))
        contrasts.append(contrast(nearest[-1], float(kept.mean())))
    return float(np.median(nearest)), float(np.median(contrasts))
