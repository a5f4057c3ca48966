# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What was learned outlives the process: checkpoints now and then, and one to go on from."""

from __future__ import annotations

from dataclasses import asdict, replace
from time import monotonic
from typing import Any, TYPE_CHECKING

from two_manifold_ros.adapting.checkpoints import CheckpointThread
from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import GeodeticOrigin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from two_manifold_ros.adapting.checkpoints import Checkpoints
    from two_manifold_ros.adapting.updater_session import UpdaterSession


MORE = 1.1
"""Times the samples of the last checkpoint that are worth another one without news."""


class Resuming:
    """
    Checkpoints of a session.

    Parameters
    ----------
    session
        That learns.
    checkpoints
        Where to.
    every_s
        Seconds between two checkpoints.
    clock
        Seconds, never going back.

    Attributes
    ----------
    resumed
        Samples that had been learned when it was resumed; 0 if it began anew.

    """

    def __init__(
        self,
        session: UpdaterSession,
        checkpoints: Checkpoints,
        every_s: float,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._session = session
        self._checkpoints = checkpoints
        self._writer = CheckpointThread(checkpoints)
        self._every_s = every_s
        self._clock = clock
        self._begun_s = self._written_s = clock()
        self._seen = 0
        self._saving = self._learned = 0
        self._saved_news = session.learner.news
        self.resumed = 0

    @property
    def trouble(self) -> str:
        """Why no checkpoint can be written, or the last could not be; empty if all is well."""
        return self._writer.trouble

    @property
    def values(self) -> dict[str, float | str]:
        """What there is to tell in diagnostics."""
        self._look_at_writer()
        values: dict[str, float | str] = {'checkpoints_written': self._writer.written}
        if self._writer.path is not None:
            values['checkpoint'] = str(self._writer.path)
            values['checkpoint_samples'] = self._learned
            values['checkpoint_age_s'] = round(self._clock() - self._written_s, 1)
        if self.trouble:
            values['checkpoint_trouble'] = self.trouble
        return values

    @property
    def begun(self) -> str:
        """How it began, in words."""
        if self._checkpoints.path is None:
            return 'begins anew'
        return f'resumed at {self.resumed} samples from {self._checkpoints.path}'

    @property
    def kept(self) -> str:
        """What outlives the process, in words."""
        values = self.values
        if 'checkpoint' not in values:
            return 'no checkpoint was written'
        return f'checkpoint {values["checkpoint"]} at {values["checkpoint_samples"]} samples'

    def resume(self) -> list[str]:
        """
        Go on from the newest checkpoint that can be read and resumed, if there is one.

        Returns
        -------
        list of str
            A sentence for each newer one.

        """
        for numbers, arrays in self._checkpoints.readable():
            why = self._go_on(numbers, arrays)
            if not why:
                break
            self._checkpoints.skip(why)
        return list(self._checkpoints.skipped)

    def _go_on(self, numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
        """Go on from a checkpoint; return why not, or an empty string."""
        session = self._session
        try:
            stream = dict(numbers['stream'])
            if stream['origin'] is not None:
                stream['origin'] = GeodeticOrigin(**stream['origin'])
            head = replace(session.head, **stream)
            session.resume(head, numbers['learner'], arrays)
        except InputError as error:
            return str(error)
        except (KeyError, TypeError, ValueError) as error:
            return f'what it says of the stream cannot be used ({error!r})'
        self.resumed = session.learned()['learned']
        return ''

    def look(self) -> None:
        """Begin a checkpoint if it is time for one, and something was learned since the last."""
        if self._clock() - self._begun_s >= self._every_s and self._worth_it():
            self.save()

    def _worth_it(self) -> bool:
        """Return whether something was learned since, a tenth more was seen, or all forgotten."""
        session, learned = self._session, self._session.learned()['learned']
        new = session.learner.news != self._saved_news
        return new or learned < self._saving or learned > MORE * self._saving

    def save(self) -> str:
        """Begin a checkpoint now; return why not, or an empty string."""
        session = self._session
        if self._writer.busy:
            return 'the last checkpoint is still being written'
        if not session.learned()['learned']:
            return 'nothing was learned yet'
        head = session.head
        stream = {
            'frame_id': head.frame_id,
            'imu_frame_id': head.imu_frame_id,
            'origin': None if head.origin is None else asdict(head.origin),
        }
        numbers, arrays = session.learner.saved()
        self._look_at_writer()
        self._writer.begin({'stream': stream, 'learner': numbers}, arrays)
        self._begun_s, self._saved_news = self._clock(), session.learner.news
        self._saving = session.learned()['learned']
        return ''

    def end(self) -> None:
        """Write the last checkpoint and wait until it is on the disk."""
        self._writer.finish()
        self.save()
        self._writer.finish()
        self._checkpoints.close()

    def _look_at_writer(self) -> None:
        """Remember what is in the newest checkpoint once it is on the disk, and not before."""
        if self._writer.written != self._seen:
            self._seen, self._written_s = self._writer.written, self._clock()
            self._learned = self._saving
