# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of a training, those of a node among them, and how the job of a node is given up."""

import pickle
from threading import Event, Thread
from types import SimpleNamespace

import ellipse
import pytest

from two_manifold_ros.adapting import training_job as job
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
        below = about.kind(about.low - 1)
        allowed = about.kind(max(about.low, 1e-3)), about.kind(about.high)
        refused = (
            below,
            about.kind(about.high * 2),
            *((float('nan'),) if about.kind is float else ()),
        )
        # For a float that training chooses if it is left out, 0 is no value.
        refused += (0.0,) if about.kind is float and offered.default is None else ()
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
    for method in METHODS:
        asked = TrainingSettings(method=method, rate_hz=7.0, window=30, horizons=(0, 4))
        assert pickle.loads(pickle.dumps(asked)) == asked  # noqa: S301 - our own
        for other in METHODS:
            same = asked.with_method(other)
            assert same == TrainingSettings(method=other, rate_hz=7.0, window=30, horizons=(0, 4))


def test_a_target_that_cannot_be_written_is_refused(tmp_path):
    check_target(str(tmp_path / 'model.npz'))
    for path, words in {
        '': 'No model is named',
        '/nowhere/m.npz': 'missing',
        str(tmp_path): 'it is a folder',
        'x' * 300: '255 bytes at most',
        f'{"x" * 300}/m.npz': '255 bytes at most',
    }.items():
        with pytest.raises(InputError, match=words):
            check_target(path)


def test_the_positions_of_bags_are_put_in_step(write_bag, tmp_path):
    bag = write_bag(tmp_path / 'late', ellipse.drive().with_positions_earlier(-0.2))
    for wanted, earlier_s in (('auto', 0.2), ('', 0.0)):
        (recording,) = read_bags({**DEFAULTS, 'bags': [str(bag)], 'position_lag': wanted})
        assert recording.positions.earlier_s == pytest.approx(earlier_s, abs=0.01)


class Saving:
    """Stands in for the writing of the model, which ends when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.over = Event(), Event()
        self.written = 0
        model = SimpleNamespace(summary={'refusal': None})
        monkeypatch.setattr(job, 'train_model', lambda *_: model)
        monkeypatch.setattr(job, 'save_model', self._save)

    def _save(self, *_: object) -> None:
        self.begun.set()
        assert self.over.wait(10)
        self.written += 1


def test_a_file_that_is_being_written_is_waited_for_and_none_is_started_afterwards(monkeypatch):
    saving = Saving(monkeypatch)
    job = TrainingJob(list, TrainingSettings(), 'model.npz')
    assert saving.begun.wait(10)
    closing = Thread(target=job.close)
    closing.start()
    closing.join(0.05)
    assert closing.is_alive()
    saving.over.set()
    closing.join(10)
    assert not closing.is_alive()
    assert saving.written == 1
    saving, reading = Saving(monkeypatch), Event()
    saving.over.set()

    def read() -> list[object]:
        assert reading.wait(10)
        return []

    job = TrainingJob(read, TrainingSettings(), 'model.npz')
    job.close()
    reading.set()
    assert not saving.begun.wait(0.05)
    assert saving.written == 0
