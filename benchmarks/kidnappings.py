# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Drives in which the vehicle is taken away and put down elsewhere, and others gone wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

from two_manifold_ros.recordings.recording import GRAVITY, ImuStream, PositionStream, Recording
from two_manifold_ros.simulation.slot_car import (
    Camera,
    ImuNoise,
    Motion,
    SlotCarSettings,
    Throttle,
    true_imu,
)
from two_manifold_ros.simulation.track import CONTROL_POINTS, Track
from two_manifold_ros.ticks.segments import positions_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from two_manifold_ros.typing import Floats, Ints

KINDS = ('none', 'hole', 'rest', 'tilted', 'shaken')
"""Cut and spliced; no samples for a while; and three ways to be carried."""

RATE_HZ = 100.0
STEPS = 10
"""Of the motion for a sample."""

SHORTEST_S, LONGEST_S = 0.2, 5.0
LEAD_S, TAIL_S = 12.0, 12.0
FARTHEST_BACK_S = 9.0
ELSEWHERE_M = 1.0
"""Nearer than this to where it was taken a vehicle was hardly moved."""


@dataclass(frozen=True)
class Case:
    """
    One stream with the truth beside it.

    Parameters
    ----------
    kind
        One of ``KINDS``, or what else is peculiar.
    stamps : (N,) int64, samples : (N, 6)
        As a driver would send them.
    truths : (N, 2)
        Position at each stamp, metres, NaN where unknown; while the vehicle is carried the place
        where it will be put down.
    taken_ns, put_ns
        First stamp that is not of the first drive any more, and first stamp of the second one;
        both 0 in an ordinary drive.

    """

    kind: str
    stamps: Ints
    samples: Floats
    truths: Floats
    taken_ns: int = 0
    put_ns: int = 0


class Car:
    """
    A slot car that drives on and on, and can be put down anywhere on its track.

    Parameters
    ----------
    seed
        Of throttle and sensor.
    reverse
        Whether it is driven the wrong way round.

    """

    def __init__(self, seed: int, *, reverse: bool = False) -> None:
        self.settings = SlotCarSettings(seed=seed, rate_hz=RATE_HZ)
        # Driven the other way round the bank leans to the other side.
        points = CONTROL_POINTS[::-1] * [1.0, 1.0, 1.0, -1.0] if reverse else CONTROL_POINTS
        self.track = Track(points)
        self.motion = Motion(self.track)
        self._throttle = Throttle(self.settings, 1.0 / (RATE_HZ * STEPS))
        self._noise = ImuNoise(self.settings)
        self.drive(20.0)

    def drive(self, seconds: float) -> tuple[Floats, Floats]:
        """Return (N, 6) samples and (N, 2) true positions."""
        states = np.empty((round(seconds * RATE_HZ), 3))
        motion = self.motion
        for state in states:
            commands = self._throttle.take(STEPS)
            state[:] = motion.distance, motion.speed, motion.acceleration(commands[0])
            for command in commands:
                motion.step(command, 1.0 / (RATE_HZ * STEPS))
        distance, speed, _ = states.T
        samples = self._noise.disturb(true_imu(self.track, *states.T), speed)
        return samples, self.track.position(distance)[:, :2]

    def carry(self, kind: str, seconds: float, random: np.random.Generator) -> Floats:
        """Return the (N, 6) samples while it is carried."""
        count = round(seconds * RATE_HZ)
        true = np.tile([0.0, 0.0, GRAVITY, 0.0, 0.0, 0.0], (count, 1))
        if kind != 'rest':
            turns = _smooth(random, count, 0.8) * np.sin(np.linspace(0.0, np.pi, count))[:, None]
            forces = np.tile([0.0, 0.0, GRAVITY], (count, 1))
            if kind == 'shaken':
                forces += _smooth(random, count, 5.0)
            rotations = Rotation.from_rotvec(turns)
            true[:, :3] = rotations.inv().apply(forces)
            steps = (rotations[:-1].inv() * rotations[1:]).as_rotvec() * RATE_HZ
            true[1:, 3:] = steps
        return self._noise.disturb(true, np.zeros(count))

    def put_elsewhere(self, random: np.random.Generator) -> None:
        """Put it down somewhere else, in half of the cases standing, else rolling."""
        here = self.track.position(self.motion.distance)
        place = here
        while np.linalg.norm(place - here) < ELSEWHERE_M:
            self.motion.distance = float(random.uniform(0.0, self.track.length))
            place = self.track.position(self.motion.distance)
        rolling = random.random() < 0.5
        self.motion.speed *= float(random.uniform(0.6, 1.3)) if rolling else 0.0


def _smooth(random: np.random.Generator, count: int, scale: float) -> Floats:
    """Return (count, 3) values that a hand could make, without a jump: a few hertz."""
    white = random.standard_normal((count + 40, 3))
    kernel = np.hanning(42)[1:-1]
    rows = [np.convolve(column, kernel, 'same')[20:-20] for column in white.T]
    return scale * np.stack(rows, axis=1) / float(np.sqrt(np.square(kernel).sum()))


def drive_to_train_on(car: Car, seconds: float) -> Recording:
    """Return an ordinary drive with positions as the camera sees them."""
    samples, truths = car.drive(seconds)
    stamps = _stamps(0, len(samples))
    seen = Camera(car.settings).see(truths[::2])
    return Recording(
        f'slot car with seed {car.settings.seed}',
        ImuStream('/imu', 'imu', stamps, samples, stamps),
        PositionStream('/reference', 'track', 'geometry_msgs/msg/PoseStamped', stamps[::2], seen),
    )


def _stamps(begin: int, count: int) -> Ints:
    return 10**18 + begin + round(1e9 / RATE_HZ) * np.arange(count, dtype=np.int64)


def ordinary_drive(car: Car, seconds: float, kind: str = 'ordinary') -> Case:
    samples, truths = car.drive(seconds)
    return Case(kind, _stamps(0, len(samples)), samples, truths)


def kidnapped_drive(car: Car, kind: str, random: np.random.Generator) -> Case:
    """Drive, be taken away, and drive on from elsewhere."""
    lead, before = car.drive(LEAD_S + float(random.uniform(0.0, 10.0)))
    seconds = 0.0 if kind == 'none' else float(random.uniform(SHORTEST_S, LONGEST_S))
    carried = np.empty((0, 6))
    if kind not in {'none', 'hole'}:
        carried = car.carry(kind, seconds, random)
    car.put_elsewhere(random)
    tail, after = car.drive(TAIL_S)
    stamps = _stamps(0, len(lead) + len(carried) + len(tail))
    taken, put = len(lead), len(lead) + len(carried)
    if kind == 'hole':
        stamps[put:] += round(1e9 * seconds)
    truths = np.concatenate([before, np.tile(after[0], (len(carried), 1)), after])
    samples = np.concatenate([lead, carried, tail])
    return Case(kind, stamps, samples, truths, int(stamps[taken]), int(stamps[put]))


def recorded_drive(recording: Recording, kind: str = 'ordinary') -> Case:
    imu = recording.imu
    truths = positions_at(recording.positions, imu.stamps)
    return Case(kind, imu.stamps, imu.samples, truths)


def backwards(case: Case) -> Case:
    """
    Drive a recorded route the wrong way round, nose first.

    Played backwards the path is the same and so are its accelerations in the room, but the nose
    points the other way: forward and left change their signs, and so does the rate of yaw.
    """
    turned = case.samples[::-1] * [-1.0, -1.0, 1.0, 1.0, 1.0, -1.0]
    stamps = case.stamps[0] + (case.stamps[-1] - case.stamps[::-1])
    return Case('wrong way round', stamps, turned, case.truths[::-1])


def spliced_drives(
    case: Case, count: int, least_s: float, random: np.random.Generator
) -> Iterator[Case]:
    """
    Cut ordinary drives and splice one moment to another, the stamps going on.

    Parameters
    ----------
    case
        Drives on without a stop.
    count
        Of cases.
    least_s
        Before and after the splice; up to ``FARTHEST_BACK_S`` are taken where there are so many.

    """
    stamps, truths = case.stamps, case.truths
    period = int(np.median(np.diff(stamps)))
    least, most = (round(seconds * 1e9 / period) for seconds in (least_s, FARTHEST_BACK_S))
    while count:
        taken = int(random.integers(least, len(stamps)))
        put = int(random.integers(0, len(stamps) - least))
        if not np.linalg.norm(truths[taken] - truths[put]) >= ELSEWHERE_M:
            continue
        count -= 1
        before, after = slice(max(0, taken - most), taken), slice(put, put + most)
        shift = stamps[taken - 1] + period - stamps[put]
        yield Case(
            'spliced',
            np.concatenate([stamps[before], stamps[after] + shift]),
            np.concatenate([case.samples[before], case.samples[after]]),
            np.concatenate([truths[before], truths[after]]),
            int(stamps[put] + shift),
            int(stamps[put] + shift),
        )
