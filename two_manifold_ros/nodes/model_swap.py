# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Put another model in the place of the one that runs, and take it back, without a gap."""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

from two_manifold_ros.filtering.successor import Successor
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.nodes.file_version import file_version
from two_manifold_ros.nodes.fitting_model import check_successor
from two_manifold_ros.outputs.rejections import rejections

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.filtering.filter import Filter
    from two_manifold_ros.filtering.successor import Make
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.nodes.file_version import FileVersion
    from two_manifold_ros.nodes.session import Session


PATIENCE = 2
"""Windows of a model: one in which it may fill, and another one in which to find its way."""


class _Kept(NamedTuple):
    """A model that ran before, ready to run again."""

    path: str
    version: FileVersion | None
    model: ModelHead
    filter: Filter


class ModelSwap:
    """
    Exchange the model of a session between two messages; knows nothing of ROS.

    The other model is loaded, compiled and fed with the newest samples in a thread. It takes over
    once it tracks, or at once where the one in use does not. If the one in use goes on tracking
    for ``PATIENCE`` windows of the other, and that still does not, it is refused, whatever keeps
    it from it.

    Parameters
    ----------
    session
        Whose model is exchanged.
    path
        File of its model.
    version
        Of that file, from before it was read.
    make
        Makes the filter of a model.
    follow
        Called with file and model that run from now on.
    info, warn
        Log one line.

    Attributes
    ----------
    path
        File of the model in use.
    swaps
        How often the model was exchanged.
    trouble
        Why the last attempt failed; empty if it did not.

    """

    def __init__(
        self,
        session: Session,
        path: str,
        version: FileVersion | None,
        make: Callable[[ModelHead], Filter],
        follow: Callable[[str, ModelHead], object],
        info: Callable[[str], object],
        warn: Callable[[str], object],
    ) -> None:
        self._session = session
        self._make = make
        self._follow = follow
        self._info = info
        self._warn = warn
        self._wanted = ''
        self._version = self._wanted_version = version
        self._before: _Kept | None = None
        self._ready_at: int | None = None
        self._takes_back = False
        self.path = path
        self.swaps = 0
        self.trouble = ''

    @property
    def state(self) -> str:
        """What it is doing, as one word for the diagnostics."""
        successor = self._session.successor
        if successor is None:
            return 'failed' if self.trouble else 'none'
        return 'waiting' if successor.prepared else 'loading'

    def begin(self, path: str) -> str:
        """Begin to exchange the model for that of a file; return why not, or an empty string."""
        refusal = self._busy()
        version = file_version(path)
        if not path:
            refusal = 'No next model is given: set the parameter next_model to the path of one.'
        elif version is not None and version == self._version:
            # Swapped for itself, it would be its own model before, and the way back be lost.
            refusal = refusal or (
                f'{path}: this model runs already, unchanged since it was read: set the parameter '
                'next_model to another.'
            )
        if refusal:
            return refusal
        present = self._session.model

        def make() -> tuple[ModelHead, Filter]:
            model = load_model(path)
            check_successor(model, present, path)
            live = self._make(model)
            live.warm_up()
            return model, live

        self._prepare(path, version, make, takes_back=False)
        return ''

    def take_back(self) -> str:
        """Begin to exchange it for the one before; return why not, or an empty string."""
        refusal, before = self._busy(), self._before
        if refusal or before is None:
            return refusal or 'There is no earlier model to take back.'

        def make() -> tuple[ModelHead, Filter]:
            before.filter.reset('taken back')
            return before.model, before.filter

        self._prepare(before.path, before.version, make, takes_back=True)
        return ''

    def look(self, *, idle: bool = False) -> None:
        """
        Finish what can be finished; to be called between messages.

        Parameters
        ----------
        idle
            Whether no messages are used at present, so that there is nothing to wait for.

        """
        new = self._session.successor
        if new is None or not new.prepared:
            return
        # A sample may have come in the moment in which the thread ended.
        new.catch_up()
        if new.failure:
            self._give_up(new, new.failure)
        elif idle or new.tracks or not self._session.tracks:
            self._take_over(new)
        elif self._outwaited(new):
            self._give_up(
                new,
                f'{self._wanted}: the model is not taken, because where the one in use is '
                f'tracking it says: {_words(new)}',
            )

    def _outwaited(self, new: Successor) -> bool:
        """Return whether it had its time, counted in ticks of the one in use."""
        ticks = self._session.filter.counters['ticks']
        if self._ready_at is None:
            self._ready_at = ticks
        waited_ns = (ticks - self._ready_at) * self._session.model.period_ns
        return waited_ns > PATIENCE * new.model.window * new.model.period_ns

    def _busy(self) -> str:
        if self._session.successor is None:
            return ''
        return f'{self._wanted} is being made ready: call again when that is over.'

    def _prepare(
        self, path: str, version: FileVersion | None, make: Make, *, takes_back: bool
    ) -> None:
        self.trouble = ''
        self._ready_at = None
        self._wanted, self._wanted_version, self._takes_back = path, version, takes_back
        self._session.successor = Successor(make, self._session.newest_samples())

    def _take_over(self, new: Successor) -> None:
        before = _Kept(self.path, self._version, self._session.model, self._session.filter)
        self._session.hand_over()
        # Taken back twice by a caller that did not hear the answer, it stays where it is.
        self._before = None if self._takes_back else before
        self.path, self._version = self._wanted, self._wanted_version
        self.swaps += 1
        again = 'again ' if self._takes_back else ''
        self._info(f'Model {self.path} runs {again}in place of {before.path}')
        self._follow(self.path, new.model)

    def _give_up(self, new: Successor, why: str) -> None:
        self._session.successor = None
        self.trouble = why
        self._warn(f'{why}\n{new.details}' if new.details else why)


def _words(new: Successor) -> str:
    """Return why it has no estimate to publish."""
    rejected = rejections(new.filter.counters)
    if new.latest is None and rejected:
        counts = ', '.join(f'{cause} ({count})' for cause, count in rejected.items())
        return f'samples rejected: {counts}'
    return new.filter.why
