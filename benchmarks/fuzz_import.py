# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Check that generated files of loggers are read or refused in one sentence.

    python benchmarks/fuzz_import.py --executions 50000

Targets: the file of each format. Needs atheris, see `fuzzing`.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
import sys
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from fuzzing import arguments, expect, expect_refusal, instrumented, main, One

if TYPE_CHECKING:
    from collections.abc import Iterable

sys.path.append(str(Path(__file__).resolve().parents[1] / 'test' / 'loggers'))

from logger_files import drive, WRITERS


def target(name: str) -> tuple[One, Iterable[bytes]]:
    """Bytes as a file, which begin as a file of a format."""
    import numpy as np  # noqa: PLC0415

    with instrumented():
        from two_manifold_ros.errors import InputError  # noqa: PLC0415
        from two_manifold_ros.loggers.reading import read_log  # noqa: PLC0415
        from two_manifold_ros.loggers.to_bag import drive_of  # noqa: PLC0415
    file = Path('input')

    def one(content: bytes) -> None:
        file.write_bytes(content)
        try:
            found = drive_of(read_log([file], {}))
        except InputError as error:
            expect_refusal(error)
            return
        expect(bool(np.isfinite(found.imu).all()), 'a sample is not finite')
        expect(len(found.imu) == len(found.imu_stamps) > 0, 'samples and stamps')
        expect(bool((np.diff(found.imu_stamps) > 0).all()), 'stamps do not grow')

    writer, written = WRITERS[name]
    with TemporaryDirectory() as folder:
        return one, [writer(Path(folder) / written, drive(2.0)).read_bytes()]


if __name__ == '__main__':
    raise SystemExit(
        main(arguments(__doc__ or ''), {name: partial(target, name) for name in WRITERS})
    )
