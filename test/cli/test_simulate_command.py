# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold simulate`."""

import json
from pathlib import Path

import numpy as np
import pytest

from two_manifold_ros.cli.main import main
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate


def test_bag_and_json_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / 'bag')
    options = '--laps 1 --seed 3 --rate 60 --noise 0.5 --speed-wander 2 --json'
    assert main(['simulate', '-o', path, *options.split()]) == 0
    summary = json.loads(capsys.readouterr().out)
    expected = simulate(SlotCarSettings(3, 60.0, 0.5, 2.0), laps=1)
    recording = read_recording(path)
    np.testing.assert_array_equal(recording.imu.samples, expected.imu)
    assert summary['bag'] == path
    assert summary['laps'] == 1
    assert summary['seconds'] == np.ptp(expected.stamps_ns) / 1e9
    assert summary['metres'] == np.ptp(expected.distances)
    assert summary['mean_speed_m_s'] == expected.speeds.mean()
    counts = [(each['topic'], each['messages'], each['rate_hz']) for each in summary['topics']]
    assert counts == [
        ('/imu', len(recording.imu.stamps), 60.0),
        ('/reference', len(recording.positions.stamps), 30.0),
    ]


def test_readable_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['simulate', '-o', str(tmp_path / 'bag'), '--laps', '1']) == 0
    text = capsys.readouterr().out
    for word in ('1 laps', 'm/s', '/imu', '/reference', 'rate (Hz)'):
        assert word in text


@pytest.mark.parametrize(
    ('options', 'word'),
    [
        (['--laps', '0'], 'laps'),
        (['--noise', '-1'], 'noise'),
        (['--rate', 'inf'], 'rate'),
        (['--seed', '-1'], 'seed'),
    ],
)
def test_bad_values_leave_no_bag(
    options: list[str], word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['simulate', '-o', str(tmp_path / 'bag'), *options]) == 2
    error = capsys.readouterr().err
    assert word in error
    assert 'None' not in error
    assert len(error.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_an_existing_bag_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / 'bag').mkdir()
    assert main(['simulate', '-o', str(tmp_path / 'bag')]) == 2
    assert 'exists' in capsys.readouterr().err
