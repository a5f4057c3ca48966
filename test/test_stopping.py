# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Signals end a block at once, or leave their number."""

from __future__ import annotations

import signal

import pytest

from two_manifold_ros.stopping import Stopping

ASKING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def _handlers_as_before() -> object:
    before = {number: signal.getsignal(number) for number in ASKING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize('number', ASKING)
def test_the_first_signal_ends_the_block_and_its_cleaning_up_is_not_disturbed(
    number: signal.Signals,
) -> None:
    done = []
    with Stopping() as stop:
        try:
            signal.raise_signal(number)
            done.append('went on')
        # What survives every error must not survive the wish to end.
        except Exception:  # noqa: BLE001 - that it is not taken is the test
            done.append('taken for an error')
        finally:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)
            done.append('cleaned up')
    assert done == ['cleaned up']
    assert stop.signal == number


def test_a_signal_waits_where_it_must_not_come_between() -> None:
    with Stopping() as stop:
        stop.at_once = False
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        done = True
    assert done
    assert stop.signal == signal.SIGTERM


def test_after_a_signal_others_are_ignored_to_the_end() -> None:
    with Stopping():
        signal.raise_signal(signal.SIGTERM)
    assert [signal.getsignal(number) for number in ASKING] == [signal.SIG_IGN] * 3


def test_without_a_signal_all_is_as_before() -> None:
    before = [signal.getsignal(number) for number in ASKING]
    with Stopping() as stop:
        assert signal.getsignal(signal.SIGTERM) not in before
    assert stop.signal == 0
    assert [signal.getsignal(number) for number in ASKING] == before


def test_errors_go_their_way() -> None:
    with pytest.raises(ValueError, match='bad'), Stopping():
        int('bad')


def test_nohup_holds() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with Stopping() as stop:
        signal.raise_signal(signal.SIGHUP)
    assert stop.signal == 0
