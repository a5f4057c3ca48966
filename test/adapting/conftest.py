# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laps of the slot car, and a session that has learned them."""

import copy

import driven_model
import pytest
from updater_feed import feed, LEARNED, small_session

from two_manifold_ros.adapting.updater_session import UpdaterSession
from two_manifold_ros.simulation.slot_car_run import SlotCarRun

drive, model_path = driven_model.drive, driven_model.model_path


@pytest.fixture(scope='session')
def learned_session(drive: SlotCarRun) -> UpdaterSession:
    """The session of an updater that has learned for a while; use `learned`."""
    session = small_session()
    feed(session, drive, slice(0, LEARNED))
    return session


@pytest.fixture
def learned(learned_session: UpdaterSession) -> UpdaterSession:
    return copy.deepcopy(learned_session)
