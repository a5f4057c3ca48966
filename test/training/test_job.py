# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The training of a node: its settings, and how it is given up."""

from __future__ import annotations

from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.parameters import TrainerParameters
from two_manifold_ros.training import job
from two_manifold_ros.training.job import (
    check_target,
    read_bags,
    training_settings,
    TrainingJob,
)
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from two_manifold_ros.recordings.recording import Recording


DEFAULTS = vars(TrainerParameters())


def test_every_setting_is_handed_on() -> None:
    chosen = {
        'rate_hz': 5.0, 'window': 30, 'states': 7, 'method': 'spectral', 'kernel': 'gaussian',
        'readout': 'mkdr',
    }  # fmt: skip
    settings = training_settings({**DEFAULTS, **chosen, 'horizons': [0, 3]})
    assert settings == TrainingSettings(**chosen, horizons=(0, 3))


def test_numbers_of_the_belief_about_the_place() -> None:
    chosen = {'sharpness': 0.3, 'persistence': 0.7}
    assert training_settings({**DEFAULTS, **chosen}) == TrainingSettings(**chosen)
    for name, value in chosen.items():
        with pytest.raises(InputError, match=f'Method spectral has no {name}'):
            training_settings({**DEFAULTS, 'method': 'spectral', name: value})


def test_a_read_out_that_the_method_does_not_have_is_refused() -> None:
    with pytest.raises(InputError, match='set method to spectral'):
        training_settings({**DEFAULTS, 'readout': 'ridge'})


@pytest.mark.parametrize(
    ('path', 'words'), [('', 'No model is named'), ('/nowhere/m.npz', 'missing')]
)
def test_a_target_that_cannot_be_written_is_refused(path: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        check_target(path)


def test_a_position_lag_that_cannot_be_applied_is_refused_early() -> None:
    for text in ('', 'auto', '0.2'):
        training_settings({**DEFAULTS, 'position_lag': text})
    with pytest.raises(InputError, match='neither auto nor a number'):
        training_settings({**DEFAULTS, 'position_lag': 'late'})


def test_the_positions_of_bags_are_put_in_step(
    write_bag: Callable[..., Path], drive: Callable[..., Recording], tmp_path: Path
) -> None:
    late = drive().with_positions_earlier(-0.2)
    bag = write_bag(tmp_path / 'late', late)
    values = {**DEFAULTS, 'bags': [str(bag)], 'position_lag': 'auto'}
    (recording,) = read_bags(values)
    assert recording.positions is not None
    assert recording.positions.earlier_s == pytest.approx(0.2, abs=0.01)
    (untouched,) = read_bags({**values, 'position_lag': ''})
    assert untouched.positions is not None
    assert untouched.positions.earlier_s == 0.0


class Saving:
    """Stands in for the writing of the model, which ends when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.over = Event(), Event()
        self.written = 0
        monkeypatch.setattr(job, 'train_model', lambda *_: None)
        monkeypatch.setattr(job, 'save_model', self._save)

    def _save(self, *_: object) -> None:
        self.begun.set()
        assert self.over.wait(10)
        self.written += 1


def test_a_file_that_is_being_written_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_none_is_started_after_it_was_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_the_defaults_are_those_of_the_training() -> None:
    assert training_settings(DEFAULTS) == TrainingSettings()


def test_a_target_that_can_be_written_is_fine(tmp_path: Path) -> None:
    check_target(str(tmp_path / 'model.npz'))
