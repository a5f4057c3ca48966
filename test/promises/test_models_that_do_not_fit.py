# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Promise 8: a model that does not fit is refused in one readable sentence.

What is refused is held by the tests of each check; here it is how: one line, that starts with the
file, says what is wrong and ends with what helps.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import check_fit
from two_manifold_ros.interface.model_swap import check_input, check_successor
from two_manifold_ros.model.model import RouteModel
from two_manifold_ros.model.model_file import load_model, save_model

LONGEST = 300


@pytest.fixture(scope='module')
def content(slot_car_model: RouteModel, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path: Path = tmp_path_factory.mktemp('model') / 'model.npz'
    save_model(slot_car_model, path)
    return path.read_bytes()


def refusal(refused: Callable[[], object], name: str) -> str:
    with pytest.raises(InputError) as caught:
        refused()
    sentence = str(caught.value)
    assert sentence.startswith(name)
    assert '\n' not in sentence
    assert len(sentence) - len(name) < LONGEST
    assert ';' in sentence, 'it says what helps'
    return sentence


@pytest.mark.parametrize('kind', ['none', 'empty', 'text', 'cut', 'changed'])
def test_a_file_that_is_no_model(kind, content, tmp_path):
    path, half = tmp_path / 'model.npz', len(content) // 2
    changed = content[:half] + b'changed' + content[half + 7 :]
    written = {'empty': b'', 'text': b'not a model', 'cut': content[:half], 'changed': changed}
    if kind in written:
        path.write_bytes(written[kind])
    refusal(lambda: load_model(path), str(path))


def test_a_model_for_another_sensor(slot_car_model):
    names = tuple(f'pixel_{number}' for number in range(6))
    camera = replace(slot_car_model, channels=replace(slot_car_model.channels, names=names))
    assert 'IMU' in refusal(lambda: check_input(camera, 'camera.npz'), 'camera.npz')


def test_a_model_of_another_rate(slot_car_model, slot_car_laps):
    laps = slot_car_laps[1]
    slow = replace(laps, imu=laps.imu.select(np.arange(len(laps.imu.stamps)) % 3 == 0))
    assert '3.3 Hz' in refusal(lambda: check_fit(slot_car_model, slow), laps.name)


def test_a_model_in_another_frame(slot_car_model):
    here = replace(slot_car_model, frame_id='map')
    there = replace(slot_car_model, frame_id='odom')
    sentence = refusal(lambda: check_successor(there, here, 'next.npz'), 'next.npz')
    assert "'odom'" in sentence
    assert "'map'" in sentence
