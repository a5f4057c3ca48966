# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Run a function on inputs that a coverage-guided fuzzer generates, and report the outcome.

The fuzzer is atheris, which none of the locks has: pip install atheris. It runs in a process of
its own with a bound on its memory, so that taking too much is a MemoryError and a finding.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib.util import find_spec
import os
from pathlib import Path
import re
import resource
import subprocess
import sys
from tempfile import TemporaryDirectory
from time import thread_time, time
from typing import Any, TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

One: TypeAlias = Callable[[bytes], Any]
"""Takes an input; raises whatever is a finding."""

LONGEST_S = 1.0
EXECUTIONS = 100_000
ROOM = 400_000_000
"""Bytes that an input may take."""


def arguments(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument('--executions', type=int, default=EXECUTIONS, help='of each target')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', default='', help='target to run')
    parser.add_argument('--inside', help=argparse.SUPPRESS)
    return parser.parse_args()


def main(
    args: argparse.Namespace, targets: dict[str, Callable[[], tuple[One, Iterable[bytes]]]]
) -> int:
    """
    Fuzz each target and print a line on it; return the number of findings.

    A target is made, in the process that runs it, with what its corpus starts with.
    """
    if find_spec('atheris') is None:
        print('Fuzzing needs atheris, for CPython 3.11 and newer: pip install atheris')
        return 2
    if args.inside:
        _run_inside(args, *targets[args.inside]())
    print('target         executions  seconds  edges  corpus  peak MB  slowest ms  findings')
    return sum(_run(args, name) for name in targets if args.only in {'', name})


def _run(args: argparse.Namespace, name: str) -> int:
    """Run one target, in one process after the other, and print its line."""
    with TemporaryDirectory() as folder:
        begun, done, log, failed = time(), 0, '', False
        while done < args.executions and not failed:
            ended = _slice(name, folder, args.executions - done, args.seed + done)
            log = ended.stderr
            ran = re.findall(r'executions (\d+)', log)
            failed = ended.returncode != 0 or not ran
            done += int(ran[-1]) if ran else 0
        found = [each.read_bytes() for each in Path(folder).glob('[clot]*-*')]
    edges, corpus = (re.findall(rf'{word}: (\d+)', log)[-1:] or ['-'] for word in ('cov', 'corp'))
    seen = {word: re.findall(rf'{word} (\d+)', log)[-1:] or ['-'] for word in ('peak', 'slowest')}
    print(
        f'{name:<14} {done:>10} {time() - begun:>8.0f} {edges[0]:>6} {corpus[0]:>7} '
        f'{seen["peak"][0]:>8} {seen["slowest"][0]:>11} {failed:>9}',
        flush=True,
    )
    if failed:
        print(log[-3000:])
        for each in found:
            print(f'  {len(each)} bytes: {each[:4000].hex()}')
    return int(failed)


def _slice(name: str, folder: str, executions: int, seed: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(Path(sys.argv[0]).resolve()), '--inside', name]
    command += ['--seed', str(seed % 2**31), '--executions', str(executions)]
    # Compiled loops are not instrumented, and without them an index out of range is reported.
    variables = {'NUMBA_DISABLE_JIT': '1', 'OPENBLAS_NUM_THREADS': '1'} | dict(os.environ)
    return subprocess.run(
        command, cwd=folder, env=variables, stderr=subprocess.PIPE, text=True, check=False
    )


class _Watch:
    """
    Runs inputs, and ends the process when the fuzzer itself has taken too much memory.

    It keeps what it compares, and does not give it back.
    """

    def __init__(self, one: One, most: int) -> None:
        self._one = one
        self._most = most
        self._begun = _taken()
        self._count = 0
        self._slowest_s = 0.0
        self._bound()

    def __call__(self, content: bytes) -> None:
        begin = thread_time()
        self._one(content)
        seconds = thread_time() - begin
        if seconds > LONGEST_S:
            msg = f'{seconds:.1f} s of processor time'
            raise TimeoutError(msg)
        self._slowest_s = max(self._slowest_s, seconds)
        self._count += 1
        if self._count % 100 == 0:
            self._bound()
        if self._count == self._most or _taken() > self._begun + ROOM:
            self._end()

    def _end(self) -> None:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f'executions {self._count} peak {peak}', file=sys.stderr)
        print(f'slowest {1000 * self._slowest_s:.0f}', file=sys.stderr, flush=True)
        os._exit(0)

    def _bound(self) -> None:
        most = _taken() + ROOM
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


def _taken() -> int:
    """Return the address space in use, bytes."""
    return int(Path('/proc/self/statm').read_text().split()[0]) * resource.getpagesize()


def _run_inside(args: argparse.Namespace, one: One, corpus: Iterable[bytes]) -> None:
    import atheris  # noqa: PLC0415 - asked for above

    folder = Path('corpus')
    if not folder.exists():
        folder.mkdir()
        for number, content in enumerate(corpus):
            (folder / f'{number:04d}').write_bytes(content)
    # What is made once is no part of what an input costs.
    for content in corpus:
        one(content)
    watch = _Watch(one, args.executions)
    options = [f'-seed={args.seed}', '-timeout=60', '-len_control=0', '-max_len=65536']
    options += ['-rss_limit_mb=0']
    atheris.Setup([sys.argv[0], *options, str(folder)], watch)
    atheris.Fuzz()


def instrumented() -> Any:  # noqa: ANN401 - a context, or nothing without the fuzzer
    """Return the context in which to import what is to be fuzzed."""
    import atheris  # noqa: PLC0415 - asked for by `main`

    return atheris.instrument_imports(include=['two_manifold_ros'])


def expect(fits: bool, what: object) -> None:
    """Raise a finding unless something fits."""
    if not fits:
        raise AssertionError(what)


def expect_refusal(error: BaseException) -> None:
    """Raise a finding unless a refusal is one sentence that hides no want of memory."""
    expect('\n' not in str(error), 'the refusal has several lines')
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):
            raise cause
        cause = cause.__cause__ or cause.__context__
