# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Work on the workers of a real cluster of two processes is that of this process."""

from functools import partial
import json
import signal
import sys

from fleet_work import counted, dying, dying_once, refusing, squared
import numpy as np
import pytest

from two_manifold_ros import fleet
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.fleet import client_of, spread

distributed = pytest.importorskip('distributed', reason='Dask is not installed (extra: fleet)')

pytestmark = pytest.mark.xdist_group('fleet')


@pytest.fixture(scope='module')
def client():
    said = []
    with client_of(workers=2, say=said.append) as found:
        assert len(said) == 1
        yield found


@pytest.fixture(scope='module')
def running():
    """Return a client of a scheduler as `dask scheduler` starts it, without keys."""
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as own,
        distributed.Client(own) as found,
    ):
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


def test_what_a_killed_worker_had_is_done_again_and_work_that_kills_each_is_refused(
    client, tmp_path
):
    assert spread(partial(dying_once, tmp_path), list(range(40)), client) == list(range(40))
    assert (tmp_path / 'died').exists()
    with client_of(workers=1) as own, pytest.raises(InputError, match='lost again and again'):
        spread(dying, [1], own)


@pytest.mark.parametrize('there', [False, True])
def test_results_are_known_one_by_one(client, there):
    found = []
    with pytest.raises(InputError, match='number 3'):
        spread(
            refusing,
            list(range(9)),
            client if there else None,
            keep=lambda *each: found.append(each),
        )
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


def test_recordings_are_evaluated_as_here(client, slot_car_model, slot_car_laps):
    last = slot_car_laps[-1]
    parts = [last.between(begin_s, begin_s + 10.0) for begin_s in (0.0, 5.0, 10.0)]
    here, there = (evaluate(slot_car_model, parts, client=each) for each in (None, client))
    for one, other in zip(here.runs, there.runs, strict=True):
        assert one.positions.tobytes() == other.positions.tobytes()
        assert one.causes == other.causes
    assert [each.model for each in here.scores] == [each.model for each in there.scores]


def test_a_scheduler_that_runs_is_used(running, tmp_path, monkeypatch):
    address = running.scheduler.address
    with client_of(address) as other:
        assert spread(squared, [2, 3], other) == [4, 9]
    file = tmp_path / 'scheduler.json'
    file.write_text(json.dumps({'address': address}))
    with client_of(str(file)) as other:
        assert spread(squared, [4], other) == [16]
    # It goes on for others, but not for workers with another version.
    assert spread(squared, [5], running) == [25]
    monkeypatch.setattr(fleet, '__version__', '99.0')
    with pytest.raises(InputError, match='install the same version'), client_of(address):
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
