# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""XRK files, by a stand-in for the library that reads them."""

from pathlib import Path
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

from logger_files import Drive, drive, DRIVER, G
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.reading import read_log
from two_manifold_ros.loggers.to_bag import drive_of


class Table:
    """A channel as the library has it: times in milliseconds, values, and a unit."""

    def __init__(self, name: str, milliseconds: np.ndarray, values: np.ndarray, unit: str) -> None:
        self._columns = {'timecodes': milliseconds, name: values}
        field = SimpleNamespace(metadata={b'units': unit.encode()} if unit else None)
        self.schema = SimpleNamespace(field=lambda _: field)

    def column(self, name: str) -> Any:  # noqa: ANN401 - a stand-in
        """Return a column."""
        return SimpleNamespace(to_numpy=lambda: self._columns[name])


def log_file(made: Drive) -> Any:  # noqa: ANN401 - a stand-in
    """Return a file of the library; accelerations to the right are positive."""
    at = np.rint(made.seconds * 1000).astype(np.int64)
    channels = {}
    for name, column, factor, unit in (
        ('InlineAcc', 0, 1 / G, 'g'),
        ('LateralAcc', 1, -1 / G, ''),
        ('VerticalAcc', 2, 1.0, 'm/s2'),
        ('RollRate', 3, np.degrees(1.0), 'deg/s'),
        ('PitchRate', 4, np.degrees(1.0), 'deg/s'),
        ('YawRate', 5, np.degrees(-1.0), 'deg/s'),
    ):
        channels[name] = Table(name, at, made.imu[:, column] * factor, unit)
    for column, name in enumerate(('GPS Latitude', 'GPS Longitude', 'GPS Altitude')):
        unit = 'm' if name == 'GPS Altitude' else 'deg'
        channels[name] = Table(name, at[::4], made.fixes[:, column], unit)
    stated = {'Driver': DRIVER, 'Vehicle': '', 'Log Date': '03/07/2026', 'Log Time': '23:59:40'}
    return SimpleNamespace(channels=channels, metadata=stated)


def library(monkeypatch: pytest.MonkeyPatch, read: object) -> None:
    """Put a stand-in in the place of the library."""
    module = ModuleType('libxrk')
    module.aim_xrk = read  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, 'libxrk', module)


def xrk(folder: Path) -> Path:
    """Write the beginning of a file."""
    path = folder / 'run.dat'
    path.write_bytes(b'<hCNF\x00rest')
    return path


def test_channels_units_and_the_start_are_read(tmp_path, monkeypatch, capsys):
    made = drive()

    def read(_: str) -> Any:  # noqa: ANN401 - a stand-in
        sys.stdout.write('Unknown units\n')
        return log_file(made)

    library(monkeypatch, read)
    log = read_log([xrk(tmp_path)], {})
    found = drive_of(log)
    # Positive to the right, as the file has them.
    signs = [1, -1, 1, 1, 1, -1]
    np.testing.assert_allclose(found.imu, made.imu * signs, atol=1e-9)
    np.testing.assert_allclose(found.fixes, made.fixes, rtol=0, atol=1e-9)
    assert found.imu_stamps.tolist() == made.stamps.tolist()
    assert all(DRIVER not in note for note in log.notes)
    assert capsys.readouterr().out == ''


def test_without_the_library_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'libxrk', None)
    with pytest.raises(InputError, match=r'run\.dat.*pip install libxrk'):
        read_log([xrk(tmp_path)], {})


def test_a_file_that_the_library_cannot_read_is_named(tmp_path, monkeypatch):
    def read(_: str) -> Any:  # noqa: ANN401 - a stand-in
        raise IndexError

    library(monkeypatch, read)
    with pytest.raises(InputError, match=r'run\.dat'):
        read_log([xrk(tmp_path)], {})
