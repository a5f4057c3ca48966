# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Progress on standard error, for what takes longer than two seconds."""

from __future__ import annotations

import sys
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress as Bar
    from typing_extensions import Self

PATIENCE_S = 2.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 5.0, 60.0


class Progress:
    """
    A context manager that is called with what is done and how far it is.

    Nothing shows during the first two seconds. Then a terminal gets a bar with the time that
    passed, and anything else, such as a log file, whole lines with that time, each after a longer
    pause until there is one a minute, whether there was a call since or not.

    Parameters
    ----------
    what
        What is done until the first call tells, in a word or two.

    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._fraction = 0.0
        self._bar: Bar | None = None
        self._lock = Lock()
        self._over = Event()
        # What takes long may not call for long.
        self._thread = Thread(target=self._show, name='progress', daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, what: str, fraction: float) -> None:
        """Say that a part, named in a word or two, is done up to a fraction in [0, 1]."""
        with self._lock:
            self._what, self._fraction = what, fraction
            if self._bar is not None:
                self._bar.update(self._bar.task_ids[0], description=what, completed=fraction)

    def _show(self) -> None:
        if self._over.wait(PATIENCE_S):
            return
        if sys.stderr.isatty() and self._start_bar():
            return
        passed_s, pause_s = PATIENCE_S, FIRST_PAUSE_S
        while True:
            line = f'{self._what}: {self._fraction:.0%} after {passed_s:.0f} s'
            print(line, file=sys.stderr, flush=True)
            if self._over.wait(pause_s):
                return
            passed_s += pause_s
            pause_s = min(2.0 * pause_s, LONGEST_PAUSE_S)

    def _start_bar(self) -> bool:
        """Return whether there is a bar; without rich there is none."""
        try:
            # Needed only on a terminal and only after two seconds.
            from rich.console import Console  # noqa: PLC0415
            from rich.progress import Progress as Bar  # noqa: PLC0415
            from rich.progress import TimeElapsedColumn  # noqa: PLC0415
        except ModuleNotFoundError:
            return False
        columns = (*Bar.get_default_columns(), TimeElapsedColumn())
        bar = Bar(*columns, console=Console(stderr=True), transient=True)
        with self._lock:
            bar.update(bar.add_task(self._what, total=1.0), completed=self._fraction)
            bar.start()
            self._bar = bar
        return True
