# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Check that input of any bytes is taken or refused in a sentence, without a traceback.

    python benchmarks/fuzz.py [--executions 100000] [TARGET ...]

Targets are files of models, bags and loggers, and positions of all types; see `TARGETS`.
`test/fuzzing` has changed models and IMU messages. The fuzzer is atheris, which none of the locks
has: pip install atheris. It runs in a process of its own with a bound on its memory, so that
taking too much is a MemoryError and a finding.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
import io
import json
import math
import os
from pathlib import Path
import re
import resource
import subprocess
import sys
from tempfile import TemporaryDirectory
from time import thread_time, time
from typing import Any, TypeAlias
import zipfile

TESTS = Path(__file__).resolve().parents[1] / 'test'
sys.path += [str(TESTS / each) for each in ('', 'adapting', 'fuzzing', 'loggers', 'nodes')]

from logger_files import drive, WRITERS  # noqa: E402 - after its folder is known

Target: TypeAlias = tuple[Callable[[bytes], Any], list[bytes]]
"""What takes an input and raises whatever is a finding; and inputs to begin with."""

LONGEST_S = 1.0
ROOM = 400_000_000
"""Bytes that an input may take."""


def fuzzed(*names: str) -> list[Any]:
    """Import what is to be fuzzed, so that the fuzzer sees which branches an input takes."""
    import atheris  # noqa: PLC0415 - asked for by `main`

    with atheris.instrument_imports(include=['two_manifold_ros']):
        parts = [each.rpartition('.') for each in names]
        return [
            getattr(import_module(module, 'two_manifold_ros'), name) for module, _, name in parts
        ]


def expect(fits: bool, what: object) -> None:
    """Raise a finding unless something fits."""
    if not fits:
        raise AssertionError(what)


def taken_by(read: Callable[[], Any], refusal: type[Exception]) -> Any:  # noqa: ANN401 - any result
    """
    Return what was read, or nothing if it was refused as it should be.

    A refusal is one sentence that hides no want of memory, but of a library: that of bags asks for
    as many bytes as a file says that it has.
    """
    try:
        return read()
    except refusal as error:
        expect('\n' not in str(error), 'the refusal has several lines')
        cause: BaseException | None = error
        while cause is not None and 'rosbag' not in _file_of(cause):
            if isinstance(cause, MemoryError):
                raise cause from None
            cause = cause.__cause__ or cause.__context__
        return None


def _file_of(error: BaseException) -> str:
    """Return the path of the code that raised an error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename if trace else ''


def model_file() -> Target:
    """Bytes of a whole file."""
    file = '.model.model_file.{}_container'.format
    refusal, read, write = fuzzed('.errors.InputError', file('read'), file('write'))
    import numpy as np  # noqa: PLC0415

    path = Path('model.npz')

    def one(content: bytes) -> None:
        path.write_bytes(content)
        taken_by(lambda: read(path), refusal)

    arrays = {'x': np.arange(4.0), 'y': np.zeros((2, 0)), 'z': np.array([True])}
    write(path, {'format': 'x', 'nested': {'a': [1, None]}}, arrays)
    return one, [path.read_bytes()]


def array() -> Target:
    """Bytes of the header or of an array of a model, with right checksums."""
    refusal, read = fuzzed('.errors.InputError', '.model.model_file.read_container')
    import numpy as np  # noqa: PLC0415

    path = Path('model.npz')

    def saved(values: Any) -> bytes:  # noqa: ANN401 - an array
        buffer = io.BytesIO()
        np.save(buffer, values)
        return buffer.getvalue()

    def one(content: bytes) -> None:
        with zipfile.ZipFile(path, 'w') as archive:
            archive.writestr('header.npy', saved(np.frombuffer(content, np.uint8)))
            if content[:1] == b'\x93':
                archive.writestr('x.npy', content)
        taken_by(lambda: read(path), refusal)

    some = np.arange(4.0), np.zeros((2, 3), np.int64).T, np.array(True), np.zeros((0, 9))
    return one, [
        *map(saved, some),
        json.dumps({'a': [1, 2.5, {'b': None}], 'c': 'd'}).encode(),
    ]


def reference() -> Target:
    """Bytes as a position of each type, into a session that learns from them; needs ROS."""
    from rclpy.serialization import serialize_message  # noqa: PLC0415
    from updater_feed import small_session  # noqa: PLC0415

    types, input_of, to_message = fuzzed(
        '.names.POSITION_TYPES', '.nodes.live_input.ReferenceInput',
        '.recordings.ros_messages.to_message',
    )  # fmt: skip
    inputs, received = [], [0] * len(types)

    def checked(take: Callable[[int, str, float, float], bool]) -> Callable[..., bool]:
        def finite(stamp_ns: int, frame_id: str, x: float, y: float) -> bool:
            taken = take(stamp_ns, frame_id, x, y)
            expect(not taken or math.isfinite(x + y), f'the position {x}, {y} is taken')
            return taken

        return finite

    for msgtype in types:
        session = small_session()
        session.take_position = checked(session.take_position)  # type: ignore[method-assign]
        inputs.append(input_of(session))
        inputs[-1].start(msgtype)

    def one(content: bytes) -> None:
        kind = (content[0] if content else 0) % len(inputs)
        inputs[kind].take(content[1:])
        received[kind] += 1
        counts = inputs[kind].counts()
        # The first fix waits for the next to agree with it.
        expect(0 <= received[kind] - counts.total() + counts['jumps_back'] <= 1, counts)

    header = {'header': {'stamp': {'sec': 7, 'nanosec': 5}, 'frame_id': 'map'}}
    return one, [
        bytes([kind]) + serialize_message(to_message(msgtype, header))
        for kind, msgtype in enumerate(types)
    ]


def bag(name: str, storage: Any) -> Target:  # noqa: ANN401 - of the writer
    """Bytes of one of the files of a bag."""
    refusal, read, options = fuzzed(
        '.errors.InputError', '.recordings.reading.read_recording',
        '.recordings.reading.ReadingOptions',
    )  # fmt: skip
    folder = Path('bag')
    if not folder.exists():
        from rosbags.rosbag2.writer import Writer  # noqa: PLC0415

        from two_manifold_ros.recordings.bag_writer import BagWriter  # noqa: PLC0415

        # A checksum of what is packed would stop nearly every change.
        setattr(Writer, 'set_compression', lambda *_: None)  # noqa: B010 - mypy knows it as a method
        with BagWriter(folder, storage=storage) as writer:
            for stamp in range(1, 13):
                header = {'stamp': {'sec': stamp, 'nanosec': 0}, 'frame_id': 'imu'}
                writer.write('/imu', 'sensor_msgs/msg/Imu', stamp * 10**9, {'header': header})
    if name != 'metadata.yaml':
        (folder / 'metadata.yaml').unlink(missing_ok=True)
    begin = (folder / name).read_bytes()
    listed = sorted(folder.iterdir())

    def one(content: bytes) -> None:
        (folder / name).write_bytes(content)
        found = taken_by(lambda: read(folder, options(need_positions=False)), refusal)
        if found is not None:
            expect(len(found.imu.stamps) == len(found.imu.samples), 'lengths')
        expect(sorted(folder.iterdir()) == listed, 'there are other files than before')

    return one, [begin]


def logger(name: str) -> Target:
    """Bytes of the file of a logger."""
    import numpy as np  # noqa: PLC0415

    refusal, read_log, drive_of = fuzzed(
        '.errors.InputError', '.loggers.reading.read_log', '.loggers.to_bag.drive_of'
    )
    file = Path('input')

    def one(content: bytes) -> None:
        file.write_bytes(content)
        found = taken_by(lambda: drive_of(read_log([file], {})), refusal)
        if found is not None:
            expect(bool(np.isfinite(found.imu.values).all()), 'a sample is not finite')
            expect(len(found.imu.values) == len(found.imu.stamps) > 0, 'samples and stamps')
            expect(bool((np.diff(found.imu.stamps) > 0).all()), 'stamps do not grow')

    writer, written = WRITERS[name]
    with TemporaryDirectory() as folder:
        return one, [writer(Path(folder) / written, drive(2.0)).read_bytes()]


TARGETS: dict[str, Callable[[], Target]] = {
    **{each.__name__: each for each in (model_file, array, reference)},
    'mcap': partial(bag, 'bag.mcap', 'mcap'),
    'sqlite3': partial(bag, 'bag.db3', 'sqlite3'),
    'metadata': partial(bag, 'metadata.yaml', 'mcap'),
    **{f'log_{name}': partial(logger, name) for name in WRITERS},
}


def run(name: str, executions: int, seed: int) -> bool:
    """Fuzz a target in one process after the other, print its line, and return if it failed."""
    with TemporaryDirectory() as folder:
        begun, done, log, failed = time(), 0, '', False
        while done < executions and not failed:
            command = [sys.executable, str(Path(sys.argv[0]).resolve()), '--inside', name]
            command += ['--seed', str((seed + done) % 2**31)]
            command += ['--executions', str(executions - done)]
            # Compiled loops are not instrumented, and without them an index out of range is
            # reported.
            variables = {'NUMBA_DISABLE_JIT': '1', 'OPENBLAS_NUM_THREADS': '1'} | dict(os.environ)
            ended = subprocess.run(
                command, cwd=folder, env=variables, stderr=subprocess.PIPE, text=True, check=False
            )
            log = ended.stderr
            ran = re.findall(r'executions (\d+)', log)
            failed = ended.returncode != 0 or not ran
            done += int(ran[-1]) if ran else 0
        found = [each.read_bytes() for each in Path(folder).glob('[clot]*-*')]
    patterns = r'cov: (\d+)', r'corp: (\d+)', r'peak (\d+)', r'slowest (\d+)'
    edges, corpus, peak, slowest = ((re.findall(each, log)[-1:] or ['-'])[0] for each in patterns)
    print(
        f'{name:<14} {done:>10} {time() - begun:>8.0f} {edges:>6} {corpus:>7} {peak:>8} '
        f'{slowest:>11} {failed:>9}',
        flush=True,
    )
    if failed:
        print(log[-3000:])
        for each in found:
            print(f'  {len(each)} bytes: {each[:4000].hex()}')
    return failed


def run_inside(name: str, executions: int, seed: int) -> None:
    """Run inputs; end when the fuzzer itself, which keeps what it compares, takes much memory."""
    import atheris  # noqa: PLC0415 - asked for by `main`

    one, corpus = TARGETS[name]()
    folder = Path('corpus')
    if not folder.exists():
        folder.mkdir()
        for number, content in enumerate(corpus):
            (folder / f'{number:04d}').write_bytes(content)
    # What is made once is no part of what an input costs.
    for content in corpus:
        one(content)
    begun, count, slowest_s = address_space(), 0, 0.0

    def watched(content: bytes) -> None:
        nonlocal count, slowest_s
        if count % 100 == 0:
            most = address_space() + ROOM
            resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
        begin = thread_time()
        one(content)
        seconds = thread_time() - begin
        expect(seconds <= LONGEST_S, f'{seconds:.1f} s of processor time')
        slowest_s = max(slowest_s, seconds)
        count += 1
        if count == executions or address_space() > begun + ROOM:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(f'executions {count} peak {peak}', file=sys.stderr)
            print(f'slowest {1000 * slowest_s:.0f}', file=sys.stderr, flush=True)
            os._exit(0)

    options = ['-timeout=60', '-len_control=0', '-max_len=65536', '-rss_limit_mb=0']
    atheris.Setup([sys.argv[0], f'-seed={seed}', *options, str(folder)], watched)
    atheris.Fuzz()


def address_space() -> int:
    """Return the address space in use, bytes."""
    return int(Path('/proc/self/statm').read_text().split()[0]) * resource.getpagesize()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('targets', nargs='*', default=list(TARGETS), metavar='TARGET')
    parser.add_argument('--executions', type=int, default=100_000, help='of each target')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--inside', help=argparse.SUPPRESS)
    args = parser.parse_args()
    if find_spec('atheris') is None:
        print('Fuzzing needs atheris, for CPython 3.11 and newer: pip install atheris')
        return 2
    if args.inside:
        run_inside(args.inside, args.executions, args.seed)
    print('target         executions  seconds  edges  corpus  peak MB  slowest ms  findings')
    return sum(run(name, args.executions, args.seed) for name in args.targets)


if __name__ == '__main__':
    raise SystemExit(main())
