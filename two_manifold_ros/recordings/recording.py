# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recording read from a bag: an IMU stream, and streams of positions and sensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.names import MARKS
from two_manifold_ros.recordings.excursions import explained, usable_places
from two_manifold_ros.typing import Bools, Floats, Ints

IMU_VECTORS = ('linear_acceleration', 'angular_velocity')
IMU_CHANNELS = tuple(f'{vector}.{axis}' for vector in IMU_VECTORS for axis in 'xyz')
IN_A_ROW = 9
"""Steps in a row whose median is the usual interval there, where it is longer than that of all."""

IMU_UNITS = ('m/s^2', 'm/s^2', 'm/s^2', 'rad/s', 'rad/s', 'rad/s')

GRAVITY = 9.80665
"""Standard gravity, m/s^2; `scipy.constants` has it too, but takes .17 s to load."""

FASTEST_RATE = 35.0
"""Angular rate, rad/s, that usual gyroscopes do not measure: they end at 2000 deg/s."""


def fastest_rate(samples: Floats) -> float:
    """Return the angular rate, rad/s, that one in a hundred samples (N, 6) of an IMU passes."""
    return float(np.quantile(np.linalg.norm(samples[:, 3:], axis=1), 0.99))


AccelerationUnit: TypeAlias = Literal['metres per second squared', 'g', 'removed', 'unclear']


def acceleration_unit(samples: Floats) -> AccelerationUnit:
    """
    Return the unit that accelerations look like, of finite samples (N, 6) of an IMU.

    Their mean is about gravity. One of about 1 can also come from bends in m/s^2 without gravity:
    then its axis is not steady, or shows less while nothing turns.
    """
    forces = samples[:, :3]
    vector = forces.mean(axis=0)
    axis = int(np.argmax(np.abs(vector)))
    mean = float(np.linalg.norm(vector))
    low, high = np.quantile(forces[:, axis], (0.25, 0.75)).tolist()
    steady = high - low < abs(vector[axis])
    if abs(mean - GRAVITY) < 0.2 * GRAVITY:
        return 'metres per second squared'
    # How large it is where a linear fit turns by no rate.
    design = np.column_stack([samples[:, 3:], np.ones(len(samples))])
    straight_on = abs(float(np.linalg.lstsq(design, forces[:, axis], rcond=None)[0][-1]))
    if steady and all(0.8 < each < 1.3 for each in (mean, straight_on)):
        return 'g'
    return 'removed' if mean < GRAVITY else 'unclear'


@dataclass(frozen=True)
class GeodeticOrigin:
    """Origin of a local tangent plane (x east, y north) on the WGS84 ellipsoid."""

    latitude_deg: float
    longitude_deg: float
    altitude_m: float


@dataclass(frozen=True)
class ImuStream:
    """Samples of an IMU, or of another sensor, in the order in which they were received."""

    topic: str
    frame_id: str
    stamps: Ints  # (N,) header stamps in ns, or receive times where the recording says so
    samples: Floats  # (N, 6) specific force in m/s^2, angular rate in rad/s; or of other channels
    receive_stamps: Ints  # (N,) when the bag received each message, ns
    names: tuple[str, ...] = IMU_CHANNELS

    @property
    def of_imu(self) -> bool:
        """True if the samples are those of an IMU, in its units."""
        return self.names == IMU_CHANNELS

    @property
    def first_stamp(self) -> int:
        """First stamp that the next one follows, from which seconds are counted."""
        return _first_that_goes_on(self.stamps, usual_gap_ns(self.stamps))

    @property
    def last_stamp(self) -> int:
        """Last stamp that follows the one before."""
        return _first_that_goes_on(self.stamps[::-1], usual_gap_ns(self.stamps))

    @property
    def span_ns(self) -> int:
        """Nanoseconds from the first to the last stamp."""
        return self.last_stamp - self.first_stamp

    def select(self, mask: Bools) -> ImuStream:
        """Return the samples where the (N,) mask is true."""
        return replace(
            self,
            stamps=self.stamps[mask],
            samples=self.samples[mask],
            receive_stamps=self.receive_stamps[mask],
        )


def median_interval_ns(stamps: Ints) -> int:
    """Return the median positive step between stamps, ns, or 0 where there is none."""
    steps = np.diff(stamps)
    steps = steps[steps > 0]
    return int(np.median(steps)) if len(steps) else 0


def usual_gap_ns(stamps: Ints) -> int:
    """Return the length of a gap where no model has one: five usual intervals, 0.25 s or more."""
    stamps = stamps[stamps > 0]
    usual = median_interval_ns(stamps)
    steps = np.diff(stamps)
    blocks = steps[: len(steps) // IN_A_ROW * IN_A_ROW].reshape(-1, IN_A_ROW)
    if len(blocks):
        usual = max(usual, int(np.median(blocks, axis=1).max()))
    return max(250_000_000, 5 * usual)


def _first_that_goes_on(stamps: Ints, gap_ns: int) -> int:
    """Return the first of (N,) stamps that no gap follows, else the first but zeros, or 0."""
    present = stamps[stamps > 0]
    # A wild stamp is off by more.
    goes_on = np.flatnonzero(np.abs(np.diff(present)) <= gap_ns)
    return int(present[goes_on[0] if len(goes_on) else 0]) if len(present) else 0


@dataclass(frozen=True)
class PositionStream:
    """Positions in the plane, in the order in which they were received."""

    topic: str
    frame_id: str
    msgtype: str
    stamps: Ints  # (M,) nanoseconds
    positions: Floats  # (M, 2) x and y in metres
    origin: GeodeticOrigin | None = None  # of the tangent plane, if they were geodetic
    earlier_s: float = 0.0  # by which the stamps were made earlier

    @cached_property
    def usable(self) -> Bools:
        """Flags of positions that are finite, on earth, and explained by some speed: (M,)."""
        return explained(self.stamps, self.positions)

    @property
    def left_out(self) -> Bools:
        """Flags of positions that no speed of the drive explains, see `explained`: (M,)."""
        return usable_places(self.positions) & ~self.usable

    def select(self, mask: Bools) -> PositionStream:
        """Return the positions where the (M,) mask is true."""
        return replace(self, stamps=self.stamps[mask], positions=self.positions[mask])


@dataclass(frozen=True)
class HeldStream:
    """Numbers of a topic that hold until the next message, in the order of their receipt."""

    topic: str
    msgtype: str
    fields: tuple[str, ...]  # the m numbers of each message that count
    stamps: Ints  # (M,) nanoseconds, on the time base of the IMU
    values: Floats  # (M, m) in the units of the messages

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the channels that hold the numbers, which say where they come from."""
        return tuple(f'{self.topic}:{field}' for field in self.fields)

    def held_at(self, stamps: Ints) -> Floats:
        """Return the (N, m) numbers in force at (N,) stamps, by zero-order hold, NaN before."""
        order = np.argsort(self.stamps, kind='stable')
        newest = np.searchsorted(self.stamps[order], stamps, side='right') - 1
        held = np.full((len(stamps), len(self.fields)), np.nan)
        known = newest >= 0
        held[known] = self.values[order][newest[known]]
        return held


@dataclass(frozen=True)
class Recording:
    """The data of one bag that this package uses."""

    name: str  # the path as the user gave it
    imu: ImuStream
    positions: PositionStream | None = None  # if any were asked for and found
    notes: tuple[str, ...] = ()  # sentences for the user, such as "receive times are used"
    sensors: tuple[HeldStream, ...] = ()  # beside the IMU, that `ReadingOptions` named
    line: str = ''  # of a network that the vehicle drives; empty if it has none

    @property
    def marked(self) -> bool:
        """Whether its positions are on a ring that begins at a mark, see ``laps``."""
        return self.positions is not None and self.positions.topic == MARKS

    def between(self, start_s: float | None, end_s: float | None) -> Recording:
        """Return the part in [start, end), seconds from the first IMU stamp; ``None`` is open."""
        origin = self.imu.first_stamp

        def inside(stamps: Ints) -> Bools:
            elapsed = stamps - origin
            mask = np.ones(len(stamps), dtype=np.bool_)
            if start_s is not None:
                mask &= elapsed >= round(start_s * 1e9)
            if end_s is not None:
                mask &= elapsed < round(end_s * 1e9)
            return mask

        positions = self.positions
        if positions is not None:
            positions = positions.select(inside(positions.stamps))
        return replace(self, imu=self.imu.select(inside(self.imu.stamps)), positions=positions)

    def samples_with(self, names: Sequence[str]) -> Floats:
        """Return samples of the IMU and of m named channels, NaN where unknown: (N, 6 + m)."""
        if not names:
            return self.imu.samples
        further = np.full((len(self.imu.stamps), len(names)), np.nan)
        for stream in self.sensors:
            held = stream.held_at(self.imu.stamps)
            for name, column in zip(stream.names, held.T, strict=True):
                if name in names:
                    further[:, names.index(name)] = column
        return np.hstack([self.imu.samples, further])

    def with_sensors_named(self, names: Mapping[str, str]) -> Recording:
        """Return the recording with its sensors on other topics, by the topics where they were."""
        sensors = tuple(
            replace(each, topic=names.get(each.topic, each.topic)) for each in self.sensors
        )
        return replace(self, sensors=sensors) if sensors else self

    def with_positions_earlier(self, seconds: float) -> Recording:
        """Return it with stamps of positions so much earlier; those that say no time stay so."""
        if self.positions is None:
            return self
        stamps = self.positions.stamps
        earlier = stamps - round(seconds * 1e9)
        keeps = (earlier > 0) | (stamps <= 0)
        moved = replace(
            self.positions.select(keeps),
            stamps=np.where(stamps > 0, earlier, stamps)[keeps],
            earlier_s=self.positions.earlier_s + seconds,
        )
        return replace(self, positions=moved)


def plane_of(origin: GeodeticOrigin | None) -> str:
    """Return in words which plane positions are in, as the end of a sentence."""
    if origin is None:
        return 'metres without a geodetic origin'
    return f'metres from {origin.latitude_deg:.7f}, {origin.longitude_deg:.7f} deg'


OTHER_CITY_M = 100_000.0
"""How far bags may lie apart and share a tangent plane, which shortens distances by 1 in 8,000."""


def is_far(stream: PositionStream | None) -> bool:
    """Return whether positions lie too far from the origin of their plane."""
    if stream is None or stream.origin is None or not len(stream.positions):
        return False
    return bool(np.linalg.norm(np.nanmedian(stream.positions, axis=0)) > OTHER_CITY_M)


def check_one_plane(recordings: Sequence[Recording]) -> None:
    """Refuse recordings whose positions are in several frames or from several origins."""
    located = [(each.name, each.positions) for each in recordings if each.positions is not None]
    for name, stream in located[1:]:
        other, first = located[0]
        frames = ', '.join(sorted({stream.frame_id, first.frame_id}))
        msg = ''
        if stream.frame_id != first.frame_id:
            msg = f'{other}, {name}: the positions are in different frames ({frames}); use one'
        elif stream.origin != first.origin:
            msg = (
                f'{name}: the positions on {stream.topic} are {plane_of(stream.origin)}, but the '
                f'positions of {other} on {first.topic} are {plane_of(first.origin)}; name one '
                'kind with --position-topic, or use recordings of one kind'
            )
        if msg:
            raise InputError(msg)
