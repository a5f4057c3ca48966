# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A checkpoint written in a thread is what it was when it began."""

from __future__ import annotations

from threading import Event
from typing import Any, TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.adapting.checkpoints import Checkpoints, CheckpointThread
from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


class Held(Checkpoints):
    """Writes only when it is let."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, 'car', {})
        self.go = Event()
        self.error: Exception | None = None

    def write(self, numbers: Any, arrays: Any) -> Path:  # noqa: ANN401 - as in the class above
        assert self.go.wait(10.0)
        if self.error is not None:
            raise self.error
        return super().write(numbers, arrays)


@pytest.fixture
def held(tmp_path: Path) -> Held:
    return Held(tmp_path)


def test_the_learner_goes_on_while_it_is_written(held: Held) -> None:
    thread = CheckpointThread(held)
    numbers = {'samples': 7}
    arrays = {'left': np.full(1000, 7.0), 'right': np.full((10, 10), 7.0)[:, ::2]}
    assert thread.begin(numbers, arrays)
    numbers['samples'] = 8
    for array in arrays.values():
        array[:] = 8.0
    assert not thread.begin(numbers, arrays)
    held.go.set()
    thread.finish()
    found = held.newest()
    assert found is not None
    assert found[0] == {'samples': 7}
    assert {name: set(array.flat) for name, array in found[1].items()} == {
        'left': {7.0},
        'right': {7.0},
    }
    assert (thread.written, thread.trouble) == (1, '')
    assert thread.path is not None
    assert thread.path.name == 'car.000001.npz'


@pytest.mark.parametrize(
    ('error', 'said'),
    [
        (InputError('the disk is full'), 'the disk is full'),
        (KeyError('x'), "KeyError in a checkpoint, please report it: 'x'"),
    ],
)
def test_a_failure_is_told_until_one_succeeds(error: Exception, said: str, held: Held) -> None:
    thread = CheckpointThread(held)
    held.go.set()
    held.error = error
    thread.begin({}, {})
    thread.finish()
    assert (thread.written, thread.path, thread.trouble) == (0, None, said)
    held.error = None
    assert thread.begin({}, {})
    thread.finish()
    assert (thread.written, thread.trouble) == (1, '')


def test_nothing_to_wait_for(held: Held) -> None:
    CheckpointThread(held).finish()
