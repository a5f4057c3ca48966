# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The demo: simulate, inspect, train, filter, score and draw; then drive on, live."""

from __future__ import annotations

from argparse import ArgumentParser
import atexit
from contextlib import contextmanager, ExitStack
from importlib.util import find_spec
from pathlib import Path
import signal
import subprocess
import sys
import textwrap
import time
from time import sleep
from typing import Any, TYPE_CHECKING

from two_manifold_ros.threads import one_blas_thread

# As in every program of the package, and before anything imports NumPy.
one_blas_thread()

import numpy as np

from two_manifold_ros.cli.evaluate import print_scores
from two_manifold_ros.cli.options import make_folder
from two_manifold_ros.domains import isolate
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.evaluation.figures import draw_evaluation
from two_manifold_ros.evaluation.replaying import replay
from two_manifold_ros.inspection.inspecting import inspect_recording
from two_manifold_ros.interface.messages import PUBLISHED, ROUTED, Topics
from two_manifold_ros.model.model_file import load_model, save_model
from two_manifold_ros.progress import Progress
from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.recordings.reading import open_bag, read_recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run
from two_manifold_ros.stopping import Stopping, until_ctrl_c
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from two_manifold_ros.evaluation.evaluate import Evaluation
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats, Ints


ENDING_TIMEOUT_S = 10.0


@contextmanager
def running_node(name: str, log: Path, *parameters: str) -> Iterator[subprocess.Popen[bytes]]:
    """
    Start a node with parameters such as ``model:=PATH``, its log in a file; end it as Ctrl-C does.

    It is handed out once it has said something, which it does when it is configured: compiling
    takes as long as the machine is busy.
    """
    command = [sys.executable, '-m', 'two_manifold_ros.nodes', name, '--ros-args']
    command += [part for each in parameters for part in ('-p', each)]
    with log.open('wb') as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            while process.poll() is None and not log.stat().st_size:
                sleep(0.1)
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(ENDING_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def read_run(path: Path, model: ModelHead) -> tuple[Ints, Floats]:
    """
    Return the stamps (P,) of published estimates, ns, and their positions (P, H, 2), metres.

    The bag has ``predicted_path``, of which the poses at the horizons of the model are read.
    """
    stamps, paths = [], []
    with open_bag(path) as bag:
        topics = {each.name: each for each in bag.topics}
        topic = topics.get(f'/{Topics.PREDICTED_PATH.name}')
        for _, _, raw in bag.messages([topic]) if topic else ():
            message = bag.decode(raw, Topics.PREDICTED_PATH.msgtype)
            stamps.append(_stamp(message))
            places = {_stamp(each): each.pose.position for each in message.poses}
            at = (stamps[-1] + each * model.period_ns for each in model.horizons)
            paths.append([(places[each].x, places[each].y) for each in at])
    positions = np.array(paths).reshape(-1, len(model.horizons), 2)
    return np.array(stamps, dtype=np.int64), positions


def _stamp(message: Any) -> int:  # noqa: ANN401 - a message of any type
    return int(message.header.stamp.sec) * 10**9 + int(message.header.stamp.nanosec)


LAPS = 25
TEST_LAPS_S = 55.0
MARKER = '.two_manifold_demo'
STAGES = 6
DESCRIPTION = 'Simulate, inspect, train, filter, score and draw: the whole way.'
NEXT_SEED = 1
"""Of the car that drives on: not that of the training."""
VIEW = (sys.executable, '-m', 'two_manifold_ros', 'view')


@contextmanager
def _stage(number: int, title: str) -> Iterator[Callable[[float], None]]:
    """Announce a stage and time it; hand out a function that shows the share done of it."""
    print(f'[{number}/{STAGES}] {title}', flush=True)
    began = time.monotonic()
    with Progress(title) as progress:
        yield lambda share: progress(title, share)
    print(f'      took {time.monotonic() - began:.1f} s', flush=True)


def run_tour(folder_name: str, *, view: bool = False) -> None:
    """
    Run every stage and leave bags, model and figure in a folder; ``view`` shows a page.

    An `InputError` says that the folder holds something else.
    """
    folder = make_folder(Path(folder_name).resolve(), MARKER)
    with _stage(1, f'simulating a slot car for {LAPS} laps') as show:
        run = simulate(SlotCarSettings(), laps=LAPS, report=lambda _, share: show(share))
        write_run(run, folder / 'recording')
    with _stage(2, 'inspecting the recording'):
        recording = read_recording(folder / 'recording')
        report = inspect_recording(recording)
    for finding in report.findings:
        _print_below(f'{finding.severity}: {finding.sentence}')
    duration = int(recording.imu.stamps[-1] - recording.imu.stamps[0]) * 1e-9
    cut = duration - TEST_LAPS_S
    with _stage(3, f'training on the first {cut:.0f} s') as show:
        training = recording.between(None, cut)
        model = train_model([training], TrainingSettings(), lambda _, share: show(share))
        save_model(model, folder / 'model.npz')
    held_out = recording.between(cut, None)
    loaded = load_model(folder / 'model.npz')
    with (
        _stage(4, 'replaying the rest through the filter, into a bag') as show,
        BagWriter(folder / 'predictions', latched=_latched()) as output,
    ):
        written = replay(loaded, held_out, output, lambda _, share: show(share))
    counts = ', '.join(
        f'{written.get(name, 0)} {name}'
        for name, topic in PUBLISHED.items()
        if topic not in ROUTED
    )
    _print_below(f'written: {counts}')
    with _stage(5, 'scoring what the filter published'):
        evaluation = _score(folder, loaded, held_out)
    print_scores(evaluation, loaded)
    print(f'[{STAGES}/{STAGES}] listing the files')
    _explain(folder)
    command = Path(sys.executable).with_name('two-manifold')
    print(f'Look at it: {command} view {folder_name}/model.npz {folder_name}/recording')
    if view:
        _drive_on(folder, live=find_spec('rclpy') is not None)


def _drive_on(folder: Path, *, live: bool) -> None:
    """Show a page until Ctrl-C: of the bag, or of another drive of the car, which is live."""
    with until_ctrl_c(), ExitStack() as running:
        if live:
            isolate()
            print('The car drives on, live, until Ctrl-C.', flush=True)
            for name, given in (
                ('filter_node', f'model:={folder / "model.npz"}'),
                ('slot_car_node', f'seed:={NEXT_SEED}'),
            ):
                running.enter_context(running_node(name, folder / f'{name}.log', given))
        else:
            print('ROS 2 is not here, so the page stays on the bag until Ctrl-C.', flush=True)
        # Not before: a page would call the node gone as soon as the recording is over.
        seen = '--live' if live else str(folder / 'recording')
        page = subprocess.Popen([*VIEW, str(folder / 'model.npz'), seen])
        # However the demo ends.
        atexit.register(page.terminate)
        page.wait()


def _print_below(text: str) -> None:
    """Print below the title of a stage, on lines that fit 80 columns."""
    print(textwrap.indent(textwrap.fill(text, 73), ' ' * 6), flush=True)


def _latched() -> tuple[str, ...]:
    return tuple(f'/{topic.name}' for topic in PUBLISHED.values() if topic.latched)


def _score(folder: Path, model: ModelHead, held_out: Recording) -> Evaluation:
    """Draw and score what the filter computes, and print whether it is what was published."""
    stamps, positions = read_run(folder / 'predictions', model)
    if not len(stamps):
        msg = 'the filter published nothing'
        raise InputError(msg)
    evaluation = evaluate(model, [held_out])
    draw_evaluation(
        evaluation, model, folder / 'figure.png', 'Slot car: what the filter publishes'
    )
    (run,) = evaluation.runs
    computed = run.positions[run.published]
    if np.array_equal(stamps, run.stamps[run.published]) and np.array_equal(positions, computed):
        _print_below('The filter published bit for bit what "two-manifold evaluate" computes.')
    else:
        _print_below(
            f'{len(stamps)} estimates are in the bag, and "two-manifold evaluate" computes '
            f'{len(computed)}: please report it.'
        )
    return evaluation


def _explain(folder: Path) -> None:
    listed = {
        'recording': 'the simulated bag: /imu and /reference',
        'model.npz': 'the model; "two-manifold info" shows its contents',
        'predictions': 'the topics of the filter node, from a replay',
        'figure.png': 'true and predicted track, error against horizon',
    }
    print(f'      in {folder}:')
    for name, what in listed.items():
        print(f'      {name:15} {what}')


def main() -> int:
    """Run the demo; return 0 on success, 2 on bad input, 128 and its number for a signal."""
    parser = ArgumentParser(prog='demo', description=DESCRIPTION)
    parser.add_argument('folder', nargs='?', default='demo_output', help='folder to write')
    parser.add_argument(
        '--view', action='store_true', help='then drive on, live in the browser, until Ctrl-C'
    )
    args = parser.parse_args()
    with Stopping() as stop:
        try:
            run_tour(args.folder, view=args.view)
        except InputError as error:
            print(f'demo: error: {error}', file=sys.stderr)
            return 2
        return 0
    return 128 + stop.signal


if __name__ == '__main__':
    raise SystemExit(main())
