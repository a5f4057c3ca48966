# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Read a bag of any kind into a `Recording`: decode its messages, on one time base."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from contextlib import contextmanager, ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.errors import bags_wanted, InputError
from two_manifold_ros.names import POSITION_FIELDS, POSITION_TYPES, SENSOR_FIELDS
from two_manifold_ros.recordings.bag_topics import (
    choose_imu_topic,
    choose_position_topic,
    choose_topic,
    SENSOR,
)
from two_manifold_ros.recordings.excursions import frozen_places
from two_manifold_ros.recordings.further_channels import (
    fields_decoder,
    imu_field_decoder,
    SensorTopic,
)
from two_manifold_ros.recordings.recording import (
    HeldStream,
    IMU_VECTORS,
    ImuStream,
    is_far,
    PositionStream,
    Recording,
)
from two_manifold_ros.recordings.ros_messages import ImuDecoder, ImuFields
from two_manifold_ros.recordings.satellite_fixes import GEODETIC, NoFixError, positions_of_fixes
from two_manifold_ros.sources import fetched, is_remote, named, public, readable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from two_manifold_ros.recordings.bag import Bag
    from two_manifold_ros.recordings.bag_topics import Topic
    from two_manifold_ros.recordings.recording import GeodeticOrigin
    from two_manifold_ros.recordings.ros2_bag import Ros2Bag
    from two_manifold_ros.typing import Floats, Ints


OpenBag: TypeAlias = 'Bag | Ros2Bag'
"""
A bag that is open for reading by the library `rosbags` or `rosbag2_py`.

Its ``notes`` are sentences to be said of it, complete when all messages were read.
"""


@dataclass(frozen=True)
class ReadingOptions:
    """
    Topics and period to read from a bag, and how to read them.

    Parameters
    ----------
    imu_topic, position_topic
        Topics by name; by default the only one with messages of a fitting type.
    imu_field
        Field of the IMU in messages of another type, as `imu_field_decoder` reads it.
    sensor_topics, need_sensors
        Topics of further sensors, as `SensorTopic.parse` reads them; and whether a bag without one
        of them is an error. If not, the sensor is left out with a note.
    need_positions
        Whether a bag without positions is an error. If not, position topics are left out with a
        note if there are several and none is named, or if a receiver never had a fix.
    find_positions
        Whether to look for positions that are not needed and not named.
    use_receive_time
        Use the bag's receive times as time base. By default header stamps are used. If all stamps
        of a topic are zero, receive times are used with a note.
    origin
        Origin of the plane of ``NavSatFix``; by default the first valid fix near most others.

    """

    imu_topic: str | None = None
    position_topic: str | None = None
    imu_field: str | None = None
    sensor_topics: tuple[str, ...] = ()
    need_sensors: bool = True
    need_positions: bool = True
    find_positions: bool = True
    use_receive_time: bool = False
    origin: GeodeticOrigin | None = None


@contextmanager
def open_bag(path: str | Path) -> Iterator[OpenBag]:
    """Open a bag for a ``with``: by `rosbags`, or by `rosbag2_py` where that is missing."""
    # A robot may have either library, or none: reading this module must not need one.
    with bags_wanted():
        try:
            from two_manifold_ros.recordings.bag import Bag  # noqa: PLC0415

            kind: Callable[..., OpenBag] = Bag
        except ModuleNotFoundError:
            from two_manifold_ros.recordings.ros2_bag import Ros2Bag  # noqa: PLC0415

            kind = Ros2Bag
    with ExitStack() as stack:
        with readable(path):
            place = stack.enter_context(fetched(path))
            bag = kind(place)
            stack.enter_context(bag)
        if is_remote(path):
            bag.path, bag.notes = public(path), [named(each, place, path) for each in bag.notes]
        yield bag


def read_recording(
    path: str | Path,
    options: ReadingOptions = ReadingOptions(),
    *,
    progress: Callable[[float], None] = lambda _: None,
) -> Recording:
    """
    Read the IMU and the positions of one bag.

    Stamps stay as they are; the ``ticks`` folder cleans them.

    Parameters
    ----------
    path
        A rosbag2 folder (sqlite3 or mcap, split or compressed or not), or one ``.mcap``,
        ``.db3`` or ROS 1 ``.bag`` file; here or at an address, as `fetched` takes it.
    options
        What to read, and how.
    progress
        Called now and then with the share of the messages that has been read, in [0, 1].

    Raises
    ------
    InputError
        If the bag cannot be read, or a topic is missing, ambiguous, or of another type.

    """
    with readable(path), open_bag(path) as bag:
        imu_choice = choose_imu_topic(bag.path, bag.topics, options.imu_topic, options.imu_field)
        decoder = imu_decoder(bag, imu_choice, options.imu_field)
        position_choice, notes = choose_position_topic(
            bag.path,
            [each for each in bag.topics if each != imu_choice or not options.imu_field],
            options.position_topic,
            needed=options.need_positions,
            find=options.find_positions,
        )
        wanted = [(imu_choice, decoder)]
        if position_choice is not None:
            wanted.append((position_choice, position_decoder(bag.decode, position_choice.msgtype)))
        sensors, more = _choose_sensors(bag, options)
        own = len(wanted)
        wanted += [(topic, decode) for topic, _, decode in sensors]
        collected = collect(bag, wanted, progress)
        notes = [*bag.notes, *notes, *more]
        notes += decoder.notes(imu_choice.name) if isinstance(decoder, ImuDecoder) else []
    times, time_notes = time_base(collected[:own], options.use_receive_time)
    notes += time_notes
    for each in collected[:own]:
        notes += each.notes
    imu, positions = collected[0].imu(times[0]), None
    if position_choice is not None:
        try:
            positions, more = collected[1].positions(times[1], options.origin)
        except NoFixError as error:
            if options.need_positions:
                raise
            more = [str(error)]
        notes += more
    positions, more = without_frozen(positions, imu)
    notes += more
    held = tuple(
        HeldStream(
            topic.name,
            topic.msgtype,
            fields,
            _on_time_base(each.stamps, each.received, imu),
            each.numbers,
        )
        for each, (topic, fields, _) in zip(collected[own:], sensors, strict=True)
    )
    return Recording(public(path), imu, positions, tuple(notes), held)


def without_frozen(
    positions: PositionStream | None, imu: ImuStream
) -> tuple[PositionStream | None, list[str]]:
    """Leave out positions that repeat while the vehicle drives, and say that in a sentence."""
    if positions is None:
        return None, []
    frozen = frozen_places(positions.stamps, positions.positions, imu.stamps, imu.samples)
    if not frozen.any():
        return positions, []
    note = (
        f'{frozen.sum()} of {len(frozen)} positions on {positions.topic} repeat to the last digit '
        f'for more than a second while the IMU shows that the vehicle drives, and are left out: '
        f'check the camera or the localisation there.'
    )
    return positions.select(~frozen), [note]


def _choose_sensors(
    bag: OpenBag, options: ReadingOptions
) -> tuple[list[tuple[Topic, tuple[str, ...], Decode]], list[str]]:
    """Return topic, fields and decoder of each sensor, and notes on those that are not there."""
    found: dict[Topic, tuple[str, ...]] = {}
    notes = []
    for topic in map(SensorTopic.parse, options.sensor_topics):
        try:
            choice = choose_topic(bag.path, bag.topics, SENSOR, topic.name)
        except InputError as error:
            if options.need_sensors:
                raise
            notes.append(f'{error} The model goes on without this sensor.')
            continue
        if choice in found:
            msg = f'{choice.name} is named as a sensor twice: name it once, with all its fields'
            raise InputError(msg)
        found[choice] = topic.fields or SENSOR_FIELDS[choice.msgtype]
    sensors = [
        (each, fields, fields_decoder(bag.decode, each.name, each.msgtype, fields))
        for each, fields in found.items()
    ]
    return sensors, notes


def read_recordings(
    paths: Sequence[str | Path],
    options: ReadingOptions = ReadingOptions(),
    *,
    progress: Callable[[float], None] = lambda _: None,
) -> Iterator[Recording]:
    """Read bags, each in the plane of ``options`` or of earlier fixes in `OTHER_CITY_M`."""
    planes: list[GeodeticOrigin | None] = []
    for number, path in enumerate(paths):
        part = partial(lambda done, share: progress((done + share) / len(paths)), number)
        with fetched(path):
            for plane in [options.origin] if options.origin else [*planes, None]:
                recording = read_recording(path, replace(options, origin=plane), progress=part)
                stream = recording.positions
                if not is_far(stream):
                    break
        planes += [] if stream is None or stream.origin in {*planes, None} else [stream.origin]
        yield recording


def read_stamps(path: str | Path, name: str, imu: ImuStream) -> Ints:
    """Return when messages of a topic were made, ns, on the time base of an IMU of the bag."""
    with open_bag(path) as bag:
        found = [topic for topic in bag.topics if topic.name == name and topic.count]
        if not found:
            names = ', '.join(topic.name for topic in bag.topics)
            msg = f'{path}: there is no topic or file {name} with messages; the topics are {names}'
            raise InputError(msg)
        decode = fields_decoder(bag.decode, name, found[0].msgtype, ())
        made = [(decode(raw)[0], received) for _, received, raw in bag.messages(found[:1])]
    stamps, received_ns = np.array(made, dtype=np.int64).T
    return _on_time_base(stamps, received_ns, imu)


def _on_time_base(stamps: Ints, received: Ints, imu: ImuStream) -> Ints:
    """
    Return the stamps of messages on the time base of the IMU, ns.

    Without stamps they count from when they were received, less the usual time that a sample of
    the IMU takes from its stamp to the bag.
    """
    if stamps.any() and not np.array_equal(imu.stamps, imu.receive_stamps):
        return stamps
    later = np.median(imu.receive_stamps - imu.stamps) if len(imu.stamps) else 0
    on_base: Ints = received - int(later)
    return on_base


# From serialised bytes to the stamp in ns, the frame_id and the numbers.
Decode: TypeAlias = Callable[[bytes], tuple[int, str, tuple[float, ...]]]
# From serialised bytes and their type to a message with fields.
Deserialise: TypeAlias = Callable[[bytes, str], Any]


def imu_decoder(bag: OpenBag, topic: Topic, field: str | None = None) -> Decode:
    """Return the decoder of ``sensor_msgs/Imu``, in a field: specific force, then angular rate."""
    if field:
        return imu_field_decoder(bag.decoder_of(topic), topic.name, topic.msgtype, field)
    if topic.serialisation == 'cdr':
        return ImuDecoder()

    parts = [
        (*(f'{each}.{axis}' for axis in 'xyz'), f'{each}_covariance.0') for each in IMU_VECTORS
    ]
    decode = fields_decoder(bag.decode, topic.name, topic.msgtype, parts[0] + parts[1])

    def fields(raw: bytes) -> ImuFields:
        stamp_ns, frame_id, numbers = decode(raw)
        force, rate = numbers[:4], numbers[4:]
        return stamp_ns, frame_id, force, rate  # type: ignore[return-value] # four each

    return ImuDecoder(fields)


def position_decoder(deserialise: Deserialise, msgtype: str) -> Decode:
    """Return the decoder of x and y in metres; of fixes latitude, longitude, altitude, status."""
    return fields_decoder(deserialise, 'the topic of positions', msgtype, POSITION_FIELDS[msgtype])


_PROGRESS_EVERY = 5000
_MOST_FRAMES = 10


class MessageColumns:
    """Messages gathered from one topic."""

    def __init__(self, place: Path | str, name: str, msgtype: str, decode: Decode) -> None:
        self.place, self.name, self.msgtype = place, name, msgtype
        self.frames: list[str] = []
        self._decode = decode
        self._frame_of = array('B')
        self._stamps = array('q')
        self._received = array('q')
        self._numbers = array('d')

    def add(self, received: int, raw: bytes) -> None:
        """Decode one message that the bag received at that time, in nanoseconds."""
        try:
            stamp, frame_id, numbers = self._decode(raw)
            # Neither has taken it yet if the other cannot.
            times = array('q', (stamp, received))
        except InputError:
            raise
        # Damaged bytes make a decoder raise almost anything.
        except Exception as error:
            msg = (
                f'A message on {self.name} in {self.place} cannot be decoded ({error}): '
                f'the bag is damaged, copy it again.'
            )
            raise InputError(msg) from error
        self._stamps.append(times[0])
        self._received.append(times[1])
        self._numbers.extend(numbers)
        # A longer list would take time and say no more.
        if len(self.frames) < _MOST_FRAMES and frame_id not in self.frames:
            self.frames.append(frame_id)
        named = frame_id in self.frames
        self._frame_of.append(self.frames.index(frame_id) if named else _MOST_FRAMES)

    @property
    def stamps(self) -> Ints:
        """Header stamps (N,), nanoseconds."""
        return np.array(self._stamps, dtype=np.int64)

    @property
    def received(self) -> Ints:
        """Receive times (N,), nanoseconds."""
        return np.array(self._received, dtype=np.int64)

    @property
    def numbers(self) -> Floats:
        """Decoded numbers (N, c)."""
        return np.array(self._numbers, dtype=np.float64).reshape(len(self._stamps), -1)

    @property
    def notes(self) -> list[str]:
        """A sentence on frames of an IMU that changed."""
        if len(self.frames) < 2 or self.msgtype in POSITION_TYPES:
            return []
        note = (
            f'{self.name} changes its frame_id ({self._listed_frames()}): its messages are '
            f'read as if they were all in the first.'
        )
        return [note]

    def _listed_frames(self) -> str:
        return ', '.join(repr(frame) for frame in self.frames)

    def imu(self, stamps: Ints) -> ImuStream:
        """Return messages of an IMU with these stamps (N,), nanoseconds, as a stream."""
        return ImuStream(self.name, self.frames[0], stamps, self.numbers, self.received)

    def positions(
        self, stamps: Ints, origin: GeodeticOrigin | None
    ) -> tuple[PositionStream, list[str]]:
        """
        Return messages with positions, of any type, as positions in one plane, and notes.

        Those in another frame than most are left out, as bags in different frames are not mixed.
        The ``origin`` is that of another recording, if one has fixes. `NoFixError` says that the
        messages are satellite fixes, and none is valid.
        """
        name = self.name
        if self.msgtype == GEODETIC:
            place = f'{name} in {self.place}'
            return positions_of_fixes(self.numbers, name, place, stamps, origin)
        frame_of = np.array(self._frame_of, dtype=np.int64)
        # The first of several.
        main = int(np.argmax(np.bincount(frame_of, minlength=_MOST_FRAMES)[:_MOST_FRAMES]))
        frame, mask = self.frames[main], frame_of == main
        stream = PositionStream(name, frame, self.msgtype, stamps, self.numbers)
        if mask.all():
            return stream, []
        others = len(mask) - int(mask.sum())
        note = (
            f'{name} changes its frame_id ({self._listed_frames()}): {others} of {len(mask)} '
            f'messages are not in {frame!r} and are left out; record positions in one frame.'
        )
        return stream.select(mask), [note]


def collect(
    bag: OpenBag, wanted: Sequence[tuple[Topic, Decode]], progress: Callable[[float], None]
) -> list[MessageColumns]:
    """
    Read the messages of these topics and no others, of each by its decoder; one result for each.

    A topic may be there twice, as an odometry that has the positions and a sensor.
    """
    collected = [
        MessageColumns(bag.path, topic.name, topic.msgtype, decode) for topic, decode in wanted
    ]
    takers: dict[str, list[MessageColumns]] = {}
    for each in collected:
        takers.setdefault(each.name, []).append(each)
    topics = list(dict.fromkeys(topic for topic, _ in wanted))
    total = sum(topic.count for topic in topics)
    for number, (name, received, raw) in enumerate(bag.messages(topics)):
        for each in takers[name]:
            each.add(received, raw)
        if number % _PROGRESS_EVERY == 0:
            progress(number / total)
    for each in collected:
        if not each.frames:
            msg = (
                f'{bag.path} holds no whole message on {each.name}: choose another topic or '
                f'recording.'
            )
            raise InputError(msg)
    return collected


def time_base(
    collected: Sequence[MessageColumns], use_receive_time: bool
) -> tuple[list[Ints], list[str]]:
    """
    Return the stamps of each topic in nanoseconds, and what has to be said about them.

    All topics share one base: if one has no header stamps, receive times are taken for all, for
    the clock of another topic's header need not be the recorder's.
    """
    unstamped = [each.name for each in collected if not each.stamps.any()]
    if use_receive_time:
        return [each.received for each in collected], ['Receive times are used, as asked.']
    if unstamped:
        note = (
            f'Receive times are used because all header stamps of {" and ".join(unstamped)} are '
            f'zero: have the driver stamp its messages.'
        )
        return [each.received for each in collected], [note]
    return [each.stamps for each in collected], []
