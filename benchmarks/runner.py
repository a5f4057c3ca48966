# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Run the same work on many cases in several processes, and measure processes; no benchmark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
import multiprocessing
import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from two_manifold_ros.processes import one_blas_thread

# As in every program of the package, and before anything imports NumPy.
one_blas_thread()

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

Name = TypeVar('Name')
Found = TypeVar('Found')


def with_jobs(parser: ArgumentParser) -> Namespace:
    """Return the arguments of a command that has several processes."""
    parser.add_argument('--jobs', type=int, default=os.cpu_count(), help='processes')
    return parser.parse_args()


def with_cases(parser: ArgumentParser, known: Iterable[str] = ()) -> Namespace:
    """Return the arguments of a command that cases are named after, those that are present."""
    # Not in the head: what measures the memory of processes is to be small itself.
    from gauntlet_drives import case_names  # noqa: PLC0415

    names = list(known) or case_names()
    parser.add_argument('names', nargs='*', metavar='NAME', help=f'some of {", ".join(names)}')
    args = with_jobs(parser)
    if unknown := set(args.names) - set(names):
        parser.error(f'there is no {", ".join(unknown)}; choose some of {", ".join(names)}')
    args.names = present(args.names or names)
    return args


def present(names: Iterable[str]) -> list[str]:
    """Return the cases whose recordings are beside the checkout, and print the others."""
    from gauntlet_drives import is_absent, RECORDINGS  # noqa: PLC0415 - as above

    absent = [name for name in names if is_absent(name)]
    if absent:
        print(f'not in {RECORDINGS.parent.name}/{RECORDINGS.name} beside the checkout, so passed')
        print(f'over: {", ".join(absent)}')
    return [name for name in names if name not in absent]


def spread(
    work: Callable[[Name], Found], names: Iterable[Name], jobs: int
) -> Iterator[tuple[Name, Found]]:
    """Yield names and what was found of each, in their order."""
    names = list(names)
    # Started afresh, because a fork of a process with threads may hang.
    with ProcessPoolExecutor(jobs, multiprocessing.get_context('spawn')) as pool:
        yield from zip(names, pool.map(work, names), strict=True)


def resident_mb(process: int | str = 'self') -> float:
    """Return the resident memory of a process now; the largest would only ever grow."""
    pages = int(Path(f'/proc/{process}/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE') / 1e6


def cpu_s(process: int | str = 'self') -> float:
    """Return the processor time of all threads of a process until now."""
    threads = Path(f'/proc/{process}/task').glob('*/schedstat')
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9
