# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A training that is given up while it writes."""

from __future__ import annotations

from threading import Event, Thread
from typing import TYPE_CHECKING

from two_manifold_ros.training import job
from two_manifold_ros.training.job import TrainingJob
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    import pytest


class Saving:
    """Stands in for the writing of the model, which ends when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.over = Event(), Event()
        self.written = 0
        monkeypatch.setattr(job, 'training_warnings', lambda _: [])
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


def test_none_is_begun_after_it_was_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
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
