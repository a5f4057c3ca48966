# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sentences begin with a capital, and names of files are what they are."""

from __future__ import annotations

import pytest

from two_manifold_ros.interface.log import capitalised


@pytest.mark.parametrize(
    ('sentence', 'wanted'),
    [
        ('learning takes too long', 'Learning takes too long'),
        ('learning: 12 samples', 'Learning: 12 samples'),
        ('stopped.', 'Stopped.'),
        ('no IMU message on /imu yet: 0.5 s', 'No IMU message on /imu yet: 0.5 s'),
        ('IMU is gone', 'IMU is gone'),
        ('', ''),
    ],
)
def test_a_sentence_begins_with_a_capital(sentence: str, wanted: str) -> None:
    assert capitalised(sentence) == wanted


@pytest.mark.parametrize(
    'sentence',
    [
        'bad.npz: the model is refused',
        'my bad.npz: the model is refused',
        'runs/bad: there is no such model file',
        '.hidden: there is no such model file',
        'models\\bad: there is no such model file',
        'filter_node runs models of an IMU',
    ],
)
def test_a_name_stays_as_it_is(sentence: str) -> None:
    assert capitalised(sentence) == sentence
