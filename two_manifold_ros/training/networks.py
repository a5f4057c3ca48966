# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Choose whether drives are followed as those of a network of roads that look alike."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.readout import segment_targets
from two_manifold_ros.inspection.positions import LEAST_DRIVES
from two_manifold_ros.network.belief import NetworkBelief
from two_manifold_ros.network.learning import lay_out_network, learn_network, NetworkPasses
from two_manifold_ros.network.network import shakes_of
from two_manifold_ros.route.learning import learn_route
from two_manifold_ros.route.visits import ways_of
from two_manifold_ros.training.dataset import build_dataset, Dataset
from two_manifold_ros.training.following import Drives, Followed, lay_out_drives, steps_of
from two_manifold_ros.training.held_out import FOLDS, follow, MOST_FOLLOWED, Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.route.visits import Passes
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Floats

LOST = 0.5
"""Share of the error of a lost vehicle from which on a route map is taken not to follow."""


class Roads(NamedTuple):
    """Drives as those of a network, and how they were followed on the network of the others."""

    network: NetworkPasses
    followed: Followed
    notes: tuple[str, ...]


def choose_network(
    drives: Drives, followed: Followed, recordings: Sequence[Recording], report: Callable[[], None]
) -> Roads | None:
    """
    Return the drives as those of a network of roads; None where a route follows them better.

    They are tried, behind a ``report``, if a route map is lost on its parts though it has forks,
    and `LEAST_DRIVES` show where drives begin.
    """
    most_m = LOST * followed.lost_m
    held = _held_out(drives.dataset.segments)
    if len(held) < LEAST_DRIVES or not drives.dataset.channels.of_imu:
        return None
    places = drives.passes.places
    ways = ways_of(places, np.ones(len(places.visited), dtype=np.bool_))
    if not followed.score_m >= most_m or not any(len(to) > 1 for to in ways.values()):
        return None
    report()
    dataset = build_dataset(recordings, drives.settings, spreads=True)
    live, scale = dataset.channels.live, dataset.channels.scale
    shakes = [
        shakes_of(each.spreads[:, live] / scale[live])
        for each in dataset.segments
        if each.spreads is not None
    ]
    lay_out = partial(_lay_out, drives, dataset, shakes)
    count = len(dataset.segments)
    runs: list[tuple[Run, ...]] = []
    for out in held:
        network = lay_out([each for each in range(count) if each != out])
        if network is None:
            return None
        truth = segment_targets(dataset.tracks[out], drives.settings.horizons, dataset.period_s)
        every = np.ones(len(network.passes.places.visited), dtype=np.bool_)
        route = learn_route(network.passes, every, followed.tuning)
        roads = learn_network(network, dataset.window)
        step = shaken_steps(NetworkBelief(route, roads, dataset.period_s), shakes[out])
        seen, most = dataset.observations[out], MOST_FOLLOWED // FOLDS
        runs.append((follow(step, seen[:most], truth[:most], dataset.window),))
    whole = lay_out(list(range(count)))
    if whole is None:
        return None
    positions = whole.passes.places.positions
    result = Followed(tuple(runs), followed.tuning, positions, dataset.velocity_noise)
    if not result.score_m < most_m:
        return None
    note = (
        f'followed as a network of roads that look alike: drives left out err by '
        f'{result.score_m:.2f} m on it, parts left out by {followed.score_m:.2f} m on a map of '
        'the route'
    )
    passes = whole.passes
    near_m = passes.places.usual_mps * passes.memory_s
    return Roads(whole, result, (note, *where_drives_begin(recordings, near_m)))


def where_drives_begin(recordings: Sequence[Recording], near_m: float) -> list[str]:
    """Return sentences on where recordings begin, those that begin alone by their names."""
    known = [
        (each.name, each.positions.positions[each.positions.usable][0])
        for each in recordings
        if each.positions is not None and each.positions.usable.any()
    ]
    groups: list[list[tuple[str, Floats]]] = []
    for name, place in known:
        near = (each for each in groups if np.linalg.norm(each[0][1] - place) < near_m)
        group = next(near, None)
        if group is None:
            groups.append([(name, place)])
        else:
            group.append((name, place))
    said = []
    for group in groups:
        (name, (x, y)), *others = group
        if others:
            said.append(f'{len(group)} of {len(known)} drives begin at ({x:.1f}, {y:.1f}) m')
        else:
            said.append(
                f'{name} alone begins at ({x:.1f}, {y:.1f}) m: leave it out if that is on the '
                'way and not where drives begin'
            )
    return said


def shaken_steps(
    belief: NetworkBelief, shakes: Iterable[Floats]
) -> Callable[[Floats], tuple[Any, ...]]:
    """Return the steps of a belief that takes how much each tick shakes before it."""
    step, before = steps_of(belief), iter(shakes)

    def shaken(observation: Floats) -> tuple[Any, ...]:
        belief.take(next(before))
        return step(observation)

    return shaken


def _lay_out(
    drives: Drives, dataset: Dataset, shakes: Sequence[Floats], chosen: Sequence[int]
) -> NetworkPasses | None:
    """Return the network of ``chosen`` segments; None where too little of them is driven."""

    def lay_out(seen: list[Floats], driven: list[Floats]) -> Passes:
        return lay_out_drives(seen, driven, drives.dataset, drives.settings.horizons, network=True)

    begins = [dataset.segments[number].begins for number in chosen]
    observations, tracks = dataset.observations, dataset.tracks
    seen, driven, shaken = (
        [each[number] for number in chosen] for each in (observations, tracks, shakes)
    )
    try:
        return lay_out_network(lay_out, seen, driven, shaken, begins)
    except InputError:
        # All that moves may be what is left out.
        return None


def _held_out(segments: Sequence[Segment]) -> list[int]:
    """Return the segments that are left out in turn, evenly, of those that begin drives."""
    known = [
        number
        for number, each in enumerate(segments)
        if each.begins and np.isfinite(each.positions).all(axis=1).any()
    ]
    chosen = np.linspace(0, len(known) - 1, min(FOLDS, len(known))).round().astype(np.int64)
    return [known[each] for each in chosen]
