# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Files are whole or not at all, and those of others are read with bounds."""

from collections.abc import Callable
from contextlib import nullcontext, suppress
import errno
import json
import math
import os
from pathlib import Path
import resource
import socket
import stat
from typing import Any

from matplotlib.figure import Figure
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.experiments.experiment import Experiment
from two_manifold_ros.files import replace_text
from two_manifold_ros.fleet import ItemJournal
from two_manifold_ros.inspection.coverage import Survey, survey_bags
from two_manifold_ros.loggers.reading import read_log
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.model.vehicle import load_vehicle, UNKNOWN
from two_manifold_ros.pages.report import write_page
from two_manifold_ros.recordings.reading import ReadingOptions

PICTURE = Experiment('picture', '', '', 'x:x')

WRITE: dict[str, Callable[[Path], object]] = {
    'report.html': lambda path: write_page(path, 'title', '', []),
    'vehicle.json': lambda path: UNKNOWN.save(str(path)),
    'journal': ItemJournal,
    'picture.png': lambda path: PICTURE.run(path.parent, lambda *_: None),
}
"""Writers of files, by names of files that they write."""


@pytest.mark.parametrize('name', WRITE)
def test_a_full_disk_leaves_the_file_of_before(name, tmp_path, monkeypatch):
    monkeypatch.setattr(Experiment, 'load', lambda _: lambda *_, **__: ([], Figure()))
    path = tmp_path / name
    path.write_text('{"format": "two_manifold bags 1"}', encoding='utf-8')
    path.chmod(0o600)
    before = path.read_bytes()
    # No file grows beyond some bytes, as if the disk were full.
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(InputError, match='cannot be written') as caught:
            WRITE[name](path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before
    with suppress(StopIteration):
        WRITE[name](path)
    assert path.read_bytes() != before
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each for each in tmp_path.iterdir() if each.name.startswith('.')] == []


@pytest.mark.parametrize('number', [errno.EIO, errno.ENOTSUP])
@pytest.mark.parametrize('function', ['open', 'fsync'])
def test_a_folder_that_cannot_be_settled_is_passed_over(function, number, tmp_path, monkeypatch):
    """The file has its name by then: whoever writes it must not hear that there is none."""
    real = getattr(os, function)

    def refuse(which: Any, *rest: Any) -> Any:  # noqa: ANN401 - of either function
        if stat.S_ISDIR(os.stat(which).st_mode):  # noqa: PTH116 - also of a handle
            raise OSError(number, os.strerror(number))
        return real(which, *rest)

    path = tmp_path / 'a.txt'
    path.write_text('old')
    monkeypatch.setattr(os, function, refuse)
    replace_text(path, ['new'], 'text')
    assert path.read_text() == 'new'


def test_a_device_and_a_link_stay_what_they_are(tmp_path):
    link = tmp_path / 'link'
    for target in (tmp_path / 'file', Path(os.devnull)):
        link.symlink_to(target)
        replace_text(link, ['a', 'b'], 'text')
        assert link.is_symlink()
        assert not target.is_file() or target.read_text() == 'ab'
        link.unlink()
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)
    # A new file may have a long name, and has the permissions of any other.
    (tmp_path / 'usual').touch()
    for new in (tmp_path / ('x' * 255), tmp_path / ('ä' * 127)):
        for text in ('a', 'b'):
            replace_text(new, [text], 'text')
            assert new.read_text() == text
        assert new.stat().st_mode == (tmp_path / 'usual').stat().st_mode


SOUND = {
    'angles_deg': [0.0] * 3, 'angles_deg_std': [1.0] * 3,
    'scales': [0.0] * 6, 'scales_std': [0.01] * 6,
    'biases': [0.0] * 6, 'biases_std': [0.1] * 6,
}  # fmt: skip
READ: dict[str, tuple[Callable[[Path], object], str]] = {
    'vehicle': (lambda path: load_vehicle(str(path)), json.dumps(SOUND)),
    'bags': (ItemJournal, '{"format": "two_manifold bags 1"}'),
    'model': (load_model, ''),
    'log': (lambda path: read_log([str(path)], {}), ''),
}
"""Readers of files that others may have written, and a sound file of each."""

KINDS: dict[str, Callable[[Path], object]] = {
    'pipe': os.mkfifo,
    'endless': lambda path: path.symlink_to('/dev/zero'),
    'large': lambda path: (path.touch(), os.truncate(path, 3_000_000_000)),
    'no text': lambda path: path.write_bytes(b'\xff\xfe\x00'),
    'deep': lambda path: path.write_text('[' * 100_000),
    'other': lambda path: path.write_text('["other"]'),
    'digits': lambda path: path.write_text('1' + '0' * 400),
    'overflow': lambda path: path.write_text('-1e999'),
    'socket': lambda path: socket.socket(socket.AF_UNIX).bind(str(path)),
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize('kind', [*KINDS, 'long name'])
@pytest.mark.parametrize('reader', READ)
def test_what_is_no_such_file_is_refused_in_a_sentence(reader, kind, tmp_path):
    path = tmp_path / ('x' * 300 if kind == 'long name' else 'given')
    if kind in KINDS:
        KINDS[kind](path)
    read, sound = READ[reader]
    with pytest.raises(InputError) as caught:
        read(path)
    said = str(caught.value)
    assert str(path) in said
    assert ';' in said
    assert '\n' not in said
    assert ('255 bytes at most' in said) is (kind == 'long name')
    if sound:
        (tmp_path / 'sound').write_text(sound)
        read(tmp_path / 'sound')


@pytest.mark.parametrize(
    ('name', 'value', 'sound'),
    [
        *[(name, value, False) for name in SOUND for value in (None, 'x', True, [0.5], math.inf)],
        *[(name, math.nan, name.endswith('_std')) for name in SOUND],
        *[(name, value, False) for name in SOUND if '_std' in name for value in (0.0, -1e-9)],
        *[(name, 1e-9, True) for name in SOUND],
        ('angles_deg_std', 179.0, True),
        ('angles_deg_std', 181.0, False),
        ('scales', -0.95, False),
        ('scales_std', 0.95, False),
        ('biases_std', 1001.0, False),
    ],
)
def test_numbers_of_a_vehicle_have_ranges(name, value, sound, tmp_path):
    path = tmp_path / 'vehicle.json'
    words = rf'vehicle\.json: the vehicle is refused: .*({name}|number)'
    for place in range(len(SOUND[name])):
        values = [*SOUND[name][:place], value, *SOUND[name][place + 1 :]]
        path.write_text(json.dumps({**SOUND, name: values}))
        with nullcontext() if sound else pytest.raises(InputError, match=words):
            load_vehicle(str(path))
    path.write_text(json.dumps({key: SOUND[key] for key in SOUND if key != name}))
    with pytest.raises(InputError, match=name):
        load_vehicle(str(path))


SURVEY = {
    'path': 'a', 'trouble': '', 'digest': 'd', 'frame_id': 'map', 'lasts_s': 1.5, 'level': -1,
    'cells': [[1, -2, 3]],
}  # fmt: skip


@pytest.mark.parametrize(
    'line',
    [{}, None, 'text', SURVEY | {'more': 1}, {name: SURVEY[name] for name in [*SURVEY][:-1]},
     *[SURVEY | {'cells': cells} for cells in (None, [[1, 2]], [['a', 'b', 'c']])],
     *[SURVEY | {'lasts_s': lasts_s} for lasts_s in ('x', math.nan)], SURVEY | {'level': '2'}],
)  # fmt: skip
def test_a_line_that_is_no_survey_is_forgotten(line, tmp_path, monkeypatch):
    fresh = Survey('fresh', digest='x', lasts_s=2.0)
    monkeypatch.setattr('two_manifold_ros.inspection.coverage.survey_bag', lambda *_: fresh)
    path = tmp_path / 'journal'
    survey_bags(['a'], ReadingOptions(), None, ItemJournal(path))
    head, kept = path.read_text().splitlines()
    key = json.loads(kept)[0]
    for text, found in ((json.dumps([key, line]), fresh), (json.dumps([key, SURVEY]), None)):
        path.write_text(f'{head}\n[1]\nnull\n[[], 2]\n{text}\n')
        (survey,) = survey_bags(['a'], ReadingOptions(), None, ItemJournal(path))
        assert survey == (found or Survey.of_json(SURVEY))
