# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""XRK and XRZ files of AiM loggers, read by the optional library `libxrk`."""

from __future__ import annotations

from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.csv_loggers import AIM_SENSORS, aim_start, FIXES, HEIGHTS
from two_manifold_ros.loggers.log import Channel, factor_of
from two_manifold_ros.loggers.tables import log_of, plain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from two_manifold_ros.loggers.log import Log

KIND = 'AiM XRK'
# The first message of a file; or zlib, which packs an XRZ.
_BEGINNINGS = (b'<hCNF', b'x\x01', b'x\x9c', b'x\xda')


def is_xrk(content: bytes) -> bool:
    """Return whether a file begins as one of AiM."""
    return content.startswith(_BEGINNINGS)


def read_xrk(path: Path) -> Log:
    """
    Read a file of an AiM logger.

    Raises
    ------
    InputError
        If the library is missing or cannot read the file.

    """
    try:
        from libxrk import aim_xrk  # noqa: PLC0415 - optional
    except ModuleNotFoundError as error:
        msg = (
            f'{path}: XRK files need the Python package libxrk: install it with pip install '
            'libxrk, or export the session as CSV from Race Studio'
        )
        raise InputError(msg) from error
    try:
        # It prints what it does not know.
        with redirect_stdout(StringIO()):
            file: Any = aim_xrk(str(path))
            names = list(file.channels)
    # A damaged file makes it raise almost anything.
    except Exception as error:
        msg = f'{path}: libxrk cannot read this file ({error}); copy it from the logger again'
        raise InputError(msg) from error
    start, note = aim_start(*(str(file.metadata.get(f'Log {each}')) for each in ('Date', 'Time')))
    known = [plain(name) for name in names]

    def find(wanted: Sequence[str]) -> int | None:
        return next((known.index(name) for name in wanted if name in known), None)

    def channel(role: str, index: int, unit: str) -> Channel:
        name = names[index]
        table = file.channels[name]
        stated = (table.schema.field(name).metadata or {}).get(b'units', b'').decode()
        values = np.asarray(table.column(name).to_numpy(), dtype=np.float64)
        milliseconds = np.asarray(table.column('timecodes').to_numpy(), dtype=np.int64)
        factor = factor_of(role, stated or unit, f'{path}, channel {name!r}')
        return Channel.of_cells(start + milliseconds * 1_000_000, values * factor)

    log = log_of(KIND, str(path), find, channel, (*AIM_SENSORS, FIXES, HEIGHTS))
    return replace(log, notes=(note,))
