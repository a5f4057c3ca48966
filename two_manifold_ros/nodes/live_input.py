# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inputs of nodes beside the IMU: positions, marks, sensors, odometry."""

from __future__ import annotations

from collections import Counter
import math
from time import monotonic
from typing import cast, NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.assessment import InputLimits
from two_manifold_ros.interface.messages import Topic
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
    from collections.abc import Callable, Collection

    from rclpy.subscription import Subscription

    from two_manifold_ros.adapting.updater_session import UpdaterSession
    from two_manifold_ros.interface.transforms import OdometryFrame
    from two_manifold_ros.laps.live import LiveLaps
    from two_manifold_ros.recordings.recording import GeodeticOrigin


class Complaints(NamedTuple):
    """
    What is said of a topic under a ``cause``.

    ``cure`` is said if its type is none of some, ``absent`` while nothing is published, and
    ``trouble`` returns what is wrong with what was taken.
    """

    cure: str
    cause: str = ''
    absent: str = ''
    trouble: Callable[[], str] = str


OF_REFERENCE = Complaints('set reference_type to one of {} or remap reference')


class LiveTopic:
    """
    A topic that is subscribed as soon as its type is known, and what is wrong with it.

    ``begin`` is called once with the type and returns what takes each message. The type is the
    ``wanted`` one, or the published one if it is among ``types``, none for any.
    """

    def __init__(
        self,
        node: GuardedNode,
        name: str,
        begin: Callable[[str], Callable[[bytes], object]],
        said: Complaints = OF_REFERENCE,
        *,
        wanted: str = '',
        types: Collection[str] = POSITION_TYPES,
    ) -> None:
        self._node, self._name, self._begin, self._said = node, name, begin, said
        self._wanted, self._types = wanted, types
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
            # Best effort matches both kinds of publisher.
            topic = Topic(self._name, kind, depth=1000, reliable=False)
            self._subscription = self._node.subscribe(topic, self._on_message)
            self._node.get_logger().info(f'Subscribes {self.topic} ({kind})')
        elif types:
            cure = self._said.cure.format(', '.join(self._types))
            self.problem = f'{self.topic} is published as {", ".join(types)}: {cure}'

    def _on_message(self, raw: bytes) -> None:
        try:
            self._take(raw)
        except InputError as error:
            self.refused = str(error)
            return
        before_s, self.heard_s, self.refused = self.heard_s, monotonic(), ''
        self.longest_s = max(self.longest_s, self.heard_s - before_s)

    @property
    def complaints(self) -> dict[str, str]:
        """Sentences by cause: why it is not subscribed, or what is wrong with what was taken."""
        self.find()
        problem = self.problem
        if not (problem or self.msgtype):
            problem = f'nothing is published on {self.topic} yet: {self._said.absent}'
        problem = problem or self._said.trouble()
        return {self._said.cause: problem} if problem else {}

    def close(self) -> None:
        """Stop listening."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None


class LiveSensor(LiveTopic):
    """Hand the newest readings of a sensor to ``hold``: fields of the messages of a topic."""

    def __init__(
        self, node: GuardedNode, topic: SensorTopic, hold: Callable[[tuple[float, ...]], object]
    ) -> None:
        def begin(msgtype: str) -> Callable[[bytes], object]:
            decode = fields_decoder(deserialise, topic.name, msgtype, topic.fields)
            return lambda raw: hold(decode(raw)[2])

        said = Complaints('publish it as one of {} or set sensor_topics to another')
        super().__init__(node, topic.name, begin, said, types=tuple(SENSOR_FIELDS))

    @property
    def complaints(self) -> dict[str, str]:
        """Why the values are missing, or old."""
        self.find()
        silent_s, problem = monotonic() - self.heard_s, self.problem or self.refused
        if not problem and math.isnan(silent_s):
            problem = (
                f'nothing came from the sensor on {self.topic} yet, and the filter goes on '
                'without it: start its driver, or set sensor_topics to its topic'
            )
        if problem:
            return {'no_sensor': problem}
        # As of a channel that stands still: a second, and twice the longest time before. Of a
        # single message no time is known; but with no publisher none will come.
        there = bool(find_publishers(self._node, self.topic))
        if silent_s <= 1.0 + (2.0 * (self.longest_s or math.inf) if there else 0.0):
            return {}
        why = f'where at most {self.longest_s:.1f} s were usual' if there else 'without publisher'
        # What is held for longer than any reading of the training is left out.
        problem = (
            f'nothing came from the sensor on {self.topic} for {silent_s:.1f} s, {why}, and the '
            'filter goes on without it: look at its driver'
        )
        return {'sensor_gone': problem}


def live_marks(node: GuardedNode, name: str, laps: Callable[[], LiveLaps | None]) -> LiveTopic:
    """Subscribe marks of the start line: messages of any type, one at each passage."""

    def begin(msgtype: str) -> Callable[[bytes], object]:
        decode = fields_decoder(deserialise, name, msgtype, ())

        def take(raw: bytes) -> None:
            stamp_ns = decode(raw)[0]
            if (timed := laps()) is not None:
                timed.take_mark(stamp_ns or node.now_ns)

        return take

    said = Complaints(
        cure='publish it as one type',
        cause='mark_topic',
        absent='start what marks the start line',
        trouble=lambda: '' if (timed := laps()) is None else timed.mark_problem,
    )
    return LiveTopic(node, name, begin, said, types=())


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

    def why_unplaced() -> str:
        taker = laps()
        problem = '' if taker is None else taker.problem
        refused = {key: count for each in takers.values() for key, count in each.counts().items()}
        counts = ', '.join(f'{each} {key}' for key, each in refused.items() if key != 'used')
        return f'{problem} (refused: {counts})' if problem and counts else problem

    cure = 'publish it as one of {}, or set fix_topic to another'
    said = Complaints(cure, 'fix_topic', 'start what measures', why_unplaced)
    return LiveTopic(node, name, begin, said)


def live_odometry(node: GuardedNode, name: str, frame: OdometryFrame) -> LiveTopic:
    """Subscribe an odometry, to know where its frame lies."""
    begun_s = monotonic()

    def trouble() -> str:
        is_early = not frame.frame and monotonic() - begun_s < InputLimits.discovery_s
        if is_early or not frame.trouble:
            return ''
        return f'no transform to the frame of {node.resolve_topic_name(name)}: {frame.trouble}'

    def begin(msgtype: str) -> Callable[[bytes], object]:
        return lambda raw: frame.take(deserialise(raw, msgtype))

    said = Complaints('', 'odometry', trouble=trouble)
    return LiveTopic(node, name, begin, said, wanted='nav_msgs/msg/Odometry', types=())


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
        if not self._geodetic:
            x, y = numbers
            return self._use(stamp_ns, frame_id, x, y)
        *fix, status = numbers
        if not valid_fixes(*np.array([[fix[0]], [fix[1]], [status]])):
            self._refused['no_fix'] += 1
            return False
        return self._take_fix(stamp_ns, tuple(fix))

    def _use(self, stamp_ns: int, frame_id: str, x: float, y: float) -> bool:
        used = self._session.take_position(stamp_ns, frame_id, x, y)
        if used:
            self._used_s = monotonic()
        return used

    def _take_fix(self, stamp_ns: int, fix: tuple[float, ...]) -> bool:
        """Take a valid fix: latitude and longitude in degrees, altitude in metres."""
        session, before = self._session, self._waiting
        if session.origin is None:
            stamped = stamp_ns and not session.stamps_on_arrival
            if stamped and before is not None and stamp_ns == before[0]:
                # A copy is no witness of what it was copied from.
                self._refused['duplicate_stamp'] += 1
                return False
            self._waiting = stamp_ns, fix
            if before is None:
                return False
            if not fixes_agree(before[1], fix):
                self._refused['no_fix'] += 1
                return False
            session.origin = origin_at(*before[1])
            if not session.stamps_on_arrival:
                self._use(before[0], FRAME, *self._project(before[1]))
        self._waiting = None
        # The header names the antenna; the positions are in a plane fixed to the earth.
        return self._use(stamp_ns, FRAME, *self._project(fix))

    def _project(self, fix: tuple[float, ...]) -> tuple[float, float]:
        """Return metres east and north of the session's origin."""
        origin = cast('GeodeticOrigin', self._session.origin)
        # At the height of the origin, as `positions_of_fixes` does.
        latitude, longitude, _ = fix
        there = np.array([latitude]), np.array([longitude]), np.array([origin.altitude_m])
        ((east, north),) = east_north(*there, origin).tolist()
        return east, north
