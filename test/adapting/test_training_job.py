# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of a training, those of a node among them, and how the job of a node is given up."""

import pickle
from threading import Event, Thread
from types import SimpleNamespace

import ellipse
import pytest

from two_manifold_ros.adapting import training_job
from two_manifold_ros.adapting.training_job import (
    check_target,
    read_bags,
    training_settings,
    TrainingJob,
)
from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.parameters import TrainerParameters
from two_manifold_ros.names import METHODS
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
        '': 'No model is named',
        '/nowhere/m.npz': 'missing',
        str(tmp_path): 'it is a folder',
    }
    for path, words in {**refused, f'{"x" * 300}/m.npz': '255 bytes at most'}.items():
        with pytest.raises(InputError, match=words):
            check_target(path)


def test_the_positions_of_bags_are_put_in_step(write_bag, tmp_path):
    bag = write_bag(tmp_path / 'late', ellipse.drive().with_positions_earlier(-0.2))
    for wanted, earlier_s in (('auto', 0.2), ('', 0.0)):
        (recording,) = read_bags({**DEFAULTS, 'bags': [str(bag)], 'position_lag': wanted})
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
