# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
How the IMU of a vehicle differs from those that a map was learned with, measured against the map.

A sample is what the map expects, turned by the mounting, scaled and offset. The filter believes
where the vehicle is; what is usual there, and what was measured, determine how it differs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
import json
import math
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.compilation import compiled, subroutine
from two_manifold_ros.errors import InputError, refuse
from two_manifold_ros.files import checked, numbers_in, parse_json, read_text, replace_text
from two_manifold_ros.model.model import RouteModel
from two_manifold_ros.recordings.recording import IMU_CHANNELS
from two_manifold_ros.route.arrays import plain
from two_manifold_ros.route.route import LIMITS, ON, ON_NEW

if TYPE_CHECKING:
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.route.belief import RouteBelief
    from two_manifold_ros.typing import Floats, Indices, Ints

ANGLES, SCALES, BIASES, SPEED = slice(0, 3), slice(3, 9), slice(9, 15), 15
"""Where a state of 16 numbers holds what; the angles are about the axes of the training."""

STATE = 16


class Prior(NamedTuple):
    """
    Standard deviations of what vehicles differ by, before anything is measured.

    Parameters
    ----------
    angle
        About each axis, rad: a bracket, a body, a suspension. Five degrees.
    scale
        Of each axis, no unit: MEMS sensors without calibration have a few hundredths.
    bias, turning_bias
        Of each axis, m/s^2 and rad/s: twice what a map expects between two days.
    speed
        Of the usual speed over that of the training, as far as the speed ratio of the belief,
        which is drawn to 1, does not follow it. It is measured beside the others and not applied:
        faster vehicles measure more in bends, and are not to pass for larger scales. Without it
        cars 1 and 2 of a simulated fleet err by 3 to 12 % more; with .05 and .2 the same.

    """

    angle: float = math.radians(5.0)
    scale: float = 0.05
    bias: float = 0.3
    turning_bias: float = 0.02
    speed: float = 0.1

    @property
    def deviations(self) -> Floats:
        """Of all numbers (16,): those of `Vehicle.deviations`, and of the speed."""
        return np.repeat(np.array(self), [3, 6, 3, 3, 1])


PRIOR = Prior()


@dataclass(frozen=True)
class Vehicle:
    """
    How the IMU of a vehicle differs from those of the training.

    Parameters
    ----------
    angles : (3,)
        Rotation vector from the axes of this IMU to those of the training, rad.
    scales, biases : (6,)
        Of accelerometer and gyroscope: a sample is the turned truth times one plus the scale, plus
        the bias, in m/s^2 and rad/s.
    deviations : (15,)
        Standard deviations of angles, scales and biases.

    """

    angles: Floats
    scales: Floats
    biases: Floats
    deviations: Floats

    @cached_property
    def matrix(self) -> Floats:
        """The (6, 6) matrix that corrects a sample, less its biases."""
        turned = rotation_of(self.angles)
        matrix = np.zeros((6, 6))
        matrix[:3, :3] = turned / (1.0 + self.scales[:3])
        matrix[3:, 3:] = turned / (1.0 + self.scales[3:])
        return matrix

    def correct(self, samples: Floats) -> Floats:
        """Return samples (..., 6) of this vehicle as an IMU of the training has them."""
        corrected: Floats = (samples - self.biases) @ self.matrix.T
        return corrected

    def to_json(self) -> dict[str, Any]:
        """Return all numbers, angles in degrees, each with its standard deviation."""
        angles = np.degrees(self.angles), np.degrees(self.deviations[ANGLES])
        groups = {
            'angles_deg': angles,
            'scales': (self.scales, self.deviations[SCALES]),
            'biases': (self.biases, self.deviations[BIASES]),
        }
        return {
            name + end: values.tolist()
            for name, pair in groups.items()
            for end, values in zip(('', '_std'), pair, strict=True)
        }

    def save(self, path: str) -> None:
        """
        Write a JSON file.

        Raises
        ------
        InputError
            If it cannot be written.

        """
        replace_text(path, [json.dumps(self.to_json(), indent=1), '\n'], 'vehicle')


UNKNOWN = Vehicle(np.zeros(3), np.zeros(6), np.zeros(6), np.full(15, math.nan))
"""The vehicle as those of the training; nothing was measured."""

LARGEST = {'angles_deg': 180.0, 'scales': 0.9, 'biases': 1e3}
"""Numbers in a file that no correction has are refused: scales near -1 are divided by."""


def load_vehicle(path: str) -> Vehicle:
    """
    Read a file that `Vehicle.save` wrote.

    Raises
    ------
    InputError
        If it cannot be read, or is not such a file.

    """
    sizes = {'angles_deg': 3, 'scales': 6, 'biases': 6}
    with checked(path, 'vehicle', 'name a file of two-manifold vehicle, or estimate it again'):
        content = parse_json(read_text(path), unknown=True)
        found = {
            name + end: np.array(numbers_in(content, name + end, size))
            for name, size in sizes.items()
            for end in ('', '_std')
        }
        for name, largest in LARGEST.items():
            if not (np.abs(found[name]) <= largest).all():
                refuse(f'{name} are no numbers up to {largest:g}')
            spread = found[f'{name}_std']
            # NaN is of what was not measured.
            if not (np.isnan(spread) | ((spread > 0.0) & (spread <= largest))).all():
                refuse(f'{name}_std are no numbers above 0 and up to {largest:g}')
        angles, spread = (np.radians(found[name]) for name in ('angles_deg', 'angles_deg_std'))
        spread = np.concatenate([spread, found['scales_std'], found['biases_std']])
    return Vehicle(angles, found['scales'], found['biases'], spread)


def rotation_of(angles: Floats) -> Floats:
    """Return the (3, 3) rotation of a rotation vector (3,), by Rodrigues' formula."""
    size = float(np.linalg.norm(angles))
    if size < 1e-12:
        return np.eye(3)
    x, y, z = angles / size
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    turned: Floats = np.eye(3) + math.sin(size) * cross + (1.0 - math.cos(size)) * (cross @ cross)
    return turned


class Expected(NamedTuple):
    """
    What the map expects, d live channels in the units of the samples.

    Parameters
    ----------
    usual, slopes : (P, d), noise : (P,)
        At each place at the usual speed; gained per unit of speed ratio; variance over the usual.
    scatter : (d, d)
        Usual covariance of an observation at a place.
    rest, exponents : (6,)
        Of a standing vehicle, and the power of the speed with which a channel grows from there.
    live : (d,) int64
        Which channels these are.
    bound, weight
        Largest difference of a speed ratio from one, and what a tick counts: one over the ticks
        in a memory, because neighbouring ones say the same thing.
    tail
        As in the likelihood of the map.

    """

    usual: Floats
    slopes: Floats
    noise: Floats
    scatter: Floats
    rest: Floats
    exponents: Floats
    live: Ints
    bound: float
    weight: float
    tail: float


class Work(NamedTuple):
    """
    Scratch of a tick.

    Parameters
    ----------
    mean : (6,), variance : (d,)
        Expected sample, and what the belief leaves open of it.
    moved, gained : (6,)
        The expected sample at the speed of the vehicle, and what it gains per unit of speed.
    rows : (d, 17)
        Derivatives of the sample by the state, and the residual behind them; then whitened.
    root : (d, d)
        Lower triangle, whose product with its transpose is the covariance of the residual.
    gain, change : (16,)
        Of the state by one row, and by all.

    """

    mean: Floats
    variance: Floats
    moved: Floats
    gained: Floats
    rows: Floats
    root: Floats
    gain: Floats
    change: Floats


@subroutine
def _expect(
    chances: Floats, ratios: Floats, spreads: Floats, active: Indices, expected: Expected,
    work: Work,
) -> tuple[float, float]:  # fmt: skip
    """Fill mean and variance of the expected sample; return its probability and its noise."""
    live, mean, variance = expected.live, work.mean, work.variance
    for k in range(len(mean)):
        mean[k] = expected.rest[k]
    for k in range(len(live)):
        mean[live[k]] = variance[k] = 0.0
    total, noise = 0.0, 0.0
    for i in active:
        for row in (ON, ON_NEW):
            chance = chances[i, row]
            if not chance > LIMITS.nothing:
                continue
            total += chance
            noise += chance * expected.noise[i]
            ratio = min(max(ratios[i, row] - 1.0, -expected.bound), expected.bound)
            for k in range(len(live)):
                slope = expected.slopes[i, k]
                value = expected.usual[i, k] + ratio * slope
                mean[live[k]] += chance * value
                variance[k] += chance * (value * value + spreads[i, row] * slope * slope)
    if not total > LIMITS.nothing:
        return 0.0, 1.0
    for k in range(len(live)):
        mean[live[k]] /= total
        variance[k] = max(variance[k] / total - mean[live[k]] ** 2, 0.0)
    return total, noise / total


@subroutine
def _derive(
    sample: Floats, rotation: Floats, errors: Floats, expected: Expected, work: Work
) -> None:
    """Fill the derivatives of the expected sample, and the residual of this (6,) one."""
    moved, gained, rows = work.moved, work.gained, work.rows
    for k in range(6):
        gained[k] = expected.exponents[k] * (work.mean[k] - expected.rest[k])
        moved[k] = work.mean[k] + errors[12] * gained[k]
    rows[:] = 0.0
    for row in range(len(expected.live)):
        k = expected.live[row]
        first = k // 3 * 3
        column = rotation[:, k - first]
        scale = 1.0 + errors[k]
        turned = growing = 0.0
        for axis in range(3):
            turned += column[axis] * moved[first + axis]
            growing += column[axis] * gained[first + axis]
            # Turned a little about this axis: the inverse rotation of the cross product.
            after, last = (axis + 1) % 3, (axis + 2) % 3
            rows[row, axis] = scale * (
                column[after] * moved[first + last] - column[last] * moved[first + after]
            )
        rows[row, 3 + k] = turned
        rows[row, 9 + k] = 1.0
        rows[row, SPEED] = scale * growing
        rows[row, STATE] = sample[k] - scale * turned - errors[6 + k]


@subroutine
def _whiten_rows(expected: Expected, noise: float, work: Work) -> None:
    """Make the residuals of the rows independent, of variance one if the state is right."""
    root, rows = work.root, work.rows
    count = len(root)
    for i in range(count):
        for j in range(i + 1):
            value = noise * expected.scatter[i, j]
            if i == j:
                value += work.variance[i]
            for k in range(j):
                value -= root[i, k] * root[j, k]
            root[i, j] = math.sqrt(max(value, 1e-12)) if i == j else value / root[j, j]
        for c in range(rows.shape[1]):
            for j in range(i):
                rows[i, c] -= root[i, j] * rows[j, c]
            rows[i, c] /= root[i, i]


@subroutine
def _spread_of(row: Floats, covariance: Floats, gain: Floats) -> float:
    """Fill the product (16,) of a covariance with a row; return that of the row with it."""
    spread = 0.0
    for i in range(len(gain)):
        value = 0.0
        for j in range(len(gain)):
            value += covariance[i, j] * row[j]
        gain[i] = value
    for i in range(len(gain)):
        spread += row[i] * gain[i]
    return spread


@subroutine
def _regress(weight: float, tail: float, covariance: Floats, work: Work) -> None:
    """Fill the change of the state, and shrink its covariance, by rows of this weight."""
    rows, gain, change = work.rows, work.gain, work.change
    change[:] = 0.0
    unlikely = 0.0
    for row in rows:
        unlikely += row[STATE] ** 2 / (1.0 + _spread_of(row, covariance, gain))
    # As of a Student-t density: what fits no place counts little.
    weight *= (tail + len(rows)) / (tail + unlikely)
    for row in rows:
        spread = _spread_of(row, covariance, gain) + 1.0 / weight
        apart = row[STATE]
        for i in range(len(change)):
            apart -= row[i] * change[i]
        for i in range(len(change)):
            change[i] += gain[i] * apart / spread
            for j in range(len(change)):
                covariance[i, j] -= gain[i] * gain[j] / spread


@compiled
def learn_vehicle(
    sample: Floats, cells: tuple[Floats, Floats, Floats], active: Indices,
    known: Expected, scratch: Work, rotation: Floats, errors: Floats, covariance: Floats,
) -> float:  # fmt: skip
    """
    Update what is known of a vehicle with one sample (6,), averaged over a tick.

    ``cells`` and ``active`` are the belief after it. Updated are ``errors`` (13,), scales, biases
    and speed, and ``covariance`` (16, 16); by how much to turn the ``rotation`` (3, 3) is left in
    the first three changes. Returns the probability that the vehicle drives on the route as usual,
    which is what the sample counts.
    """
    # Plain tuples, which the compiler takes at once, get their names back.
    expected, work = Expected(*known), Work(*scratch)
    total, noise = _expect(cells[0], cells[1], cells[2], active, expected, work)
    work.change[:] = 0.0
    if not total > LIMITS.nothing:
        return 0.0
    _derive(sample, rotation, errors, expected, work)
    _whiten_rows(expected, noise, work)
    _regress(total * expected.weight, expected.tail, covariance, work)
    for k in range(len(errors)):
        errors[k] += work.change[3 + k]
    return total


def check_vehicle(model: ModelHead) -> RouteModel:
    """Return the model if vehicles can be measured against it, or raise ``InputError``."""
    if not isinstance(model, RouteModel) or not model.channels.of_imu:
        msg = (
            'a vehicle is measured against the map of one route that was learned with an IMU: '
            'name a model of two-manifold train with the default --method'
        )
        raise InputError(msg)
    return model


class VehicleLearner:
    """
    Measure a vehicle against the map of a model while the filter follows it.

    An extended Kalman filter of 16 numbers that do not change, from the `Prior`. It takes what the
    belief expects for the truth, so that noise of the sample does not shrink the scales. A belief
    that is spread expects little, and one off the route nothing: then nothing is learned.

    Attributes
    ----------
    ticks
        Ticks that counted, each by the probability that the vehicle drove on the route as usual.

    """

    def __init__(self, model: ModelHead) -> None:
        model = check_vehicle(model)
        likelihood, channels = model.route.likelihood, model.channels
        live = np.flatnonzero(channels.live)
        scale, mean = channels.scale[live], channels.mean[live]
        root = np.linalg.inv(likelihood.new_whitening)
        rest, exponents = channels.mean.copy(), np.zeros(len(IMU_CHANNELS))
        rest[live] += likelihood.rest_alone.offset * scale
        exponents[live] = likelihood.exponents
        self._expected: Expected = plain(
            Expected(
                usual=np.ascontiguousarray((likelihood.new_means @ root.T) * scale + mean),
                slopes=np.ascontiguousarray((likelihood.new_slopes @ root.T) * scale),
                noise=likelihood.noise,
                scatter=np.ascontiguousarray(root @ root.T * np.outer(scale, scale)),
                rest=rest,
                exponents=exponents,
                live=live.astype(np.int64),
                bound=LIMITS.usual_ratios * model.route.motion.ratio_spread,
                weight=float(likelihood.persistence),
                tail=float(likelihood.tail),
            )
        )
        count = len(live)
        self._work = Work(
            mean=np.zeros(6),
            variance=np.zeros(count),
            moved=np.zeros(6),
            gained=np.zeros(6),
            rows=np.zeros((count, STATE + 1)),
            root=np.zeros((count, count)),
            gain=np.zeros(STATE),
            change=np.zeros(STATE),
        )
        self._scratch: Work = plain(self._work)
        self._rotation, self._errors = np.eye(3), np.zeros(STATE - 3)
        self._covariance = np.diag(np.square(PRIOR.deviations))
        self.ticks = 0.0

    @property
    def vehicle(self) -> Vehicle:
        """What is known by now."""
        # Nothing is known exactly, though rounding may leave less than nothing.
        spread = np.sqrt(np.maximum(np.diag(self._covariance)[:SPEED], 1e-24))
        scales, biases = self._errors[:6].copy(), self._errors[6:12].copy()
        # Some 40 MB, which nodes do without: they correct a vehicle and measure none.
        from scipy.spatial.transform import Rotation  # noqa: PLC0415

        angles = Rotation.from_matrix(self._rotation).as_rotvec()
        return Vehicle(angles, scales, biases, spread)

    def learn(self, sample: Floats, belief: RouteBelief) -> None:
        """Take a sample (6,) of the vehicle, averaged over a tick, and the belief after it."""
        cells = belief.chances, belief.ratios, belief.spreads
        self.ticks += learn_vehicle(
            np.ascontiguousarray(sample), cells, belief.support, self._expected, self._scratch,
            self._rotation, self._errors, self._covariance,
        )  # fmt: skip
        self._rotation = rotation_of(self._work.change[ANGLES]) @ self._rotation


class VehicleCorrection:
    """
    Correct the samples of a vehicle, and let a learner, if there is one, measure it meanwhile.

    Parameters
    ----------
    model
        Of one route, learned with an IMU.
    vehicle
        What corrects the samples.
    learner
        What measures the vehicle; what it finds corrects nothing here.

    """

    def __init__(
        self,
        model: ModelHead,
        vehicle: Vehicle = UNKNOWN,
        learner: VehicleLearner | None = None,
    ) -> None:
        check_vehicle(model)
        self.learner, self.vehicle = learner, vehicle
        self._matrix = np.ascontiguousarray(vehicle.matrix.T)
        self._inverse = np.linalg.inv(self._matrix)

    @property
    def numbers(self) -> dict[str, float]:
        """What corrects the samples, in short, for diagnostics: degrees, and shares of one."""
        vehicle = self.vehicle
        worst = int(np.argmax(np.abs(vehicle.scales)))
        return {
            'imu_turned_deg': math.degrees(float(np.linalg.norm(vehicle.angles))),
            'imu_turned_std_deg': math.degrees(float(np.linalg.norm(vehicle.deviations[ANGLES]))),
            'imu_scale': float(vehicle.scales[worst]),
            'imu_scale_std': float(vehicle.deviations[SCALES][worst]),
        }

    def correct(self, sample: Floats) -> Floats:
        """Return a sample (6,) as an IMU of the training has it."""
        corrected: Floats = (sample - self.vehicle.biases) @ self._matrix
        return corrected

    def follow(self, corrected: Floats, belief: RouteBelief) -> None:
        """Take the corrected sample (6,), averaged over a tick, and the belief after it."""
        if self.learner is not None:
            self.learner.learn(corrected @ self._inverse + self.vehicle.biases, belief)
