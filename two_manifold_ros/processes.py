# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a process minds: an end in good order on every signal, BLAS threads, and free ROS domains.

Left to itself SIGTERM ends Python on the spot, so that half-written files stay behind, and Ctrl-C
raises an exception between any two lines, so that half-learned things may be saved.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import os
import random
import signal
import socket
import sys
from threading import Timer
from typing import TYPE_CHECKING

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from types import FrameType

    from typing_extensions import Self


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AGAIN_S = 0.01


class Stopped(KeyboardInterrupt):
    """
    A signal asked the process to end.

    After a plain `KeyboardInterrupt` in code made from text, as of dataclasses, Python ends with
    SIGINT, wherever it was caught.
    """


@contextmanager
def until_ctrl_c() -> Iterator[None]:
    """End the block in silence at Ctrl-C, with 0: launch takes any other status for a crash."""
    try:
        yield
    except Stopped as stopped:
        if stopped.args != (signal.SIGINT,):
            raise


class Stopping:
    """
    A context manager that the first ``signal`` ends, or in which it only leaves its number.

    It raises `Stopped`, which the block ends with in silence, unless ``at_once`` is false; later
    signals are left unheard, as in cleaning up, and so are all after the block where it
    ``is_last``. A hang-up that is ignored, as by ``nohup``, stays so. For the main thread alone.
    """

    def __init__(self) -> None:
        self.signal = 0
        self.at_once = True
        self.is_last = False
        self._lost = False

    def __enter__(self) -> Self:
        self._hook = sys.unraisablehook
        sys.unraisablehook = self._look_at_lost
        self._before = {
            number: signal.signal(number, self._hear)
            for number in _SIGNALS
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN
        }
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        for number, handler in self._before.items():
            # Or a second one would end a process with an error that is ending well.
            over = self.signal or self.is_last
            signal.signal(number, signal.SIG_IGN if over else handler)
        sys.unraisablehook = self._hook
        # What is raised while a module in C is loaded comes out of it as an error of the import.
        failed = self.signal != 0 and isinstance(error, ImportError)
        return failed or isinstance(error, KeyboardInterrupt)

    def _hear(self, number: int, _: FrameType | None) -> None:
        if self.signal and not self._lost:
            return
        self.signal, self._lost = number, False
        if self.at_once:
            raise Stopped(number)

    def _look_at_lost(self, lost: UnraisableHookArgs) -> None:
        """Try again where it was raised in a destructor or its like, from which nothing comes."""
        if not isinstance(lost.exc_value, Stopped):
            self._hook(lost)
            return
        self._lost = True
        again = Timer(_AGAIN_S, os.kill, (os.getpid(), self.signal))
        again.daemon = True
        again.start()


_LIMITS = ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS')


def one_blas_thread() -> None:
    """
    Keep linear algebra on the calling thread; call before NumPy is imported.

    At these sizes more threads only add jitter, fight over the cores of a robot, and make the
    last bits of a training depend on how many there are. What the environment says goes first.
    """
    for name in _LIMITS:
        os.environ.setdefault(name, '1')


HIGHEST = 101
"""Above it the ports are among those that Linux gives to anybody."""

_claims: list[socket.socket] = []


def free_domains(count: int) -> list[int]:
    """
    Return different domains, at random, in which no robot of this machine is.

    They are claimed: no call returns one again, in this process or in another one on this
    machine, whether it has participants at the moment or not. An ``InputError`` says that there
    are too few.
    """
    found: list[int] = []
    for domain in random.SystemRandom().sample(range(1, HIGHEST + 1), HIGHEST):
        if len(found) == count:
            break
        # A name that Linux gives to one process at a time, and takes back when that ends.
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                # The port of the first participant (RTPS 9.6.1.1).
                probe.bind(('', 7400 + 250 * domain + 10))
                claim.bind(f'\0two_manifold_ros in ROS domain {domain}')
            except OSError:
                claim.close()
                continue
        _claims.append(claim)
        found.append(domain)
    if len(found) < count:
        raise InputError(
            f'only {len(found)} of {count} ROS domains are free on this machine: end the programs '
            'that use the others'
        )
    return found


def isolate() -> None:
    """Keep the topics of this process to this machine and off the domains of others."""
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    os.environ['ROS_DOMAIN_ID'] = str(free_domains(1)[0])
