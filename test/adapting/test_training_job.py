# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of a training, parameters of nodes, and how the job of a node is given up."""

from concurrent.futures import ThreadPoolExecutor
import multiprocessing
import os
from pathlib import Path
import pickle
import signal
from threading import Event, Thread
from time import sleep
from types import SimpleNamespace

import ellipse
import pytest
from worker_tasks import answer, work_for_long

from two_manifold_ros.adapting import training_job
from two_manifold_ros.adapting.training_job import check_target, training_settings, TrainingJob
from two_manifold_ros.adapting.worker import Worker
from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.parameters import PARAMETERS, TrainerParameters, unknown_parameters
from two_manifold_ros.names import METHODS
from two_manifold_ros.route.learning import Tuning
from two_manifold_ros.training.settings import FIELDS, PaperSettings, TrainingSettings

DEFAULTS = vars(TrainerParameters())


@pytest.mark.parametrize('name', sorted(set(FIELDS) - {'method', 'horizons'}))
def test_every_setting_takes_its_range_and_nothing_else_of_node_and_library(name):
    offered = FIELDS[name]
    about, method = offered.about, offered.methods[-1]
    if about.choices:
        allowed, refused = about.choices, ('nonsense',)
    else:
        allowed = about.kind(max(about.low, 1e-3)), about.kind(about.high)
        refused = about.kind(about.low - 1), about.kind(about.high * 2)
        if about.kind is float:
            # If training chooses a number that is left out, 0 is no value.
            refused += (float('nan'), *((0.0,) if offered.default is None else ()))
    for value in allowed:
        wanted = TrainingSettings(method=method, **{name: value})
        assert getattr(wanted, name) == value
        assert training_settings({**DEFAULTS, 'method': method, name: value}) == wanted
    for value in refused:
        with pytest.raises(InputError, match=rf'{name} is .*, but with method .* it must be '):
            TrainingSettings(method=method, **{name: value})
    for other in set(METHODS) - set(offered.methods):
        with pytest.raises(InputError, match=f'method {other} has no {name}: leave it out, or '):
            training_settings({**DEFAULTS, 'method': other, name: allowed[-1]})


def test_without_changes_the_settings_of_a_node_are_those_of_a_training():
    for text in ('auto', '0.2'):
        assert training_settings({**DEFAULTS, 'position_lag': text}) == TrainingSettings()
    with pytest.raises(InputError, match='neither auto nor a number'):
        training_settings({**DEFAULTS, 'position_lag': 'late'})
    chosen = training_settings({**DEFAULTS, 'horizons': [0, 3], 'method': 'paper'})
    assert chosen == PaperSettings(horizons=(0, 3))
    # Every record keeps what it has in common with another, and so does a copy elsewhere.
    given = {'rate_hz': 7.0, 'window': 30, 'horizons': (0, 4)}
    records = {method: TrainingSettings(method=method, **given) for method in METHODS}
    assert pickle.loads(pickle.dumps(records)) == records  # noqa: S301 - our own
    for asked in records.values():
        assert {method: asked.with_method(method) for method in METHODS} == records


def test_a_target_that_cannot_be_written_is_refused(tmp_path):
    check_target(str(tmp_path / 'model.npz'))
    refused = {
        '': 'No model is named', '/nowhere/m.npz': 'missing', str(tmp_path): 'it is a folder',
        f'{__file__}/m.npz': 'missing',
    }  # fmt: skip
    for path, words in {**refused, f'{"x" * 300}/m.npz': '255 bytes at most'}.items():
        with pytest.raises(InputError, match=words):
            check_target(path)


def test_the_positions_of_bags_are_put_in_step(write_bag, tmp_path):
    bag = write_bag(tmp_path / 'late', ellipse.drive().with_positions_earlier(-0.2))
    for wanted, earlier_s in (('auto', 0.2), ('', 0.0)):
        (recording,) = training_job.read_bags(
            DEFAULTS | {'bags': [str(bag)], 'position_lag': wanted}
        )
        assert recording.positions.earlier_s == pytest.approx(earlier_s, abs=0.01)


def test_a_file_that_is_being_written_is_waited_for_and_none_is_started_afterwards(monkeypatch):
    begun, over, reading = Event(), Event(), Event()
    written = []

    def save(*_: object) -> None:
        begun.set()
        assert over.wait(10)
        written.append(1)

    def read() -> list[object]:
        assert reading.wait(10)
        return []

    model = SimpleNamespace(summary={'refusal': None})
    monkeypatch.setattr(training_job, 'train_model', lambda *_: model)
    monkeypatch.setattr(training_job, 'save_model', save)
    closing = Thread(target=TrainingJob(list, TrainingSettings(), 'model.npz').close)
    assert begun.wait(10)
    closing.start()
    closing.join(0.05)
    assert closing.is_alive()
    over.set()
    closing.join(10)
    assert not closing.is_alive()
    begun.clear()
    TrainingJob(read, TrainingSettings(), 'model.npz').close()
    reading.set()
    assert not begun.wait(0.05)
    assert len(written) == 1


def test_it_answers_refuses_fails_and_starts_again_out_of_reach_of_ctrl_c(
    capfd, tmp_path, monkeypatch
):
    # A module there is not that of Python.
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'queue.py').write_text('1 / 0')
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


def test_every_entry_is_complete():
    for node, kind in PARAMETERS.items():
        table = kind.table()
        assert len({each.name for each in table}) == len(table)
        for each in table:
            assert each.description.endswith('.'), (node, each.name)
            assert (each.low is None) == (each.high is None), (node, each.name)
            assert each.refusal(each.default) == '', (node, each.name)
            if isinstance(each.default, int | float) and not isinstance(each.default, bool):
                assert each.low <= each.default <= each.high, (node, each.name)
    # The sharpness is the one that a training takes.
    tables = [each for kind in PARAMETERS.values() for each in kind.table()]
    (sharpness,) = (each for each in tables if each.name == 'sharpness')
    assert f' 0 means: {Tuning.sharpness:g} at 20 Hz, ' in sharpness.description


def test_names_that_a_node_does_not_have_are_named_with_the_nearest_one():
    known = 'model', 'rate_hz'
    given = 'model', 'use_sim_time', 'qos_overrides./imu.subscription.depth'
    assert unknown_parameters(given, known, 'node') == ''
    sentence = unknown_parameters((*given, 'zzz', 'modle', 'rate-hz'), known, 'my_node')
    assert sentence.startswith('my_node has no parameter modle (')
    parts = sentence.split('modle ')[1].split(', ')
    assert [[name for name in known if name in part] for part in parts] == [
        ['model'], ['rate_hz'], []
    ]  # fmt: skip
    # What two names share says nothing.
    assert 'mean' not in unknown_parameters(['position_topic'], ['fix_topic', 'mark_topic'], 'n')
