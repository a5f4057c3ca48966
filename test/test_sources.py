# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bags in folders, by globs, in an object store and on a web server."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
import json
import logging
import os
from pathlib import Path
import pickle
import sys
import tempfile
import threading
from typing import Any

import numpy as np
import pytest

from two_manifold_ros.__main__ import main
from two_manifold_ros.errors import InputError
from two_manifold_ros.fleet import client_of, ItemJournal
from two_manifold_ros.inspection.coverage import state_of, Survey, survey_bags
from two_manifold_ros.inspection.inspecting import inspect_bags
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.recordings.reading import read_recording, ReadingOptions
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run
from two_manifold_ros.sources import bags_among, expand, fetched, identity, only_bag, public

pytest.importorskip('rosbags', reason='rosbags is not installed (extra: train)')
pytestmark = pytest.mark.xdist_group('fleet')

KEY, SECRET = 'AKIAOFTHISTEST', 'hush-of-this-test'
USER, PASSWORD, SIGNATURE = 'ada', 'pass-of-this-test', 'signed-by-this-test'
DEEP = 'deep/er/odd.mcap'
DAYS = ('monday', 'tuesday')
SECRETS = (KEY, SECRET, PASSWORD, SIGNATURE)


@pytest.fixture(scope='module')
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of carts with bags, and single files, of which one is damaged."""
    folder = tmp_path_factory.mktemp('sources') / 'fleet'
    for seed, name in enumerate(('one/monday', 'one/tuesday', 'two/monday', DEEP)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_run(simulate(SlotCarSettings(seed=seed, rate_hz=10.0), laps=2), folder / name)
    (folder / 'one' / 'monday' / 'left.db3-wal').write_text('rows')
    (folder / 'one' / 'monday' / 'camera.mp4').write_text('a film')
    (single,) = (folder / 'two' / 'monday').glob('*.mcap')
    (folder / 'single.mcap').write_bytes(single.read_bytes())
    (folder / 'broken.mcap').write_bytes(single.read_bytes()[:-3000])
    (folder / 'notes.txt').write_text('no bag')
    return folder


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of temporary files, which is empty."""
    folder = tmp_path / 'temporary'
    folder.mkdir()
    monkeypatch.setenv('TMPDIR', str(folder))
    monkeypatch.setattr(tempfile, 'tempdir', str(folder))
    return folder


@pytest.fixture(scope='module')
def s3_server(fleet: Path) -> Iterator[str]:
    """Yield the address of a server of S3 on this machine, with a bucket that holds the fleet."""
    pytest.importorskip('s3fs', reason='s3fs is not installed (extra: remote)')
    server = pytest.importorskip('moto.server', reason='moto is not installed (extra: test)')
    boto3 = pytest.importorskip('boto3', reason='boto3 is not installed (extra: test)')
    logging.getLogger('werkzeug').setLevel(logging.CRITICAL)
    running = server.ThreadedMotoServer(ip_address='127.0.0.1', port=0, verbose=False)
    running.start()
    address = 'http://{}:{}'.format(*running.get_host_and_port())
    client = boto3.Session(KEY, SECRET).client('s3', 'us-east-1', endpoint_url=address)
    client.create_bucket(Bucket='carts')
    for file in filter(Path.is_file, fleet.rglob('*')):
        client.upload_file(str(file), 'carts', f'fleet/{file.relative_to(fleet)}')
    yield address
    running.stop()


def forget_stores() -> None:
    pytest.importorskip('s3fs').S3FileSystem.clear_instance_cache()


@pytest.fixture
def s3(s3_server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Return the address of the fleet, which the environment has the credentials for."""
    forget_stores()
    for name in [*filter(lambda each: each.startswith('AWS_'), os.environ)]:
        monkeypatch.delenv(name)
    none = str(tmp_path / 'none')
    for name, value in {
        'ACCESS_KEY_ID': KEY, 'SECRET_ACCESS_KEY': SECRET, 'ENDPOINT_URL': s3_server,
        'DEFAULT_REGION': 'us-east-1', 'EC2_METADATA_DISABLED': 'true', 'MAX_ATTEMPTS': '1',
        'CONFIG_FILE': none, 'SHARED_CREDENTIALS_FILE': none,
    }.items():  # fmt: skip
        monkeypatch.setenv(f'AWS_{name}', value)
    return 's3://carts/fleet'


class Handler(SimpleHTTPRequestHandler):
    """Serves files to whoever has the password or a signature."""

    def send_head(self) -> Any:  # noqa: ANN401 - of the base
        if 'Authorization' not in self.headers and SIGNATURE not in self.path:
            self.send_error(401)
            return None
        return super().send_head()

    def send_header(self, keyword: str, value: str) -> None:
        if keyword != 'Content-Length' or 'undeclared' not in self.path:
            super().send_header(keyword, value)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def web(fleet: Path) -> Iterator[str]:
    """Yield the address of a web server of the fleet, without its scheme."""
    pytest.importorskip('fsspec', reason='fsspec is not installed (extra: remote)')
    pytest.importorskip('aiohttp', reason='aiohttp is not installed (extra: remote)')
    server = ThreadingHTTPServer(('127.0.0.1', 0), partial(Handler, directory=str(fleet)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f'127.0.0.1:{server.server_port}'
    server.shutdown()
    server.server_close()


@pytest.fixture
def said(
    capfd: pytest.CaptureFixture[str], temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[str, str]]:
    """Return a function that runs a command, looks at what it leaves, and returns what it says."""
    monkeypatch.setattr('two_manifold_ros.progress.PATIENCE_S', 600.0)

    def run(*arguments: object, status: int = 0) -> tuple[str, str]:
        assert main([str(each) for each in arguments]) == status
        out, err = capfd.readouterr()
        for each in (*SECRETS, str(temporary), 'Traceback'):
            assert each not in out + err
        assert list(temporary.glob('two_manifold_*')) == []
        return out, err

    return run


@pytest.mark.parametrize(
    ('address', 'shown'),
    [
        ('what?a=b', 'what?a=b'),
        (f's3://{KEY}:{SECRET}@carts/one', 's3://carts/one'),
        ('s3://carts/day=202?/*', 's3://carts/day=202?/*'),
        (f'https://{USER}:p@ss@host:80/a b.mcap?{SECRET}', 'https://host:80/a b.mcap'),
        ('http://[::1]:8000/a@b.mcap', 'http://[::1]:8000/a@b.mcap'),
        (f'HTTPS://{USER}:{SECRET}@h/x.mcap?{SECRET}', 'HTTPS://h/x.mcap'),
        (f'a::zip://x.mcap?{SECRET}::Ftp://{SECRET}@h/x#{SECRET}', 'a::zip://'),
        (f'http://h/x.mcap;token={SECRET}', 'http://h/x.mcap'),
        (f'http://h?{SECRET}@{SECRET}', 'http://'),
        (f's3://carts/http://{USER}:{SECRET}@h/x', 's3://'),
        (f'http://{USER}:{SECRET}/{SECRET}@h/x.mcap', 'http://'),
        ('s3://carts/drive #3;a?.mcap', 's3://carts/drive #3;a?.mcap'),
        (f'--bag=http://{USER}:{SECRET}@h/x', '--bag=http://h/x'),
    ],
)
def test_an_address_is_shown_without_what_is_secret(address, shown):
    assert public(address) == shown
    assert public(shown) == shown


def test_an_address_for_workers_shows_nothing_secret_and_loses_nothing():
    address = f'https://{USER}:{PASSWORD}@host/a.mcap?X-Amz-Signature={SIGNATURE}'
    (found,) = expand([address])
    sent = pickle.loads(pickle.dumps(found))  # noqa: S301 - made above
    for each in (found, sent):
        for text in (each, str(each), repr(each), f'{each}', json.dumps([each]), repr([each])):
            assert 'https://host/a.mcap' in text
            assert not [secret for secret in (*SECRETS, USER) if secret in text]
        assert each.whole == address


def test_folders_and_globs_are_the_bags_in_them_and_one_is_not_several(fleet, monkeypatch, said):
    monkeypatch.chdir(fleet.parent)
    (fleet.parent / 'a[1]').touch()
    # A local path is left as it is, and what is there under a name is no pattern.
    given = ['fleet/one/tuesday/', './fleet/one/monday', 'fleet/one/monday', 'none', 'a[1]']
    assert expand([*given, *given]) == [*given, *given]
    every = ['broken.mcap', DEEP, 'one/monday', 'one/tuesday', 'single.mcap', 'two/monday']
    # Loose parts of a rosbag2 are a bag of their folder, as they always were.
    assert expand(['fleet']) == ['fleet']
    assert expand(['fleet/one']) == ['fleet/one/monday', 'fleet/one/tuesday']
    assert expand(['fleet/*']) == [f'fleet/{each}' for each in every]
    assert expand(['fleet/**']) == ['fleet']
    both = expand(['fleet/two/*', 'fleet/*/*day', 'fleet/one/monday'])
    assert both == ['fleet/two/monday', 'fleet/one/tuesday', 'fleet/one/monday']
    for pattern in ('fleet/*.txt', 'none/*'):
        with pytest.raises(InputError, match=r'no bag is there'):
            expand([pattern])
    files = [
        'a/metadata.yaml', 'a/a_0.db3.zstd', 'a/extra/x.mcap', 'b/x.bag', 'b/y.bag', 'b/c/z.txt',
        'b/c/d/w.db3', 'b/c/d/w.db3-wal', 'http://h/e/1.mcap',
    ]  # fmt: skip
    assert bags_among(files) == ['a', 'b/c/d', 'b/x.bag', 'b/y.bag', 'http://h/e']
    assert only_bag(str(fleet / 'one' / 'mon*')) == str(fleet / 'one' / 'monday')
    _, err = said('replay', 'model.npz', fleet / 'one', '-o', 'out', status=2)
    assert 'one holds 2 bags, where one is needed' in err


def test_bags_of_an_object_store_give_the_same_bytes(s3, fleet, said, tmp_path):
    bags = f'{s3}/one', f'{s3}/s*.mcap', f'{s3}/two/monday'
    local = fleet / 'one', f'{fleet}/s*.mcap', fleet / 'two' / 'monday'
    here, there = said('inspect', *local, '--json'), said('inspect', *bags, '--json')
    assert [text.replace(str(fleet), s3) for text in here] == list(there)
    for name in ('one/monday', 'single.mcap', DEEP):
        found, known = read_recording(f'{s3}/{name}'), read_recording(fleet / name)
        assert pickle.dumps(found) == pickle.dumps(replace(known, name=f'{s3}/{name}'))
    model = tmp_path / 'model.npz'
    said('train', f'{s3}/one', '-o', model, '--force', '--rate', 10)
    assert load_model(model).summary['recordings'] == [f'{s3}/one/{day}' for day in DAYS]
    assert not [secret for secret in SECRETS if secret.encode() in model.read_bytes()]


def test_spellings_of_one_bag_are_one_and_queries_are_not(tmp_path, monkeypatch):
    (tmp_path / 'link').symlink_to(tmp_path / 'bag')
    local = [tmp_path / 'bag', tmp_path / 'x' / '..' / 'bag', tmp_path / 'link']
    assert len({identity(str(each)) for each in local}) == 1
    remote = expand([f'https://h/get.mcap?id={number}' for number in (1, 2, 1)])
    assert (len(set(remote)), len({identity(each) for each in remote})) == (1, 2)
    # Addresses that differ in their query are surveyed each.
    known: list[str] = []

    def survey(_: ReadingOptions, __: None, path: str) -> Survey:
        known.append(identity(path))
        return Survey(path, digest=identity(path)[-1])

    monkeypatch.setattr('two_manifold_ros.inspection.coverage.survey_bag', survey)
    monkeypatch.setattr('two_manifold_ros.inspection.coverage.remote_state', lambda _: '')
    journal = ItemJournal(tmp_path / 'journal')
    for _ in range(2):
        found = survey_bags(remote[:2], ReadingOptions(), None, journal)
        assert [each.digest for each in found] == ['1', '2']
    # Without what is secret both have one line in the journal, so it keeps neither.
    assert len(known) == 4


def test_workers_copy_the_bags_that_they_inspect(s3, temporary, capfd, monkeypatch):
    pytest.importorskip('distributed', reason='Dask is not installed (extra: fleet)')
    bags, options = expand([f'{s3}/*/*']), ReadingOptions(need_positions=False)
    here = inspect_bags(bags, options)
    # From here on it is not this process that copies.
    monkeypatch.setattr('two_manifold_ros.sources._copy', None)
    with client_of(workers=2) as client:
        assert inspect_bags(bags, options, client) == here
        for bag, words in (('none', ': it does not exist: '), ('broken', ' is damaged')):
            reports, unread = inspect_bags([f'{s3}/{bag}.mcap'], options, client)
            assert not reports
            (said,) = unread.values()
            assert said.startswith(f'{s3}/{bag}.mcap{words}')
    assert not list(temporary.glob('**/two_manifold_*'))
    assert not [secret for secret in SECRETS if secret in ''.join(capfd.readouterr())]


def test_what_was_uploaded_or_changed_elsewhere_is_found(s3):
    fsspec = pytest.importorskip('fsspec')
    # By another client, so that ours has to look again.
    store = fsspec.filesystem('s3', skip_instance_cache=True)
    states = []
    for content in (b'one', b'two', b'two'):
        store.pipe('carts/other/a/metadata.yaml', content)
        states.append([state_of(f's3://carts/other/{name}') for name in ('a', 'none.mcap')])
    assert len({each for each, _ in states}) >= 2
    assert {each for _, each in states} == {''}
    for name in ('one/monday', 'single.mcap'):
        assert state_of(f'{s3}/{name}') == state_of(f'{s3}/{name}') != ''
    sunday = 'carts/fleet/one/sunday/metadata.yaml'
    assert len(expand([f'{s3}/one/*'])) == 2
    store.pipe(sunday, b'')
    assert len(expand([f'{s3}/one/*'])) == 3
    store.rm(sunday)
    assert len(expand([f'{s3}/one/*'])) == 2


def test_a_copy_is_there_once_while_it_is_read_and_removed_whatever_happens(s3, temporary, fleet):
    with fetched(f'{s3}/one/monday') as outer:
        with fetched(f'{s3}/one/monday') as inner:
            assert inner == outer
            assert len(list(temporary.iterdir())) == 1
        names = {file.name for file in (fleet / 'one' / 'monday').iterdir()}
        assert {file.name for file in outer.iterdir()} == names - {'camera.mp4'}
    assert list(temporary.iterdir()) == []

    # A signal is a KeyboardInterrupt here.
    for error in (KeyboardInterrupt(), ValueError(), OSError('/no/place')):
        with pytest.raises(type(error)) as caught, fetched(f'{s3}/one/monday'):
            raise error
        assert caught.value is error
        assert list(temporary.iterdir()) == []


def test_what_an_object_store_refuses_is_one_sentence(s3, s3_server, said, monkeypatch):
    requests = pytest.importorskip('requests')

    def refused(*bags: str) -> str:
        forget_stores()
        _, err = said('inspect', *bags, status=2)
        (line,) = err.splitlines()
        return line

    for address in ('s3://none/a.mcap', 's3://none/a', f'{s3}/none.mcap'):
        line = refused(address)
        assert line.startswith(f'two-manifold: error: {address}: it does not exist')
    assert f'{s3}/none: no bag is there' in refused(f'{s3}/none')
    assert 's3://none/*: no bag is there' in refused('s3://none/*')
    assert 's3://carts/x.mcap: it cannot be read' in refused(f's3://{KEY}:{SECRET}@carts/x.mcap')
    try:
        requests.post(f'{s3_server}/moto-api/reset-auth', data=b'0', timeout=10)
        for address in (f'{s3}/one', f'{s3}/single.mcap', f'{s3}/*'):
            assert f'{address}: access is refused' in refused(address)
    finally:
        requests.post(f'{s3_server}/moto-api/reset-auth', data=b'inf', timeout=10)
    monkeypatch.setenv('AWS_ENDPOINT_URL', 'http://127.0.0.1:9')
    assert f'{s3}/single.mcap: the connection fails' in refused(f'{s3}/single.mcap')
    monkeypatch.delenv('AWS_ACCESS_KEY_ID')
    assert f'{s3}/one: access is refused' in refused(f'{s3}/one')


def test_bags_of_a_web_server_are_read_and_their_secrets_kept(web, fleet, said, tmp_path):
    signed = f'http://{web}/single.mcap?X-Amz-Signature={SIGNATURE}'
    with_password = f'http://{USER}:{PASSWORD}@{web}/single.mcap'
    shown = f'http://{web}/single.mcap'
    here = said('inspect', fleet / 'single.mcap', '--json')
    page = tmp_path / 'page.html'
    for address in (signed, with_password):
        there = said('inspect', address, '--json', '--report', page)
        assert [text.replace(str(fleet / 'single.mcap'), shown) for text in here] == list(there)
        assert SIGNATURE not in page.read_text()
        assert shown in page.read_text()
        recording = read_recording(address)
        assert recording.name == shown
        assert not [each for each in SECRETS if each.encode() in pickle.dumps(recording)]
    # Folders are those that it lists.
    root = f'http://{USER}:{PASSWORD}@{web}'
    found = expand([f'{root}/one', f'{root}/*.mcap'])
    names = 'one/monday', 'one/tuesday', 'broken.mcap', 'single.mcap'
    assert found == [f'http://{web}/{name}' for name in names]
    local = read_recording(fleet / 'one' / 'monday')
    np.testing.assert_array_equal(read_recording(found[0]).imu.samples, local.imu.samples)


def test_what_a_web_server_refuses_is_one_sentence(web, said, monkeypatch):
    signed = f'?X-Amz-Signature={SIGNATURE}'
    for address, cause in {
        f'http://{web}/single.mcap?x={PASSWORD}': 'access is refused',
        f'http://{web}/none.mcap{signed}': 'it does not exist',
        f'http://{USER}:{PASSWORD}@127.0.0.1:9/single.mcap': 'the connection fails or breaks',
        f'http://{web}/notes.txt{signed}': 'no bag is there',
        'nothing://a/b.mcap': 'such addresses are not known',
        f'simplecache::http://{web}/single.mcap{signed}': 'such addresses are not known',
    }.items():
        _, err = said('inspect', address, status=2)
        assert err.startswith(f'two-manifold: error: {public(address)}: {cause}')
        assert len(err.splitlines()) == 1
    # A copy has a bound, whether its size is declared or not.
    monkeypatch.setattr('two_manifold_ros.sources.LARGEST_COPY', 1000)
    for end in ('&undeclared', ''):
        _, err = said('inspect', f'http://{web}/single.mcap?{SIGNATURE}{end}', status=2)
        assert 'it is larger than' in err


@pytest.mark.parametrize(
    'given',
    [
        ['atlas', 'add', 'a=ADDRESS', 'b=ADDRESS', '-o', 'both.npz'],
        ['train', 'bag', '--output=ADDRESS'],
        ['import', 'ADDRESS', '-o', 'bag'],
        ['view', '--live', '--port', 'ADDRESS'],
    ],
)
def test_no_secret_is_printed_where_no_address_is_expected(given, said):
    address = f'simplecache::http://{USER}:{PASSWORD}@127.0.0.1:9/a.mcap?x={SECRET}'
    _, err = said(*(each.replace('ADDRESS', address) for each in given), status=2)
    assert len(err.splitlines()) == 1


def test_a_missing_library_is_named_and_local_bags_need_none(fleet, monkeypatch):
    for name, address in {'aiohttp': 'http://a/b.mcap', 'fsspec.core': 's3://a/b.mcap'}.items():
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(InputError, match=rf'{address}: .* Python package {name[:6]}'):
            read_recording(address)
        assert read_recording(expand([f'{fleet}/s*.mcap'])[0]).positions
