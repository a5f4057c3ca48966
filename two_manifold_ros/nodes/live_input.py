# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inputs of nodes beside the IMU: positions, marks, sensors, odometry, images."""

from __future__ import annotations

from collections import Counter
import math
from time import monotonic
from typing import Any, cast, Protocol, TYPE_CHECKING

import numpy as np
from rclpy.serialization import deserialize_message

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.assessment import (
    InputLimits,
)
from two_manifold_ros.interface.image_values import ImageValues
from two_manifold_ros.interface.messages import Topic, Topics
from two_manifold_ros.interface.transforms import OdometryFrame
from two_manifold_ros.names import POSITION_TYPES, SENSOR_FIELDS
from two_manifold_ros.nodes.callbacks import find_publishers
from two_manifold_ros.recordings.further_channels import fields_decoder
from two_manifold_ros.recordings.reading import (
    position_decoder,
)
from two_manifold_ros.recordings.ros_messages import message_class
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

    from two_manifold_ros.laps.live import LiveLaps
    from two_manifold_ros.nodes.callbacks import GuardedNode
    from two_manifold_ros.recordings.further_channels import SensorTopic
    from two_manifold_ros.recordings.reading import Decode
    from two_manifold_ros.recordings.recording import GeodeticOrigin
    from two_manifold_ros.typing import Floats


def deserialise(raw: bytes, msgtype: str) -> Any:  # noqa: ANN401 - a generated class
    """Return the message, whose fields have the same names as those from a bag."""
    return deserialize_message(raw, message_class(msgtype))


class LiveReference:
    """
    Subscribe ``reference``, or another topic, as soon as its type is known.

    Parameters
    ----------
    node
        Node that subscribes.
    msgtype
        Type of the topic; empty means the one it is published with.
    start, take
        Called once with the type, then with every message; the latter guarded.
    name, types, cure
        Name of the topic, the types that it may have, none for any, and what to do if it has none
        of them.

    Attributes
    ----------
    topic
        Its full name.
    msgtype
        Its type; empty while it is not known.
    problem
        Why it cannot be subscribed; empty if it is, or if it has no publisher.

    """

    def __init__(
        self,
        node: GuardedNode,
        msgtype: str,
        start: Callable[[str], object],
        take: Callable[[bytes], object],
        name: str = 'reference',
        types: Collection[str] = POSITION_TYPES,
        cure: str = 'set reference_type to one of {} or remap reference',
    ) -> None:
        self._node = node
        self._wanted = msgtype
        self._name, self._types, self._cure = name, types, cure
        self._start, self._take = start, take
        self._subscription: Subscription | None = None
        self.topic: str = node.resolve_topic_name(name)
        self.msgtype = ''
        self.problem = ''
        self.find()

    def find(self) -> None:
        """Subscribe it if its type is known by now, or note the problem."""
        if self.msgtype:
            return
        found = find_publishers(self._node, self.topic)
        types = [self._wanted] if self._wanted else sorted({each.msgtype for each in found})
        usable = [kind for kind in types if not self._types or kind in self._types]
        self.problem = ''
        if len(usable) == 1:
            try:
                message_class(usable[0])
            except (ImportError, AttributeError):
                self.problem = (
                    f'{self.topic} is published as {usable[0]}, which is not installed here: '
                    'source the workspace that has it'
                )
                return
            (self.msgtype,) = usable
            self._start(self.msgtype)
            # Best effort matches both kinds of publisher.
            topic = Topic(self._name, self.msgtype, depth=1000, reliable=False)
            self._subscription = self._node.subscribe(topic, self._take)
            self._node.get_logger().info(f'Subscribes {self.topic} ({self.msgtype})')
        elif types:
            cure = self._cure.format(', '.join(self._types))
            self.problem = f'{self.topic} is published as {", ".join(types)}: {cure}'

    @property
    def is_published(self) -> bool:
        """True if it has a publisher now."""
        return bool(find_publishers(self._node, self.topic))

    def close(self) -> None:
        """Stop listening."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None


class LiveSensor:
    """
    Keep the newest readings of a sensor for who takes them.

    Parameters
    ----------
    node
        Node that subscribes.
    topic
        Name of the topic, and fields of its messages that count.
    hold
        Takes the newest values of the fields.
    clock
        Seconds, never going back.

    """

    def __init__(
        self,
        node: GuardedNode,
        topic: SensorTopic,
        hold: Callable[[tuple[float, ...]], object],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._hold, self._fields, self._name, self._clock = hold, topic.fields, topic.name, clock
        # When the last message came, and the longest time between two.
        self._heard_s, self._longest_s = math.nan, 0.0
        self._refused = ''
        self._live = LiveReference(
            node,
            '',
            self._start,
            self._take,
            self._name,
            tuple(SENSOR_FIELDS),
            'publish it as one of {} or set sensor_topics to another',
        )

    @property
    def complaints(self) -> dict[str, str]:
        """Why the values are missing, or old."""
        self._live.find()
        topic, silent_s = self._live.topic, self._clock() - self._heard_s
        problem = self._live.problem or self._refused
        if not problem and math.isnan(silent_s):
            problem = (
                f'nothing came from the sensor on {topic} yet, and the filter goes on without it: '
                'start its driver, or set sensor_topics to its topic'
            )
        if problem:
            return {'no_sensor': problem}
        # As of a channel that stands still: a second, and twice the longest time before. Of a
        # single message no time is known; but with no publisher none will come.
        there = self._live.is_published
        if silent_s <= 1.0 + (2.0 * (self._longest_s or math.inf) if there else 0.0):
            return {}
        why = f'where at most {self._longest_s:.1f} s were usual' if there else 'without publisher'
        # What is held for longer than any reading of the training is left out.
        problem = (
            f'nothing came from the sensor on {topic} for {silent_s:.1f} s, {why}, and the '
            'filter goes on without it: look at its driver'
        )
        return {'sensor_gone': problem}

    def close(self) -> None:
        """Stop listening."""
        self._live.close()

    def _start(self, msgtype: str) -> None:
        self._decode = fields_decoder(deserialise, self._name, msgtype, self._fields)

    def _take(self, raw: bytes) -> None:
        try:
            _, _, values = self._decode(raw)
        except InputError as error:
            self._refused = str(error)
            return
        self._hold(values)
        heard_s, self._heard_s, self._refused = self._heard_s, self._clock(), ''
        self._longest_s = max(self._longest_s, self._heard_s - heard_s)


class LiveMarks:
    """Subscribe marks of the start line: messages of any type, one at each passage."""

    def __init__(self, node: GuardedNode, name: str, laps: Callable[[], LiveLaps | None]) -> None:
        self._node, self._laps = node, laps
        self._live = LiveReference(
            node, '', self._start, self._take, name, (), 'publish it as one type'
        )

    @property
    def complaints(self) -> dict[str, str]:
        """Why no mark moves the line."""
        self._live.find()
        topic, problem = self._live.topic, self._live.problem
        if not problem and not self._live.msgtype:
            problem = f'nothing is published on {topic} yet: start what marks the start line'
        laps = self._laps()
        if not problem and laps is not None:
            problem = laps.mark_problem
        return {'mark_topic': problem} if problem else {}

    def close(self) -> None:
        """Stop listening."""
        self._live.close()

    def _start(self, msgtype: str) -> None:
        self._msgtype = msgtype

    def _take(self, raw: bytes) -> None:
        laps = self._laps()
        if laps is None:
            return
        header = getattr(deserialise(raw, self._msgtype), 'header', None)
        stamp: Any = getattr(header, 'stamp', None)
        # Any type may have a field of this name.
        stamp_ns = stamp.sec * 10**9 + stamp.nanosec if hasattr(stamp, 'nanosec') else 0
        laps.take_mark(stamp_ns or self._node.now_ns)


class LiveFixes:
    """Subscribe positions of a vehicle of which laps alone are known."""

    def __init__(self, node: GuardedNode, name: str, laps: Callable[[], LiveLaps | None]) -> None:
        self._laps = laps
        self._taker: LiveLaps | None = None
        self._input: ReferenceInput | None = None
        cure = 'publish it as one of {}, or set fix_topic to another'
        self._live = LiveReference(node, '', self._start, self._take, name, cure=cure)

    @property
    def complaints(self) -> dict[str, str]:
        """Why there are no positions yet."""
        self._live.find()
        problem = self._live.problem
        if not problem and not self._live.msgtype:
            problem = f'nothing is published on {self._live.topic} yet: start what measures'
        laps = self._laps()
        if not problem and laps is not None:
            problem = laps.problem
            refused = {} if self._input is None else {**self._input.counts()}
            refused.pop('used', None)
            if problem and refused:
                problem += f' (refused: {", ".join(f"{n} {key}" for key, n in refused.items())})'
        return {'fix_topic': problem} if problem else {}

    def close(self) -> None:
        """Stop listening."""
        self._live.close()

    def _start(self, _: str) -> None:
        self._taker = None

    def _take(self, raw: bytes) -> None:
        laps = self._laps()
        if laps is None:
            return
        if self._input is None or self._taker is not laps:
            # With another model laps begin elsewhere.
            self._taker, self._input = laps, ReferenceInput(laps)
            self._input.start(self._live.msgtype)
        self._input.take(raw)


class LiveOdometry:
    """Subscribe an odometry by its name, to know where its frame lies, see `OdometryFrame`."""

    def __init__(self, node: GuardedNode, name: str, track: str, child: str) -> None:
        self._node, self.frame = node, OdometryFrame(track, child)
        self._begun_s = monotonic()
        self._topic = Topic(name, 'nav_msgs/msg/Odometry', depth=1000, reliable=False)
        self._subscription = node.subscribe(self._topic, self._take)

    def _take(self, raw: bytes) -> None:
        self.frame.take(deserialise(raw, self._topic.msgtype))

    @property
    def complaints(self) -> dict[str, str]:
        """Why the transform to its frame is not published, or turns with it."""
        waited_s = monotonic() - self._begun_s
        name = self._node.resolve_topic_name(self._topic.name)
        if contradiction := self.frame.contradiction:
            words = (
                f'the odometry on {name} {contradiction}, so that the transform to its frame '
                'turns too: check the sign and the scale of its yaw rate'
            )
            return {'odometry': words}
        if not self.frame.trouble or (not self.frame.frame and waited_s < InputLimits.discovery_s):
            return {}
        return {'odometry': f'no transform to the frame of {name}: {self.frame.trouble}'}

    def close(self) -> None:
        """Stop listening."""
        self._node.destroy_subscription(self._subscription)


def image_decoder(width: int, height: int) -> Callable[[bytes], tuple[int, str, Floats]]:
    """Return the decoder of images: mean brightnesses on a grid, see `ImageValues`."""
    values, kind = ImageValues(width, height), message_class(Topics.IMAGE.msgtype)

    def decode(raw: bytes) -> tuple[int, str, Floats]:
        return values.decode(deserialize_message(raw, kind))

    return decode


class PositionTaker(Protocol):
    """Takes positions in metres, all of one frame, from satellites or not."""

    origin: GeodeticOrigin | None

    @property
    def stamps_on_arrival(self) -> bool:
        """True if messages are stamped on arrival, whatever their headers say."""

    def fits_origin(self, *, geodetic: bool) -> bool:
        """Return whether satellite fixes, or positions in metres, go with what is known."""

    @property
    def position_counts(self) -> Counter[str]:
        """How many positions were used, and how many were not by cause."""

    def take_position(self, stamp_ns: int, frame_id: str, x: float, y: float) -> bool:
        """Take a position in metres; return whether it is used."""


class ReferenceInput:
    """
    Decode positions; satellite fixes become positions in the plane of the taker's origin.

    Where the taker has no origin yet, the first valid fix that the next one agrees with is it.
    Positions that cannot have the origin of those that the taker knows are not used.

    Parameters
    ----------
    session
        What takes them.
    clock
        Seconds, never going back.

    """

    def __init__(self, session: PositionTaker, clock: Callable[[], float] = monotonic) -> None:
        self._session = session
        self._clock = clock
        self._used_s = math.nan
        self._decode: Decode | None = None
        self._geodetic = False
        # A fix until the next one agrees with it: its stamp, latitude, longitude and altitude.
        self._waiting: tuple[int, tuple[float, ...]] | None = None
        self._refused: Counter[str] = Counter()

    def start(self, msgtype: str) -> None:
        """Take messages of a type from now on."""
        self._geodetic = msgtype == GEODETIC
        self._waiting = None
        self._decode = position_decoder(deserialise, msgtype)

    @property
    def silence_s(self) -> float:
        """Seconds since a position was used; NaN if none ever was."""
        return self._clock() - self._used_s

    def counts(self) -> Counter[str]:
        """Return how many were used, and how many were not by cause."""
        return self._refused + self._session.position_counts

    def take(self, raw: bytes) -> bool:
        """Take one serialised message; return whether its position is used."""
        if self._decode is None:
            return False
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
            self._used_s = self._clock()
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
