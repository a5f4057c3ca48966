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

from two_manifold_ros.errors import InputError, refuse
from two_manifold_ros.files import checked, numbers_in, parse_json, read_text, replace_text
from two_manifold_ros.recordings.recording import IMU_CHANNELS
from two_manifold_ros.route.route import LIMITS, ON, ON_NEW
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from two_manifold_ros.model.model import ModelHead, RouteModel
    from two_manifold_ros.route.belief import RouteBelief

ANGLES, SCALES, BIASES, SPEED = slice(0, 3), slice(3, 9), slice(9, 15), 15
"""Where a state of 16 numbers holds what; the angles are about the axes of the training."""

STATE = 16


class Prior(NamedTuple):
    """
    Standard deviations of what vehicles differ by, before anything is measured.

    About each axis an ``angle`` in rad, as of a bracket; of each axis a ``scale``, as of MEMS
    sensors without calibration; ``bias`` in m/s^2 and ``turning_bias`` in rad/s, twice what a map
    expects between two days. The ``speed`` over the training is not applied.
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

    A sample is the truth, turned by ``angles`` (3,), a rotation vector in rad from the axes of
    this IMU to those of the training, times one plus ``scales`` (6,), plus ``biases`` (6,), m/s^2
    and rad/s; ``deviations`` (15,) are the standard deviations of all three.
    """

    angles: Floats
    scales: Floats
    biases: Floats
    deviations: Floats

    @cached_property
    def _matrix(self) -> Floats:
        """The (6, 6) matrix from rows of samples, less their biases, to corrected ones."""
        turned = rotation_of(self.angles)
        matrix = np.zeros((6, 6))
        matrix[:3, :3] = (turned / (1.0 + self.scales[:3])).T
        matrix[3:, 3:] = (turned / (1.0 + self.scales[3:])).T
        return matrix

    def correct(self, samples: Floats) -> Floats:
        """Return samples (..., 6) of this vehicle as an IMU of the training has them."""
        corrected: Floats = (samples - self.biases) @ self._matrix
        return corrected

    def measured(self, corrected: Floats) -> Floats:
        """Return the samples (..., 6) that `correct` made corrected ones of."""
        samples: Floats = corrected @ np.linalg.inv(self._matrix) + self.biases
        return samples

    @property
    def numbers(self) -> dict[str, float]:
        """What corrects the samples, in short, for diagnostics: degrees, and shares of one."""
        worst = int(np.argmax(np.abs(self.scales)))
        return {
            'imu_turned_deg': math.degrees(float(np.linalg.norm(self.angles))),
            'imu_turned_std_deg': math.degrees(float(np.linalg.norm(self.deviations[ANGLES]))),
            'imu_scale': float(self.scales[worst]),
            'imu_scale_std': float(self.deviations[SCALES][worst]),
        }

    def to_json(self) -> dict[str, Any]:
        """Return all numbers, angles in degrees, each with its standard deviation."""
        return {
            'angles_deg': np.degrees(self.angles).tolist(),
            'angles_deg_std': np.degrees(self.deviations[ANGLES]).tolist(),
            'scales': self.scales.tolist(),
            'scales_std': self.deviations[SCALES].tolist(),
            'biases': self.biases.tolist(),
            'biases_std': self.deviations[BIASES].tolist(),
        }

    def save(self, path: str) -> None:
        """Write a JSON file; an ``InputError`` says why it cannot be written."""
        replace_text(path, [json.dumps(self.to_json(), indent=1), '\n'], 'vehicle')


UNKNOWN = Vehicle(np.zeros(3), np.zeros(6), np.zeros(6), np.full(15, math.nan))
"""The vehicle as those of the training; nothing was measured."""

GROUPS = {'angles_deg': (3, 180.0), 'scales': (6, 0.9), 'biases': (6, 1e3)}
"""How many numbers a file has of each kind, and the largest: scales near -1 are divided by."""


def load_vehicle(path: str) -> Vehicle:
    """Read a file that `Vehicle.save` wrote; an ``InputError`` says why it is none."""
    found, spreads = [], []
    with checked(path, 'vehicle', 'name a file of two-manifold vehicle, or estimate it again'):
        content = parse_json(read_text(path), unknown=True)
        for name, (size, largest) in GROUPS.items():
            values, spread = (
                np.array(numbers_in(content, name + end, size)) for end in ('', '_std')
            )
            if not (np.abs(values) <= largest).all():
                refuse(f'{name} are no numbers up to {largest:g}')
            # NaN is of what was not measured.
            if not (np.isnan(spread) | ((spread > 0.0) & (spread <= largest))).all():
                refuse(f'{name}_std are no numbers above 0 and up to {largest:g}')
            in_radians = np.radians if name == 'angles_deg' else np.asarray
            found.append(in_radians(values))
            spreads.append(in_radians(spread))
    angles, scales, biases = found
    return Vehicle(angles, scales, biases, np.concatenate(spreads))


def rotation_of(angles: Floats) -> Floats:
    """Return the (3, 3) rotation of a rotation vector (3,), by Rodrigues' formula."""
    size = float(np.linalg.norm(angles))
    if size < 1e-12:
        return np.eye(3)
    x, y, z = angles / size
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    turned: Floats = np.eye(3) + math.sin(size) * cross + (1.0 - math.cos(size)) * (cross @ cross)
    return turned


def check_vehicle(model: ModelHead) -> RouteModel:
    """Return the model if vehicles can be measured against it, or raise ``InputError``."""
    if (route := model.route_model) is None or not model.channels.of_imu:
        raise InputError(
            'a vehicle is measured against the map of one route that was learned with an IMU: '
            'name a model of two-manifold train with the default --method'
        )
    return route


class VehicleLearner:
    """
    Measure a vehicle against the map of a model while the filter follows it.

    An extended Kalman filter of 16 numbers that do not change, from the `Prior`. It takes what the
    belief expects for the truth, so that noise of the sample does not shrink the scales. `ticks`
    counts samples, each by the probability that the vehicle drove on the route as usual.
    """

    def __init__(self, model: ModelHead) -> None:
        model = check_vehicle(model)
        self._likelihood, channels = model.route.likelihood, model.channels
        self._live = live = np.flatnonzero(channels.live)
        scale, root = channels.scale[live], np.linalg.inv(self._likelihood.new_whitening)
        # At each place at the usual speed, and what that gains per unit of the speed ratio.
        usual, slopes = self._likelihood.usual()
        self._usual, self._slopes = usual * scale + channels.mean[live], slopes * scale
        self._scatter = root @ root.T * np.outer(scale, scale)
        # Of a standing vehicle, and the power of the speed with which a channel grows from there.
        self._rest, self._exponents = channels.mean.copy(), np.zeros(len(IMU_CHANNELS))
        self._rest[live] += self._likelihood.rest_alone.offset * scale
        self._exponents[live] = self._likelihood.exponents
        self._bound = LIMITS.usual_ratios * model.route.motion.ratio_spread
        # The state but for the angles, which are relative to the rotation.
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

        return Vehicle(Rotation.from_matrix(self._rotation).as_rotvec(), scales, biases, spread)

    def learn(self, sample: Floats, belief: RouteBelief) -> None:
        """Take a sample (6,) of the vehicle, averaged over a tick, and the belief after it."""
        cells = np.ix_(belief.support, np.array([ON, ON_NEW]))
        chances = np.where(belief.chances[cells] > LIMITS.nothing, belief.chances[cells], 0.0)
        total = float(chances.sum())
        if not total > LIMITS.nothing:
            return
        self.ticks += total
        expected, scatter = self._expected(belief, cells, chances / total)
        # What the expected sample is, and its derivatives by the state (6, 16).
        gained = self._exponents * (expected - self._rest)
        moved = (expected + self._errors[12] * gained).reshape(2, 3)
        scales = 1.0 + self._errors[:6]
        turned = (moved @ self._rotation).ravel()
        rows = np.zeros((6, STATE))
        # Turned a little about an axis: the inverse rotation of the cross product.
        crossed = np.cross(np.tile(self._rotation.T, (2, 1)), np.repeat(moved, 3, axis=0))
        rows[:, ANGLES] = scales[:, None] * crossed
        rows[:, SCALES], rows[:, BIASES] = np.diag(turned), np.eye(6)
        rows[:, SPEED] = scales * (gained.reshape(2, 3) @ self._rotation).ravel()
        residual = (sample - scales * turned - self._errors[6:12])[self._live]
        # Rows of variance one, independent of each other, if the state is right.
        root = np.linalg.cholesky(scatter)
        slopes, residual = np.linalg.solve(root, rows[self._live]), np.linalg.solve(root, residual)
        along = self._covariance @ slopes.T
        spread = slopes @ along
        unlikely = float((np.square(residual) / (1.0 + np.diag(spread))).sum())
        # Neighbouring ticks say the same. By a Student-t density what fits nowhere counts little.
        tail, count = self._likelihood.tail, len(residual)
        weight = total * self._likelihood.persistence * (tail + count) / (tail + unlikely)
        gain = np.linalg.solve(spread + np.eye(count) / weight, along.T).T
        change = gain @ residual
        self._covariance = self._covariance - gain @ along.T
        self._errors = self._errors + change[3:]
        self._rotation = rotation_of(change[ANGLES]) @ self._rotation

    def _expected(
        self, belief: RouteBelief, cells: tuple[Any, ...], shares: Floats
    ) -> tuple[Floats, Floats]:
        """Return the mean (6,) that the map expects, and the covariance (d, d) of an IMU there."""
        near = belief.support
        ratios = np.clip(belief.ratios[cells] - 1.0, -self._bound, self._bound)
        slopes = self._slopes[near][:, None]
        values = self._usual[near][:, None] + ratios[..., None] * slopes
        mean = np.einsum('pr,prd->d', shares, values)
        squares = np.square(values) + belief.spreads[cells][..., None] * np.square(slopes)
        left = np.maximum(np.einsum('pr,prd->d', shares, squares) - np.square(mean), 0.0)
        noise = float(shares.sum(axis=1) @ self._likelihood.noise[near])
        expected = self._rest.copy()
        expected[self._live] = mean
        return expected, noise * self._scatter + np.diag(left)
