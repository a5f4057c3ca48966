# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laps of a circuit, laid out, and the map that is learned of them."""

from circuit import Circuit, Drive, laid, learned
import pytest

from two_manifold_ros.route.route import Route
from two_manifold_ros.route.visits import Passes


@pytest.fixture(scope='session')
def laps() -> Drive:
    """Return twelve laps."""
    return Circuit().laps(12)


@pytest.fixture(scope='session')
def passes(laps: Drive) -> Passes:
    return laid(laps)


@pytest.fixture(scope='session')
def route(passes: Passes) -> Route:
    return learned(passes)
