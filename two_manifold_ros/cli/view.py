# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Show a drive, recorded or live, on a page in the browser."""

from __future__ import annotations

from argparse import ArgumentTypeError
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, ExitStack
import math
import os
import sys
from threading import Event
from time import monotonic
from typing import Any, TYPE_CHECKING
import webbrowser

import numpy as np

from two_manifold_ros.cli.options import (
    add_part,
    add_sensor_topics,
    add_topics,
    name_sensors,
    on_stderr,
    part_of,
    recordings_of,
)
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import check_fit, estimates_along
from two_manifold_ros.filtering.atlas import make_filter
from two_manifold_ros.filtering.estimate import limits_of
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.inspection.shared_places import bag_name
from two_manifold_ros.interface.assessment import as_the_node
from two_manifold_ros.interface.messages import choose_scene, DrawnTrack, Topics
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.pages.live_page import LivePage
from two_manifold_ros.pages.serving import LOOPBACK, serve_page, USUAL_PORT
from two_manifold_ros.pages.vehicle import Moment, moment_of, Scene, stamp_of
from two_manifold_ros.recordings.bag_topics import candidates, IMU, POSITION
from two_manifold_ros.recordings.reading import open_bag
from two_manifold_ros.sources import fetched, only_bag
from two_manifold_ros.stopping import until_ctrl_c
from two_manifold_ros.ticks.segments import positions_at

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Mapping, Sequence

    from bokeh.document import Document

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.interface.assessment import Assessment
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.pages.vehicle import Vehicle
    from two_manifold_ros.recordings.recording import PositionStream, Recording

HELP = (
    'Show a drive on a page in the browser: map, position with its ellipse, path ahead, state '
    'with cause and cure, IMU. With MODEL BAG the filter runs over the bag and you can scrub '
    'through it. With BAG alone the page shows the recording. With --live it follows the running '
    'filter nodes. The page shows and never commands.'
)
_CHUNK = 500
"""Estimates that reach the page at a time."""
_KEPT_NS = 40_000_000
"""One estimate in so long is shown, twice as many as a page has pictures; of an hour 200 MB."""
_HEARD = ('position', 'predicted_path', 'markers', 'status')
"""Topics of a filter node that are shown, beside the diagnostics of all."""
_OTHER_NODES = ('updater_node', 'trainer_node')
"""Nodes that report in the same namespace, but have topics of their own."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        'files',
        nargs='*',
        metavar='MODEL_OR_BAG',
        help='MODEL BAG, or BAG alone; with --live MODEL, whose route is drawn, or nothing',
    )
    parser.add_argument(
        '--live',
        nargs='*',
        metavar='NODE',
        help='follow filter nodes, by full names such as car1/filter_node (default: all); needs '
        'ROS 2',
    )
    add_part(parser)
    parser.add_argument('--no-browser', action='store_true', help='do not open a browser')
    add_sensor_topics(add_topics(parser))
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
        type=_port,
        metavar='N',
        help=f'port to serve on; 0 takes any free port (default: {USUAL_PORT} or the next free '
        'port)',
    )


def _port(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if not 0 <= number < 2**16:
        msg = f'{text!r} is no port: give a number of 0 to 65535'
        raise ArgumentTypeError(msg)
    return number


def run(args: Namespace) -> int:
    """Serve until a signal ends it."""
    most = 1 if args.live is not None else 2
    if len(args.files) > most or (args.live is None and not args.files):
        msg = (
            'name MODEL and BAG, or BAG alone, or --live with at most a MODEL: '
            'such as two-manifold view model.npz my_bag'
        )
        raise InputError(msg)
    has_model = args.live is not None or len(args.files) == 2
    model = load_model(args.files[0]) if has_model and args.files else None
    if args.live is not None:
        return _view_live(args, model)
    args.bags = [only_bag(args.files[-1])]
    if model is not None:
        name_sensors(args, model)
    scene = Scene(f'{bag_name(args.bags[0])} - two-manifold', note='reading the bag')
    _draw_model(scene, model)
    if model is None and args.bags[0].endswith('.npz'):
        msg = f'{args.bags[0]} is a model: name a bag after it, or --live'
        raise InputError(msg)
    with ExitStack() as copy:
        # All that follows reads the same copy of a bag from elsewhere.
        copy.enter_context(fetched(args.bags[0]))
        # What is no bag is refused before a browser opens.
        with open_bag(args.bags[0]):
            pass
        with until_ctrl_c(), _served(args, scene):
            if model is None:
                _read_bag(args, scene)
            else:
                _filter_bag(args, scene, model)
            scene.note = ''
            copy.close()
            Event().wait()
    return 0


def _draw_model(scene: Scene, model: ModelHead | None) -> None:
    if model is None:
        return
    scene.routes = DrawnTrack(model.track).runs
    # Of several routes each has limits of its own.
    limits = limits_of(model)
    if len(model.routes) == 1 and math.isfinite(limits.error_m):
        scene.limits_m = limits.warn_m, limits.error_m


@contextmanager
def _served(args: Namespace, scene: Scene) -> Iterator[None]:
    """Serve the page, say where it is and show it."""

    def make(document: Document) -> None:
        LivePage(document, scene)

    with serve_page(make, args.host, args.port) as url:
        print(f'{url} shows it; Ctrl-C ends it', flush=True)
        if args.host not in {LOOPBACK, 'localhost', '::1'}:
            on_stderr(
                'two-manifold: note: everyone on the network of this address can see where the '
                'vehicle is; nothing can be commanded from the page'
            )
        if not args.no_browser and has_display():
            webbrowser.open(url)
        yield


def has_display() -> bool:
    """Return whether a browser can show something here."""
    return sys.platform != 'linux' or any(map(os.environ.get, ('DISPLAY', 'WAYLAND_DISPLAY')))


def _filter_bag(args: Namespace, scene: Scene, model: ModelHead) -> None:
    (whole,) = recordings_of(args, need_positions=False, origin=model.origin)
    recording = part_of(whole, args.start, args.until)
    check_fit(model, recording)
    vehicle = scene.vehicle(recording.name)
    _show_recording(scene, recording, vehicle)
    filter_into(scene, vehicle, model, recording)


def filter_into(scene: Scene, vehicle: Vehicle, model: ModelHead, recording: Recording) -> None:
    """Filter a recording, and show its estimates and states while they come."""
    origin_ns = recording.imu.first_stamp
    frames, live = choose_scene(model), make_filter(model)
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
        each = as_the_node(live, estimate), took
        if (
            last is None
            or each[0].status is not last.status
            or not 0 <= each[0].stamp_ns - last.stamp_ns < _KEPT_NS
        ):
            last = each[0]
            waiting.append(each)
        if len(waiting) >= _CHUNK:
            flush()
    flush()


def _show_recording(scene: Scene, recording: Recording, vehicle: Vehicle) -> None:
    """Show IMU and positions; time zero is the first stamp of the IMU."""
    imu, positions = recording.imu, recording.positions
    origin_ns = imu.first_stamp
    order = np.argsort(imu.stamps, kind='stable')
    vehicle.set_imu(np.float64(1e-9) * (imu.stamps[order] - origin_ns), imu.samples[order, :6])
    if positions is not None:
        usable = positions.select(positions.usable)
        order = np.argsort(usable.stamps, kind='stable')
        vehicle.truth_s = np.float64(1e-9) * (usable.stamps[order] - origin_ns)
        vehicle.truth = usable.positions[order]
    scene.duration_s = max((imu.last_stamp - origin_ns) * 1e-9, 0.1)


def _read_bag(args: Namespace, scene: Scene) -> None:
    """Show what was recorded, and what a filter node published, where the bag has its topics."""
    with open_bag(args.bags[0]) as bag:
        topics = bag.topics
        path = bag.path
    named = {each.name: each for each in topics if each.count}
    prefixes = [
        name.removesuffix(Topics.STATUS.name)
        for name, each in named.items()
        if name.endswith(f'/{Topics.STATUS.name}') and each.msgtype == Topics.STATUS.msgtype
    ]
    published = {
        f'{prefix}{kind}': (prefix, kind)
        for prefix in prefixes
        for kind in _HEARD
        if f'{prefix}{kind}' in named
    }
    imus = candidates(topics, IMU)
    if not imus and not published:
        msg = (
            f'{path} holds neither an IMU nor the topics of a filter node (position, status), so '
            'there is nothing to show: name another bag, or record these topics'
        )
        raise InputError(msg)
    recording = None
    if imus:
        others = [each for each in candidates(topics, POSITION) if each.name not in published]
        if args.position_topic is None and len(others) == 1:
            args.position_topic = others[0].name
        find = not published
        (whole,) = recordings_of(args, need_positions=False, find_positions=find)
        recording = part_of(whole, args.start, args.until)
        _show_recording(scene, recording, scene.vehicle(recording.name))
    if not published:
        return
    _hear_bag(args, scene, published, recording)


def _hear_bag(
    args: Namespace,
    scene: Scene,
    published: Mapping[str, tuple[str, str]],
    recording: Recording | None,
) -> None:
    """Show what filter nodes published into a bag, on the time axis of the IMU beside it."""
    scene.note = 'reading the estimates'
    scene.vehicles.clear()
    vehicles = {
        prefix: scene.vehicle(f'{prefix.strip("/")}/filter_node'.lstrip('/'))
        for prefix, _ in published.values()
    }
    positions, origin_ns = None, None
    if recording is not None:
        imu, positions = recording.imu, recording.positions
        origin_ns = imu.first_stamp + int(np.median(imu.receive_stamps - imu.stamps))
        for vehicle in vehicles.values():
            _show_recording(scene, recording, vehicle)
    heard: list[tuple[Vehicle, str, Any, float]] = []
    routed = set[str]()
    with open_bag(args.bags[0]) as bag:
        kinds = {each.name: each for each in bag.topics if each.count}
        reports = [each for each in kinds.values() if each.msgtype == Topics.DIAGNOSTICS.msgtype]
        for name, received_ns, raw in bag.messages([*map(kinds.__getitem__, published), *reports]):
            origin_ns = received_ns if origin_ns is None else origin_ns
            seconds = (received_ns - origin_ns) * 1e-9
            prefix, kind = published.get(name, ('', Topics.DIAGNOSTICS.name))
            if kind == Topics.MARKERS.name:
                # All markers but one with the route would be decoded in vain.
                if prefix in routed or b'track\0' not in raw:
                    continue
                routed.add(prefix)
            message = bag.decode(raw, kinds[name].msgtype)
            if prefix:
                heard.append((vehicles[prefix], kind, message, seconds))
                continue
            for status in message.status:
                space, _, node = status.name.rpartition('/')
                of = vehicles.get(f'/{space}/'.replace('//', '/'))
                if of is not None and node not in _OTHER_NODES:
                    heard.append((of, kind, status, seconds))
    _show_heard(heard, positions)
    last_s = max((seconds for *_, seconds in heard), default=0.0)
    scene.duration_s = max(scene.duration_s or 0.0, last_s)


def _show_heard(
    heard: Sequence[tuple[Vehicle, str, Any, float]], positions: PositionStream | None
) -> None:
    """Show messages in their vehicles, each of a kind, at seconds, with errors of positions."""
    stamps = [stamp_of(message) for _, kind, message, _ in heard if kind == Topics.POSITION.name]
    # All at once: the whole stream of positions is judged each time.
    truths = iter(positions_at(positions, np.array(stamps, dtype=np.int64)))
    for of, kind, message, seconds in heard:
        error_m = math.nan
        if kind == Topics.POSITION.name:
            place = message.pose.pose.position
            error_m = math.hypot(*(np.array([place.x, place.y]) - next(truths)))
        of.hear(kind, message, seconds, error_m)


def _view_live(args: Namespace, model: ModelHead | None) -> int:
    """Follow the filter nodes that run."""
    try:
        from two_manifold_ros.nodes.watching import watch  # noqa: PLC0415 - only this needs ROS
    except ImportError as error:
        msg = (
            f'--live listens to nodes and needs ROS 2 ({error}): source its setup file first, or '
            'name a bag'
        )
        raise InputError(msg) from error
    for name in args.live:
        if name.endswith('.npz'):
            msg = f'{name} is no node: name a model before --live, as in view {name} --live'
            raise InputError(msg)
    begun_s = monotonic()
    scene = Scene('two-manifold, live', duration_s=None, clock=lambda: monotonic() - begun_s)
    _draw_model(scene, model)

    def hear(name: str, kind: str, message: Any) -> None:  # noqa: ANN401 - of any type
        if kind != Topics.MARKERS.name or model is None:
            scene.vehicle(name).hear(kind, message, scene.clock())

    over = Event()
    with until_ctrl_c(), _served(args, scene), ThreadPoolExecutor(1) as pool:
        following = pool.submit(watch, hear, lambda: list(scene.looking.values()), args.live, over)
        try:
            following.result()
        finally:
            over.set()
    return 0
