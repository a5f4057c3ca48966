# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laps of a circuit, laid out, and the map that is learned of them."""

from collections.abc import Callable

from circuit import Circuit, Drive, laid
import numpy as np
import pytest

from two_manifold_ros.route.learning import learn_route, Tuning
from two_manifold_ros.route.route import Route
from two_manifold_ros.route.visits import Passes


@pytest.fixture(scope='session')
def laid_out() -> Callable[..., Passes]:
    """Return a function that lays out drives."""
    return laid


@pytest.fixture(scope='session')
def laps() -> Drive:
    """Return twelve laps."""
    return Circuit().laps(12)


@pytest.fixture(scope='session')
def passes(laps: Drive, laid_out: Callable[..., Passes]) -> Passes:
    return laid_out(laps)


@pytest.fixture(scope='session')
def route(passes: Passes) -> Route:
    return learn_route(passes, np.ones(len(passes.settled), dtype=np.bool_), Tuning(0.3))
