# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The size of the package, and how many of its files a value passes through.

Run `python benchmarks/bench_house.py`. A file counts if a Python function of it is called; what
numba compiled is not seen. Counted in processes of their own, after everything was imported and
called once: one sample that ends a tick, from the callback of `filter_node` to the published
messages; a bag to the arrays that training reads; those arrays to a model; a model to a file and
back.
"""

from __future__ import annotations

import ast
from collections import Counter
from functools import partial
from pathlib import Path
import subprocess
import sys
import tempfile
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).resolve().parent.parent
PACKAGE = HERE / 'two_manifold_ros'
MOST = {
    'folders': 18, 'files': 180, 'lines': 34_000, 'module-level constants': 200,
    'lines of tests': 28_000, 'sample': 12, 'bag': 6, 'training': 20, 'model file': 4,
}  # fmt: skip


def measure_size() -> dict[str, int]:
    """Return the number of folders, files, lines and constants."""
    files = sorted(PACKAGE.rglob('*.py'))
    bodies = [ast.parse(file.read_text()).body for file in files]
    assigned = [each for body in bodies for each in body if isinstance(each, ast.Assign)]
    annotated = [each for body in bodies for each in body if isinstance(each, ast.AnnAssign)]
    targets = [each.targets[0] for each in assigned] + [each.target for each in annotated]
    return {
        'folders': len({file.parent for file in files}) - 1,
        'files': len(files),
        'lines': _lines(PACKAGE),
        'module-level constants': sum(isinstance(t, ast.Name) and t.id.isupper() for t in targets),
        'lines of tests': _lines(HERE / 'test'),
    }


def _lines(folder: Path) -> int:
    return sum(len(file.read_text().splitlines()) for file in folder.rglob('*.py'))


def files_called(work: Callable[[], object]) -> list[str]:
    """Return the files of the package of which functions are called."""
    calls: Counter[str] = Counter()

    def note(frame: Any, event: str, _: object) -> None:  # noqa: ANN401 - types.FrameType
        if event == 'call' and frame.f_code.co_name != '<module>':
            calls[frame.f_code.co_filename] += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    inside = [Path(name).relative_to(PACKAGE) for name in calls if str(PACKAGE) in name]
    return sorted(str(each) for each in inside)


def walk_sample(folder: Path) -> list[str]:
    import rclpy  # noqa: PLC0415 - only here

    from two_manifold_ros.model.model_file import save_model  # noqa: PLC0415
    from two_manifold_ros.nodes.filter_node import FilterNode  # noqa: PLC0415
    from two_manifold_ros.training.settings import TrainingSettings  # noqa: PLC0415
    from two_manifold_ros.training.train import train_model  # noqa: PLC0415

    recording = _drive()
    model = train_model([recording], TrainingSettings())
    save_model(model, folder / 'model')
    arguments = ['--ros-args', '-p', f'model:={folder / "model"}', '--log-level', 'error']
    rclpy.init(args=arguments)
    node = FilterNode()
    raws = [
        _raw_imu(stamp, sample)
        for stamp, sample in zip(recording.imu.stamps, recording.imu.samples, strict=True)
    ]
    received = _callback(node)
    ready = len(raws) * 3 // 4
    for raw in raws[:ready]:
        received(raw)
    walks = [files_called(partial(received, raw)) for raw in raws[ready : ready + 20]]
    return max(walks, key=len)


def _callback(node: Any) -> Callable[[bytes], None]:  # noqa: ANN401 - rclpy is not typed
    (imu,) = [each for each in node.subscriptions if each.topic_name.endswith('imu')]
    found: Callable[[bytes], None] = imu.callback
    return found


def walk_bag(folder: Path) -> list[str]:
    from two_manifold_ros.recordings.reading import read_recording  # noqa: PLC0415
    from two_manifold_ros.training.dataset import build_dataset  # noqa: PLC0415
    from two_manifold_ros.training.settings import TrainingSettings  # noqa: PLC0415

    _two_manifold('simulate', '-o', str(folder / 'bag'), '--laps', '4')

    def work() -> None:
        build_dataset([read_recording(folder / 'bag')], TrainingSettings())

    work()
    return files_called(work)


def walk_training(folder: Path) -> list[str]:
    del folder
    from two_manifold_ros.training.settings import TrainingSettings  # noqa: PLC0415
    from two_manifold_ros.training.train import train_model  # noqa: PLC0415

    recording = _drive()
    return files_called(lambda: train_model([recording], TrainingSettings()))


def walk_model_file(folder: Path) -> list[str]:
    from two_manifold_ros.model.model_file import load_model, save_model  # noqa: PLC0415
    from two_manifold_ros.training.settings import TrainingSettings  # noqa: PLC0415
    from two_manifold_ros.training.train import train_model  # noqa: PLC0415

    model = train_model([_drive()], TrainingSettings())

    def work() -> None:
        save_model(model, folder / 'model')
        load_model(folder / 'model')

    work()
    return files_called(work)


def _drive() -> Any:  # noqa: ANN401 - only this process may import
    from two_manifold_ros.simulation.slot_car import SlotCarSettings  # noqa: PLC0415
    from two_manifold_ros.simulation.slot_car_run import (  # noqa: PLC0415
        run_to_recording,
        simulate,
    )

    return run_to_recording(simulate(SlotCarSettings(seed=0), laps=4))


def _raw_imu(stamp: int, sample: Any) -> bytes:  # noqa: ANN401 - an array
    from raw_imu import raw_imu  # noqa: PLC0415

    raw: bytes = raw_imu(int(stamp), sample)
    return raw


def _two_manifold(*arguments: str) -> None:
    program = 'import sys; from two_manifold_ros.cli.main import main; sys.exit(main())'
    command = [sys.executable, '-c', program, *arguments]
    subprocess.run(command, check=True, capture_output=True, cwd=HERE)


WALKS = {
    'sample': walk_sample, 'bag': walk_bag, 'training': walk_training,
    'model file': walk_model_file,
}  # fmt: skip


def main() -> int:
    """Print the sizes and the walks beside what they should be at most."""
    if len(sys.argv) == 2:
        sys.path[:0] = [str(HERE), str(HERE / 'test' / 'nodes')]
        with tempfile.TemporaryDirectory() as folder:
            print('\n'.join(WALKS[sys.argv[1]](Path(folder))), flush=True)
        return 0
    for name, count in measure_size().items():
        print(f'{name}: {count:,} (at most {MOST[name]:,})')
    for name in WALKS:
        command = [sys.executable, __file__, name]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        files = [line for line in done.stdout.splitlines() if line.endswith('.py')]
        print(f'{name}: {len(files)} files (at most {MOST[name]})')
        for file in files:
            print(f'    {file}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
