# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The last good file is never lost, whatever happens to the process, file or disk."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
import errno
from functools import partial
import os
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from updater_feed import feed, LEARNED, SMALL, small_session, tpsr_session

from two_manifold_ros.adapting.checkpoints import (
    Checkpoints,
    FORMAT,
    name_of_files,
    NumberedFiles,
    resume,
    saved,
)
from two_manifold_ros.adapting.updater_session import UpdaterSession
from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.parameters import UpdaterParameters
from two_manifold_ros.model.container import read_container, write_container
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.recordings.recording import GeodeticOrigin


@pytest.fixture
def files(tmp_path: Path) -> Iterator[NumberedFiles]:
    made = NumberedFiles(tmp_path, 'car', 'checkpoint')
    made.lock()
    yield made
    made.close()


LARGE = {'large': np.random.default_rng(0).normal(size=(50, 40))}


def write(files: NumberedFiles, count: int = 1) -> list[Path]:
    save = partial(write_container, header={}, arrays=LARGE, what='checkpoint')
    return [files.write(save) for _ in range(count)]


def names_of(*numbers: int) -> list[str]:
    return ['.car.lock', *(f'car.{each:06d}.npz' for each in numbers)]


def raising(code: int) -> Callable[..., None]:
    """Return what fails as the kernel does."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    return fail


def names_in(folder: Path, pattern: str = '*') -> list[str]:
    return sorted(path.name for path in folder.glob(pattern))


written_in = partial(names_in, pattern='*.npz')


def test_the_last_few_are_kept_and_those_in_use_and_counting_goes_on(files, tmp_path):
    """And beyond the digits that a name has by default, where names no longer sort."""
    first, *_ = write(files, 4)
    assert names_in(tmp_path) == names_of(2, 3, 4)
    (second,) = [path for path in files.paths() if '000002' in path.name]
    for _ in range(2):
        files.write(Path.touch, {str(second)})
    assert names_in(tmp_path) == names_of(2, 4, 5, 6)
    write(files)
    assert names_in(tmp_path) == names_of(5, 6, 7)
    assert not first.exists()
    (tmp_path / 'car.000007.npz').rename(tmp_path / 'car.999999.npz')
    files.close()
    again = NumberedFiles(tmp_path, 'car', 'checkpoint')
    write(again, 2)
    numbers = [int(path.name.split('.')[1]) for path in again.paths()]
    assert numbers == [999_999, 1_000_000, 1_000_001]


def test_the_oldest_goes_after_the_newest_is_on_the_disk(files, monkeypatch):
    oldest, *_ = write(files, 3)
    steps: list[str] = []
    real, unlink = os.fsync, Path.unlink

    def before_unlink(look: Callable[[Path], object]) -> None:
        patched = lambda path, **how: (look(path), unlink(path, **how))[1]  # noqa: E731
        monkeypatch.setattr(Path, 'unlink', patched)

    monkeypatch.setattr(os, 'fsync', lambda handle: (steps.append('on disk'), real(handle))[1])
    before_unlink(lambda path: steps.append(path.name) if path.suffix == '.npz' else None)
    write(files)
    assert steps == ['on disk', 'on disk', oldest.name]
    before_unlink(lambda path: raising(errno.EPERM)() if path == files.paths()[0] else None)
    with pytest.raises(InputError, match=r'the old checkpoint cannot be removed \(Operation'):
        write(files)
    assert len(files.paths()) == 4


def test_a_name_in_use_is_refused_and_half_written_files_of_the_dead_are_removed(files, tmp_path):
    """But neither those of another name, whose writer may live, nor files of no writer."""
    others = ['.car-2.000002.npz.abcdefgh', '.carts.txt', '.xcar.000002.npz.abcdefgh']
    others += ['.car.model.000002.npz.abcdefgh', 'car.x.npz', 'car.model.000001.npz']
    begun = tmp_path / '.car.000001.npz.abcdefgh'
    for name in [begun.name, *others]:
        (tmp_path / name).touch()
    other = NumberedFiles(tmp_path, 'car', 'checkpoint')
    with pytest.raises(InputError, match='another process writes checkpoints named car here'):
        write(other)
    assert 'another process' in other.obstacle()
    # What the living have half written stays.
    assert begun.exists()
    files.close()
    assert other.obstacle() == ''
    other.lock()
    assert names_in(tmp_path) == sorted(['.car.lock', *others])
    # Another kind is another name.
    assert NumberedFiles(tmp_path, 'car.model', 'model').obstacle() == ''


MINUTE = 60.0


def keeper(
    folder: Path, session: UpdaterSession, clock: Callable[[], float] = lambda: 0.0
) -> Checkpoints:
    chosen = UpdaterParameters(
        learner='tpsr',
        horizons=list(SMALL.horizons),
        checkpoint_folder=str(folder),
        checkpoint_s=MINUTE,
    )
    return Checkpoints(chosen, session, clock)


@pytest.fixture
def two(learned: UpdaterSession, tmp_path: Path) -> list[Path]:
    keeping = keeper(tmp_path, learned)
    keeping.save()
    keeping.end()
    return [tmp_path / name for name in written_in(tmp_path)]


def test_it_goes_on_where_it_was(drive, learned, tmp_path):
    learned.head = replace(learned.head, origin=GeodeticOrigin(50.0, 10.0, 3.0))
    tmp_path /= 'made'
    keeping = keeper(tmp_path, learned)
    assert keeping.begun == 'starts with nothing learned'
    assert keeping.kept == 'no checkpoint was written'
    keeping.end()
    samples, path = learned.learner.counters['samples_learned'], tmp_path / 'updater.000001.npz'
    assert keeping.kept == f'checkpoint {path} at {samples} samples'
    again = small_session()
    back = keeper(tmp_path, again)
    assert (back.skipped, back.begun) == ([], f'resumed at {samples} samples from {path}')
    assert (again.head.frame_id, again.head.origin) == ('map', learned.head.origin)
    third = small_session()
    resume(third.learner, *saved(learned.learner), again.head)
    part = slice(LEARNED, LEARNED + 400)
    expected, found = feed(third, drive, part), feed(again, drive, part)
    assert len(found) > 50
    np.testing.assert_array_equal(
        [each.positions for each in found], [each.positions for each in expected]
    )


def test_one_a_minute_once_there_is_something_to_keep(drive, tmp_path):
    session, now = small_session(), [0.0]
    keeping = keeper(tmp_path, session, lambda: now[0])
    now[0] = 2 * MINUTE
    keeping.look()
    assert keeping.save() == 'nothing was learned yet'
    feed(session, drive, slice(0, LEARNED))
    for now[0] in (2 * MINUTE, 2.5 * MINUTE, 3.5 * MINUTE):
        keeping.look()
        keeping.finish()
    # Nothing was learned since.
    assert written_in(tmp_path) == ['updater.000001.npz']
    feed(session, drive, slice(LEARNED, LEARNED + 250))
    keeping.look()
    keeping.finish()
    assert written_in(tmp_path) == ['updater.000001.npz', 'updater.000002.npz']
    assert keeping.values['checkpoint'] == str(tmp_path / 'updater.000002.npz')
    assert keeping.values['checkpoint_samples'] == session.learner.counters['samples_learned']


def cut_off(percent: int) -> Callable[[Path], None]:
    def cut(path: Path) -> None:
        content = path.read_bytes()
        path.write_bytes(content[: len(content) * percent // 100])

    return cut


def without(table: str, name: str) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        header, arrays = read_container(path)
        del header['numbers'][table][name]
        write_container(path, header, arrays, 'checkpoint')

    return spoil


@pytest.mark.parametrize(
    ('spoil', 'why'),
    [
        *((cut_off(percent), 'the checkpoint is damaged or cut off') for percent in (0, 50, 99)),
        (lambda path: write_container(path, {'format': FORMAT}, {}), 'damaged'),
        (without('learner', 'lag_ns'), 'do not fit together'),
        (without('stream', 'origin'), 'of the stream cannot be used'),
    ],
)
def test_one_that_cannot_be_used_is_named_and_the_one_before_is_taken(
    learned, two, tmp_path, spoil, why
):
    older, newest = two
    spoil(newest)
    again = small_session()
    back = keeper(tmp_path, again)
    (sentence,) = back.skipped
    assert sentence.startswith(f'{newest}: skipped, because ')
    assert why in sentence
    assert again.learner.counters['samples_learned'] == learned.learner.counters['samples_learned']
    assert back.begun.endswith(str(older))
    # It does not count among those that are kept.
    for _ in range(2):
        back.save()
        back.finish()
    assert older.exists()
    with pytest.raises(InputError, match='this is a checkpoint of updater_node and not a model'):
        load_model(older)


@pytest.mark.parametrize(
    ('header', 'refusal'),
    [
        ({'format': 'something'}, 'this is no "two_manifold_ros checkpoint'),
        (
            {'format': FORMAT, 'identity': {'channels': '4, a to d'}, 'numbers': {}},
            'of a sensor with channels 4, a to d, not 6, ',
        ),
    ],
)
def test_one_of_something_else_is_refused_and_left_alone(header, refusal, tmp_path):
    write_container(tmp_path / 'updater.000007.npz', header, {})
    (tmp_path / '.updater.000002.npz.abcdefgh').touch()
    before = names_in(tmp_path)
    with pytest.raises(InputError, match=refusal):
        keeper(tmp_path, small_session())
    assert names_in(tmp_path) == before


def test_a_disk_that_is_full_and_a_folder_that_cannot_be_made_stop_nothing(
    drive, learned, tmp_path, monkeypatch
):
    keeping = keeper(tmp_path, learned)
    keeping.save()
    keeping.finish()
    good = written_in(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, 'fsync', raising(errno.ENOSPC))
        keeping.save()
        keeping.finish()
    assert 'No space left on device' in keeping.trouble
    assert keeping.values['checkpoint_trouble'] == keeping.trouble
    assert written_in(tmp_path) == good
    assert feed(learned, drive, slice(LEARNED, LEARNED + 100))
    keeping.end()
    assert keeping.trouble == ''
    assert len(written_in(tmp_path)) == 2
    (tmp_path / 'file').touch()
    keeping = keeper(tmp_path / 'file', learned)
    assert 'file: no checkpoint can be written here' in keeping.trouble
    (tmp_path / 'file').unlink()
    keeping.end()
    assert keeping.trouble == ''
    assert written_in(tmp_path / 'file') == ['updater.000001.npz']


def test_what_is_reported_of_is_on_the_disk_already(learned, tmp_path, monkeypatch):
    keeping = keeper(tmp_path, learned)
    going, sync = Event(), os.fsync

    def slow(descriptor: int) -> None:
        assert going.wait(10.0)
        sync(descriptor)

    monkeypatch.setattr(os, 'fsync', slow)
    keeping.save()
    assert keeping.save() == 'the last checkpoint is still being written'
    assert 'checkpoint' not in keeping.values
    first = learned.learner.counters['samples_learned']
    going.set()
    keeping.finish()
    assert keeping.values['checkpoint_samples'] == first


def test_a_checkpoint_in_another_plane_than_the_given_model_is_refused(tmp_path, learned):
    keeper(tmp_path, learned).end()
    model, origin = learned.learner.model(), GeodeticOrigin(48.0, 11.0, 3.0)
    for frame, around, is_refused in (('odom', None, 1), ('map', origin, 1), ('map', None, 0)):
        session = tpsr_session(replace(model, frame_id=frame, origin=around))
        refused = pytest.raises(InputError, match='but the given model has frame')
        with refused if is_refused else nullcontext():
            keeper(tmp_path, session)
        assert (session.head.frame_id, session.head.origin) == (frame, around)


def test_files_are_named_after_the_robot_and_what_cannot_be_a_name_or_a_folder(tmp_path):
    for chosen, namespace, name in (
        ('', '/', 'updater'),
        ('', '/fleet/robot1', 'fleet_robot1_updater'),
        ('mine', '/fleet/robot1', 'mine'),
    ):
        assert name_of_files(UpdaterParameters(checkpoint_name=chosen), namespace) == name
    for name in ('', 'a/b', '../a', 'a.b', 'a*'):
        with pytest.raises(InputError, match='name of checkpoints'):
            NumberedFiles(tmp_path, name, 'checkpoint')
    assert NumberedFiles(tmp_path / 'a' / 'b', 'car', 'model').obstacle() == ''
    assert names_in(tmp_path / 'a' / 'b') == ['.car.lock']
