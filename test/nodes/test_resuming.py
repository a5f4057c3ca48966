# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of the updater: gone on from to the bit, and no disk stops the learning."""

from __future__ import annotations

from dataclasses import replace
import errno
import os
from threading import Event
from typing import Any, TYPE_CHECKING

import numpy as np
import pytest
from updater_feed import feed, LEARNED, SMALL, small_session

from two_manifold_ros.adapting.checkpoints import Checkpoints
from two_manifold_ros.adapting.resuming import Resuming
from two_manifold_ros.adapting.stream_memory import make_head
from two_manifold_ros.adapting.updater_settings import checkpoint_identity
from two_manifold_ros.errors import InputError
from two_manifold_ros.model.container import read_container, write_container
from two_manifold_ros.recordings.recording import GeodeticOrigin

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from two_manifold_ros.adapting.updater_session import UpdaterSession
    from two_manifold_ros.simulation.slot_car_run import SlotCarRun

MINUTE = 60.0


def resuming(
    session: UpdaterSession,
    folder: Path,
    clock: Callable[[], float] = lambda: 0.0,
    **other: object,
) -> Resuming:
    chosen = {'learner': 'tpsr', 'input': 'imu', 'horizons': list(SMALL.horizons)}
    identity = {**checkpoint_identity(chosen, make_head(SMALL.horizons)), **other}
    return Resuming(session, Checkpoints(folder, 'updater', identity), MINUTE, clock)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob('*.npz'))


def test_it_goes_on_where_it_was(
    drive: SlotCarRun, learned: UpdaterSession, tmp_path: Path
) -> None:
    keeping = resuming(learned, tmp_path)
    assert (keeping.begun, keeping.kept) == ('begins anew', 'no checkpoint was written')
    keeping.end()
    samples, path = learned.learned()['learned'], tmp_path / 'updater.000001.npz'
    assert keeping.kept == f'checkpoint {path} at {samples} samples'
    again = small_session()
    back = resuming(again, tmp_path)
    assert back.resume() == []
    assert back.resumed == samples
    assert back.begun == f'resumed at {samples} samples from {path}'
    assert again.head.frame_id == 'map'
    third = small_session()
    third.resume(again.head, *learned.learner.saved())
    part = slice(LEARNED, LEARNED + 400)
    expected, found = feed(third, drive, part), feed(again, drive, part)
    assert len(found) > 50
    np.testing.assert_array_equal(
        [each.positions for each in found], [each.positions for each in expected]
    )


def test_the_plane_of_satellite_fixes_is_kept(learned: UpdaterSession, tmp_path: Path) -> None:
    origin = GeodeticOrigin(50.0, 10.0, 3.0)
    learned.head = replace(learned.head, origin=origin)
    resuming(learned, tmp_path).end()
    again = small_session()
    resuming(again, tmp_path).resume()
    assert again.head.origin == origin


def test_one_a_minute_once_there_is_something_to_keep(drive: SlotCarRun, tmp_path: Path) -> None:
    session, now = small_session(), [0.0]
    keeping = resuming(session, tmp_path, lambda: now[0])
    assert keeping.resume() == []
    now[0] = 2 * MINUTE
    keeping.look()
    assert keeping.save() == 'nothing was learned yet'
    feed(session, drive, slice(0, LEARNED))
    for now[0] in (2 * MINUTE, 2.5 * MINUTE, 3.5 * MINUTE):
        keeping.look()
        keeping._writer.finish()
    # Nothing was learned since.
    assert files(tmp_path) == ['updater.000001.npz']
    feed(session, drive, slice(LEARNED, LEARNED + 250))
    keeping.look()
    keeping._writer.finish()
    assert files(tmp_path) == ['updater.000001.npz', 'updater.000002.npz']
    assert keeping.values['checkpoint'] == str(tmp_path / 'updater.000002.npz')
    assert keeping.values['checkpoint_samples'] == session.learned()['learned']


def test_a_checkpoint_that_is_cut_off_is_named_and_the_one_before_is_taken(
    learned: UpdaterSession, tmp_path: Path
) -> None:
    keeping = resuming(learned, tmp_path)
    keeping.save()
    keeping.end()
    newest = tmp_path / files(tmp_path)[-1]
    newest.write_bytes(newest.read_bytes()[:-100])
    again = small_session()
    (sentence,) = resuming(again, tmp_path).resume()
    assert sentence == f'{newest}: the checkpoint is damaged or cut off, and skipped'
    assert again.learned()['learned'] == learned.learned()['learned']


@pytest.mark.parametrize(
    ('spoil', 'why'),
    [
        (lambda numbers: numbers['learner'].pop('known_s'), 'do not fit together'),
        (lambda numbers: numbers['stream'].pop('origin'), 'of the stream cannot be used'),
        (lambda numbers: numbers.pop('learner'), 'of the stream cannot be used'),
    ],
)
def test_one_whose_content_is_refused_is_named_and_the_one_before_is_taken(
    learned: UpdaterSession,
    tmp_path: Path,
    spoil: Callable[[dict[str, Any]], object],
    why: str,
) -> None:
    keeping = resuming(learned, tmp_path)
    keeping.save()
    keeping.end()
    older, newest = (tmp_path / name for name in files(tmp_path))
    header, arrays = read_container(newest)
    spoil(header['numbers'])
    write_container(newest, header, arrays, 'checkpoint')
    again = small_session()
    back = resuming(again, tmp_path)
    (sentence,) = back.resume()
    assert sentence.startswith(f'{newest}: skipped, because ')
    assert why in sentence
    assert again.learned()['learned'] == learned.learned()['learned']
    assert back.begun.endswith(str(older))


def test_a_checkpoint_of_something_else_is_refused_and_left_alone(
    learned: UpdaterSession, tmp_path: Path
) -> None:
    resuming(learned, tmp_path).end()
    before = {name: (tmp_path / name).read_bytes() for name in files(tmp_path)}
    with pytest.raises(InputError, match='it has channels'):
        resuming(small_session(), tmp_path, channels='1, a to a')
    assert {name: (tmp_path / name).read_bytes() for name in files(tmp_path)} == before


def test_a_disk_that_is_full_stops_nothing(
    drive: SlotCarRun,
    learned: UpdaterSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keeping = resuming(learned, tmp_path)
    keeping.save()
    keeping._writer.finish()
    good = files(tmp_path)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, 'fsync', full)
        keeping.save()
        keeping._writer.finish()
    assert 'No space left on device' in keeping.trouble
    assert keeping.values['checkpoint_trouble'] == keeping.trouble
    assert files(tmp_path) == good
    assert feed(learned, drive, slice(LEARNED, LEARNED + 100))
    keeping.end()
    assert keeping.trouble == ''
    assert len(files(tmp_path)) == 2


def test_a_folder_that_cannot_be_made_is_told_at_once_and_stops_nothing(
    learned: UpdaterSession, tmp_path: Path
) -> None:
    (tmp_path / 'file').touch()
    keeping = resuming(learned, tmp_path / 'file')
    assert 'file: no checkpoint can be written here' in keeping.trouble
    assert keeping.values['checkpoint_trouble'] == keeping.trouble
    assert keeping.resume() == []
    (tmp_path / 'file').unlink()
    keeping.end()
    assert keeping.trouble == ''
    assert files(tmp_path / 'file') == ['updater.000001.npz']


def test_what_is_told_of_is_on_the_disk_already(
    drive: SlotCarRun,
    learned: UpdaterSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keeping = resuming(learned, tmp_path)
    going, sync = Event(), os.fsync

    def slow(descriptor: int) -> None:
        assert going.wait(10.0)
        sync(descriptor)

    monkeypatch.setattr(os, 'fsync', slow)
    keeping.save()
    assert keeping.save() == 'the last checkpoint is still being written'
    assert 'checkpoint' not in keeping.values
    first = learned.learned()['learned']
    going.set()
    keeping._writer.finish()
    going.clear()
    feed(learned, drive, slice(LEARNED, LEARNED + 100))
    # Nobody has asked in between.
    assert keeping.save() == ''
    assert keeping.values['checkpoint_samples'] == first
    going.set()
    keeping.end()
    assert keeping.values['checkpoint_samples'] > first
