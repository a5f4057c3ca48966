# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The last good file is never lost, whatever happens to the process, file or disk."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
import errno
from functools import partial
import os
from pathlib import Path
import shutil
from threading import Event

import numpy as np
import pytest
from updater_feed import feed, LEARNED, SMALL, small_session, tpsr_session

from two_manifold_ros.adapting import checkpoints
from two_manifold_ros.adapting.checkpoints import Checkpoints, numbered, NumberedFiles
from two_manifold_ros.adapting.updater_session import UpdaterSession
from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.parameters import UpdaterParameters
from two_manifold_ros.model.model_file import load_model, read_container, write_container
from two_manifold_ros.recordings.recording import GeodeticOrigin

LARGE = {'large': np.random.default_rng(0).normal(size=(50, 40))}


@pytest.fixture
def files(tmp_path: Path) -> NumberedFiles:
    return NumberedFiles(tmp_path, 'car', 'checkpoint')


def write(files: NumberedFiles, count: int = 1) -> list[Path]:
    save = partial(write_container, header={}, arrays=LARGE, what='checkpoint')
    return [files.write(save) for _ in range(count)]


def names_in(folder: Path, pattern: str = '*') -> list[str]:
    return sorted(path.name for path in folder.glob(pattern))


def test_the_last_few_are_kept_and_those_in_use_and_counting_goes_on(files, tmp_path):
    """And beyond the digits that a name has by default, where names no longer sort."""
    write(files, 4)
    assert [*numbered(tmp_path, 'car')] == [2, 3, 4]
    second = tmp_path / 'car.000002.npz'
    for _ in range(2):
        files.write(Path.touch, {str(second)})
    assert [*numbered(tmp_path, 'car')] == [2, 4, 5, 6]
    write(files)
    assert [*numbered(tmp_path, 'car')] == [5, 6, 7]
    assert names_in(tmp_path)[:2] == ['.car.lock', 'car.000005.npz']
    (tmp_path / 'car.000007.npz').rename(tmp_path / 'car.999999.npz')
    files.close()
    write(NumberedFiles(tmp_path, 'car', 'checkpoint'), 2)
    assert [*numbered(tmp_path, 'car')] == [999_999, 1_000_000, 1_000_001]


def test_the_oldest_goes_after_the_newest_is_on_the_disk(files, monkeypatch):
    oldest, *_ = write(files, 3)
    steps: list[str] = []
    real, unlink = os.fsync, Path.unlink

    def refuse(path: Path, *, missing_ok: bool = False) -> None:
        if not missing_ok:
            steps.append(path.name)
            raise PermissionError

    monkeypatch.setattr(os, 'fsync', lambda handle: (steps.append('on disk'), real(handle))[1])
    monkeypatch.setattr(Path, 'unlink', refuse)
    write(files)
    assert steps == ['on disk', 'on disk', oldest.name]
    # One that cannot be removed goes the next time.
    monkeypatch.setattr(Path, 'unlink', unlink)
    write(files)
    assert [*numbered(files.folder, 'car')] == [3, 4, 5]


def test_a_name_in_use_is_refused_and_half_written_files_of_the_dead_are_removed(files, tmp_path):
    """But neither those of another name, whose writer may live, nor files of no writer."""
    others = ['.car-2.000002.npz.abcdefgh', '.carts.txt', '.xcar.000002.npz.abcdefgh']
    others += ['.car.model.000002.npz.abcdefgh', 'car.x.npz', 'car.model.000001.npz']
    begun = tmp_path / '.car.000001.npz.abcdefgh'
    for name in [begun.name, *others]:
        (tmp_path / name).touch()
    with pytest.raises(InputError, match='another process writes checkpoints named car here'):
        NumberedFiles(tmp_path, 'car', 'checkpoint')
    # What the living have half written stays.
    assert begun.exists()
    files.close()
    NumberedFiles(tmp_path, 'car', 'checkpoint')
    assert names_in(tmp_path) == sorted(['.car.lock', *others])
    NumberedFiles(tmp_path, 'car.model', 'model')
    for name in ('', 'a/b', '../a', 'a.b', 'a*'):
        with pytest.raises(InputError, match='name of checkpoints'):
            NumberedFiles(tmp_path, name, 'checkpoint')
    with pytest.raises(InputError, match=r'car\.x\.npz: no checkpoint can be written here'):
        NumberedFiles(tmp_path / 'car.x.npz', 'car', 'checkpoint')
    assert NumberedFiles(tmp_path / 'a' / 'b', 'car', 'model').folder.is_dir()
    for chosen, namespace, name in (
        ('', '/', 'updater'),
        ('', '/fleet/robot1', 'fleet_robot1_updater'),
        ('mine', '/fleet/robot1', 'mine'),
    ):
        assert (
            checkpoints.name_of_files(UpdaterParameters(checkpoint_name=chosen), namespace) == name
        )


MINUTE = 60.0


def keeper(
    folder: Path, session: UpdaterSession, clock: Callable[[], float] = lambda: 0.0
) -> Checkpoints:
    options = {'learner': 'tpsr', 'horizons': list(SMALL.horizons), 'checkpoint_s': MINUTE}
    chosen = UpdaterParameters(**options, checkpoint_folder=str(folder))
    return Checkpoints(chosen, session.learner, clock)


def save(keeping: Checkpoints) -> None:
    keeping.save()
    keeping.finish()


@pytest.fixture
def two(learned: UpdaterSession, tmp_path: Path) -> list[Path]:
    keeping = keeper(tmp_path, learned)
    keeping.save()
    keeping.end()
    return [tmp_path / name for name in names_in(tmp_path, '*.npz')]


def test_it_goes_on_where_it_was(drive, learned, tmp_path):
    learned.learner.head = replace(learned.learner.head, origin=GeodeticOrigin(50.0, 10.0, 3.0))
    tmp_path /= 'made'
    keeping = keeper(tmp_path, learned)
    said = (keeping.begun, keeping.kept)
    assert said == ('starts with nothing learned', 'no checkpoint was written')
    keeping.end()
    samples, path = learned.learner.counters['samples_learned'], tmp_path / 'updater.000001.npz'
    assert keeping.kept == f'checkpoint {path} at {samples} samples'
    again = small_session()
    back = keeper(tmp_path, again)
    assert (back.skipped, back.begun) == ([], f'resumed at {samples} samples from {path}')
    head = again.learner.head
    assert (head.frame_id, head.origin) == ('map', learned.learner.head.origin)
    third = small_session()
    third.learner.resume(
        *checkpoints.kept_in(path, checkpoints.saved(learned.learner), third.learner.head)
    )
    part = slice(LEARNED, LEARNED + 400)
    expected, found = feed(third, drive, part), feed(again, drive, part)
    assert len(found) > 50
    for each, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(each.positions, wanted.positions)


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
    assert [*numbered(tmp_path, 'updater')] == [1]
    feed(session, drive, slice(LEARNED, LEARNED + 250))
    keeping.look()
    keeping.finish()
    assert [*numbered(tmp_path, 'updater')] == [1, 2]
    newest = str(tmp_path / 'updater.000002.npz')
    assert keeping.values == {'checkpoints_written': 2, 'checkpoint': newest}


@pytest.mark.parametrize('percent', [0, 50, 99])
def test_one_that_is_damaged_is_named_and_the_one_before_is_taken(learned, two, tmp_path, percent):
    older, newest = two
    content = newest.read_bytes()
    newest.write_bytes(content[: len(content) * percent // 100])
    again = small_session()
    back = keeper(tmp_path, again)
    assert back.skipped == [f'{newest}: skipped, because the checkpoint is damaged or cut off']
    assert again.learner.counters['samples_learned'] == learned.learner.counters['samples_learned']
    assert back.begun.endswith(str(older))
    with pytest.raises(InputError, match='this is a checkpoint of updater_node and not a model'):
        load_model(older)


@pytest.mark.parametrize(
    ('table', 'name', 'refusal'),
    [
        ('', 'format', 'is no checkpoint of this version'),
        ('', 'numbers', 'do not fit together'),
        ('learner', 'lag_ns', 'do not fit together'),
        ('stream', 'origin', 'do not fit together'),
    ],
)
def test_one_that_does_not_fit_is_refused_and_all_is_left_alone(
    two, tmp_path, table, name, refusal
):
    header, arrays = read_container(two[1])
    del (header['numbers'][table] if table else header)[name]
    write_container(two[1], header, arrays, 'checkpoint')
    (tmp_path / '.updater.000002.npz.abcdefgh').touch()
    before = names_in(tmp_path)
    with pytest.raises(InputError, match=refusal):
        keeper(tmp_path, small_session())
    assert names_in(tmp_path) == before


def test_one_in_another_plane_than_the_given_model_is_refused(tmp_path, learned):
    keeper(tmp_path, learned).end()
    model, origin = learned.learner.model(), GeodeticOrigin(48.0, 11.0, 3.0)
    for frame, around, is_refused in (('odom', None, 1), ('map', origin, 1), ('map', None, 0)):
        session = tpsr_session(replace(model, frame_id=frame, origin=around))
        refused = pytest.raises(InputError, match='but the given model has frame')
        with refused if is_refused else nullcontext():
            keeper(tmp_path, session)
        head = session.learner.head
        assert (head.frame_id, head.origin) == (frame, around)


def test_a_disk_that_is_slow_or_full_and_a_folder_that_is_gone_stop_nothing(
    drive, learned, tmp_path, monkeypatch
):
    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def lack(_: int) -> None:
        raise MemoryError

    tmp_path /= 'kept'
    keeping = keeper(tmp_path, learned)
    going, sync = Event(), os.fsync
    with monkeypatch.context() as patch:
        patch.setattr(os, 'fsync', lambda handle: (going.wait(10.0), sync(handle)))
        keeping.save()
        assert keeping.save() == 'the last checkpoint is still being written'
        # What is reported of is on the disk already.
        assert 'checkpoint' not in keeping.values
        going.set()
        keeping.finish()
        assert 'checkpoint' in keeping.values
        patch.setattr(os, 'fsync', fail)
        save(keeping)
    assert 'No space left on device' in keeping.trouble
    with monkeypatch.context() as patch:
        patch.setattr(os, 'fsync', lack)
        save(keeping)
    assert 'MemoryError' in keeping.trouble
    assert [*numbered(tmp_path, 'updater')] == [1]
    assert feed(learned, drive, slice(LEARNED, LEARNED + 100))
    save(keeping)
    assert (keeping.trouble, [*numbered(tmp_path, 'updater')]) == ('', [1, 2])
    shutil.rmtree(tmp_path)
    save(keeping)
    assert 'No such file or directory' in keeping.trouble
    tmp_path.mkdir()
    keeping.end()
    assert (keeping.trouble, [*numbered(tmp_path, 'updater')]) == ('', [1])
