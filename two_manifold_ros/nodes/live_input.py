# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inputs of nodes beside the IMU: positions, marks, sensors, odometry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from functools import partial
import math
from time import monotonic
from typing import Any, TYPE_CHECKING

import numpy as np
from rclpy.time import Time

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.assessment import InputLimits
from two_manifold_ros.interface.messages import Topic, Topics
from two_manifold_ros.interface.transforms import OdometryFrame, yaw_of
from two_manifold_ros.names import POSITION_TYPES, SENSOR_FIELDS
from two_manifold_ros.nodes.callbacks import find_publishers, GuardedNode
from two_manifold_ros.recordings.decoding import fields_decoder, position_decoder, SensorTopic
from two_manifold_ros.recordings.ros_messages import deserialise, message_class
from two_manifold_ros.recordings.satellite_fixes import (
    east_north,
    fixes_agree,
    FRAME,
    GEODETIC,
    origin_at,
    valid_fixes,
)

if TYPE_CHECKING:
    from rclpy.subscription import Subscription

    from two_manifold_ros.adapting.updater_session import UpdaterSession
    from two_manifold_ros.interface.fixes import FixInput
    from two_manifold_ros.laps.live import LiveLaps


class LiveTopic:
    """
    A topic that is subscribed as soon as its type is known, and what is wrong with it.

    ``begin`` is called once with the type and returns what takes each message. The type is the
    ``wanted`` one, or the published one if it is among ``types``, none for any, else ``cure`` is
    said. ``complain`` returns a cause and what is wrong, in words, or empty ones.
    """

    def __init__(
        self,
        node: GuardedNode,
        name: str,
        begin: Callable[[str], Callable[[bytes], object]],
        cure: str = 'set reference_type to one of {} or remap reference',
        complain: Callable[[LiveTopic], tuple[str, str]] = lambda _: ('', ''),
        *,
        wanted: str = '',
        types: Collection[str] = POSITION_TYPES,
        reliable: bool = False,
    ) -> None:
        self._node, self._name, self._begin = node, name, begin
        self._cure, self._complain = cure, complain
        # Best effort matches both kinds of publisher.
        self._wanted, self._types, self._reliable = wanted, types, reliable
        self._subscription: Subscription | None = None
        self.topic: str = node.resolve_topic_name(name)
        # The type while it is known; else why, and why the newest message could not be taken.
        self.msgtype = self.problem = self.refused = ''
        # When the newest message was taken, and the longest time between two.
        self.heard_s, self.longest_s = math.nan, 0.0
        self.find()

    def find(self) -> None:
        """Subscribe it if its type is known by now, or note the problem."""
        if self.msgtype:
            return
        found = () if self._wanted else find_publishers(self._node, self.topic)
        types = [self._wanted] if self._wanted else sorted({each.msgtype for each in found})
        usable = [kind for kind in types if not self._types or kind in self._types]
        self.problem = ''
        if len(usable) == 1:
            (kind,) = usable
            try:
                message_class(kind)
            except (ImportError, AttributeError):
                self.problem = (
                    f'{self.topic} is published as {kind}, which is not installed here: '
                    'source the workspace that has it'
                )
                return
            self.msgtype, self._take = kind, self._begin(kind)
            topic = Topic(self._name, kind, depth=1000, reliable=self._reliable)
            self._subscription = self._node.subscribe(topic, self._on_message)
            self._node.get_logger().info(f'Subscribes {self.topic} ({kind})')
        elif types:
            cure = self._cure.format(', '.join(self._types))
            self.problem = f'{self.topic} is published as {", ".join(types)}: {cure}'

    def _on_message(self, raw: bytes) -> None:
        try:
            self._take(raw)
        except InputError as error:
            self.refused = str(error)
            return
        before_s, self.heard_s, self.refused = self.heard_s, monotonic(), ''
        self.longest_s = max(self.longest_s, self.heard_s - before_s)

    def missing(self, cure: str) -> str:
        """Return why it is not subscribed; empty if it is."""
        absent = '' if self.msgtype else f'nothing is published on {self.topic} yet: {cure}'
        return self.problem or absent

    @property
    def complaint(self) -> tuple[str, str]:
        """A cause and what is wrong, in words, or empty ones."""
        self.find()
        return self._complain(self)

    def close(self) -> None:
        """Stop listening."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None


def live_sensor(
    node: GuardedNode, topic: SensorTopic, hold: Callable[[tuple[float, ...]], object]
) -> LiveTopic:
    """Hand the newest readings of a sensor to ``hold``: fields of the messages of a topic."""

    def begin(msgtype: str) -> Callable[[bytes], object]:
        decode = fields_decoder(deserialise, topic.name, msgtype, topic.fields)
        return lambda raw: hold(decode(raw)[2])

    def complain(live: LiveTopic) -> tuple[str, str]:
        silent_s, problem = monotonic() - live.heard_s, live.problem or live.refused
        if problem or math.isnan(silent_s):
            absent = (
                f'nothing came from the sensor on {live.topic} yet, and the filter goes on '
                'without it: start its driver, or set sensor_topics to its topic'
            )
            return 'no_sensor', problem or absent
        # As of a channel that stands still: a second, and twice the longest time before. Of a
        # single message no time is known; but with no publisher none will come.
        there = bool(find_publishers(node, live.topic))
        if silent_s <= 1.0 + (2.0 * (live.longest_s or math.inf) if there else 0.0):
            return '', ''
        usual = f'where at most {live.longest_s:.1f} s were usual'
        # What is held for longer than any reading of the training is left out.
        return 'sensor_gone', (
            f'nothing came from the sensor on {live.topic} for {silent_s:.1f} s, '
            f'{usual if there else "without publisher"}, and the filter goes on without it: look '
            'at its driver'
        )

    cure = 'publish it as one of {} or set sensor_topics to another'
    return LiveTopic(node, topic.name, begin, cure, complain, types=tuple(SENSOR_FIELDS))


def live_marks(node: GuardedNode, name: str, laps: Callable[[], LiveLaps | None]) -> LiveTopic:
    """Subscribe marks of the start line: messages of any type, one at each passage."""

    def begin(msgtype: str) -> Callable[[bytes], object]:
        decode = fields_decoder(deserialise, name, msgtype, ())

        def take(raw: bytes) -> None:
            stamp_ns = decode(raw)[0]
            if (timed := laps()) is not None:
                timed.take_mark(stamp_ns or node.now_ns)

        return take

    def complain(live: LiveTopic) -> tuple[str, str]:
        problem, timed = live.missing('start what marks the start line'), laps()
        return 'mark_topic', problem or ('' if timed is None else timed.mark_problem)

    return LiveTopic(node, name, begin, 'publish it as one type', complain, types=())


FIX_CURE = 'publish it as one of {}, or set fix_topic to another'


def live_fixes(node: GuardedNode, name: str, laps: Callable[[], LiveLaps | None]) -> LiveTopic:
    """Subscribe positions of a vehicle of which laps alone are known."""
    takers: dict[LiveLaps, ReferenceInput] = {}

    def begin(msgtype: str) -> Callable[[bytes], object]:
        def take(raw: bytes) -> None:
            taker = laps()
            if taker is not None and taker not in takers:
                # With another model laps begin elsewhere.
                takers.clear()
                takers[taker] = ReferenceInput(taker)
                takers[taker].start(msgtype)
            if taker is not None:
                takers[taker].take(raw)

        return take

    def complain(live: LiveTopic) -> tuple[str, str]:
        problem, timed = live.missing('start what measures'), laps()
        if not problem and timed is not None and timed.problem:
            counts = {
                key: count for each in takers.values() for key, count in each.counts().items()
            }
            refused = ', '.join(f'{each} {key}' for key, each in counts.items() if key != 'used')
            problem = f'{timed.problem} (refused: {refused})' if refused else timed.problem
        return 'fix_topic', problem

    return LiveTopic(node, name, begin, FIX_CURE, complain)


def live_positions(
    node: GuardedNode, name: str, fixes: FixInput, *, clicked: bool = False
) -> LiveTopic:
    """Subscribe positions on a map: of a sensor, or those that a person ``clicked``."""
    return LiveTopic(
        node, name, partial(fixes.begin, name, clicked=clicked), FIX_CURE,
        lambda live: ('fix_topic', '' if clicked else live.missing('start what measures')),
        wanted=Topics.INITIAL_POSE.msgtype if clicked else '', reliable=clicked,
    )  # fmt: skip


class Transforms:
    """Transforms of ``/tf``, to which a node listens from the first question on."""

    def __init__(self, node: GuardedNode) -> None:
        self._node = node
        self._buffer: Any = None

    def find(self, source: str, target: str) -> tuple[float, float, float]:
        """Return where a frame is in another one, as x, y in metres and yaw, or say why not."""
        try:
            from tf2_ros import Buffer, TransformException, TransformListener  # noqa: PLC0415

            if self._buffer is None:
                self._buffer = Buffer()
                self._listener = TransformListener(self._buffer, self._node)
            found = self._buffer.lookup_transform(target, source, Time()).transform
        except ImportError as error:
            msg = f'{source} is not {target}, and the package tf2_ros_py is missing: install it'
            raise InputError(msg) from error
        except TransformException as error:
            msg = f'no transform from {source} to {target} came yet: publish it and try again'
            raise InputError(msg) from error
        turn, moved = found.rotation, found.translation
        return moved.x, moved.y, yaw_of(turn.x, turn.y, turn.z, turn.w)


def live_odometry(node: GuardedNode, name: str, frame: OdometryFrame) -> LiveTopic:
    """Subscribe an odometry, to know where its frame lies."""
    begun_s = monotonic()

    def complain(live: LiveTopic) -> tuple[str, str]:
        is_early = not frame.frame and monotonic() - begun_s < InputLimits.discovery_s
        trouble = '' if is_early else frame.trouble
        words = f'no transform to the frame of {live.topic}: {trouble}' if trouble else ''
        return 'odometry', live.missing('') or words

    def begin(msgtype: str) -> Callable[[bytes], object]:
        return lambda raw: frame.take(deserialise(raw, msgtype))

    return LiveTopic(
        node, name, begin, complain=complain, wanted='nav_msgs/msg/Odometry', types=()
    )


class ReferenceInput:
    """
    Decode positions; satellite fixes become positions in the plane of the session's origin.

    If the session has no origin yet, the first valid fix that the next one agrees with is it.
    Positions that cannot have the origin of those that the session knows are not used.
    """

    def __init__(self, session: UpdaterSession | LiveLaps) -> None:
        self._session = session
        self._used_s = math.nan
        # A fix until the next one agrees with it: its stamp, latitude, longitude and altitude.
        self._waiting: tuple[int, tuple[float, ...]] | None = None
        self._refused: Counter[str] = Counter()

    def start(self, msgtype: str) -> Callable[[bytes], bool]:
        """Take messages of a type from now on; return what takes them."""
        self._geodetic = msgtype == GEODETIC
        self._decode = position_decoder(deserialise, msgtype)
        return self.take

    @property
    def silence_s(self) -> float:
        """Seconds since a position was used; NaN if none ever was."""
        return monotonic() - self._used_s

    def counts(self) -> Counter[str]:
        """Return how many were used, and how many were not by cause."""
        return self._refused + self._session.position_counts

    def take(self, raw: bytes) -> bool:
        """Take one serialised message; return whether its position is used."""
        try:
            stamp_ns, frame_id, numbers = self._decode(raw)
        # Bytes that are no message of this type make a decoder raise almost anything.
        except Exception:  # noqa: BLE001 - counted, and reported in the diagnostics
            self._refused['malformed'] += 1
            return False
        if not self._session.fits_origin(geodetic=self._geodetic):
            self._refused['other_origin'] += 1
            return False
        if self._geodetic:
            *fix, status = numbers
            if not valid_fixes(*np.array([[fix[0]], [fix[1]], [status]])):
                self._refused['no_fix'] += 1
                return False
            places = self._placed(stamp_ns, tuple(fix))
        else:
            x, y = numbers
            places = [(stamp_ns, frame_id, x, y)]
        used = [self._session.take_position(*each) for each in places]
        if any(used):
            self._used_s = monotonic()
        return bool(used) and used[-1]

    def _placed(
        self, stamp_ns: int, fix: tuple[float, ...]
    ) -> list[tuple[int, str, float, float]]:
        """Return positions by a fix: degrees of latitude and longitude, metres of altitude."""
        session, before, fixes = self._session, self._waiting, [(stamp_ns, fix)]
        if session.origin is None:
            stamped = stamp_ns and not session.stamps_on_arrival
            if stamped and before is not None and stamp_ns == before[0]:
                # A copy is no witness of what it was copied from.
                self._refused['duplicate_stamp'] += 1
                return []
            self._waiting = stamp_ns, fix
            if before is None:
                return []
            if not fixes_agree(before[1], fix):
                self._refused['no_fix'] += 1
                return []
            session.origin = origin_at(*before[1])
            if not session.stamps_on_arrival:
                fixes.insert(0, before)
        self._waiting, origin, places = None, session.origin, []
        for stamp, (latitude, longitude, _) in fixes:
            # At the height of the origin, as `positions_of_fixes` does.
            there = np.array([latitude]), np.array([longitude]), np.array([origin.altitude_m])
            ((east, north),) = east_north(*there, origin).tolist()
            # The header names the antenna; the positions are in a plane fixed to the earth.
            places.append((stamp, FRAME, east, north))
        return places
