# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The fault matrix: commands are given files that are not whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bag_builders import add_checksums
from fault import Outcome
import pytest
from rows import BAG, MODEL

from two_manifold_ros.cli.main import main
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run

if TYPE_CHECKING:
    from pathlib import Path

    from healthy_drive import HealthyDrive


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


def test_a_damaged_bag(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], outcomes: list[Outcome]
) -> None:
    pytest.importorskip('rosbags')
    bag = tmp_path / 'bag'
    # Of several chunks, as a recorder writes them.
    write_run(simulate(SlotCarSettings(rate_hz=50.0), samples=3000), bag)
    (file,) = bag.glob('*.mcap')
    add_checksums(file, 200_000)
    whole = file.read_bytes()
    for spoil in (cut, flip):
        file.write_bytes(whole)
        spoil(file, 0.5)
        line = sentence(['inspect', str(bag)], capsys)
        assert str(bag) in line
        assert '--salvage' in line
        assert main(['inspect', '--salvage', str(bag)]) == 0
        assert 'are lost' in capsys.readouterr().err
    outcomes.append(Outcome(BAG))


def test_a_damaged_model(
    trained: tuple[Path, HealthyDrive],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    outcomes: list[Outcome],
) -> None:
    for spoil in (cut, flip):
        model = tmp_path / f'{spoil.__name__}.npz'
        model.write_bytes(trained[0].read_bytes())
        spoil(model, 0.6)
        assert str(model) in sentence(['info', str(model)], capsys)
    outcomes.append(Outcome(MODEL))
