# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""All parameters of all nodes."""

from two_manifold_ros.nodes.filter_parameters import FILTER
from two_manifold_ros.nodes.slot_car_parameters import SLOT_CAR
from two_manifold_ros.nodes.trainer_parameters import TRAINER
from two_manifold_ros.nodes.updater_parameters import UPDATER

PARAMETERS = {
    'filter_node': FILTER,
    'updater_node': UPDATER,
    'trainer_node': TRAINER,
    'slot_car_node': SLOT_CAR,
}
"""Tables by name of the node and of its executable."""
