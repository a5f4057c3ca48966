# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laps of a circuit, laid out, and the map that is learned of them."""

from circuit import Circuit, Drive, laid, learned
import pytest
from small_route import interpret

from two_manifold_ros.route import steps
from two_manifold_ros.route.route import LIMITS, Route
from two_manifold_ros.route.visits import Passes


@pytest.fixture(scope='session')
def laps() -> Drive:
    return Circuit().laps(12)


@pytest.fixture(scope='session')
def passes(laps: Drive) -> Passes:
    return laid(laps)


@pytest.fixture(scope='session')
def route(passes: Passes) -> Route:
    return learned(passes)


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drop nothing: compiled functions do not see what a test changes, so they are interpreted."""
    unlimited = LIMITS._replace(faint=1e-300, nothing=0.0, least_move=0.0, least_share=0.0)
    monkeypatch.setattr(steps, 'LIMITS', unlimited)
    interpret(monkeypatch)
