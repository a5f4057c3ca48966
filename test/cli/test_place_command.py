# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Telling a node where it is, with a stand-in for the node."""

import math
import sys
from types import SimpleNamespace

import pytest


def test_a_position_is_told_once_or_it_is_said_that_nobody_listens(command, monkeypatch):
    told = []

    def tell(topic: str, _: str, fields: object, seconds: float) -> bool:
        told.append((topic, fields['pose']))
        return seconds > 0.0 and topic != 'nobody'

    module = SimpleNamespace(tell=tell)
    monkeypatch.setitem(sys.modules, 'two_manifold_ros.nodes.watching', module)
    command('place', '-1.5', '2', '--heading', '90', '--within', '0.1')
    topic, pose = told[-1]
    at, turn = pose['pose']['position'], pose['pose']['orientation']
    assert (topic, at['x'], at['y']) == ('initialpose', -1.5, 2.0)
    assert 2.0 * math.atan2(turn['z'], turn['w']) == pytest.approx(math.pi / 2)
    assert pose['covariance'][[0, 7]] == pytest.approx([0.01, 0.01])
    command('place', '1', '2', '--topic', 'car1/initialpose')
    # A heading that is not known says nothing.
    assert told[-1][1]['covariance'][35] > math.pi**2 > pose['covariance'][35]
    assert 'ROS_DOMAIN_ID' in command('place', '1', '2', '--topic', 'nobody', status=1).err
    for wrong in (['nan', '2'], ['1', '2', '--within', '-1']):
        assert 'finite' in command('place', *wrong, status=2).err
    assert len(told) == 3
