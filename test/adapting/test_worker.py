# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Training in a process of its own, which may be killed at any time."""

from concurrent.futures import ThreadPoolExecutor
import multiprocessing
import os
from pathlib import Path
import signal
from threading import Thread
from time import sleep

import pytest
from worker_tasks import answer, work_for_long

from two_manifold_ros.adapting.training_job import Worker
from two_manifold_ros.errors import InputError


def test_it_answers_refuses_fails_and_starts_again_out_of_reach_of_ctrl_c(capfd):
    worker = Worker()
    process = worker.process
    # Of a terminal Ctrl-C goes to the whole group.
    assert os.getpgid(process.pid) != os.getpgid(0)
    assert worker.run(answer, 0) == process.pid
    assert os.getpriority(os.PRIO_PROCESS, process.pid) > os.getpriority(os.PRIO_PROCESS, 0)
    # A training that is not needed any more may still go on when the next is started.
    with ThreadPoolExecutor() as pool:
        lengths = list(pool.map(lambda length: worker.run(len, length * 'a'), range(20)))
    assert lengths == [*range(20)]
    with pytest.raises(InputError, match=r'^too little$'):
        worker.run(answer, -1)
    with pytest.raises(ZeroDivisionError):
        worker.run(answer, 1)
    assert worker.run(answer, 0) == process.pid
    # A killed process is reported, and another one goes on.
    killer = Thread(target=lambda: (sleep(0.3), os.kill(process.pid, signal.SIGKILL)))
    killer.start()
    with pytest.raises(InputError, match='ended with status -9'):
        worker.run(answer, 60)
    killer.join()
    assert worker.run(answer, 0) == worker.process.pid != process.pid
    worker.close()
    assert worker.process.returncode == -signal.SIGKILL
    assert capfd.readouterr().err == ''


@pytest.mark.parametrize(
    ('delay_s', 'work', 'given'),
    [
        *((delay_s, answer, 60) for delay_s in (0.0, 0.002, 0.01, 3.0)),
        # More than a pipe holds, which waits until it has started and compiled.
        pytest.param(0.3, len, bytes(10_000_000), id='large'),
    ],
)
def test_it_is_closed_while_it_starts_or_works_and_works_no_more(delay_s, work, given):
    worker = Worker()
    closer = Thread(target=lambda: (sleep(delay_s), worker.close()), daemon=True)
    closer.start()
    with pytest.raises(InputError, match='not needed any more'):
        worker.run(work, given)
    closer.join(30.0)
    assert not closer.is_alive()
    assert worker.process.returncode is not None
    with pytest.raises(InputError, match='not needed any more'):
        worker.run(answer, 0)


def test_it_ends_in_the_middle_of_its_work_when_its_parent_is_killed():
    context = multiprocessing.get_context('spawn')
    ours, its = context.Pipe()
    parent = context.Process(target=work_for_long, args=(its,))
    parent.start()
    child = Path(f'/proc/{ours.recv()}')
    sleep(0.2)
    parent.kill()
    parent.join()
    for _ in range(500):
        # Where no parent waits for it, it stays as a zombie.
        if not child.exists() or (child / 'stat').read_text().rsplit(')', 1)[1].split()[0] == 'Z':
            return
        sleep(0.02)
    pytest.fail('it goes on without its parent')
