# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Signals end a block at once, or leave their number."""

import os
import signal
import subprocess
import sys
from time import sleep

import pytest

from two_manifold_ros.processes import Stopping

ASKING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def _handlers_as_before() -> object:
    before = {number: signal.getsignal(number) for number in ASKING}
    # Whoever started the tests may ignore it, as nohup does.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize('number', ASKING)
@pytest.mark.parametrize('at_once', [True, False])
def test_the_first_signal_ends_the_block_or_waits_and_others_are_ignored(number, at_once):
    done = []
    with Stopping() as stop:
        stop.at_once = at_once
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
    assert done == [*['went on'] * (not at_once), 'cleaned up']
    assert stop.signal == number
    assert [signal.getsignal(each) for each in ASKING] == [signal.SIG_IGN] * 3


def test_a_signal_in_a_destructor_is_not_lost_and_what_else_is_lost_is_reported(monkeypatch):
    def dies(act) -> None:
        """Do something in a destructor; what that raises goes nowhere."""
        type('Dying', (), {'__del__': lambda _: act()})()

    done = []
    with Stopping() as stop:
        dies(lambda: signal.raise_signal(signal.SIGTERM))
        for _ in range(1000):
            sleep(0.01)
        done.append('went on')
    assert done == []
    assert stop.signal == signal.SIGTERM
    lost: list[object] = []
    monkeypatch.setattr(sys, 'unraisablehook', lambda each: lost.append(each.exc_type))
    before = sys.unraisablehook
    with Stopping():
        dies(lambda: int('bad'))
    assert lost == [ValueError]
    assert sys.unraisablehook is before


def test_a_signal_while_a_module_in_c_is_loaded_is_no_broken_installation():
    with Stopping() as stop:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt as error:
            raise ImportError('initialization failed') from error
    assert stop.signal == signal.SIGINT
    with pytest.raises(ImportError), Stopping():
        raise ImportError


def test_without_a_signal_all_is_as_before():
    before = [signal.getsignal(number) for number in ASKING]
    with pytest.raises(ValueError, match='bad'), Stopping():
        int('bad')
    assert [signal.getsignal(number) for number in ASKING] == before
    # As after nohup.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with Stopping() as stop:
        signal.raise_signal(signal.SIGHUP)
    assert stop.signal == 0


def test_a_signal_while_text_is_run_does_not_count_as_unhandled(tmp_path):
    (tmp_path / 'program.py').write_text(
        'import signal\n'
        'from two_manifold_ros.processes import Stopping\n'
        'with Stopping():\n'
        "    exec('signal.raise_signal(signal.SIGTERM)')\n"
        'raise SystemExit(0)'
    )
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join([str(tmp_path), *sys.path])}
    # As a module, as launch starts the nodes: only then Python looks again in the end.
    command = [sys.executable, '-m', 'program']
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b'')


@pytest.mark.parametrize('is_last', [False, True])
def test_a_signal_after_the_last_block_is_left_unheard(is_last):
    heard = []
    signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    with Stopping() as stop:
        stop.is_last = is_last
    signal.raise_signal(signal.SIGINT)
    assert heard == [signal.SIGINT] * (not is_last)
