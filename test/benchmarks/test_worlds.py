# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The table of worlds."""

from __future__ import annotations

import pytest
from worlds.table import World, world_named, WORLDS

from two_manifold_ros.errors import InputError


def test_worlds_are_found_by_names_of_their_own() -> None:
    assert [world_named(world.name) for world in WORLDS] == list(WORLDS)
    assert len({world.name for world in WORLDS}) == len(WORLDS) >= 8
    with pytest.raises(InputError, match='choose one of slot_car'):
        world_named('moon')


@pytest.mark.parametrize('world', WORLDS, ids=lambda world: world.name)
def test_each_purpose_has_a_random_stream_of_its_own(world: World) -> None:
    draws = [
        each.generator(purpose, number).standard_normal()
        for each in (world, WORLDS[0] if world is not WORLDS[0] else WORLDS[1])
        for purpose in ('imu', 'grip')
        for number in (0, 1)
    ]
    assert len(set(draws)) == 8
