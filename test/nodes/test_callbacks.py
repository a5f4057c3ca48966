# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A node never dies of a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import rclpy

from two_manifold_ros.nodes import callbacks
from two_manifold_ros.nodes.callbacks import GuardedNode

if TYPE_CHECKING:
    from collections.abc import Iterator


class Logging(GuardedNode):
    """A node that keeps its log."""

    def __init__(self) -> None:
        super().__init__('logging')
        self.lines: list[str] = []

    def get_logger(self) -> Logging:
        return self

    def error(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture
def node(domain: str) -> Iterator[Logging]:
    rclpy.init(domain_id=int(domain))
    node = Logging()
    yield node
    node.destroy_node()
    rclpy.shutdown()


def test_an_exception_is_counted_and_logged_once_per_kind(node: Logging) -> None:
    def broken(value: int) -> None:
        raise ValueError(value % 2)

    guarded = node.guard(broken)
    for value in range(10):
        guarded(value)
    assert node.errors == 10
    assert len(node.lines) == 2
    assert 'in broken' in node.lines[0]


def test_a_service_that_fails_still_answers(node: Logging) -> None:
    def broken(request: object, response: object) -> object:
        raise RuntimeError((request, response))

    assert node.guard(broken)('request', 'response') == 'response'
    assert node.guard(lambda request, _: request)('request', 'response') == 'request'


def test_what_fails_while_the_middleware_goes_down_is_no_bug(
    node: Logging, monkeypatch: pytest.MonkeyPatch
) -> None:
    def published_in_the_middle_of_it() -> None:
        monkeypatch.setattr(callbacks, 'ok', lambda: False)
        raise RuntimeError

    node.guard(published_in_the_middle_of_it)()
    assert (node.errors, node.lines) == (0, [])
