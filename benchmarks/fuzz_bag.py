# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Check that generated bags are refused in a sentence or read, without a traceback.

    python benchmarks/fuzz_bag.py --executions 20000

Targets: the bytes of an MCAP file, of a SQLite file and of a ``metadata.yaml``. Needs atheris, see
`fuzzing`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fuzzing import arguments, expect, instrumented, main, One

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

STAMPS = range(1, 13)


def target(name: str, storage: str) -> Callable[[], tuple[One, Iterable[bytes]]]:
    """Return a target that reads a bag with other bytes in one of its files."""

    def make() -> tuple[One, Iterable[bytes]]:
        with instrumented():
            from two_manifold_ros.errors import InputError  # noqa: PLC0415
            from two_manifold_ros.recordings.reading import read_recording, ReadingOptions  # noqa: PLC0415
        bag = Path('bag')
        if not bag.exists():
            _write(bag, storage)
        if name != 'metadata.yaml':
            (bag / 'metadata.yaml').unlink(missing_ok=True)
        begin = (bag / name).read_bytes()
        listed = sorted(bag.iterdir())

        def read() -> None:
            try:
                recording = read_recording(bag, ReadingOptions(need_positions=False))
            except InputError as error:
                expect('\n' not in str(error), 'the refusal has several lines')
            else:
                expect(len(recording.imu.stamps) == len(recording.imu.samples), 'lengths')

        def one(content: bytes) -> None:
            (bag / name).write_bytes(content)
            read()
            expect(sorted(bag.iterdir()) == listed, 'there are other files than before')

        return one, [begin]

    return make


def _write(bag: Path, storage: str) -> None:
    from rosbags.rosbag2.writer import Writer  # noqa: PLC0415

    from two_manifold_ros.recordings import bag_writer  # noqa: PLC0415

    # A checksum of what is packed would stop nearly every change.
    setattr(Writer, 'set_compression', lambda *_: None)  # noqa: B010 - mypy knows it as a method
    with bag_writer.BagWriter(bag, storage=storage) as writer:  # type: ignore[arg-type]
        for stamp in STAMPS:
            header = {'stamp': {'sec': stamp, 'nanosec': 0}, 'frame_id': 'imu'}
            writer.write('/imu', 'sensor_msgs/msg/Imu', stamp * 10**9, {'header': header})


if __name__ == '__main__':
    raise SystemExit(
        main(
            arguments(__doc__),
            {
                'mcap': target('bag.mcap', 'mcap'),
                'sqlite3': target('bag.db3', 'sqlite3'),
                'metadata': target('metadata.yaml', 'mcap'),
            },
        )
    )
