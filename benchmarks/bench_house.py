# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The size of the package, and how many of its files a value passes through.

Run `./run bench house`. A file counts if a function of it is called, with the compiler off, which
would hide files. Counted in processes of their own, after everything was imported and called once:
one sample that ends a tick, from the callback of `filter_node` to the published messages; a bag to
the arrays that training reads; those arrays to a model; a model to a file and back.

A *setting* is a name that is given numbers other than 0 and 1: of a module, a class, a dataclass,
an argument, or within a function. Of those, `LIMITS` are no choice of how it works. What is left
was searched for on data, or could have been: *free numbers*.
"""

from __future__ import annotations

import ast
from collections import Counter
from functools import partial
import os
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
    'folders': 18, 'files': 180, 'files above 500 lines': 0, 'lines': 37_000,
    'lines that filter_node needs': 20_000, 'tests, % of these lines': 90, 'free numbers': 200,
    'sample': 14, 'bag': 7, 'training': 20, 'model file': 4,
}  # fmt: skip
OFFLINE = (
    'adapting', 'cli', 'comparison', 'demo.py', 'domains.py', 'estimators.py', 'evaluation',
    'experiments', 'inspection', 'learned_rows.py', 'loggers', 'nonlinear_ica.py', 'simulation',
    'training',
)  # fmt: skip
"""Folders and files that no robot needs to filter."""

CLASSES_OF_LIMITS = frozenset({'BOUNDS', 'Bounds', 'FASTMATH', 'LIMITS', 'Limits', 'Paper'})
"""Names of settings, or of classes of them, that are limits of physics, formats or arithmetic."""

LIMITS = {
    'formats, exit codes and enumerations': """
        domains.py HIGHEST
        interface/messages.py Topic.depth
        model/model_file.py (OLDEST,VERSION) OLDEST_ROUTE
        names.py HORIZONS
        nodes/running.py network_trouble.(get_flags,up)
        recordings/ros_messages.py _ENCAPSULATION _ANGULAR_VELOCITY _LINEAR_ACCELERATION
        """,
    'sizes of tables and pictures, and counts of what is named in a sentence': """
        cli/compare.py MOST_COLUMNS MOST_NAMED
        cli/options.py _PIPED_WIDTH _SHORTEST_WORDS
        inspection/timing.py listed.most
        interface/messages.py DrawnTrack.__init__.most_points
        recordings/bag_topics.py (_LONGEST_NAME,_LONGEST_LIST)
        recordings/reading.py _PROGRESS_EVERY _MOST_FRAMES
        """,
    'memory and time of the machine: bounds of queues, blocks, caches and waits': """
        adapting/promotion.py PATIENCE_S AWAY_S
        adapting/stream_memory.py StreamMemory.__init__.most
        progress.py PATIENCE_S (FIRST_PAUSE_S,LONGEST_PAUSE_S)
        cli/status.py _JSON_S
        compilation.py GENERATIONS
        demo.py ENDING_TIMEOUT_S
        interface/model_swap.py ModelSwap.__init__.patience
        interface/session.py Durations.__init__.kept Session.__init__.kept
            Session.__init__.most_waiting
        interface/status.py ThrottledLog.__init__.repeat_s
        nodes/bag_session.py DISCOVERY_S BagSession.wait_for_filter.timeout_s
            BagSession._wait_until_taken.stall_s
        nodes/lifecycle.py LOOK_S
        nodes/updater_node.py MODELS_KEPT
        recordings/storage_files.py LARGEST (MOST_PARSED,MOST_BRACKETS) LARGEST_PART LARGEST_RATIO
            ALWAYS_ALLOWED _STEP
        stopping.py _AGAIN_S
        ticks/stamps.py MOST_LATE
        tpsr/learner.py LearnerSettings.fold_every
        tpsr/moments.py OperatorTensor.__init__.together OperatorTensor._settle.block
        tpsr/thin_svd.py PENDING Basis._settle.block
        """,
    'physics: constants of nature, of the earth and of vehicles': """
        adapting/references.py LARGEST_ACCELERATION
        filtering/input_watch.py LARGEST_VALUE
        recordings/excursions.py FARTHEST_M
        recordings/recording.py GRAVITY
        recordings/satellite_fixes.py _RADIUS_M _FLATTENING
        simulation/slot_car.py START_STAMP_NS
        """,
    'arithmetic: floors of divisions, ends of iterations, initial values of searches': """
        filtering/hypothesis_search.py HypothesisSearch._look.never
        hse_hmm/mkdr.py find_predictive_directions.tolerance find_predictive_directions.most_steps
        hse_hmm/two_manifold.py SMALLEST_RATIO
        inspection/lag.py _share.constant
        interface/messages.py UNKNOWN_VARIANCE
        manifold/graph.py connect.probes walk_modes.few
        manifold/laplacian_eigenmap.py LARGEST_GAIN
        ticks/novelty.py SMALLEST_RATIO NoveltyScore.__init__.far
        ticks/rest.py ROUNDING
        ticks/sliding.py SlidingWindow.__init__.slack
        tpsr/features.py LARGEST_SIZE LARGEST_SQUARE
        """,
    'simulated things: the film of a room, the slot car and its track, the demo': """
        demo.py LAPS TEST_LAPS_S SPEED STAGES
        simulation/room_video.py Canvas.texels_per_metre Canvas.frame.rim _surfaces.wide Room.size
            Room.table Room._put_table.surface[hidden] RoomWalk.frame_rate_hz
            RoomWalk.frames_per_circuit RoomWalk.turn_frames RoomWalk.circuits_one_way
        simulation/slot_car.py SlotCarSettings.rate_hz Throttle.mean Throttle.hand Throttle.supply
            Motion.stall Motion.free_speed Motion.rolling Motion.slot_friction Motion.air_drag
            ImuNoise.typical_speed
        """,
    'experiments: what the papers settle, sizes of runs, and what claims are judged by': """
        experiments/actions.py *
        experiments/independent_components.py *
        experiments/mkdr.py *
        experiments/mkdr_images.py *
        experiments/rr_hmm.py *
        experiments/slot_car.py *
        experiments/slot_car_online.py *
        experiments/slow_manifold.py *
        experiments/two_views.py *
        experiments/video.py *
        """,
}  # fmt: skip
"""Numbers that are no choice, by why, file and name; ``*`` is all of a file."""


def measure_size() -> dict[str, int]:
    """Return the number of folders, files, lines and free numbers."""
    files = sorted(PACKAGE.rglob('*.py'))
    lines = {file: len(file.read_text().splitlines()) for file in files}
    whole = sum(lines.values())
    offline = sum(n for file, n in lines.items() if file.relative_to(PACKAGE).parts[0] in OFFLINE)
    tests = sum(len(file.read_text().splitlines()) for file in (HERE / 'test').rglob('*.py'))
    return {
        'folders': len({file.parent for file in files}) - 1,
        'files': len(files),
        'files above 500 lines': sum(n > 500 for n in lines.values()),
        'lines': whole,
        'lines that filter_node needs': whole - offline,
        'tests, % of these lines': round(100 * tests / whole),
        'free numbers': sum(len(free_numbers_of(file)) for file in files),
    }


def limits() -> dict[str, set[str]]:
    """Return the names of `LIMITS` by file."""
    found: dict[str, set[str]] = {}
    for table in LIMITS.values():
        file = ''
        for word in table.split():
            file = word if word.endswith('.py') else file
            found.setdefault(file, set()).update({word} - {file})
    return found


def free_numbers_of(file: Path) -> list[str]:
    """Return the settings of a file of the package that are none of `LIMITS`."""
    names = limits().get(str(file.relative_to(PACKAGE)), set())
    return [
        each
        for each in settings_of(file)
        if '*' not in names and each.replace(' ', '') not in names
    ]


def settings_of(file: Path) -> list[str]:
    """Return the names that a file gives numbers other than 0 and 1, but for limits."""
    return _settings(ast.parse(file.read_text()).body, ())


def _settings(body: list[ast.stmt], within: tuple[str, ...]) -> list[str]:
    given: list[tuple[str, ast.expr | None]] = []
    found: list[str] = []
    for each in body:
        inside = (*within, getattr(each, 'name', ''))
        if isinstance(each, ast.Assign):
            given = [(ast.unparse(target), each.value) for target in each.targets]
        elif isinstance(each, ast.AnnAssign):
            given = [(ast.unparse(each.target), each.value)]
        elif isinstance(each, ast.FunctionDef):
            plain, named = each.args.args, each.args.kwonlyargs
            last = plain[len(plain) - len(each.args.defaults) :]
            values = zip(
                (*last, *named), (*each.args.defaults, *each.args.kw_defaults), strict=True
            )
            given = [(f'{each.name}.{argument.arg}', value) for argument, value in values]
        else:
            given = []
            inside = (*within, each.name) if isinstance(each, ast.ClassDef) else within
        for name, value in given:
            if value is not None and _is_chosen(value) and not CLASSES_OF_LIMITS & {*within, name}:
                found.append('.'.join((*within, name)))
        for name in ('body', 'orelse', 'finalbody'):
            found += _settings(getattr(each, name, []), inside)
    return found


def _is_chosen(value: ast.expr) -> bool:
    """Return whether an expression consists of numbers, and not of 0 and 1 alone."""
    parts = ast.Constant, ast.UnaryOp, ast.BinOp, ast.Tuple, ast.List, ast.operator, ast.unaryop
    nodes = list(ast.walk(value))
    if not all(isinstance(each, (*parts, ast.expr_context)) for each in nodes):
        return False
    numbers = [each.value for each in nodes if isinstance(each, ast.Constant)]
    if not all(isinstance(each, int | float) and not isinstance(each, bool) for each in numbers):
        return False
    return any(each not in {0, 1} for each in numbers)


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
    import rclpy  # noqa: PLC0415 - only here

    # A timer subscribes once the thread has loaded the model and warmed its filter up.
    while node.is_configuring:
        rclpy.spin_once(node)
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
    program = 'import sys; from two_manifold_ros.__main__ import main; sys.exit(main())'
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
    for file in sorted(PACKAGE.rglob('*.py')):
        if names := free_numbers_of(file):
            print(f'    {len(names):3} in {file.relative_to(PACKAGE)}')
    for name in WALKS:
        command = [sys.executable, __file__, name]
        # What is compiled has no frames that could be counted.
        plain = {**os.environ, 'NUMBA_DISABLE_JIT': '1'}
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=plain)
        files = [line for line in done.stdout.splitlines() if line.endswith('.py')]
        print(f'{name}: {len(files)} files (at most {MOST[name]})')
        print('\n'.join(f'    {each}' for each in files))
    return 0


if __name__ == '__main__':
    sys.exit(main())
