# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether there is a network."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from two_manifold_ros.nodes.running import network_trouble

if TYPE_CHECKING:
    import pytest


def test_loopback_is_enough() -> None:
    assert network_trouble() == ''


def test_none_is_named_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, 'if_nameindex', list)
    assert 'ip link set lo up' in network_trouble()


def test_an_interface_that_is_gone_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    there = socket.if_nameindex()
    monkeypatch.setattr(socket, 'if_nameindex', lambda: [(99, 'gone'), *there])
    assert network_trouble() == ''
    monkeypatch.setattr(socket, 'if_nameindex', lambda: [(99, 'gone')])
    assert 'ip link set lo up' in network_trouble()
