# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Work on the workers of a real cluster of two processes is that of this process."""

from functools import partial
import json
import signal
import sys

from fleet_work import counted, dying, refusing, squared
import numpy as np
import pytest

from two_manifold_ros import fleet
from two_manifold_ros.errors import InputError
from two_manifold_ros.fleet import client_of, spread

distributed = pytest.importorskip('distributed', reason='Dask is not installed (extra: fleet)')

pytestmark = pytest.mark.xdist_group('fleet')


@pytest.fixture(scope='module')
def client():
    said = []
    with client_of(workers=2, say=said.append) as found:
        assert len(said) == 1
        yield found


def test_nothing_listens_but_on_loopback_and_with_keys(client):
    psutil = pytest.importorskip('psutil')
    mine = psutil.Process()
    sockets = [
        each.laddr.ip
        for process in [mine, *mine.children(recursive=True)]
        for each in process.net_connections('inet')
        if each.status == psutil.CONN_LISTEN
    ]
    assert len(sockets) >= 3
    assert set(sockets) <= {'127.0.0.1', '::1'}
    # Ctrl-C is left to the command.
    assert set(client.run(signal.getsignal, signal.SIGINT).values()) == {signal.SIG_IGN}
    address = client.scheduler.address
    assert address.startswith('tls://127.0.0.1:')
    with pytest.raises(OSError, match='in <TCP'):
        distributed.Client(address.replace('tls:', 'tcp:'), timeout=5)


@pytest.mark.parametrize('count', [0, 1, 5, 100])
def test_results_come_in_the_order_of_the_items(client, count):
    items, shares = list(range(count)), []
    assert spread(squared, items, client, shares.append) == [each**2 for each in items]
    assert shares == sorted(shares)
    assert shares[-1:] == ([1.0] if count else [])
    assert spread(squared, items) == [each**2 for each in items]


def test_what_a_killed_worker_had_is_done_again_and_what_kills_each_is_refused(client, tmp_path):
    mark = tmp_path / 'died'
    assert spread(partial(dying, mark), list(range(40)), client) == list(range(40))
    assert mark.exists()
    with client_of(workers=1) as own, pytest.raises(InputError, match='lost again and again'):
        spread(partial(dying, None), [4], own)


@pytest.mark.parametrize('there', [False, True])
def test_results_are_known_one_by_one(client, there):
    found, where = [], client if there else None
    with pytest.raises(InputError, match='number 3'):
        spread(refusing, list(range(9)), where, keep=lambda *each: found.append(each))
    known = dict(found)
    assert len(known) == len(found)
    # What a worker computed that refused nothing is known, too.
    assert sorted(known)[:3] == [0, 1, 2]
    assert (8 in known) == there
    assert not {3, 6} & set(known)
    assert all(number == result for number, result in found)


def test_a_function_is_sent_once_to_each_worker(client):
    """What it keeps in itself is there in the next item."""
    found = spread(partial(counted, []), range(128), client)
    assert len({worker for worker, _ in found}) == 2
    for worker in {worker for worker, _ in found}:
        counts = [count for each, count in found if each == worker]
        assert sorted(counts) == list(range(1, len(counts) + 1))


def test_a_scheduler_that_runs_is_used_and_goes_on(tmp_path, monkeypatch):
    # As `dask scheduler` starts it, without keys.
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
    with cluster as running:
        file = tmp_path / 'scheduler.json'
        file.write_text(json.dumps({'address': running.scheduler_address}))
        for asked in (running.scheduler_address, str(file)):
            with client_of(asked) as other:
                assert spread(squared, [2, 3], other) == [4, 9]
        # But not for workers with another version.
        monkeypatch.setattr(fleet, '__version__', '99.0')
        with pytest.raises(InputError, match='install the same version'), client_of(str(file)):
            pass


def test_what_cannot_work_is_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr(fleet, 'START_S', 0.5)
    for asked, words in (
        (0, 'give 1 or more'),
        ('-2', 'give 1 or more'),
        ('tcp://127.0.0.1:1', 'no Dask scheduler'),
        ('/nowhere.json', 'there is no file /nowhere'),
    ):
        with pytest.raises(InputError, match=words), client_of(asked):
            pass
    with client_of(workers=1) as own:
        own.cluster.scale(0)
        with pytest.raises(InputError, match='lost again and again'):
            spread(squared, [1], own)


def test_without_dask_workers_are_refused_and_all_else_works(monkeypatch):
    monkeypatch.setitem(sys.modules, 'distributed', None)
    with pytest.raises(InputError, match='pip install distributed'), client_of(workers=2):
        pass
    with client_of(None) as none:
        assert none is None
        assert spread(squared, np.arange(3).tolist(), none) == [0, 1, 4]
