# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The demo: simulate, inspect, train, filter on real topics, score and draw.

Without ROS the filter runs over the bag instead, and its topics go into another one.
"""

from __future__ import annotations

from argparse import ArgumentParser
import atexit
from contextlib import AbstractContextManager, contextmanager, ExitStack
from dataclasses import dataclass, replace
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
from two_manifold_ros.evaluation.evaluate import compare, run_filter
from two_manifold_ros.evaluation.figures import draw_evaluation
from two_manifold_ros.evaluation.replaying import replay
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.inspection.inspecting import inspect_recording
from two_manifold_ros.interface.messages import PUBLISHED, ROUTED, Topics
from two_manifold_ros.interface.status import CODES
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

    from two_manifold_ros.evaluation.evaluate import Evaluation, FilterRun
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


def filter_node(folder: Path) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """Start the filter node on the model in a folder, see `running_node`."""
    return running_node(
        'filter_node',
        folder / 'filter_node.log',
        f'model:={folder / "model.npz"}',
        # With best effort the middleware drops what is sent to a process that is paused.
        'qos_overrides./imu.subscription.reliability:=reliable',
    )


NOT_RECEIVED = 'not_received'
"""Cause for which an estimate counts as withheld that was valid but is not in the bag."""


@dataclass(frozen=True)
class PublishedRun:
    """
    Estimates that were published.

    Parameters
    ----------
    stamps : (P,) int64
        Ends of the ticks, ns.
    positions : (P, H, 2), covariances : (P, H, 2, 2)
        Metres and m^2. Only the present position has a covariance on the topics; those of the
        other horizons are NaN.

    """

    stamps: Ints
    positions: Floats
    covariances: Floats


def read_run(path: Path, model: ModelHead) -> PublishedRun:
    """
    Read the published estimates.

    Parameters
    ----------
    path
        Bag with ``position`` and ``predicted_path``.
    model
        Of the estimates: the poses of a path at its horizons are read.

    """
    stamps, paths, present = [], [], {}
    with open_bag(path) as bag:
        wanted = {f'/{Topics.POSITION.name}', f'/{Topics.PREDICTED_PATH.name}'}
        topics = {each.name: each for each in bag.topics if each.name in wanted}
        for name, _, raw in bag.messages(topics.values()):
            message = bag.decode(raw, topics[name].msgtype)
            if name == f'/{Topics.POSITION.name}':
                present[_stamp(message)] = message.pose.covariance.reshape(6, 6)[:2, :2]
            else:
                stamps.append(_stamp(message))
                places = {_stamp(each): each.pose.position for each in message.poses}
                at = (stamps[-1] + each * model.period_ns for each in model.horizons)
                paths.append([(places[each].x, places[each].y) for each in at])
    horizons = len(model.horizons)
    covariances = np.full((len(stamps), horizons, 2, 2), np.nan)
    for index, stamp in enumerate(stamps):
        covariances[index, 0] = present.get(stamp, np.nan)
    positions = np.array(paths).reshape(-1, horizons, 2)
    return PublishedRun(np.array(stamps, dtype=np.int64), positions, covariances)


def with_published(offline: FilterRun, published: PublishedRun) -> FilterRun:
    """
    Return the published run, with the withheld estimates as computed offline by the same filter.

    Only what the node sent counts as published.
    """
    absent = ~np.isin(offline.stamps, published.stamps)
    stamps = np.concatenate([published.stamps, offline.stamps[absent]])
    order = np.argsort(stamps, kind='stable')
    lost = absent & offline.published
    graded = zip(offline.statuses.tolist(), offline.causes, lost.tolist(), strict=True)
    known = {
        stamp: (status, NOT_RECEIVED if is_lost else cause)
        for stamp, (status, cause, is_lost) in zip(offline.stamps.tolist(), graded, strict=True)
    }
    # What only the node published has no status on the topics that were read.
    tracking = CODES[Status.TRACKING], ''
    grades = [known.get(stamp, tracking) for stamp in stamps[order].tolist()]
    return replace(
        offline,
        stamps=stamps[order],
        positions=np.concatenate([published.positions, offline.positions[absent]])[order],
        covariances=np.concatenate([published.covariances, offline.covariances[absent]])[order],
        published=order < len(published.stamps),
        statuses=np.array([status for status, _ in grades], dtype=np.int64),
        causes=tuple(cause for _, cause in grades),
        reasons={**offline.reasons, NOT_RECEIVED: 'published, but not received'},
    )


def _stamp(message: Any) -> int:  # noqa: ANN401 - a message of any type
    return int(message.header.stamp.sec) * 10**9 + int(message.header.stamp.nanosec)


LAPS = 25
TEST_LAPS_S = 55.0
SPEED = 4.0
MARKER = '.two_manifold_demo'
STAGES = 6
DESCRIPTION = 'Simulate, inspect, train, filter on real topics, score and draw: the whole way.'
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
    Run every stage and leave bags, model, log and figure in a folder; ``view`` shows a page.

    Raises
    ------
    InputError
        If the folder holds something else, or the node could not be reached.

    """
    folder = make_folder(Path(folder_name).resolve(), MARKER)
    with_node = find_spec('rclpy') is not None
    if with_node:
        isolate()
    else:
        print('ROS 2 is not here, so no node runs: the filter is replayed over the bag instead.')
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
    through = 'the filter node' if with_node else 'the filter, into a bag'
    with _stage(4, f'replaying the rest through {through}') as show:
        if with_node:
            received = _filter_live(folder, held_out, show)
        else:
            received = _filter_offline(folder, held_out, show)
    went = 'received' if with_node else 'written'
    counts = ', '.join(
        f'{received.get(name, 0)} {name}'
        for name, topic in PUBLISHED.items()
        if topic not in ROUTED
    )
    _print_below(f'{went}: {counts}')
    publisher = 'node' if with_node else 'filter'
    with _stage(5, f'scoring what the {publisher} published'):
        loaded = load_model(folder / 'model.npz')
        evaluation, alike = _score(folder, loaded, held_out, publisher)
    print_scores(evaluation, loaded)
    if alike:
        did = 'The node published' if with_node else 'The bag holds'
        _print_below(f'{did} bit for bit what "two-manifold evaluate" computes offline.')
    else:
        why = ': messages were lost on the way' if with_node else ', please report it'
        _print_below(f'The {publisher} and "two-manifold evaluate" differ{why}.')
    print(f'[{STAGES}/{STAGES}] listing the files')
    _explain(folder, with_node)
    command = Path(sys.executable).with_name('two-manifold')
    print(f'Look at it: {command} view {folder_name}/model.npz {folder_name}/recording')
    if view:
        _drive_on(folder, live=with_node)


def _drive_on(folder: Path, *, live: bool) -> None:
    """Show a page until Ctrl-C: of the bag, or of another drive of the car, which is live."""
    with until_ctrl_c(), ExitStack() as running:
        if live:
            print('The car drives on, live, until Ctrl-C.', flush=True)
            running.enter_context(filter_node(folder))
            log = folder / 'slot_car_node.log'
            running.enter_context(running_node('slot_car_node', log, f'seed:={NEXT_SEED}'))
        else:
            print('The page stays until Ctrl-C.', flush=True)
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


def _filter_offline(
    folder: Path, held_out: Recording, show: Callable[[float], None]
) -> dict[str, int]:
    model = load_model(folder / 'model.npz')
    with BagWriter(folder / 'predictions', latched=_latched()) as output:
        return replay(model, held_out, output, lambda _, share: show(share))


def _filter_live(
    folder: Path, held_out: Recording, show: Callable[[float], None]
) -> dict[str, int]:
    from two_manifold_ros.nodes import bag_session  # noqa: PLC0415 - only a node needs ROS

    with open_bag(folder / 'recording') as bag:
        topics = [topic for topic in bag.topics if topic.name == held_out.imu.topic]
        first, last = int(held_out.imu.receive_stamps[0]), int(held_out.imu.receive_stamps[-1])
        messages = [
            bag_session.Timed(received, raw)
            for _, received, raw in bag.messages(topics)
            if first <= received <= last
        ]
    with (
        BagWriter(folder / 'predictions', latched=_latched()) as output,
        filter_node(folder) as process,
    ):
        return bag_session.play_and_record(
            output, messages, SPEED, lambda: process.poll() is None, show
        )


def _score(
    folder: Path, model: ModelHead, held_out: Recording, publisher: str
) -> tuple[Evaluation, bool]:
    """Draw and score what was published; return whether it is what the filter computes."""
    live = read_run(folder / 'predictions', model)
    if not len(live.stamps):
        log = folder / 'filter_node.log'
        msg = f'the {publisher} published nothing' + (f'; see {log}' if log.exists() else '')
        raise InputError(msg)
    offline = run_filter(model, held_out, lambda *_: None)
    evaluation = compare(model, [held_out], [with_published(offline, live)])
    title = f'Slot car: what the {publisher} published'
    draw_evaluation(evaluation, model, folder / 'figure.png', title)
    stamps, positions = offline.stamps[offline.published], offline.positions[offline.published]
    alike = np.array_equal(stamps, live.stamps) and np.array_equal(positions, live.positions)
    return evaluation, alike


def _explain(folder: Path, with_node: bool) -> None:
    topics = "the filter node's topics"
    listed = {
        'recording': 'the simulated bag: /imu and /reference',
        'model.npz': 'the model; "two-manifold info" shows its contents',
        'predictions': f'{topics}, recorded from DDS' if with_node else f'{topics}, from a replay',
        'figure.png': 'true and predicted track, error against horizon',
    }
    if with_node:
        listed['filter_node.log'] = 'what the node said'
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
