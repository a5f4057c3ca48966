# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Numbered files in a folder, each written whole or not at all: checkpoints, learned models."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
import fcntl
from pathlib import Path
import re
from threading import Thread
from time import monotonic
from typing import Any, TYPE_CHECKING

from two_manifold_ros.adapting.stream_memory import make_head, StreamMemory
from two_manifold_ros.adapting.training_material import check_one_route
from two_manifold_ros.errors import InputError, of_system, why_it_fails
from two_manifold_ros.model.model_file import (
    CHECKPOINT_FORMAT,
    model_from,
    model_parts,
    read_container,
    write_container,
)
from two_manifold_ros.names import frame_name
from two_manifold_ros.recordings.recording import GeodeticOrigin

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from two_manifold_ros.adapting.stream_learner import StreamLearner
    from two_manifold_ros.interface.parameters import UpdaterParameters
    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.recordings.recording import Recording

    Content = tuple[dict[str, Any], dict[str, NDArray[Any]]]

FORMAT = f'{CHECKPOINT_FORMAT} 3'
"""Format name in the header of every checkpoint; another number is refused."""

KEPT = 3
"""Newest files that are kept: with two, a damaged one would leave one."""


class NumberedFiles:
    """
    The newest files ``<name>.<number>.npz`` of one writer in a folder, which is made if missing.

    ``kind`` is what a file is, in sentences. Until `close` a lock file keeps every other writer
    from this name in this folder; half-written files are therefore of a dead one, and are removed.
    """

    def __init__(self, folder: str | Path, name: str, kind: str) -> None:
        if not re.fullmatch(r'[A-Za-z0-9_-]+(\.model)?', name):
            msg = f'{name!r} cannot be the name of {kind}s: use letters, digits, _ and -'
            raise InputError(msg)
        self.folder, self._name = Path(folder), name
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = (self.folder / f'.{name}.lock').open('ab')
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for path in self.folder.glob(f'.{name}.*.npz.*'):
                if re.fullmatch(rf'\.{re.escape(name)}\.\d+\.npz\..+', path.name):
                    path.unlink(missing_ok=True)
        except BlockingIOError as error:
            self._lock.close()
            raise InputError(
                f'{folder}: another process writes {kind}s named {name} here; end that process or '
                'choose another name or folder'
            ) from error
        except OSError as error:
            cure = 'make it a folder with room that may be written'
            raise of_system(folder, f'no {kind} can be written here', error, cure) from error

    def close(self) -> None:
        """Leave the name to others."""
        self._lock.close()

    def write(self, save: Callable[[Path], object], spare: Collection[str] = ()) -> Path:
        """
        Save under the next number, then remove all but the newest files; return its path.

        When this returns, the file outlives a power cut. From one thread at a time. A node runs
        the files in ``spare``. After an `InputError` the older files are all there.
        """
        found = numbered(self.folder, self._name)
        number = max(found, default=0) + 1
        target = self.folder / f'{self._name}.{number:06d}.npz'
        save(target)
        for path in [*found.values(), target][:-KEPT]:
            if str(path) not in spare:
                # One that cannot be removed stays for the next time.
                with suppress(OSError):
                    path.unlink()
        return target


def numbered(folder: str | Path, name: str) -> dict[int, Path]:
    """Return the files of a name in a folder by number, upwards; none where it is no folder."""
    pattern = re.compile(rf'{re.escape(name)}\.(\d+)\.npz')
    matches = ((pattern.fullmatch(each.name), each) for each in Path(folder).glob('*.npz'))
    return dict(sorted((int(match[1]), path) for match, path in matches if match))


def name_of_files(chosen: UpdaterParameters, namespace: str = '') -> str:
    """Return the start of file names: that of a robot's namespace, where none is chosen."""
    return chosen.checkpoint_name or '_'.join([*filter(None, namespace.split('/')), 'updater'])


class Checkpoints:
    """
    Resume a learner from the newest checkpoint that can be read, and save it now and then.

    A checkpoint has the newest drives of the stream, and the model, which runs until it was
    trained on them again. ``skipped`` has a sentence for each that is damaged, ``begun`` says how
    the learner started, ``kept`` what outlives the process, and ``trouble`` why the last one could
    not be written: every `save` tries again. An `InputError` for a checkpoint that does not fit
    leaves all files alone.
    """

    def __init__(
        self,
        chosen: UpdaterParameters,
        learner: StreamLearner,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        name = name_of_files(chosen)
        self._learner, self._every_s, self._clock = learner, chosen.checkpoint_s, clock
        self._thread: Thread | None = None
        # When the last checkpoint was started, and samples and models in it.
        self._begun_s = clock()
        self._saved = 0, 0
        self.values: dict[str, float | str] = {'checkpoints_written': 0}
        self.trouble = ''
        self.kept = 'no checkpoint was written'
        self.skipped: list[str] = []
        self.begun = 'starts with nothing learned'
        paths = numbered(chosen.checkpoint_folder, name).values()
        found = newest_readable([*paths], self.skipped.append)
        if found is not None:
            path, content = found
            learner.resume(*kept_in(path, content, learner.head))
            self.begun = f'resumed at {len(learner.memory)} samples from {path}'
        self._files = NumberedFiles(chosen.checkpoint_folder, name, 'checkpoint')

    def look(self) -> None:
        """Start a checkpoint if it is time, and a model or a tenth more samples were learned."""
        (samples, models), now = self._saved, len(self._learner.memory)
        is_newer = not samples <= now <= 1.1 * samples or self._learner.models != models
        if is_newer and self._clock() - self._begun_s >= self._every_s:
            self.save()

    def save(self) -> str:
        """Start a checkpoint now; return why not, or an empty string."""
        if self._thread is not None and self._thread.is_alive():
            return 'the last checkpoint is still being written'
        samples = len(self._learner.memory)
        if not samples:
            return 'nothing was learned yet'
        header, arrays = saved(self._learner)

        def attempt() -> None:
            path = self._files.write(
                lambda target: write_container(target, header, arrays, 'checkpoint')
            )
            written = int(self.values['checkpoints_written']) + 1
            self.values = {'checkpoints_written': written, 'checkpoint': str(path)}
            self.kept = f'checkpoint {path} at {samples} samples'

        def run() -> None:
            self.trouble, _ = why_it_fails(attempt)

        self._begun_s, self._saved = self._clock(), (samples, self._learner.models)
        # No daemon: a process that ends lets it write to the end.
        self._thread = Thread(target=run)
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


def saved(learner: StreamLearner) -> Content:
    """Return the newest drives of a learner, and its model, as header and arrays of a file."""
    lengths, arrays = learner.memory.saved()
    head, model = learner.head, learner.model()
    numbers: dict[str, Any] = {
        'stretches': lengths,
        'lag_ns': learner.reference.lag_ns,
        'withheld': learner.filter.withheld,
    }
    if model is not None:
        numbers['model'], own = model_parts(model)
        arrays |= {f'model.{name}': array for name, array in own.items()}
    stream = {
        'frame_id': head.frame_id,
        'imu_frame_id': head.imu_frame_id,
        'origin': None if head.origin is None else asdict(head.origin),
    }
    return {'format': FORMAT, 'numbers': {'stream': stream, 'learner': numbers}}, arrays


def kept_in(
    path: str | Path, content: Content, head: ModelHead
) -> tuple[StreamMemory, ModelHead | None, ModelHead, int, bool]:
    """Return what `saved` gave for `StreamLearner.resume`; refuse what does not fit ``head``."""
    header, arrays = content
    if header.get('format') != FORMAT:
        raise InputError(
            f'{path} is no checkpoint of this version of updater_node, and keeps no drives to '
            'learn from: name files of its checkpoint_folder that have no .model. in their names, '
            'or bags, or another folder'
        )
    try:
        stream, numbers = header['numbers']['stream'], header['numbers']['learner']
        origin = None if stream['origin'] is None else GeodeticOrigin(**stream['origin'])
        frames = [frame_name(str(stream[name])) for name in ('frame_id', 'imu_frame_id')]
        memory, model = StreamMemory(), None
        memory.restore(numbers['stretches'], arrays)
        if 'model' in numbers:
            own = {name[6:]: each for name, each in arrays.items() if name[:6] == 'model.'}
            model = model_from(str(path), dict(numbers['model']), own)
            check_one_route(model, str(path))
        known = replace(head, origin=origin, frame_id=frames[0], imu_frame_id=frames[1])
        rest = int(numbers['lag_ns']), bool(numbers['withheld'])
    # Numbers of any size and arrays of any shape make Python and NumPy raise almost anything.
    except Exception as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f'{path}: its numbers and arrays do not fit together ({error!r}); copy it again, or '
            'choose another folder'
        ) from error
    plane, given = (known.frame_id, known.origin), (head.frame_id, head.origin)
    if len(head.track) and known.frame_id and plane != given:
        raise InputError(
            f'{path}: its positions are in frame {plane[0]} with origin {plane[1]}, but the '
            f'given model has frame {given[0]} with origin {given[1]}; choose another '
            'checkpoint_folder, or the model that was given before'
        )
    return memory, model, known, *rest


def newest_readable(
    paths: Sequence[Path], skipped: Callable[[str], object]
) -> tuple[Path, Content] | None:
    """Return the last of some files that can be read, if any; say which are skipped."""
    for path in reversed(paths):
        try:
            content = read_container(path)
        except InputError:
            skipped(f'{path}: skipped, because the checkpoint is damaged or cut off')
            continue
        return path, content
    return None


def newest_in(folder: str | Path, skipped: Callable[[str], object] = lambda _: None) -> list[str]:
    """Return the newest checkpoint that can be read of each name; say which newer are not."""
    # The name of a model beside them has one more dot.
    named = [each.name.split('.') for each in Path(folder).glob('*.npz')]
    names = sorted({parts[0] for parts in named if len(parts) == 3})
    found = [newest_readable([*numbered(folder, name).values()], skipped) for name in names]
    return [str(each[0]) for each in found if each]


def drives_in(path: str | Path) -> list[Recording]:
    """Return the drives with positions that a checkpoint keeps, without the lag of these."""
    memory, _, head, lag_ns, _ = kept_in(path, read_container(path), make_head())
    return [
        replace(each, name=f'{path} drive {number}').with_positions_earlier(lag_ns * 1e-9)
        for number, each in enumerate(memory.recordings(head), 1)
    ]
