# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Numbered files in a folder, each written whole or not at all: checkpoints, and models to hand over.

The number counts up; the oldest file is removed only after the newest is on the disk.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, replace
import fcntl
import json
from pathlib import Path
import re
from tempfile import TemporaryFile
from threading import Thread
from time import monotonic
from types import MappingProxyType
from typing import Any, IO, NamedTuple, TYPE_CHECKING

from two_manifold_ros.adapting.updater_session import learner_name
from two_manifold_ros.errors import InputError
from two_manifold_ros.model.container import read_container, write_container
from two_manifold_ros.model.model_file import CHECKPOINT_FORMAT, save_model
from two_manifold_ros.recordings.recording import GeodeticOrigin

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from two_manifold_ros.adapting.updater_session import UpdaterSession
    from two_manifold_ros.interface.parameters import UpdaterParameters
    from two_manifold_ros.model.head import ModelHead

FORMAT = f'{CHECKPOINT_FORMAT} 3'
"""Format name in the header of every checkpoint; another number is refused."""


class _NumberedFiles:
    """
    Files ``<name><suffix>.<number>.npz`` of one writer in a folder.

    A lock file keeps every other writer from this name in this folder until `unlock`; half-written
    files are therefore of a dead writer and are removed.
    """

    def __init__(self, folder: Path, name: str, kind: str, suffix: str = '') -> None:
        if not re.fullmatch(r'[A-Za-z0-9_-]+', name):
            msg = f'{name!r} cannot be the name of {kind}s: use letters, digits, _ and -'
            raise InputError(msg)
        self.folder, self._stem, self._kind = folder, name + suffix, kind
        self._pattern = rf'{name}{re.escape(suffix)}\.\d+\.npz'
        self._last = 0
        self._lock: IO[bytes] | None = None

    def lock(self) -> None:
        """
        Make the folder, and keep other writers out of the name.

        Raises
        ------
        InputError
            If another process has the name.
        OSError
            If nothing can be written in the folder.

        """
        if self._lock is not None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = (self.folder / f'.{self._stem}.lock').open('ab')
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.close()
            msg = (
                f'{self.folder}: another process writes {self._kind}s named {self._stem} here; '
                'end that process or choose another name or folder'
            )
            raise InputError(msg) from error
        self._lock = lock
        self._clear_half_written()

    def unlock(self) -> None:
        """Leave the name to others."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def paths(self) -> list[Path]:
        """Return the files there are, the oldest first; none where the folder is missing."""
        return sorted(self._matching(self._pattern), key=self._number)

    def next_path(self) -> Path:
        """Return the path after all that are or were there."""
        self._last = max([self._last, *(self._number(path) for path in self.paths())]) + 1
        return self.folder / f'{self._stem}.{self._last:06d}.npz'

    def _clear_half_written(self) -> None:
        """Remove unfinished files of a previous writer that died."""
        for path in self._matching(rf'\.{self._pattern}\..+'):
            path.unlink(missing_ok=True)

    def remove(self, paths: Iterable[Path]) -> None:
        """Remove old files."""
        try:
            for path in paths:
                path.unlink(missing_ok=True)
        except OSError as error:
            msg = f'{path}: the old {self._kind} cannot be removed ({error.strerror}); remove it'
            raise InputError(msg) from error

    def obstacle(self, error: OSError) -> str:
        """Return why nothing can be written, and the cure."""
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

    @staticmethod
    def _number(path: Path) -> int:
        return int(path.name.split('.')[-2])


class SnapshotFiles:
    """
    Models that are handed over, the newest few as files ``<name>.model.<number>.npz`` in a folder.

    The name in the folder is of one process until `close`: a second one would overwrite and remove
    what filter nodes run. A folder that cannot be made or written is reported by `obstacle`.

    Raises `InputError` for a name that is in use, or has other than letters, digits, ``_`` and
    ``-``.
    """

    def __init__(self, folder: str | Path, name: str, keep: int = 3) -> None:
        self._files = _NumberedFiles(Path(folder).absolute(), name, 'model', '.model')
        self._keep = keep
        with suppress(OSError):
            self._files.lock()

    def close(self) -> None:
        """Leave the name to others."""
        self._files.unlock()

    def obstacle(self) -> str:
        """Make the folder if it is missing; return why nothing can be written, if so."""
        try:
            self._files.lock()
            with TemporaryFile(dir=self._files.folder):
                return ''
        except InputError as error:
            return str(error)
        except OSError as error:
            return self._files.obstacle(error)

    def write(self, model: ModelHead, spare: Collection[str] = ()) -> Path:
        """
        Write a model under the next number, then remove the surplus ones; return its full path.

        May be called from any thread, from one at a time. Files in ``spare`` stay because a node
        runs them.

        Raises
        ------
        InputError
            If the folder is full or cannot be made or written, or if the model could not be
            loaded again; the older files are all there.

        """
        try:
            self._files.lock()
        except OSError as error:
            raise InputError(self._files.obstacle(error)) from error
        paths, target = self._files.paths(), self._files.next_path()
        save_model(model, target)
        surplus = paths[: len(paths) + 1 - self._keep]
        self._files.remove(path for path in surplus if str(path) not in spare)
        return target


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was read: its file, JSON values by name and arrays by name."""

    path: Path
    numbers: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


class Checkpoints:
    """
    The last few checkpoints under one name, as files ``<name>.<number>.npz``.

    The name in the folder is of one process until `close`. A missing folder is made. One that
    cannot be made or written is no reason to stop: ``trouble`` says so at once, and `write` tries
    again.

    Parameters
    ----------
    folder, name
        See `SnapshotFiles`.
    identity
        What a checkpoint must agree in to be resumed, such as the number of channels: JSON values.
    keep
        How many readable ones are kept.
    words
        For names in the identity whose values mean nothing to a reader: why a difference matters,
        and the cure.

    Attributes
    ----------
    skipped
        A sentence for each checkpoint that `readable` could not read, or that `skip` refused.
    trouble
        Why nothing could be written at the start; empty if it could.

    Raises
    ------
    InputError
        If the name cannot be used or is in use, or if there is a checkpoint of another identity;
        all files are left alone then.

    """

    def __init__(
        self,
        folder: str | Path,
        name: str,
        identity: Mapping[str, Any],
        keep: int = 3,
        words: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._files = _NumberedFiles(Path(folder), name, 'checkpoint')
        self._identity = json.loads(json.dumps(dict(identity), allow_nan=False))
        self._keep = keep
        self._words = words
        self._damaged: set[Path] = set()
        self.skipped: list[str] = []
        self.trouble = ''
        self._refuse_other_identities()
        try:
            self._files.lock()
        except OSError as error:
            self.trouble = self._files.obstacle(error)

    def close(self) -> None:
        """Leave the name to others."""
        self._files.unlock()

    def readable(self) -> Iterator[Checkpoint]:
        """Yield each checkpoint that can be read, the newest first; fills ``skipped``."""
        self.skipped.clear()
        for path in reversed(self._files.paths()):
            try:
                header, arrays = _read(path)
            except InputError:
                self._damaged.add(path)
                self.skipped.append(f'{path}: the checkpoint is damaged or cut off, and skipped')
                continue
            yield Checkpoint(path, dict(header['numbers']), arrays)

    def skip(self, checkpoint: Checkpoint, why: str) -> None:
        """Treat a checkpoint as damaged because of its content."""
        self._damaged.add(checkpoint.path)
        self.skipped.append(f'{checkpoint.path}: skipped, because {why}')

    def write(self, numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Path:
        """
        Write JSON values and arrays, then remove the surplus checkpoints; return its path.

        When this returns, the file outlives a power cut. May be called from any thread, from one
        at a time; nothing may change the arrays meanwhile.

        Raises
        ------
        InputError
            If the folder is full or cannot be made or written; the older ones are all there.

        """
        try:
            self._files.lock()
        except OSError as error:
            raise InputError(self._files.obstacle(error)) from error
        paths, target = self._files.paths(), self._files.next_path()
        header = {'format': FORMAT, 'identity': self._identity, 'numbers': dict(numbers)}
        write_container(target, header, arrays, 'checkpoint')
        paths.append(target)
        readable = [path for path in paths if path not in self._damaged]
        oldest = readable[-self._keep] if len(readable) >= self._keep else paths[0]
        self._files.remove(paths[: paths.index(oldest)])
        return target

    def _refuse_other_identities(self) -> None:
        for path in self._files.paths():
            try:
                header, _ = _read(path)
            except InputError:
                self._damaged.add(path)
                continue
            if refusal := self._refusal(header):
                msg = f'{path}: {refusal}'
                raise InputError(msg)

    def _refusal(self, header: dict[str, Any]) -> str:
        """Return why a checkpoint cannot be resumed, or an empty string."""
        cure = 'choose another name or folder, or remove it'
        if header.get('format') != FORMAT:
            return f'this is no "{FORMAT}"; {cure}'
        found, wanted = header['identity'], self._identity
        names = [name for name in sorted({*found, *wanted}) if found.get(name) != wanted.get(name)]
        explained = [self._words[name] for name in names if name in self._words]
        if explained or not names:
            return '; '.join(explained)
        unlike = ', '.join(f'{name} {found.get(name)}, not {wanted.get(name)}' for name in names)
        return f'this is a checkpoint of something else: it has {unlike}; {cure}'


def _read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return header and arrays of a file; the header of a checkpoint has its tables."""
    header, arrays = read_container(path)
    if header.get('format') == FORMAT:
        for name in ('identity', 'numbers'):
            if not isinstance(header.get(name), dict):
                msg = f'{path}: its {name} are missing'
                raise InputError(msg)
    return header, arrays


def name_of_files(chosen: UpdaterParameters, namespace: str = '') -> str:
    """Return the start of file names: that of a robot's namespace, where none is chosen."""
    return chosen.checkpoint_name or '_'.join([*filter(None, namespace.split('/')), 'updater'])


def open_checkpoints(chosen: UpdaterParameters, head: ModelHead) -> Checkpoints:
    """Return the checkpoints of what is learned from a stream, see `Checkpoints`."""
    names = head.channels.names
    identity = {
        'learner': learner_name(chosen),
        'horizons': list(chosen.horizons),
        'channels': f'{len(names)}, {names[0]} to {names[-1]}',
    }
    words = {
        'learner': (
            'the checkpoint is of another learner, map or tpsr, or of an earlier version of this '
            'program: choose the other learner, or another checkpoint_folder, or remove it'
        ),
    }
    folder, keep = chosen.checkpoint_folder, chosen.checkpoints_kept
    return Checkpoints(folder, name_of_files(chosen), identity, keep, words)


class _Kept(NamedTuple):
    """A checkpoint on the disk: its file, the samples in it, and when it was finished."""

    path: Path
    samples: int
    finished_s: float


class Checkpointing:
    """
    Save a session every so many seconds of a clock, and resume it.

    Attributes
    ----------
    resumed, resumed_samples
        The checkpoint that was resumed, ``None`` if learning started from nothing; its samples.
    trouble
        Why no checkpoint can be written, or the last could not be; empty if all is well.

    """

    def __init__(
        self,
        checkpoints: Checkpoints,
        every_s: float,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._checkpoints = checkpoints
        self._every_s = every_s
        self._clock = clock
        self._thread: Thread | None = None
        self._begun_s = clock()
        # Samples and models of the last checkpoint that was started.
        self._samples, self._news = 0, (0, 0.0)
        self._written = 0
        self._kept: _Kept | None = None
        self.resumed: Checkpoint | None = None
        self.resumed_samples = 0
        self.trouble = checkpoints.trouble

    @property
    def values(self) -> dict[str, float | str]:
        """Numbers and words for the diagnostics."""
        values: dict[str, float | str] = {'checkpoints_written': self._written}
        if (kept := self._kept) is not None:
            values['checkpoint'] = str(kept.path)
            values['checkpoint_samples'] = kept.samples
            values['checkpoint_age_s'] = round(self._clock() - kept.finished_s, 1)
        if self.trouble:
            values['checkpoint_trouble'] = self.trouble
        return values

    @property
    def begun(self) -> str:
        """Sentence on how the learner started: from nothing or from a checkpoint."""
        if self.resumed is None:
            return 'starts with nothing learned'
        return f'resumed at {self.resumed_samples} samples from {self.resumed.path}'

    @property
    def kept(self) -> str:
        """Sentence on what outlives the process."""
        if (kept := self._kept) is None:
            return 'no checkpoint was written'
        return f'checkpoint {kept.path} at {kept.samples} samples'

    def resume(self, session: UpdaterSession) -> list[str]:
        """
        Resume from the newest checkpoint that can be used; return a sentence per newer one.

        Raises `InputError` if its positions are in another frame, or about another origin, than
        those of the given model: side by side they would be of two places.
        """
        for checkpoint in self._checkpoints.readable():
            _refuse_other_plane(session.head, checkpoint)
            why = _resume(session, checkpoint)
            if not why:
                self.resumed, self.resumed_samples = checkpoint, session.learned()['learned']
                break
            self._checkpoints.skip(checkpoint, why)
        return list(self._checkpoints.skipped)

    def look(self, session: UpdaterSession) -> None:
        """Start a checkpoint if it is time, and a model or a tenth more samples were learned."""
        if self._clock() - self._begun_s < self._every_s:
            return
        samples = session.learned()['learned']
        has_grown = samples < self._samples or samples > 1.1 * self._samples
        if has_grown or session.learner.news != self._news:
            self.save(session)

    def save(self, session: UpdaterSession) -> str:
        """Start a checkpoint now; return why not, or an empty string."""
        if self._thread is not None and self._thread.is_alive():
            return 'the last checkpoint is still being written'
        samples = session.learned()['learned']
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
        self._begun_s, self._samples, self._news = self._clock(), samples, session.learner.news
        # No daemon: a process that ends lets it write to the end.
        self._thread = Thread(target=self._write, args=(numbers, arrays, samples))
        self._thread.start()
        return ''

    def finish(self) -> None:
        """Wait until nothing is being written."""
        if self._thread is not None:
            self._thread.join()

    def end(self, session: UpdaterSession) -> None:
        """Write the last checkpoint, wait for it, and leave the name to others."""
        self.finish()
        self.save(session)
        self.finish()
        self._checkpoints.close()

    def _write(
        self, numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], samples: int
    ) -> None:
        try:
            path = self._checkpoints.write(numbers, arrays)
        except InputError as error:
            self.trouble = str(error)
        # A bug must not end unseen in a thread.
        except Exception as error:  # noqa: BLE001 - reported in the diagnostics
            self.trouble = f'{type(error).__name__} in a checkpoint, please report it: {error}'
        else:
            self._kept = _Kept(path, samples, self._clock())
            self._written += 1
            self.trouble = ''


def _refuse_other_plane(head: ModelHead, checkpoint: Checkpoint) -> None:
    """Refuse a checkpoint in another plane than that of a given model."""
    stream = checkpoint.numbers.get('stream')
    if not len(head.track) or not isinstance(stream, dict) or not stream.get('frame_id'):
        return
    origin = None if head.origin is None else asdict(head.origin)
    if (stream['frame_id'], stream.get('origin')) == (head.frame_id, origin):
        return
    msg = (
        f'{checkpoint.path}: its positions are in frame {stream["frame_id"]} with origin '
        f'{stream.get("origin")}, those of the given model in frame {head.frame_id} with origin '
        f'{origin}; choose another checkpoint_folder, or the model that was given before'
    )
    raise InputError(msg)


def _resume(session: UpdaterSession, checkpoint: Checkpoint) -> str:
    """Put a session where a checkpoint left off; return why not, or an empty string."""
    try:
        stream = dict(checkpoint.numbers['stream'])
        if stream['origin'] is not None:
            stream['origin'] = GeodeticOrigin(**stream['origin'])
        head = replace(session.head, **stream)
        session.resume(head, checkpoint.numbers['learner'], checkpoint.arrays)
    except InputError as error:
        return str(error)
    except (KeyError, TypeError, ValueError) as error:
        return f'what it says of the stream cannot be used ({error!r})'
    return ''
