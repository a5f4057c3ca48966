# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A run of the slot car and its further sensors as arrays, as a `Recording` or as a bag."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math
from pathlib import Path
from typing import Any, NamedTuple, TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.spatial.transform import Rotation

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.bag_writer import BagWriter, header_of
from two_manifold_ros.recordings.recording import HeldStream, ImuStream, PositionStream, Recording
from two_manifold_ros.simulation.slot_car import Camera, ImuNoise, SlotCar
from two_manifold_ros.typing import Floats, Ints

if TYPE_CHECKING:
    from two_manifold_ros.simulation.slot_car import SlotCarSample, SlotCarSettings, Track


EARTH_FIELD = np.array([0.0, 20e-6, -44e-6])
"""Magnetic field of the earth, tesla: y north, z up, as in Central Europe."""


def room_field(positions: Floats) -> Floats:
    """Return the (n, 3) magnetic field at (n, 3) positions in metres, tesla."""
    # Steel disturbs it: the gradient of a smooth potential, of waves of a metre and more.
    random = np.random.default_rng(7)
    lengths = random.uniform(1.0, 4.0, 12)  # metres
    axes = random.standard_normal((12, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    phases = random.uniform(0.0, 2.0 * np.pi, 12)
    angles = 2.0 * np.pi * (positions @ axes.T) / lengths + phases
    # The sum of the squares of twelve waves is that of their spread in three axes.
    amplitude = 6e-6 * np.sqrt(2.0 * 3.0 / 12.0)
    field: Floats = EARTH_FIELD + amplitude * np.cos(angles) @ axes
    return field


def _magnetometer(
    bias: Floats, random: np.random.Generator, run: tuple[Floats, Floats, Floats]
) -> Floats:
    """Return the field in the axes of the car, that of what is near the sensor and noise."""
    positions, quaternions, _ = run
    body = Rotation.from_quat(quaternions).inv().apply(room_field(positions))
    return np.asarray(body + 1e-6 * bias + 0.5e-6 * random.standard_normal(body.shape))


def _wheel(
    radius: Floats, random: np.random.Generator, run: tuple[Floats, Floats, Floats]
) -> Floats:
    """Return the speed that a wheel measures, m/s: its radius is known to 2 %, and it slips."""
    slip = 0.02 * random.standard_normal(len(run[2]))
    return np.asarray((1.0 + 0.02 * radius) * run[2] * (1.0 + slip))[:, None]


class FurtherSensor(NamedTuple):
    """A kind of sensor."""

    topic: str  # of its messages
    msgtype: str
    fields: tuple[str, ...]
    # Of what is drawn once in a run, standard normal numbers, as many as fields, a generator, and
    # positions (n, 3), quaternions (n, 4) and speeds (n,) it makes readings (n, m).
    measure: Callable[[Floats, np.random.Generator, tuple[Floats, Floats, Floats]], Floats]

    def reader(self, settings: SlotCarSettings) -> Callable[..., Floats]:
        """Return what reads positions, quaternions and speeds, in one call or many alike."""
        random = settings.generator(self.topic)
        drawn = random.standard_normal(len(self.fields))
        return lambda *run: self.measure(drawn, random, run)


SENSORS = {
    'magnetometer': FurtherSensor(
        '/magnetometer',
        'sensor_msgs/msg/MagneticField',
        ('magnetic_field.x', 'magnetic_field.y', 'magnetic_field.z'),
        _magnetometer,
    ),
    'wheel': FurtherSensor(
        '/wheel', 'geometry_msgs/msg/TwistStamped', ('twist.linear.x',), _wheel
    ),
}
"""Sensors beside the IMU by name."""


Report: TypeAlias = Callable[[str, float], None]
"""Called every 1,000 samples with what is being done and the fraction done, 0 to 1."""

IMU_TOPIC, IMU_TYPE, IMU_FRAME = '/imu', 'sensor_msgs/msg/Imu', 'imu_link'
REFERENCE_TOPIC, REFERENCE_TYPE = '/reference', 'geometry_msgs/msg/PoseStamped'
TRACK_FRAME = 'map'
"""Topics, message types and frames of a bag of the slot car."""


@dataclass(frozen=True)
class SlotCarRun:
    """All samples of one run."""

    settings: SlotCarSettings
    stamps_ns: Ints  # (N,)
    imu: Floats  # (N, 6), specific force in m/s^2 and angular rate in rad/s with errors
    positions: Floats  # (N, 3), this and the following are the truth, see `SlotCarSample`
    quaternions: Floats  # (N, 4)
    distances: Floats  # (N,)
    speeds: Floats  # (N,)
    commands: Floats  # (N,)
    chances: Floats  # (N,)


def simulate(
    settings: SlotCarSettings,
    *,
    laps: int | None = None,
    samples: int | None = None,
    report: Report | None = None,
    track: Track | None = None,
) -> SlotCarRun:
    """
    Drive a number of ``laps``, or a number of IMU ``samples``, on the usual track or another.

    The last sample is the first one that completes the laps.
    """
    goal = laps if samples is None else samples
    if goal is None or goal < 1 or (laps is not None and samples is not None):
        msg = 'The slot car drives a number of laps or of samples, not both: choose 1 or more.'
        raise InputError(msg)
    car = SlotCar(settings, track)
    taken: list[SlotCarSample] = []
    fraction = 0.0
    while fraction < 1.0:
        taken.append(car.step())
        driven = (taken[-1].distance - taken[0].distance) / car.track.length
        fraction = (len(taken) if laps is None else driven) / goal
        if report is not None and len(taken) % 1000 == 0:
            report('driving', fraction)
    stamps, forces, rates, *truth = zip(*taken, strict=True)
    imu = np.hstack([np.array(forces), np.array(rates)])
    return SlotCarRun(settings, np.array(stamps, dtype=np.int64), imu, *map(np.array, truth))


def imu_message(stamp_ns: int, imu: Floats, variances: Floats) -> dict[str, Any]:
    """Return a ``sensor_msgs/msg/Imu`` of (6,) force and rate; variances of 0 are unknown."""
    return {
        'header': header_of(stamp_ns, IMU_FRAME),
        'orientation_covariance': np.array([-1.0] + [0.0] * 8),  # "no orientation"
        'angular_velocity': _vector(imu[3:]),
        'angular_velocity_covariance': np.diag(variances[3:]).ravel(),
        'linear_acceleration': _vector(imu[:3]),
        'linear_acceleration_covariance': np.diag(variances[:3]).ravel(),
    }


def reference_message(stamp_ns: int, position: Floats, quaternion: Floats) -> dict[str, Any]:
    """Return one ``geometry_msgs/msg/PoseStamped`` of (3,) metres and (4,) x, y, z, w."""
    orientation = dict(zip('xyzw', quaternion.tolist(), strict=True))
    return {
        'header': header_of(stamp_ns, TRACK_FRAME),
        'pose': {'position': _vector(position), 'orientation': orientation},
    }


def _vector(values: Floats) -> dict[str, float]:
    return dict(zip('xyz', values.tolist(), strict=True))


def samples_per_reference(rate_hz: float) -> int:
    """Return the IMU samples per reference pose: at most 50 poses a second."""
    return math.ceil(rate_hz / 50.0)


def sensor_readings(run: SlotCarRun, name: str) -> Floats:
    """Return the readings (n, m) of one of `SENSORS`, as often as there are references."""
    every = samples_per_reference(run.settings.rate_hz)
    read = SENSORS[name].reader(run.settings)
    return read(run.positions[::every], run.quaternions[::every], run.speeds[::every])


def run_to_recording(run: SlotCarRun, sensors: Sequence[str] = ()) -> Recording:
    """Return what reading the bag of `write_run` gives; ``sensors`` are names of `SENSORS`."""
    every = samples_per_reference(run.settings.rate_hz)
    stamps = run.stamps_ns[::every]
    positions = Camera(run.settings).see(run.positions[::every])[:, :2]
    return Recording(
        name=f'slot car with seed {run.settings.seed}',
        imu=ImuStream(IMU_TOPIC, IMU_FRAME, run.stamps_ns, run.imu, run.stamps_ns),
        positions=PositionStream(REFERENCE_TOPIC, TRACK_FRAME, REFERENCE_TYPE, stamps, positions),
        sensors=tuple(
            HeldStream(*SENSORS[name][:3], stamps, sensor_readings(run, name)) for name in sensors
        ),
    )


def write_run(run: SlotCarRun, path: str | Path, sensors: Sequence[str] = ()) -> None:
    """Write a new rosbag2 (mcap) of a run; raise ``InputError`` if the path exists already."""
    with BagWriter(path) as bag:
        write_messages(run, bag, sensors=sensors)


def write_messages(
    run: SlotCarRun,
    bag: BagWriter,
    report: Report | None = None,
    sensors: Sequence[str] = (),
) -> None:
    """Write all messages of a run into an open bag; ``report`` receives the progress."""
    readings = {name: sensor_readings(run, name) for name in sensors}
    every = samples_per_reference(run.settings.rate_hz)
    seen = Camera(run.settings).see(run.positions[::every])
    variances = ImuNoise(run.settings).variances()
    for index, stamp in enumerate(run.stamps_ns.tolist()):
        bag.write(IMU_TOPIC, IMU_TYPE, stamp, imu_message(stamp, run.imu[index], variances))
        if index % every == 0:
            pose = reference_message(stamp, seen[index // every], run.quaternions[index])
            bag.write(REFERENCE_TOPIC, REFERENCE_TYPE, stamp, pose)
            header = header_of(stamp, IMU_FRAME)
            for name, values in readings.items():
                topic, msgtype, fields, _ = SENSORS[name]
                message: dict[str, Any] = {'header': header}
                # A field of several names is within others.
                for field, value in zip(fields, values[index // every].tolist(), strict=True):
                    inner = message
                    *path, last = field.split('.')
                    for part in path:
                        inner = inner.setdefault(part, {})
                    inner[last] = value
                bag.write(topic, msgtype, stamp, message)
        if report is not None and index % 1000 == 0:
            report('writing', index / len(run.stamps_ns))
