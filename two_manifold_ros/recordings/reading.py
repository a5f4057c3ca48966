# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Read a bag of any kind into a `Recording`: decode its messages, on one time base."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.errors import bags_wanted, InputError, of_system
from two_manifold_ros.names import SENSOR_FIELDS
from two_manifold_ros.recordings.bag_topics import choose_position_topic, choose_topic, IMU, SENSOR
from two_manifold_ros.recordings.decoding import (
    fields_decoder,
    imu_decoder,
    ImuDecoder,
    position_decoder,
    SensorTopic,
)
from two_manifold_ros.recordings.excursions import frozen_places
from two_manifold_ros.recordings.recording import (
    HeldStream,
    ImuStream,
    is_far,
    PositionStream,
    Recording,
)
from two_manifold_ros.recordings.satellite_fixes import GEODETIC, NoFixError, positions_of_fixes
from two_manifold_ros.sources import fetched, is_remote, named, public
from two_manifold_ros.typing import Floats, Ints

if TYPE_CHECKING:
    from two_manifold_ros.recordings.bag import Bag
    from two_manifold_ros.recordings.bag_topics import Topic
    from two_manifold_ros.recordings.decoding import Decode
    from two_manifold_ros.recordings.recording import GeodeticOrigin
    from two_manifold_ros.recordings.ros2_bag import Ros2Bag


OpenBag: TypeAlias = 'Bag | Ros2Bag'
"""A bag that is open for reading; its ``notes`` are sentences to be said of it."""


@dataclass(frozen=True)
class ReadingOptions:
    """Topics to read from a bag, and how to read them."""

    # By default the only topics with messages of a fitting type.
    imu_topic: str | None = None
    position_topic: str | None = None
    imu_field: str | None = None  # in messages of another type, as `imu_decoder` reads it
    sensor_topics: tuple[str, ...] = ()  # as `SensorTopic.parse` reads them
    need_sensors: bool = True  # else one that is not there is left out with a note
    # Else positions are left out with a note if several topics have some and none is named, or if
    # a receiver never had a fix.
    need_positions: bool = True
    find_positions: bool = True  # whether to look for those not needed and not named
    # Use the bag's receive times as time base, as where all stamps of a topic are zero.
    use_receive_time: bool = False
    origin: GeodeticOrigin | None = None  # of the plane of fixes; by default see `choose_origin`


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
    try:
        with ExitStack() as stack:
            place = stack.enter_context(fetched(path))
            bag = kind(place)
            stack.enter_context(bag)
            if is_remote(path):
                bag.path = public(path)
                bag.notes = [named(note, place, path) for note in bag.notes]
            yield bag
    except OSError as error:
        cure = 'look at the permissions of its files and folders, and at its disk'
        raise of_system(public(path), 'the bag cannot be read', error, cure) from error


def read_recording(
    path: str | Path,
    options: ReadingOptions = ReadingOptions(),
    *,
    progress: Callable[[float], None] = lambda _: None,
) -> Recording:
    """
    Read the IMU and the positions of one bag, here or at an address, as `fetched` takes it.

    Stamps stay as they are; the ``ticks`` folder cleans them. ``progress`` is called now and then
    with the share of the messages that has been read. `InputError` says that the bag cannot be
    read, or a topic is missing, ambiguous, or of another type.
    """
    with open_bag(path) as bag:
        field, topics = options.imu_field or '', bag.topics
        # A field may be in messages of any type.
        types = tuple(sorted({topic.msgtype for topic in topics})) if field else IMU.msgtypes
        imu_topic = choose_topic(bag.path, topics, replace(IMU, msgtypes=types), options.imu_topic)
        position_topic, notes = choose_position_topic(
            bag.path,
            [topic for topic in topics if not (field and topic == imu_topic)],
            options.position_topic,
            needed=options.need_positions,
            find=options.find_positions,
        )
        decode_imu = imu_decoder(
            bag.decoder_of(imu_topic) if field else bag.decode,
            imu_topic.name,
            imu_topic.msgtype,
            field=field,
            plain=imu_topic.serialisation == 'cdr',
        )
        wanted = [(imu_topic, decode_imu)]
        if position_topic is not None:
            decode = position_decoder(bag.decode, position_topic.msgtype)
            wanted.append((position_topic, decode))
        fields, more = _choose_sensors(bag, options)
        for topic, names in fields.items():
            decode = fields_decoder(bag.decode, topic.name, topic.msgtype, names)
            wanted.append((topic, decode))
        imu, *others = collect(bag, wanted, progress)
        positions = others.pop(0) if position_topic is not None else None
        notes = [*bag.notes, *notes, *more]
        if isinstance(decode_imu, ImuDecoder):
            notes += decode_imu.notes(imu_topic.name)
    recording = as_recording(public(path), imu, positions, options, notes)
    sensors = tuple(
        HeldStream(
            each.name,
            each.msgtype,
            names,
            _on_time_base(np.array(each.stamps), np.array(each.received), recording.imu),
            each.rows(),
        )
        for each, names in zip(others, fields.values(), strict=True)
    )
    return replace(recording, sensors=sensors)


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
) -> tuple[dict[Topic, tuple[str, ...]], list[str]]:
    """Return the fields of each topic of a sensor, and notes on topics that are not there."""
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
    return found, notes


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
            msg = f'{path}: there is no topic {name} with messages; the topics are {names}'
            raise InputError(msg)
        decode = fields_decoder(bag.decode, name, found[0].msgtype, ())
        made = [(decode(raw)[0], received) for _, received, raw in bag.messages(found[:1])]
    stamps, received_ns = np.array(made, dtype=np.int64).T
    return _on_time_base(stamps, received_ns, imu)


def _on_time_base(stamps: Ints, received: Ints, imu: ImuStream) -> Ints:
    """Return stamps, or times of receipt less the usual time from an IMU's stamp to the bag."""
    if stamps.any() and not np.array_equal(imu.stamps, imu.receive_stamps):
        return stamps
    later = np.median(imu.receive_stamps - imu.stamps) if len(imu.stamps) else 0
    on_base: Ints = received - int(later)
    return on_base


_PROGRESS_EVERY = 5000


class MessageColumns:
    """Messages gathered from one topic: header stamps and times of receipt in ns, numbers."""

    def __init__(self, place: Path | str, name: str, msgtype: str, decode: Decode) -> None:
        self.place, self.name, self.msgtype = place, name, msgtype
        self.stamps, self.received = array('q'), array('q')
        # Each name with its number, and the number of each message.
        self.frames: dict[str, int] = {}
        self.frame_of = array('L')
        self._numbers = array('d')
        self._decode = decode

    def add(self, received: int, raw: bytes) -> None:
        """Decode one message that the bag received at that time, in nanoseconds."""
        try:
            stamp, frame_id, numbers = self._decode(raw)
            # Neither has taken it yet if the other cannot.
            times = array('q', (stamp, received))
        except InputError as error:
            raise InputError(f'{self.place}: {error}') from error
        # Damaged bytes make a decoder raise almost anything.
        except Exception as error:
            raise InputError(
                f'A message on {self.name} in {self.place} cannot be decoded ({error}): '
                f'the bag is damaged, copy it again.'
            ) from error
        self.stamps.append(times[0])
        self.received.append(times[1])
        self._numbers.extend(numbers)
        self.frame_of.append(self.frames.setdefault(frame_id, len(self.frames)))

    @property
    def frame_names(self) -> str:
        """The first of the names, as a sentence has them."""
        return ', '.join(map(repr, [*self.frames][:10]))

    def rows(self) -> Floats:
        """Return the decoded numbers (N, c)."""
        return np.array(self._numbers).reshape(len(self.stamps), -1)


def collect(
    bag: OpenBag, wanted: Sequence[tuple[Topic, Decode]], progress: Callable[[float], None]
) -> list[MessageColumns]:
    """Read these topics and no others, each by its decoder; one may be there twice."""
    collected = [
        MessageColumns(bag.path, topic.name, topic.msgtype, decode) for topic, decode in wanted
    ]
    topics = list(dict.fromkeys(topic for topic, _ in wanted))
    total = sum(topic.count for topic in topics)
    for number, (name, received, raw) in enumerate(bag.messages(topics)):
        for each in collected:
            if each.name == name:
                each.add(received, raw)
        if number % _PROGRESS_EVERY == 0:
            progress(number / total)
    for each in collected:
        if not each.frames:
            raise InputError(
                f'{bag.path} holds no whole message on {each.name}: choose another topic or '
                f'recording.'
            )
    return collected


def as_recording(
    name: str,
    imu: MessageColumns,
    positions: MessageColumns | None,
    options: ReadingOptions,
    notes: Sequence[str] = (),
) -> Recording:
    """
    Return messages of an IMU, and those with positions if there are any, as a recording.

    If one topic has no header stamps, receive times are taken for all: another clock need not be
    the recorder's. Positions in another frame than most are left out. `NoFixError` says that
    positions are needed, and no fix is valid.
    """
    notes = list(notes)
    both = [imu] if positions is None else [imu, positions]
    unstamped = [each.name for each in both if not any(each.stamps)]
    if options.use_receive_time:
        notes.append('Receive times are used, as asked.')
    elif unstamped:
        notes.append(
            f'Receive times are used because all header stamps of {" and ".join(unstamped)} are '
            f'zero: have the driver stamp its messages.'
        )
    by_receipt = options.use_receive_time or bool(unstamped)
    if len(imu.frames) > 1:
        notes.append(
            f'{imu.name} changes its frame_id ({imu.frame_names}): its messages '
            f'are read as if they were all in the first.'
        )
    received = np.array(imu.received)
    stamps = received if by_receipt else np.array(imu.stamps)
    samples = ImuStream(imu.name, next(iter(imu.frames)), stamps, imu.rows(), received)
    if positions is None:
        return Recording(name, samples, None, tuple(notes))
    stamps = np.array(positions.received if by_receipt else positions.stamps)
    topic, rows = positions.name, positions.rows()
    if positions.msgtype == GEODETIC:
        try:
            place = f'{topic} in {positions.place}'
            stream, more = positions_of_fixes(rows, topic, place, stamps, options.origin)
        except NoFixError as error:
            if options.need_positions:
                raise
            return Recording(name, samples, None, (*notes, str(error)))
        notes += more
    else:
        frame_of = np.array(positions.frame_of, dtype=np.int64)
        # The first of several.
        main = int(np.argmax(np.bincount(frame_of)))
        mask, frame = frame_of == main, [*positions.frames][main]
        stream = PositionStream(topic, frame, positions.msgtype, stamps, rows).select(mask)
        if not mask.all():
            notes.append(
                f'{topic} changes its frame_id ({positions.frame_names}): {(~mask).sum()} of '
                f'{len(mask)} messages are not in {frame!r} and are left out; record positions in '
                'one frame.'
            )
    driven, left_out = without_frozen(stream, samples)
    return Recording(name, samples, driven, (*notes, *left_out))
