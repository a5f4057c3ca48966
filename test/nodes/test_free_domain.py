# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Domains for tests are free, and are known to be taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from free_domain import free_domains, is_free
import pytest

if TYPE_CHECKING:
    from ros_talk import Talk


def test_domains_differ() -> None:
    assert len(set(free_domains(20))) == 20


def test_a_domain_with_somebody_in_it_is_not_free(talk: Talk, domain: str) -> None:
    pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    assert talk.node.get_name() == 'test'
    assert not is_free(int(domain))
