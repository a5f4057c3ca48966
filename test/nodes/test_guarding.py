# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A node never dies of a message."""

from two_manifold_ros.interface.log import Guard


def test_an_exception_is_counted_and_logged_once_per_kind() -> None:
    lines: list[str] = []
    guard = Guard(lines.append)

    def broken(value: int) -> None:
        raise ValueError(value % 2)

    guarded = guard(broken)
    for value in range(10):
        guarded(value)
    assert guard.count == 10
    assert len(lines) == 2
    assert 'in broken' in lines[0]


def test_a_service_that_fails_still_answers() -> None:
    guard = Guard(lambda _: None)

    def broken(request: object, response: object) -> object:
        raise RuntimeError((request, response))

    assert guard(broken)('request', 'response') == 'response'
    assert guard(lambda request, _: request)('request', 'response') == 'request'


def test_what_fails_while_the_middleware_goes_down_is_no_bug() -> None:
    lines: list[str] = []
    alive = [True]
    guard = Guard(lines.append, lambda: alive[0])

    def published_in_the_middle_of_it() -> None:
        alive[0] = False
        raise RuntimeError

    guard(published_in_the_middle_of_it)()
    assert (guard.count, lines) == (0, [])
