# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter and the updater beside it each get what is meant for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from launch_walk import started
import pytest

ADAPT = Path(__file__).resolve().parents[2] / 'launch' / 'adapt.launch.py'
CONFIG = 'two_manifold_ros/config'


def adapt(**given: str) -> dict[str, list[Any]]:
    return started(ADAPT, {'model': 'm.npz', 'folder': 'learned', **given})


def test_each_node_has_its_own_parameter_file() -> None:
    files = {name: parameters[0] for name, parameters in adapt().items() if name != 'rviz2'}
    names = ('slot_car_node', 'filter_node', 'updater_node')
    assert files == {name: f'{CONFIG}/{name}.yaml' for name in names}


def test_another_file_for_the_updater_is_none_for_the_filter() -> None:
    nodes = adapt(updater_params_file='mine.yaml')
    assert nodes['updater_node'][0] == 'mine.yaml'
    assert nodes['filter_node'][0] == f'{CONFIG}/filter_node.yaml'


@pytest.mark.parametrize('simulated', ['true', 'false'])
def test_filter_and_updater_go_by_the_same_clock(simulated: str) -> None:
    nodes = adapt(use_sim_time=simulated)
    for name in ('filter_node', 'updater_node'):
        assert nodes[name][1]['use_sim_time'] == simulated
        assert nodes[name][1]['model'] == 'm.npz'
