# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Numbered files in a folder, each written whole or not at all: checkpoints, and models to hand over.

The number counts up; the oldest file is removed only after the newest is on the disk.
"""

from __future__ import annotations

from dataclasses import asdict, replace
import fcntl
from pathlib import Path
import re
from tempfile import TemporaryFile
from threading import Thread
from time import monotonic
from typing import Any, IO, TYPE_CHECKING

from two_manifold_ros.adapting.stream_memory import make_head, StreamMemory
from two_manifold_ros.errors import InputError, why_it_fails
from two_manifold_ros.model.container import read_container, write_container
from two_manifold_ros.model.model_file import CHECKPOINT_FORMAT
from two_manifold_ros.names import frame_name
from two_manifold_ros.recordings.recording import GeodeticOrigin, IMU_CHANNELS, Recording

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from numpy.typing import NDArray

    from two_manifold_ros.adapting.updater_session import UpdaterSession
    from two_manifold_ros.interface.parameters import UpdaterParameters
    from two_manifold_ros.model.model import ModelHead

FORMAT = f'{CHECKPOINT_FORMAT} 3'
"""Format name in the header of every checkpoint; another number is refused."""


KEPT = 3
"""Newest readable files that are kept: with fewer, a damaged one of two would leave one; of models
one runs, and one ran before."""


class NumberedFiles:
    """
    The newest files ``<name>.<number>.npz`` of one writer in a folder, which is made if missing.

    ``kind`` is what a file is, in sentences. From `lock` until `close` a lock file keeps every
    other writer from this name in this folder. Half-written files are therefore of a dead writer,
    and are removed.
    """

    def __init__(self, folder: str | Path, name: str, kind: str) -> None:
        if not re.fullmatch(r'[A-Za-z0-9_-]+(\.model)?', name):
            msg = f'{name!r} cannot be the name of {kind}s: use letters, digits, _ and -'
            raise InputError(msg)
        self.folder, self._name, self._kind = Path(folder), name, kind
        self._pattern = rf'{re.escape(name)}\.\d+\.npz'
        self._last = 0
        self._lock: IO[bytes] | None = None
        # Files that could not be read, which do not count among those that are kept.
        self.damaged: set[Path] = set()

    def lock(self) -> None:
        """Keep other writers out; `InputError` if there is one, `OSError` if nobody can write."""
        if self._lock is not None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = (self.folder / f'.{self._name}.lock').open('ab')
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.close()
            msg = (
                f'{self.folder}: another process writes {self._kind}s named {self._name} here; '
                'end that process or choose another name or folder'
            )
            raise InputError(msg) from error
        self._lock = lock
        for path in self._matching(rf'\.{self._pattern}\..+'):
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """Leave the name to others."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def obstacle(self) -> str:
        """Make the folder if it is missing; return why nothing can be written, if so."""
        try:
            self.lock()
            with TemporaryFile(dir=self.folder):
                return ''
        except InputError as error:
            return str(error)
        except OSError as error:
            return self._why_not(error)

    def paths(self) -> list[Path]:
        """Return the files there are, the oldest first; none where the folder is missing."""
        return sorted(self._matching(self._pattern), key=_number)

    def write(self, save: Callable[[Path], object], spare: Collection[str] = ()) -> Path:
        """
        Save under the next number, then remove the surplus files; return its path.

        When this returns, the file outlives a power cut. From one thread at a time. A node runs
        the files in ``spare``. After an `InputError` the older files are all there.
        """
        try:
            self.lock()
        except OSError as error:
            raise InputError(self._why_not(error)) from error
        paths = self.paths()
        self._last = max([self._last, *map(_number, paths)]) + 1
        target = self.folder / f'{self._name}.{self._last:06d}.npz'
        save(target)
        good = [path for path in paths if path not in self.damaged][-KEPT:]
        try:
            # With the new one there is one more than are kept.
            for path in paths[: paths.index(good[1])] if len(good) == KEPT else ():
                if str(path) not in spare:
                    path.unlink(missing_ok=True)
        except OSError as error:
            msg = f'{path}: the old {self._kind} cannot be removed ({error.strerror}); remove it'
            raise InputError(msg) from error
        return target

    def _why_not(self, error: OSError) -> str:
        return (
            f'{self.folder}: no {self._kind} can be written here ({error.strerror}); make it a '
            'folder with room that may be written'
        )

    def _matching(self, pattern: str) -> list[Path]:
        try:
            return [path for path in self.folder.iterdir() if re.fullmatch(pattern, path.name)]
        # Writing reports why.
        except OSError:
            return []


def _number(path: Path) -> int:
    return int(path.name.split('.')[-2])


def name_of_files(chosen: UpdaterParameters, namespace: str = '') -> str:
    """Return the start of file names: that of a robot's namespace, where none is chosen."""
    return chosen.checkpoint_name or '_'.join([*filter(None, namespace.split('/')), 'updater'])


class Checkpoints:
    """
    Resume a session from the newest checkpoint that can be used, and save it now and then.

    A checkpoint has the newest drives of the stream, and the model, which runs until it was
    trained on them again. ``skipped`` has a sentence for each checkpoint that could not be used,
    ``begun`` says how the learner started. A folder that cannot be made or written stops nothing:
    ``trouble`` says so, and every `save` tries again. An `InputError` for a checkpoint of another
    sensor, or in another plane than a given model, leaves all files alone.
    """

    def __init__(
        self,
        chosen: UpdaterParameters,
        session: UpdaterSession,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        names = session.head.channels.names
        # Learner and horizons may be others: a restart trains again.
        self._channels = f'{len(names)}, {names[0]} to {names[-1]}'
        name = name_of_files(chosen)
        self._files = NumberedFiles(chosen.checkpoint_folder, name, 'checkpoint')
        self._session, self._every_s, self._clock = session, chosen.checkpoint_s, clock
        self._thread: Thread | None = None
        self._begun_s = clock()
        # Samples and models of the last checkpoint that was started.
        self._saved = 0, 0
        self._written = 0
        # The newest on the disk: its file, the samples in it, and when it was finished.
        self._kept: tuple[Path, int, float] | None = None
        # Why no checkpoint can be written, or the last could not be.
        self.trouble = ''
        self.skipped: list[str] = []
        self.begun = 'starts with nothing learned'
        for path in reversed(self._files.paths()):
            why = self._resume(path)
            if not why:
                self.begun = f'resumed at {self._learned} samples from {path}'
                break
            self.skipped.append(f'{path}: skipped, because {why}')
            self._files.damaged.add(path)
        try:
            self._files.lock()
        except OSError:
            self.trouble = self._files.obstacle()

    @property
    def values(self) -> dict[str, float | str]:
        """Numbers and words for the diagnostics."""
        values: dict[str, float | str] = {'checkpoints_written': self._written}
        if self._kept is not None:
            path, samples, finished_s = self._kept
            values['checkpoint'], values['checkpoint_samples'] = str(path), samples
            values['checkpoint_age_s'] = round(self._clock() - finished_s, 1)
        if self.trouble:
            values['checkpoint_trouble'] = self.trouble
        return values

    @property
    def kept(self) -> str:
        """Sentence on what outlives the process."""
        if self._kept is None:
            return 'no checkpoint was written'
        path, samples, _ = self._kept
        return f'checkpoint {path} at {samples} samples'

    @property
    def _learned(self) -> int:
        return self._session.learner.counters['samples_learned']

    def _resume(self, path: Path) -> str:
        """Put the session where a checkpoint left off; return why not, or an empty string."""
        session = self._session
        try:
            header, arrays = _read(path)
        except InputError:
            return 'the checkpoint is damaged or cut off'
        cure = 'choose another name or folder, or remove it'
        if header.get('format') != FORMAT:
            msg = f'{path}: this is no "{FORMAT}"; {cure}'
            raise InputError(msg)
        found, wanted = header['identity'].get('channels'), self._channels
        if found != wanted:
            msg = f'{path}: this is of a sensor with channels {found}, not {wanted}; {cure}'
            raise InputError(msg)
        try:
            head, numbers = _head(session.head, header), header['numbers']['learner']
        except (KeyError, TypeError, ValueError) as error:
            return f'what it states of the stream cannot be used ({error!r})'
        plane, given = (head.frame_id, head.origin), (session.head.frame_id, session.head.origin)
        if len(session.head.track) and head.frame_id and plane != given:
            msg = (
                f'{path}: its positions are in frame {plane[0]} with origin {plane[1]}, but the '
                f'given model has frame {given[0]} with origin {given[1]}; choose another '
                'checkpoint_folder, or the model that was given before'
            )
            raise InputError(msg)
        failure, _ = why_it_fails(lambda: session.learner.restore(numbers, arrays, head))
        return failure

    def look(self) -> None:
        """Start a checkpoint if it is time, and a model or a tenth more samples were learned."""
        if self._clock() - self._begun_s < self._every_s:
            return
        (samples, models), now = self._saved, self._learned
        if now < samples or now > 1.1 * samples or self._session.learner.models != models:
            self.save()

    def save(self) -> str:
        """Start a checkpoint now; return why not, or an empty string."""
        if self._thread is not None and self._thread.is_alive():
            return 'the last checkpoint is still being written'
        session, samples = self._session, self._learned
        if not samples:
            return 'nothing was learned yet'
        head = session.head
        stream = {
            'frame_id': head.frame_id,
            'imu_frame_id': head.imu_frame_id,
            'origin': None if head.origin is None else asdict(head.origin),
        }
        learner, arrays = session.learner.saved()
        numbers = {'stream': stream, 'learner': learner}
        identity = {'channels': self._channels}
        header = {'format': FORMAT, 'identity': identity, 'numbers': numbers}
        self._begun_s, self._saved = self._clock(), (samples, session.learner.models)
        # No daemon: a process that ends lets it write to the end.
        self._thread = Thread(target=self._write, args=(header, arrays, samples))
        self._thread.start()
        return ''

    def finish(self) -> None:
        """Wait until nothing is being written."""
        if self._thread is not None:
            self._thread.join()

    def end(self) -> None:
        """Write the last checkpoint, wait for it, and leave the name to others."""
        self.finish()
        self.save()
        self.finish()
        self._files.close()

    def _write(
        self, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], samples: int
    ) -> None:
        def write() -> None:
            path = self._files.write(
                lambda target: write_container(target, header, arrays, 'checkpoint')
            )
            self._kept = path, samples, self._clock()
            self._written += 1

        self.trouble, _ = why_it_fails(write)


def newest_in(folder: str | Path, skipped: Callable[[str], object] = lambda _: None) -> list[str]:
    """
    Return the newest checkpoint of each name in a folder; none where it is no such folder.

    It is the newest that can be read, if there is one; ``skipped`` gets a sentence about each that
    is newer.
    """
    place = Path(folder)
    # The name of a model beside them has one more dot.
    names = {
        each.name.partition('.')[0]
        for each in (place.iterdir() if place.is_dir() else ())
        if re.fullmatch(r'[A-Za-z0-9_-]+\.\d+\.npz', each.name)
    }
    newest = []
    for name in sorted(names):
        paths, troubles = NumberedFiles(place, name, 'checkpoint').paths(), list[str]()
        for path in reversed(paths):
            try:
                _read(path)
            except (InputError, OSError) as error:
                troubles.append(str(error))
                continue
            newest.append(str(path))
            for each in troubles:
                skipped(f'{each}; the checkpoint before it is taken')
            break
        else:
            newest.append(str(paths[-1]))
    return newest


def drives_in(path: str | Path) -> list[Recording]:
    """
    Return the drives with positions that a checkpoint keeps, without the lag of the positions.

    Raises `InputError` if the file is no checkpoint of this version, or not of an IMU alone, or
    its parts do not fit together.
    """
    header, arrays = _read(Path(path))
    if header.get('format') != FORMAT:
        msg = (
            f'{path} is no checkpoint of this version of updater_node, and keeps no drives to '
            'learn from: name files of its checkpoint_folder that have no .model. in their names, '
            'or bags'
        )
        raise InputError(msg)
    try:
        learner = header['numbers']['learner']
        width = arrays['samples'].shape[1]
        memory = StreamMemory(width)
        memory.restore(learner['stretches'], arrays)
        head = _head(make_head(), header)
        lag_s = int(learner['lag_ns']) * 1e-9
    # Numbers of any size and arrays of any shape make Python and NumPy raise almost anything.
    except Exception as error:
        msg = f'{path}: its numbers and arrays do not fit together ({error!r}); copy it again'
        raise InputError(msg) from error
    if width != len(IMU_CHANNELS):
        msg = (
            f'{path} keeps {width} numbers for each sample, of images or with commands, but an '
            'IMU gives six: name checkpoints of an IMU alone, or bags'
        )
        raise InputError(msg)
    return [
        replace(each, name=f'{path} drive {number}').with_positions_earlier(lag_s)
        for number, each in enumerate(memory.recordings(head), 1)
    ]


def _read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return header and arrays of a file; the header of a checkpoint has its tables."""
    header, arrays = read_container(path)
    if header.get('format') == FORMAT:
        for name in ('identity', 'numbers'):
            if not isinstance(header.get(name), dict):
                msg = f'{path}: its {name} are missing'
                raise InputError(msg)
    return header, arrays


def _head(head: ModelHead, header: Mapping[str, Any]) -> ModelHead:
    """Return a head with the frames and the origin of a checkpoint."""
    stream = header['numbers']['stream']
    return replace(
        head,
        origin=None if stream['origin'] is None else GeodeticOrigin(**stream['origin']),
        frame_id=frame_name(str(stream['frame_id'])),
        imu_frame_id=frame_name(str(stream['imu_frame_id'])),
    )
