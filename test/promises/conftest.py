# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A bag that is played to two nodes at ten times its speed, for all who want to know."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TYPE_CHECKING

import pytest

from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run

if TYPE_CHECKING:
    from pathlib import Path

    from played_bag import Heard, Pass

    from two_manifold_ros.model.model import RouteModel

RATE_HZ, SECONDS = 50.0, 12


class Played(NamedTuple):
    """
    Outcome of the process.

    Parameters
    ----------
    first_words
        Numbers of the topic `status` by node, before anything was played.
    passes
        What each node said, for each time that the bag was played.
    replayed
        What `two-manifold replay` makes of the bag.

    """

    first_words: dict[str, dict[str, float]]
    passes: list[dict[str, Pass]]
    replayed: Heard


@pytest.fixture(scope='session')
def played(slot_car_model: RouteModel, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Play a bag twice, as a loop, and replay it offline."""
    pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    pytest.importorskip('rosbags')
    # Importing it above would need ROS while tests are collected.
    from played_bag import bag_messages, Player, replayed  # noqa: PLC0415

    folder: Path = tmp_path_factory.mktemp('promises')
    model, bag = folder / 'model.npz', folder / 'bag'
    save_model(slot_car_model, model)
    settings = SlotCarSettings(seed=2, rate_hz=RATE_HZ)
    write_run(simulate(settings, samples=round(SECONDS * RATE_HZ)), bag)
    with ThreadPoolExecutor(1) as beside:
        offline = beside.submit(replayed, model, bag, folder / 'replayed')
        player = Player(model, bag_messages(bag))
        try:
            passes = [player.play(), player.play()]
        finally:
            player.close()
        return Played(player.first_words, passes, offline.result())
