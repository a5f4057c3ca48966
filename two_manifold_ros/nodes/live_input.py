# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Record live topics for the trainer, and decode reference positions and further channels."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
import math
from time import monotonic
from typing import Any, cast, TYPE_CHECKING

import numpy as np
from rclpy.serialization import deserialize_message

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.assessment import (
    assess_silence,
    Assessment,
    InputLimits,
    Level,
    REJECTIONS,
)
from two_manifold_ros.interface.image_values import ImageValues
from two_manifold_ros.interface.messages import Topic, Topics
from two_manifold_ros.interface.status import capitalised, ThrottledLog
from two_manifold_ros.interface.transforms import OdometryFrame
from two_manifold_ros.names import POSITION_TYPES
from two_manifold_ros.nodes.callbacks import SensorTopic
from two_manifold_ros.recordings.further_channels import CommandTopic, fields_decoder
from two_manifold_ros.recordings.reading import (
    decode_imu_cdr,
    MessageColumns,
    position_decoder,
    time_base,
)
from two_manifold_ros.recordings.recording import Recording
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

    from two_manifold_ros.adapting.updater_session import UpdaterSession
    from two_manifold_ros.nodes.callbacks import GuardedNode
    from two_manifold_ros.recordings.further_channels import FurtherTopic
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
        Name of the topic, the types that it may have, and what to do if it has none of them.

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
        found = self._node.get_publishers_info_by_topic(self.topic)
        types = [self._wanted] if self._wanted else sorted({info.topic_type for info in found})
        usable = [kind for kind in types if kind in self._types]
        self.problem = ''
        if len(usable) == 1:
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
        return bool(self._node.get_publishers_info_by_topic(self.topic))

    def close(self) -> None:
        """Stop listening."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None


class LiveChannels:
    """
    Keep the newest commands of the vehicle, or readings of a sensor, for who takes them.

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
        topic: FurtherTopic,
        hold: Callable[[tuple[float, ...]], object],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._hold, self._fields, self._name = hold, topic.fields, str(topic.name)
        self._word, self._clock = topic.word, clock
        # When the last message came, and the longest time between two.
        self._heard_s, self._longest_s = math.nan, 0.0
        self._refused = ''
        self._live = LiveReference(
            node,
            '',
            self._start,
            self._take,
            self._name,
            tuple(topic.types),
            f'publish it as one of {{}} or set {topic.word}_topic{topic.plural} to another',
        )

    @property
    def complaints(self) -> dict[str, str]:
        """Why the values are missing, or old."""
        self._live.find()
        topic, silent_s = self._live.topic, self._clock() - self._heard_s
        of_sensor = self._word != CommandTopic.word
        problem = self._live.problem or self._refused
        if not problem and math.isnan(silent_s):
            problem = (
                f'nothing came from the sensor on {topic} yet, and the filter goes on without it: '
                'start its driver, or set sensor_topics to its topic'
                if of_sensor
                else f'no command of the vehicle came on {topic} yet, but the model needs '
                'it: start what commands the vehicle, or set command_topic to its topic'
            )
        if problem:
            return {f'no_{self._word}': problem}
        # As of a channel that stands still: a second, and twice the longest time before. A command
        # holds until the next one, so that nothing is known of a single one; but with no publisher
        # none will come.
        there = self._live.is_published
        if silent_s <= 1.0 + (2.0 * (self._longest_s or math.inf) if there else 0.0):
            return {}
        why = f'where at most {self._longest_s:.1f} s were usual' if there else 'without publisher'
        if of_sensor:
            # What is held for longer than any reading of the training is left out.
            problem = (
                f'nothing came from the sensor on {topic} for {silent_s:.1f} s, {why}, and the '
                'filter goes on without it: look at its driver'
            )
        else:
            problem = (
                f'no command of the vehicle came on {topic} for {silent_s:.1f} s, {why}, and the '
                'last one is filtered with: look at what commands the vehicle'
            )
        return {f'{self._word}_gone': problem}

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
        """Why the transform to its frame is not published."""
        waited_s = monotonic() - self._begun_s
        if not self.frame.trouble or (not self.frame.frame and waited_s < InputLimits.discovery_s):
            return {}
        name = self._node.resolve_topic_name(self._topic.name)
        return {'odometry': f'no transform to the frame of {name}: {self.frame.trouble}'}

    def close(self) -> None:
        """Stop listening."""
        self._node.destroy_subscription(self._subscription)


class LiveRecording:
    """
    Record ``imu`` at once, and ``reference`` as soon as its type is known.

    Parameters
    ----------
    node
        Node that subscribes.
    reference_type
        Type of the reference; empty means the one it is published with.
    ending
        When the recording ends, in words.
    silence_s
        Seconds without a message that are worth a warning.

    """

    def __init__(
        self, node: GuardedNode, reference_type: str, ending: str, silence_s: float = 2.0
    ) -> None:
        self._node = node
        self._ending = ending
        self._silence_s = silence_s
        self._imu = SensorTopic(node, Topics.IMU, 'IMU')
        self._samples = MessageColumns('live', self._imu.name, Topics.IMU.msgtype, decode_imu_cdr)
        self._positions: MessageColumns | None = None
        self.imu_count = self.reference_count = self.malformed = 0
        self._first_s: float | None = None
        self._reference_s = monotonic()
        self._log = ThrottledLog(node.get_logger().warning, node.get_logger().info)
        self._imu.listen(self._on_imu)
        self._reference = LiveReference(
            node, reference_type, self._start_reference, self._on_reference
        )

    @property
    def assessment(self) -> Assessment:
        """State of the recording."""
        reference = self._reference.topic
        silence = assess_silence(self._imu.health(self._silence_s))
        if self._reference.problem:
            return Assessment(Level.WARN, None, 'reference_type', self._reference.problem)
        if not self.imu_count:
            why = f'no message on {self._imu.name} could be decoded: {REJECTIONS["malformed"]}'
            return silence or Assessment(Level.ERROR, None, 'malformed', why)
        if not self.reference_count:
            why = f'recording, but no position came on {reference} yet'
            return Assessment(Level.WARN, None, 'no_reference', why)
        why = f'recording {self._ending}'
        if silence is not None:
            return Assessment(Level.WARN, None, silence.cause, f'{why}, but {silence.why}')
        silent_s = monotonic() - self._reference_s
        if silent_s > self._silence_s:
            why = f'{why}, but no position came on {reference} for {silent_s:.0f} s'
            return Assessment(Level.WARN, None, 'reference_gone', why)
        return Assessment(Level.OK, None, '', why)

    @property
    def counts(self) -> dict[str, float | str]:
        """Messages recorded until now."""
        return {
            'imu_messages': self.imu_count,
            'reference_messages': self.reference_count,
            'malformed': self.malformed,
            'reference_type': self._reference.msgtype or 'unknown',
        }

    def summary(self, assessment: Assessment) -> str:
        """Return one line for the log."""
        return (
            f'{capitalised(assessment.why)}: {self.imu_count} IMU messages on '
            f'{self._imu.name}, {self.reference_count} positions on '
            f'{self._reference.topic}'
        )

    def seconds(self) -> float:
        """Return how long ago the first IMU message came."""
        return 0.0 if self._first_s is None else monotonic() - self._first_s

    def recording(self, *, use_receive_time: bool) -> Recording:
        """
        Return the recording until now.

        Raises
        ------
        InputError
            If no IMU message or no reference came yet, or no satellite fix is valid.

        """
        imu, reference = self._samples, self._positions
        if not self.imu_count:
            msg = f'No IMU message came on {imu.name} yet: remap imu to the driver.'
            raise InputError(msg)
        if reference is None or not self.reference_count:
            msg = f'No position came on {self._reference.topic} yet: remap reference to its topic.'
            raise InputError(msg)
        (imu_stamps, stamps), notes = time_base([imu, reference], use_receive_time)
        notes += [*imu.notes, *reference.notes]
        positions, more = reference.positions(stamps, None)
        notes += more
        return Recording('live topics', imu.imu(imu_stamps), positions, tuple(notes))

    def close(self) -> None:
        """Stop recording; the recording is freed with this object."""
        self._imu.close()
        self._reference.close()

    def update(self) -> None:
        """Subscribe the reference once its type is known, and log what is wrong."""
        self._reference.find()
        problem, malformed = self._reference.problem, self.malformed
        causes = {'reference_type': problem} if problem else {}
        if malformed:
            causes['malformed'] = f'{malformed} messages could not be decoded'
        self._log.update(causes, monotonic())

    def _start_reference(self, msgtype: str) -> None:
        topic = self._node.resolve_topic_name('reference')
        decode = position_decoder(deserialise, msgtype)
        self._positions = MessageColumns('live', topic, msgtype, decode)

    def _on_imu(self, raw: bytes) -> None:
        if self._first_s is None:
            self._first_s = monotonic()
        self.imu_count += self._add(self._samples, raw)

    def _on_reference(self, raw: bytes) -> None:
        self._reference_s = monotonic()
        if self._positions is not None:
            self.reference_count += self._add(self._positions, raw)

    def _add(self, collected: MessageColumns, raw: bytes) -> int:
        """Decode one serialised message; return how many were."""
        try:
            collected.add(self._node.now_ns, raw)
        except InputError:
            self.malformed += 1
            return 0
        return 1


def image_decoder(width: int, height: int) -> Callable[[bytes], tuple[int, str, Floats]]:
    """Return the decoder of images: mean brightnesses on a grid, see `ImageValues`."""
    values, kind = ImageValues(width, height), message_class(Topics.IMAGE.msgtype)

    def decode(raw: bytes) -> tuple[int, str, Floats]:
        return values.decode(deserialize_message(raw, kind))

    return decode


class ReferenceInput:
    """
    Decode positions; satellite fixes become positions in the plane of the session's origin.

    Where the session has no origin yet, the first valid fix that the next one agrees with is it.
    Positions that cannot have the origin of those that the session knows are not used.

    Parameters
    ----------
    session
        Session that takes them.
    clock
        Seconds, never going back.

    """

    def __init__(self, session: UpdaterSession, clock: Callable[[], float] = monotonic) -> None:
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
        return self._refused + self._session.learner.reference.counters

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
        if session.head.origin is None:
            if before is not None and stamp_ns == before[0]:
                # A copy is no witness of what it was copied from.
                self._refused['duplicate_stamp'] += 1
                return False
            self._waiting = stamp_ns, fix
            if before is None:
                return False
            if not fixes_agree(before[1], fix):
                self._refused['no_fix'] += 1
                return False
            session.head = replace(session.head, origin=origin_at(*before[1]))
            if not session.stamps_on_arrival:
                self._use(before[0], FRAME, *self._project(before[1]))
        self._waiting = None
        # The header names the antenna; the positions are in a plane fixed to the earth.
        return self._use(stamp_ns, FRAME, *self._project(fix))

    def _project(self, fix: tuple[float, ...]) -> tuple[float, float]:
        """Return metres east and north of the session's origin."""
        origin = cast('GeodeticOrigin', self._session.head.origin)
        # At the height of the origin, as `positions_of_fixes` does.
        latitude, longitude, _ = fix
        there = np.array([latitude]), np.array([longitude]), np.array([origin.altitude_m])
        ((east, north),) = east_north(*there, origin).tolist()
        return east, north
