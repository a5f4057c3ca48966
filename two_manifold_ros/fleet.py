# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Work that is many of the same: one after another in this process, or on the workers of Dask.

Library calls take ``client=None``, which is this process, or a ``distributed.Client``. Results
are those of this process, in the same order, whichever worker computed them, and however often: a
worker that is lost is replaced, and what it had is computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
import json
import logging
from pathlib import Path
import re
import signal
from time import monotonic
from typing import Any, TypeVar

from two_manifold_ros import __version__
from two_manifold_ros.errors import InputError, refuse
from two_manifold_ros.files import checked, MOST_KEPT, parse_json, read_text, replace_text

Item = TypeVar('Item')
Result = TypeVar('Result')
Value = TypeVar('Value')

START_S = 60.0
"""Time in which a scheduler and a worker have to answer."""


def spread(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    client: Any = None,  # noqa: ANN401 - of an extra
    done: Callable[[float], None] = lambda _: None,
    keep: Callable[[Item, Result], None] = lambda *_: None,
) -> list[Result]:
    """
    Return what a function makes of each item, in their order.

    The function is of a module, or a ``partial`` of one, and depends on its arguments alone. Each
    worker gets it once, so what all items need is to be in it. ``done`` gets the share of the
    items that are done, ``keep`` each item with its result when it comes, in any order.
    `LostWorkersError` says that workers died; else what the function raises for the first item
    for which it does is raised.
    """
    if client is None or not items:
        results = []
        for number, item in enumerate(items):
            done(number / len(items))
            results.append(function(item))
            keep(item, results[-1])
        return results
    from distributed import KilledWorker  # noqa: PLC0415 - an extra

    results_of: dict[int, Result | InputError] = {}
    done(0.0)
    # A result, unlike scattered data, is made again where all that have it are lost.
    shared = client.submit(_same, function, pure=False)
    for future in _as_they_end([shared], client):
        # Or all that needs it would be done where it is. Without a worker that is said below.
        with suppress(ValueError):
            client.replicate(future)
    # By default equal calls are one: results of an earlier run would be taken for this one's.
    futures = client.map(_tried, [shared] * len(items), items, pure=False)
    numbers = {future.key: number for number, future in enumerate(futures)}
    try:
        for future in _as_they_end(futures, client):
            number = numbers[future.key]
            found = results_of[number] = future.result()
            if not isinstance(found, InputError):
                keep(items[number], found)
            done(len(results_of) / len(items))
    except KilledWorker:
        raise LostWorkersError(_LOST) from None
    finally:
        client.cancel(futures)
    known: list[Result] = []
    for number in range(len(items)):
        found = results_of[number]
        if isinstance(found, InputError):
            raise found
        known.append(found)
    return known


_LOST = (
    'the workers were lost again and again, and none is left for the same work: look at their '
    'logs; most often they had too little memory, then take fewer of them'
)


class LostWorkersError(InputError):
    """Workers that were lost, so that work was not done."""


def _as_they_end(futures: Sequence[Any], client: Any) -> Iterator[Any]:  # noqa: ANN401
    """Yield futures; raise ``InputError`` when there is no worker any more."""
    import distributed  # noqa: PLC0415 - an extra

    left = set(futures)
    while left:
        try:
            ended, left = distributed.wait(left, timeout=START_S, return_when='FIRST_COMPLETED')
        # Before Python 3.11 it is not that of Python.
        except distributed.TimeoutError:
            # Dask starts none again that dies before it has said that it runs.
            if client.nthreads():
                continue
            raise LostWorkersError(_LOST) from None
        yield from ended


def _same(value: Value) -> Value:
    return value


_FORMAT = 'two_manifold bags 1'


class ItemJournal(dict[str, Any]):
    """Results of items in a file, a line each as it comes, so that a run that ended goes on."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, text = path, ''
        with checked(path, 'journal of bags', 'move it, or name another model'):
            with suppress(FileNotFoundError):
                text = read_text(path, MOST_KEPT)
            head, *lines = text.split('\n')
            if text and _FORMAT not in head:
                refuse('it is something else')
        for line in lines:
            with suppress(ValueError, TypeError):
                item, result = parse_json(line)
                self[item] = result
        if not text:
            replace_text(path, [json.dumps({'format': _FORMAT}), '\n'], 'journal')
        elif lines[-1:] != ['']:
            # A line that was cut off would swallow the next one.
            self._append('\n')

    def keep(self, item: str, result: Any) -> None:  # noqa: ANN401 - any value of JSON
        """Add a result."""
        self[item] = result
        self._append(json.dumps((item, result), allow_nan=False) + '\n')

    def _append(self, text: str) -> None:
        try:
            with self.path.open('a', encoding='utf-8') as file:
                file.write(text)
        except OSError as error:
            msg = f'{self.path} cannot be written ({error.strerror}): free its disk, or its folder'
            raise InputError(msg) from error


def _tried(function: Callable[[Item], Result], item: Item) -> Result | InputError:
    """Return a result, or what refused the item: raised, a worker would log a traceback."""
    try:
        return function(item)
    except InputError as error:
        return error


@contextmanager
def client_of(
    workers: str | int | None, say: Callable[[str], None] = lambda _: None
) -> Iterator[Any]:
    """
    Connect to workers, and part from them at the end; ``None`` where none are asked for.

    ``workers`` is a number of processes on this machine, which are started and ended; or the
    address of a scheduler, or a file that the scheduler wrote. ``say`` gets sentences, such as the
    address of the dashboard. ``InputError`` says that Dask is missing, that no scheduler or worker
    answers, or that their package is not this one.
    """
    if workers is None:
        yield None
        return
    where = str(workers)
    count = int(where) if re.fullmatch(r'-?\d+', where) else None
    file = None if count is not None or re.search(r':\d+$', where) else where
    if count is not None and count < 1:
        raise InputError(f'{count} workers can do nothing: give 1 or more')
    if file is not None and not Path(file).is_file():
        # Dask would wait for ever until there is one.
        raise InputError(f'there is no file {file}: name the one that the scheduler wrote')
    try:
        import dask  # noqa: PLC0415 - an extra
        import distributed  # noqa: F401, PLC0415 - an extra

        if count is not None:
            # For the keys with which workers on this machine are talked to.
            import cryptography  # noqa: F401, PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise InputError(
            f'work on several processes or machines needs the Python package {error.name}: '
            f"install it with 'pip install {error.name}', or leave out --workers"
        ) from error
    settings = {
        # Workers that may be lost with an item, until it is taken to be what they die of.
        'distributed.scheduler.allowed-failures': 3,
        # It would take what is shared from a worker that waits.
        'distributed.scheduler.active-memory-manager.start': False,
        # Its profiler samples each worker a hundred times a second, which slows it by a sixth.
        'distributed.worker.profile.enabled': False,
        # Its warning is about data that workers could read.
        'distributed.admin.large-graph-warning-threshold': '1 TB',
    }
    with dask.config.set(settings):
        if count is None:
            say(f'waiting up to {START_S:g} s for a scheduler with a worker at {where}')
        with _connected(where, file) if count is None else _started(count) as client:
            _check_versions(client)
            if client.dashboard_link:
                say(f'the work can be watched at {client.dashboard_link}')
            yield client


def _connected(where: str, file: str | None) -> Any:  # noqa: ANN401 - of an extra
    """Return a client of a scheduler that runs, with a worker at least."""
    import distributed  # noqa: PLC0415 - an extra

    until_s = monotonic() + START_S
    try:
        client = distributed.Client(None if file else where, scheduler_file=file, timeout=START_S)
        client.wait_for_workers(1, timeout=max(until_s - monotonic(), 1.0))
    except (OSError, distributed.TimeoutError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler with a worker answers at {where}: start 'dask scheduler' and "
            "'dask worker ADDRESS', and compare the address"
        ) from error
    return client


@contextmanager
def _started(workers: int) -> Iterator[Any]:
    """Start workers on this machine and end them, in silence if the command is stopped."""
    import distributed  # noqa: PLC0415 - an extra

    local = distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        # By default its pages are open to the network, its scheduler to any user here.
        dashboard_address='127.0.0.1:0',
        worker_dashboard_address='127.0.0.1:0',
        security=distributed.Security.temporary(),
        preload=[__name__],
    )
    logger = logging.getLogger('distributed')
    level = logger.level
    lost: LostWorkersError | None = None
    try:
        with local as cluster, distributed.Client(cluster) as client:
            try:
                yield client
            except LostWorkersError as error:
                lost = error
            except KeyboardInterrupt:
                # That workers end in the middle of their work is what is wanted.
                logger.setLevel(logging.CRITICAL)
                raise
    except AssertionError:
        # Dask fails to end a worker that it is starting again.
        if lost is None:
            raise
    finally:
        logger.setLevel(level)
    if lost is not None:
        raise lost


def _check_versions(client: Any) -> None:  # noqa: ANN401 - of an extra
    """Refuse workers that do not have this version of the package."""
    try:
        other = {*client.run(_version).values()} - {__version__}
    except ModuleNotFoundError as error:
        other = {f'no Python package {error.name}'}
    if other:
        raise InputError(
            f'a worker has {min(other)}, and here is two_manifold_ros {__version__}: install the '
            'same version on all machines, with all that is installed here'
        )


def dask_setup(_: Any) -> None:  # noqa: ANN401 - of an extra
    """Leave Ctrl-C to the command, in a worker that it starts; Dask looks for this name."""
    # Else each process would print a traceback, and another one of the work that is cancelled.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.getLogger('distributed.worker.state_machine').setLevel(logging.ERROR)


def _version() -> str:
    return __version__
