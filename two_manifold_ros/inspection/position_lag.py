# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""By how much the positions lag the IMU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.inspection.lag_witness import hear
from two_manifold_ros.inspection.motion import SMOOTHING_S
from two_manifold_ros.inspection.together import put_together
from two_manifold_ros.recordings.recording import IMU_CHANNELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.inspection.lag_witness import Witness
    from two_manifold_ros.inspection.together import Together
    from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording

_SMOOTHINGS_S = (SMOOTHING_S, 1.2, 2.4, 4.8)

_FAIR_SHARE = 0.95

_SYSTEMATIC_S = 0.01
"""What slip, banking and the way between IMU and reference point do even to a good witness."""

_SURE = 2.0
"""Standard errors to either side that hold the truth nineteen times in twenty."""


@dataclass(frozen=True)
class Lag:
    """
    By how much the stamps of the positions are later than those of the IMU.

    Parameters
    ----------
    seconds
        Negative where they are earlier; ``None`` where no sensor tells.
    uncertainty_s
        The lag is within as much of ``seconds`` nineteen times in twenty; infinite where no
        sensor tells.
    witnesses
        What each sensor that tells says.

    """

    seconds: float | None
    uncertainty_s: float
    witnesses: tuple[Witness, ...]

    def __str__(self) -> str:
        """Return the lag in words."""
        if self.seconds is None:
            return 'behind or ahead of those of the IMU, nobody can tell'
        side = 'behind' if self.seconds >= 0 else 'ahead of'
        return f'{abs(self.seconds):.3f} s (+- {self.uncertainty_s:.3f} s) {side} those of the IMU'

    def exceeds(self, least_s: float) -> bool:
        """Return whether there is certainly a lag, and one of more than ``least_s`` seconds."""
        return self.seconds is not None and abs(self.seconds) > max(self.uncertainty_s, least_s)


def estimate_lag(recording: Recording) -> Lag:
    """
    Estimate the lag of a recording; as `lag_between`, and not told without positions.

    Positions that jump or are missing are passed over.
    """
    if recording.positions is None:
        return _settled([])
    return lag_between(recording.positions, recording.imu)


def lag_between(
    positions: PositionStream,
    imu: ImuStream,
    usual: Together | None = None,
    gyroscope: Witness | None = None,
) -> Lag:
    """
    Estimate a lag of up to ``FURTHEST_S`` from the gyroscope and from the accelerometer.

    Neither unit, sign nor mounting of the IMU matters. Other sensors tell nothing.

    Parameters
    ----------
    positions, imu
        Of one recording.
    usual, gyroscope
        Both at the usual smoothing, and what `hear_gyroscope` says of that, if known already.

    """
    if not imu.of_imu:
        return _settled([])
    scenes = [
        usual if index == 0 and usual else put_together(positions, imu, smoothing_s)
        for index, smoothing_s in enumerate(_SMOOTHINGS_S)
    ]
    seen = [both for both in scenes if both is not None]
    if not seen:
        return _settled([])
    turns = [gyroscope if both is usual and gyroscope else hear_gyroscope(both) for both in seen]
    return _settled([_clearest(turns), _clearest(list(map(hear_accelerometer, seen)))])


def agreed_lags(lags: Sequence[Lag]) -> list[Lag]:
    """
    Return one lag for all recordings if what is known of them allows it, or each its own.

    A machine that was not restarted between recordings has one lag; that of a recording in which
    nothing tells is then known from the others.
    """
    known = [lag for lag in lags if lag.seconds is not None]
    if not known:
        return list(lags)
    seconds = np.array([lag.seconds for lag in known], dtype=np.float64)
    uncertainties = np.array([lag.uncertainty_s for lag in known])
    mean = float(np.average(seconds, weights=uncertainties**-2.0))
    if (np.abs(seconds - mean) > uncertainties).any():
        return list(lags)
    # What slip and mounting do is the same in all of them, so more of them are no surer.
    witnesses = tuple(witness for lag in known for witness in lag.witnesses)
    return [Lag(mean, float(uncertainties.min()), witnesses)] * len(lags)


def hear_gyroscope(both: Together) -> Witness:
    """Return what the axis says that explains the rate of turn of the course best."""
    motion = both.motion
    rates = [both.imu[:, [axis]] for axis in (3, 4, 5)]
    return max(
        (
            hear(name, rate, motion.course_rate, motion.step_s, motion.window)
            for name, rate in zip(IMU_CHANNELS[3:], rates, strict=True)
        ),
        key=lambda witness: witness.explained,
    )


def hear_accelerometer(both: Together) -> Witness:
    """
    Return what all axes together say that explain the acceleration to the side.

    The acceleration along the course says little: it is small, and weight leaks into it wherever
    the ground rises or the vehicle pitches.
    """
    motion = both.motion
    aside = np.linalg.norm(motion.velocities, axis=1) * motion.course_rate
    return hear('linear_acceleration', both.imu[:, :3], aside, motion.step_s, motion.window)


def _clearest(heard: list[Witness]) -> Witness:
    """
    Return what a sensor says at the smoothing at which it errs least.

    Positions of little noise tell most when smoothed little, others when smoothed much; but a
    smoothing over which the bends of the track are lost explains less and tells nothing.
    """
    best = max(witness.explained for witness in heard)
    fair = [witness for witness in heard if witness.explained >= _FAIR_SHARE * best]
    return min(fair, key=lambda witness: witness.error_s)


def _settled(heard: list[Witness]) -> Lag:
    """
    Weigh the witnesses by their errors.

    Slip lets the gyroscope see a turn late or early, and an IMU far from the reference point of
    the positions is pushed to the side at another time; where the two disagree the truth may be
    anywhere between them, so half the difference adds to the uncertainty.
    """
    telling = tuple(witness for witness in heard if witness.tells)
    if not telling:
        return Lag(None, np.inf, ())
    lags = np.array([witness.lag_s for witness in telling])
    weights = 1 / (np.array([witness.error_s for witness in telling]) ** 2 + _SYSTEMATIC_S**2)
    uncertainty = np.hypot(_SURE / np.sqrt(weights.sum()), np.ptp(lags) / 2)
    return Lag(float(np.average(lags, weights=weights)), float(uncertainty), telling)
