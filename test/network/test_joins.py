# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A turn at a crossing that nobody took is joined of those that were taken at others."""

import itertools

from grid_drives import BLOCK_M, driven, line_of, Node, passes_of
import numpy as np
import pytest

from two_manifold_ros.network.learning import lay_out_network, NetworkPasses

SIZE = 3
Way = tuple[Node, Node, Node]
"""From a crossing over another to a third one."""

BANNED: Way = ((0, 1), (1, 1), (1, 2))
"""A turn to the left in the middle of the grid."""


def beside(node: Node) -> list[Node]:
    around = [(node[0] + x, node[1] + y) for x, y in ((1, 0), (0, 1), (-1, 0), (0, -1))]
    return [each for each in around if min(each) >= 0 and max(each) < SIZE]


def walk(banned: Way | None, seed: int = 0) -> list[Node]:
    """Return a way over all crossings, which takes each turn there at least once."""
    rng = np.random.default_rng(seed)
    nodes = list(itertools.product(range(SIZE), repeat=2))
    left = {
        (a, b, c) for b in nodes for a in beside(b) for c in beside(b) if a != c
    } - {banned}  # fmt: skip
    path: list[Node] = [(0, 0), (0, 1)]
    while left:
        before, here = path[-2:]
        options = [each for each in beside(here) if each != before]
        options = [each for each in options if (before, here, each) != banned]
        new = [each for each in options if (before, here, each) in left] or options
        path.append(new[rng.integers(len(new))])
        left.discard((before, here, path[-1]))
    return path


def laid(*ways: list[Node]) -> NetworkPasses:
    """Lay out drives that take some ways."""
    drives = [driven(line_of(way), seed=seed) for seed, way in enumerate(ways)]
    tracks, seen = [each.track for each in drives], [each.seen for each in drives]
    shakes = [np.zeros_like(each) for each in seen]
    begins = [number != 1 for number in range(len(ways))]
    found = lay_out_network(passes_of, seen, tracks, shakes, begins)
    assert found is not None
    joins = len(found.tracks) - len(drives)
    assert len(found.observations) == len(found.tracks)
    assert found.passes.begins.tolist() == begins + joins * [False]
    assert found.shakes is shakes
    return found


def takes(track: np.ndarray, way: Way) -> bool:
    """Return whether a track leads from the middle of a street over a crossing to that behind."""
    before, here, behind = BLOCK_M * np.array(way, dtype=np.float64)
    ticks = []
    for share, node in ((0.35, before), (0.0, here), (0.35, behind)):
        apart = np.linalg.norm(track - here - share * (node - here), axis=1)
        if apart.min() > 3.0:
            return False
        ticks.append(int(apart.argmin()))
    return ticks == sorted(ticks)


@pytest.fixture(scope='module')
def joined() -> NetworkPasses:
    """Return the network of a drive that takes all turns but one."""
    return laid(walk(BANNED))


def test_a_turn_that_nobody_took_is_joined(joined):
    drives = joined.tracks[len(joined.shakes) :]
    assert 1 <= len(drives) <= 2
    assert any(takes(each, BANNED) for each in drives)


def test_joined_drives_see_what_was_seen_where_they_are_taken_from(joined):
    rows = {row.tobytes() for row in joined.observations[0]}
    for track, seen in zip(joined.tracks[1:], joined.observations[1:], strict=True):
        assert len(track) == len(seen)
        assert all(row.tobytes() in rows for row in seen)
        # What the IMU reads of turning is how far the track turns.
        turned = seen @ joined.courses.turning + joined.courses.offset
        way = np.diff(track[[0, 3, -4, -1]], axis=0)[[0, 2]]
        heading = np.arctan2(way[:, 1], way[:, 0])
        apart = turned.sum() - (heading[1] - heading[0])
        assert abs((apart + np.pi) % (2.0 * np.pi) - np.pi) < 0.3


@pytest.mark.parametrize('seed', [0, 1])
def test_nothing_is_joined_where_all_turns_were_taken(seed):
    found = laid(walk(None, seed))
    assert len(found.tracks) == len(found.shakes)


@pytest.mark.parametrize(
    ('crossings', 'joins'), [([2] * 6, False), ([1, 2, 3, 4], False), ([1, 2, 3, 4, 4], True)]
)
def test_a_turn_is_joined_that_was_taken_often_and_at_several_crossings(crossings, joins):
    """All other ways over crossings are straight on."""
    ways = [[(x, y) for x in range(4)] for y in range(7)]
    ways += [[(x, y) for y in range(7)] for x in (1, 2)]
    turns = [[(0, y), (1, y), (1, y + 1), (1, y + 2)] for y in crossings]
    found = laid(*ways, *turns)
    assert (len(found.tracks) > len(found.shakes)) == joins
    drives = found.tracks[len(ways) + len(turns) :]
    assert any(takes(each, ((1, 2), (2, 2), (2, 3))) for each in drives) == joins


def test_too_little_is_driven_to_join_anything():
    drive = driven(line_of([(0, 0), (1, 0)])[:300])
    assert lay_out_network(passes_of, [drive.seen], [drive.track], [drive.seen], [True]) is None
