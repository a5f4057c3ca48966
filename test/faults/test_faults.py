# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The fault matrix: what the messages of a driver can bring about, files."""

from collections.abc import Callable
from pathlib import Path

from bag_builders import add_checksums
from checks import judge
from fault import HealthyDrive, Outcome, StreamFault
import pytest
from rows import STREAM_FAULTS
from session_node import SessionNode
from trial import play

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from served_node import run_all

from two_manifold_ros.__main__ import main
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run


@pytest.mark.parametrize(
    'fault', [each for each in STREAM_FAULTS if not each.lane], ids=lambda fault: fault.name
)
def test_fault(fault, trained, monkeypatch):
    path, drive = trained
    node = SessionNode(monkeypatch, path, input_timeout_s=60.0, reorder_s=fault.reorder_s)
    outcome = judge(play(fault, drive, node))
    assert outcome.complaints == ()


@pytest.fixture(scope='module')
def stream_outcomes(
    selected: Callable[[str, str], list[StreamFault]], trained: tuple[Path, HealthyDrive]
) -> dict[str, Outcome]:
    """Run all rows over DDS that a selected test asks for at once; by name."""
    path, drive = trained
    return run_all(selected('stream_outcomes', 'fault'), drive, path)


@pytest.mark.parametrize(
    'fault', [each for each in STREAM_FAULTS if each.lane], ids=lambda fault: fault.name
)
def test_fault_over_dds(fault, stream_outcomes):
    outcome = stream_outcomes[fault.name]
    assert outcome.complaints == ()


def cut(path: Path, share: float) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: round(share * len(whole))])


def flip(path: Path, share: float) -> None:
    """Turn over the bits of a hundred bytes."""
    whole = bytearray(path.read_bytes())
    begin = round(share * len(whole))
    whole[begin : begin + 100] = bytes(255 - each for each in whole[begin : begin + 100])
    path.write_bytes(whole)


def sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return the only line that a command says when it refuses its input."""
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ''
    (line,) = [each for each in said.err.splitlines() if each]
    assert 'Traceback' not in line
    return line


def test_a_damaged_bag(tmp_path, capsys):
    pytest.importorskip('rosbags')
    bag = tmp_path / 'bag'
    # Of several chunks, as a recorder writes them.
    write_run(simulate(SlotCarSettings(rate_hz=50.0), samples=3000), bag)
    (file,) = bag.glob('*.mcap')
    add_checksums(file, 200_000)
    whole = file.read_bytes()
    for spoil in (cut, flip):
        file.write_bytes(whole)
        # Within a chunk: between two of them are indices, of which nothing is needed.
        spoil(file, 0.4)
        line = sentence(['inspect', str(bag)], capsys)
        assert str(bag) in line
        assert 'mcap recover' in line


def test_a_damaged_model(trained, tmp_path, capsys):
    for spoil in (cut, flip):
        model = tmp_path / f'{spoil.__name__}.npz'
        model.write_bytes(trained[0].read_bytes())
        spoil(model, 0.6)
        assert str(model) in sentence(['info', str(model)], capsys)
