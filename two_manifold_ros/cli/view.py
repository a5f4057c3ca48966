# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Show a drive, recorded or live, on a page in the browser."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, ExitStack
import os
import sys
from threading import Event
from time import monotonic
from typing import Any, TYPE_CHECKING
import webbrowser

import numpy as np

from two_manifold_ros.cli import options
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import check_fit, estimates_along
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.inspection.shared_places import bag_name
from two_manifold_ros.interface.assessment import as_the_node, Assessment
from two_manifold_ros.interface.messages import choose_scene, DrawnTrack, Topics
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.pages.live_page import LivePage, LOOPBACK, serve_page, USUAL_PORT
from two_manifold_ros.pages.vehicle import Moment, moment_of, Scene, Vehicle
from two_manifold_ros.processes import until_ctrl_c
from two_manifold_ros.recordings.reading import open_bag
from two_manifold_ros.sources import fetched, only_bag
from two_manifold_ros.ticks.segments import positions_at

if TYPE_CHECKING:
    from bokeh.document import Document

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.recordings.recording import Recording

HELP = (
    'Show a drive on a page in the browser: map, position with its ellipse, path ahead, state '
    'with cause and cure. With MODEL BAG the filter runs over the bag and you can scrub through '
    'it. With --live it follows the running filter nodes. The page shows and never commands.'
)
_KEPT_NS = 40_000_000
"""One estimate in so long is shown, twice as many as a page has pictures; of an hour 200 MB."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        'files',
        nargs='*',
        metavar='MODEL_OR_BAG',
        help='MODEL BAG; with --live MODEL, whose route is drawn, or nothing',
    )
    parser.add_argument(
        '--live',
        nargs='*',
        metavar='NODE',
        help='follow filter nodes, by full names such as car1/filter_node (default: all); needs '
        'ROS 2',
    )
    options.add(parser, '--from', '--until')
    parser.add_argument('--no-browser', action='store_true', help='do not open a browser')
    options.add(options.add_topics(parser), '--sensor-topic', usual='the topics of the training')
    group = parser.add_argument_group('address of the page')
    group.add_argument(
        '--host',
        default=LOOPBACK,
        metavar='A',
        help='address to serve on; with 0.0.0.0 everyone on the network can see where the vehicle '
        'is (default: %(default)s, this computer alone)',
    )
    group.add_argument(
        '--port',
        type=int,
        metavar='N',
        help=f'port to serve on; 0 takes any free port (default: {USUAL_PORT} or the next free '
        'port)',
    )


def run(args: Namespace) -> int:
    """Serve until a signal ends it."""
    if args.port is not None and not 0 <= args.port < 2**16:
        raise InputError(f'--port {args.port} is no port: give a number of 0 to 65535')
    if args.live is not None:
        return _view_live(args)
    if len(args.files) != 2:
        msg = 'name MODEL and BAG, as in two-manifold view model.npz my_bag, or give --live'
        raise InputError(msg)
    model = load_model(args.files[0])
    args.bags = [only_bag(args.files[1])]
    options.name_sensors(args, model)
    scene = Scene(f'{bag_name(args.bags[0])} - two-manifold', 'reading the bag')
    scene.routes = DrawnTrack(model.track).runs
    with ExitStack() as copy:
        # All that follows reads the same copy of a bag from elsewhere.
        copy.enter_context(fetched(args.bags[0]))
        # What is no bag is refused before a browser opens.
        with open_bag(args.bags[0]):
            pass
        with until_ctrl_c(), _served(args, scene):
            _filter_bag(args, scene, model)
            scene.note = ''
            copy.close()
            Event().wait()
    return 0


@contextmanager
def _served(args: Namespace, scene: Scene) -> Iterator[None]:
    """Serve the page, say where it is and show it."""

    def make(document: Document) -> None:
        LivePage(document, scene)

    with serve_page(make, args.host, args.port) as url:
        print(f'{url} shows it; Ctrl-C ends it', flush=True)
        screens = map(os.environ.get, ('DISPLAY', 'WAYLAND_DISPLAY'))
        if not args.no_browser and (sys.platform != 'linux' or any(screens)):
            webbrowser.open(url)
        yield


def _filter_bag(args: Namespace, scene: Scene, model: ModelHead) -> None:
    """Filter the bag; time zero is the first stamp of the IMU."""
    (whole,) = options.recordings_of(args, model, need_positions=False)
    recording = options.part_of(whole, args.start, args.until)
    check_fit(model, recording)
    vehicle = scene.vehicle(recording.name)
    imu, positions = recording.imu, recording.positions
    if positions is not None:
        usable = positions.select(positions.usable)
        order = np.argsort(usable.stamps, kind='stable')
        seconds = np.float64(1e-9) * (usable.stamps[order] - imu.first_stamp)
        vehicle.truth = seconds, usable.positions[order]
    scene.duration_s = max((imu.last_stamp - imu.first_stamp) * 1e-9, 0.1)
    filter_into(scene, vehicle, model, recording)


def filter_into(scene: Scene, vehicle: Vehicle, model: ModelHead, recording: Recording) -> None:
    """Filter a recording, and show its estimates and states while they come."""
    origin_ns = recording.imu.first_stamp
    frames, live = choose_scene(model), Filter(model)
    scene.note = 'compiling the filter'
    live.warm_up()

    def progress(_: str, share: float) -> None:
        scene.note = f'filtering: {share:.0%}'

    waiting: list[tuple[Estimate, float]] = []

    def flush() -> None:
        stamps = np.array([each.stamp_ns for each, _ in waiting], dtype=np.int64)
        truths = positions_at(recording.positions, stamps)
        places = np.array([each.positions[0] for each, _ in waiting]).reshape(-1, 2)
        errors = np.hypot(*(places - truths).T).tolist()
        vehicle.add(
            moment_of(estimate, frames, origin_ns, error, took)
            for (estimate, took), error in zip(waiting, errors, strict=True)
        )
        waiting.clear()

    def show_silence(stamp_ns: int, shown: Assessment) -> None:
        flush()
        status = Status.WAITING if shown.status is None else shown.status
        vehicle.add([Moment((stamp_ns - origin_ns) * 1e-9, status.value, shown.why)])

    last: Estimate | None = None
    for estimate, took in estimates_along(live, recording, progress, show_silence):
        each = as_the_node(live, estimate)
        passed_ns = _KEPT_NS if last is None else each.stamp_ns - last.stamp_ns
        if last is None or each.status is not last.status or not 0 <= passed_ns < _KEPT_NS:
            last = each
            waiting.append((each, took))
        # They reach the page in chunks.
        if len(waiting) >= 500:
            flush()
    flush()


def _view_live(args: Namespace) -> int:
    """Follow the filter nodes that run."""
    if len(args.files) > 1:
        msg = 'name at most a MODEL before --live, as in two-manifold view model.npz --live'
        raise InputError(msg)
    try:
        from two_manifold_ros.nodes.watching import watch  # noqa: PLC0415 - only this needs ROS
    except ImportError as error:
        raise InputError(
            f'--live listens to nodes and needs ROS 2 ({error}): source its setup file first, or '
            'name a bag'
        ) from error
    begun_s = monotonic()
    scene = Scene('two-manifold, live', duration_s=None, clock=lambda: monotonic() - begun_s)
    if args.files:
        scene.routes = DrawnTrack(load_model(args.files[0]).track).runs

    def hear(name: str, kind: str, message: Any) -> None:  # noqa: ANN401 - of any type
        # A model that is named has the route.
        if kind != Topics.MARKERS.name or not args.files:
            scene.hear(name, kind, message)

    over = Event()
    with until_ctrl_c(), _served(args, scene), ThreadPoolExecutor(1) as pool:
        following = pool.submit(watch, hear, lambda: bool(scene.pages), args.live, over)
        try:
            following.result()
        finally:
            over.set()
    return 0
