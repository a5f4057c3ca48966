# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Measure and correct the lag of the positions behind the IMU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
import math
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.motion import (
    count_laps,
    Motion,
    on_grid,
    put_together,
    sound_samples,
)
from two_manifold_ros.recordings.recording import IMU_CHANNELS
from two_manifold_ros.typing import Bools, Floats

if TYPE_CHECKING:
    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording


FURTHEST_S = 2.0
"""Lags of a camera or receiver, to both sides, seconds: twice as far, curves look alike."""

SHOWN = 0.36
"""Share of a motion that a sensor has to explain to show a lag: a correlation of .6."""

KNOWN_S = 0.1
"""Standard error of a lag, seconds, up to which it is known."""


@dataclass(frozen=True)
class SensorLag:
    """The lag that one sensor shows, its standard error, and the share of motion it explains."""

    name: str
    lag_s: float
    error_s: float
    explained: float

    @property
    def usable(self) -> bool:
        """True if the sensor explains ``SHOWN`` of the motion and errs by ``KNOWN_S`` or less."""
        return self.explained >= SHOWN and self.error_s <= KNOWN_S


def find_lag(name: str, early: Floats, late: Floats, step_s: float, window: int) -> SensorLag:
    """Find the lag at which smooth signals (G, k) explain a later one best; NaN is unknown."""
    # Near ones say the same: twelve points in a window, and no lag from less than ten seconds.
    stride = max(1, window // 12)
    early, late, step_s = early[::stride], late[::stride], step_s * stride
    least, blocks = round(10.0 / step_s), 8
    if min(np.isfinite(late).sum(), np.isfinite(early).all(axis=1).sum()) < least:
        return SensorLag(name, 0.0, np.inf, 0.0)
    reach = math.ceil(FURTHEST_S / step_s) + 1
    early, late = _standardised(early), _standardised(late[:, None])
    known_early: Bools = np.asarray(np.isfinite(early).all(axis=1))
    known_late: Bools = np.isfinite(late[:, 0])
    size, sums = len(late), []
    for lag in range(-reach, reach + 1):
        # In each block, sums of products (k + 2, k + 2) of one, the signals, and what comes later.
        rows = np.zeros((-(-size // blocks) * blocks, early.shape[1] + 2))
        paired = slice(max(0, lag), size + min(0, lag))
        before = slice(max(0, -lag), size - max(0, lag))
        inside = rows[paired]
        inside[:, 0] = 1.0
        inside[:, 1:-1] = early[before]
        inside[:, -1:] = late[paired]
        inside[~(known_early[before] & known_late[paired])] = 0.0
        parts = rows.reshape(blocks, -1, rows.shape[1])
        sums.append(parts.transpose(0, 2, 1) @ parts)
    moments = np.stack(sums)
    total = moments.sum(axis=1, keepdims=True)
    # Of all, and without each block.
    shares = _share(np.concatenate([total, total - moments], axis=1), least)
    peaks = shares.argmax(axis=0)
    best = float(shares[peaks[0], 0])
    # Lags far apart may be nearly as likely, as on halves of an oval.
    high = np.flatnonzero(shares[:, 0] >= 0.8 * shares[:, 0].max())
    if high[-1] - high[0] >= len(high) or peaks.min() == 0 or peaks.max() == 2 * reach:
        return SensorLag(name, float(peaks[0] - reach) * step_s, np.inf, best)
    # The top of the parabola through each peak and its neighbours.
    around = np.stack([peaks - 1, peaks, peaks + 1])
    left, top, right = np.take_along_axis(shares, around, axis=0)
    bend = left - 2 * top + right
    flat = bend == 0
    tops = np.where(flat, 0.0, (left - right) / np.where(flat, 1.0, 2 * bend))
    lags = (peaks - reach + tops) * step_s
    error_s = float(np.sqrt((blocks - 1) * np.var(lags[1:])))
    return SensorLag(name, float(lags[0]), error_s if abs(lags[0]) <= FURTHEST_S else np.inf, best)


def _standardised(signals: Floats) -> Floats:
    scale = np.nanstd(signals, axis=0)
    centred: Floats = signals - np.nanmean(signals, axis=0)
    return centred / np.where(scale > 0, scale, 1.0)


def _share(moments: Floats, least: int, constant: float = 1e-9) -> Floats:
    """Return which share of the last variable's variance the others explain; 0 from too few."""
    counts = np.maximum(moments[..., :1, :1], 1.0)
    means = moments[..., 0, 1:] / counts[..., 0]
    covariance = moments[..., 1:, 1:] / counts - means[..., :, None] * means[..., None, :]
    inverse = np.linalg.pinv(covariance[..., :-1, :-1], rcond=1e-6, hermitian=True)
    shared, whole = covariance[..., :-1, -1], covariance[..., -1, -1]
    explained = np.einsum('...i,...ij,...j->...', shared, inverse, shared)
    enough = (counts[..., 0, 0] >= least) & (whole > constant)
    share: Floats = np.where(enough, explained / np.maximum(whole, constant), 0.0)
    return share


@dataclass(frozen=True)
class Lag:
    """By how much the stamps of the positions are later than those of the IMU."""

    seconds: float | None = None  # negative if earlier, ``None`` if no sensor shows it
    uncertainty_s: float = math.inf  # off by more once in twenty times
    witnesses: tuple[SensorLag, ...] = ()  # usable lags of single sensors
    ambiguous: tuple[float, ...] = ()  # where none is known, perhaps the clock's

    def __str__(self) -> str:
        """Return the lag in words."""
        if self.seconds is None:
            return 'behind or ahead of the stamps of the IMU by an unknown time'
        side = 'behind' if self.seconds >= 0 else 'ahead of'
        far = f'{abs(self.seconds):.3f} s (+- {self.uncertainty_s:.3f} s)'
        return f'{far} {side} the stamps of the IMU'

    def exceeds(self, least_s: float) -> bool:
        """Return whether there is certainly a lag, and one of more than ``least_s`` seconds."""
        return self.seconds is not None and abs(self.seconds) > max(self.uncertainty_s, least_s)

    @property
    def sentence(self) -> str:
        """The lag, or those that fit alike, what it does to estimates, and the cure."""
        if self.ambiguous:
            fits = ' or '.join(f'{each:.1f} s' for each in self.ambiguous[:3])
            return (
                'The clocks of positions and IMU do not agree, since the IMU follows the '
                f'positions only if their stamps are made {fits} earlier, and '
                'several offsets fit alike: give the right time with --position-lag (position_lag '
                'of a node), 0 to leave them, or set the clocks (NTP or PTP) and record again.'
            )
        return (
            f'The stamps of the positions are {self}, and estimates would be off by the distance '
            'driven in that time: train corrects it by default; evaluate with --position-lag '
            'auto, or set the clocks (NTP or PTP) and stamp camera images when they are taken.'
        )


SURELY, LEAST_UNEXPLAINED = math.log(2.0), 0.1
"""By how much more a clock's offset has to explain than any other, so that it leaves half as much,
and the share that slip, slopes and noise leave unexplained even at the right lag."""

MOST_POINTS = 1 << 16
"""Points of a stream that lags of any length are searched with, in some 150 MB, up to 5 hours."""


def _moments(early: Floats, late: Floats, size: int) -> Iterator[Floats]:
    """Yield sums of products with the early ones (size, k + 2, k + 2) of each late signal."""
    early, late = _standardised(early), _standardised(late)
    known_early: Bools = np.asarray(np.isfinite(early).all(axis=1))
    columns = np.column_stack([known_early, np.where(known_early[:, None], early, 0.0)])
    count = columns.shape[1]
    pairs = (columns[:, :, None] * columns[:, None, :]).reshape(len(columns), -1)
    first = np.conj(np.fft.rfft(pairs, size, axis=0))
    for column in late.T:
        known = np.isfinite(column)
        value = np.where(known, column, 0.0)
        second = np.fft.rfft(np.stack([known, value, value**2], axis=1), size, axis=0)
        moments = np.zeros((size, count + 1, count + 1))
        both = np.fft.irfft(first * second[:, :1], size, axis=0)
        moments[:, :count, :count] = both.reshape(size, count, count)
        across = np.fft.irfft(first[:, :count] * second[:, 1:2], size, axis=0)
        moments[:, :count, count] = moments[:, count, :count] = across
        moments[:, count, count] = np.fft.irfft(first[:, 0] * second[:, 2], size, axis=0)
        yield moments


def _far_lags(positions: PositionStream, imu: ImuStream, motion: Motion) -> tuple[float, ...]:
    """
    Return lags of more than ``FURTHEST_S`` of which the clock has one, the likely first.

    The score of a lag is the sum of the logarithms of one over the shares of the variances that
    the sensors do not explain, of rate of turn, acceleration aside and change of speed, where half
    of the drive overlaps. No other explains ``SURELY`` more. Several explain as much if each is a
    peak: towards any better lag the score dips by ``SURELY``, or to half. Streams of one bag begin
    and end together, so of several the clock has the one that makes them so; else one within
    ``FURTHEST_S``, and none is returned; else they are ambiguous.
    """
    # Loading it takes half a second, for which most commands would wait in vain.
    from scipy.signal import find_peaks  # noqa: PLC0415

    laps = count_laps(motion)
    measured, samples = sound_samples(imu)
    if len(measured) < 2 or (laps is not None and not laps.resolved):
        return ()
    lasts_s = max(measured[-1] - measured[0], motion.seconds[-1] - motion.seconds[0])
    stride = max(motion.window // 6, math.ceil(lasts_s / motion.step_s / MOST_POINTS))
    if stride > motion.window // 2:
        return ()
    grid = np.arange(measured[0], measured[-1], motion.step_s)
    if len(grid) <= motion.window:
        return ()
    step = motion.step_s * stride
    seen = on_grid(replace(motion, seconds=grid), measured, samples)[::stride]
    turning = [motion.course_rate, motion.lateral]
    turning = [np.where(motion.moving, np.nan_to_num(each), 0.0) for each in turning]
    first = motion.seconds[0]
    at = np.rint((motion.seconds - first) / step).astype(np.int64)[motion.known]
    shown = np.full((round((motion.seconds[-1] - first) / step) + 1, 3), np.nan)
    faster = np.gradient(motion.speed, motion.step_s)
    shown[at] = np.stack([*turning, faster], axis=1)[motion.known]
    size = 1 << (len(seen) + len(shown) - 1).bit_length()
    score = np.zeros(size)
    for sensor, wanted in ((slice(3, 6), slice(0, 1)), (slice(0, 3), slice(1, 3))):
        for moments in _moments(seen[:, sensor], shown[:, wanted], size):
            counts = moments[:, 0, 0]
            most = max(1.0, float(counts.max()))
            shares = _share(moments, math.ceil(0.5 * most))
            # Below that a millionth counts, or the top is flat and noise makes two of it.
            left = np.maximum(1.0 - shares, LEAST_UNEXPLAINED + 1e-6 * (1.0 - shares))
            score -= counts / most * np.log(left)
    shift = np.roll(np.arange(size), len(shown))
    lags = np.where(shift >= len(shown), shift - size, shift) * step + first - grid[0]
    score = score[shift]
    # A shoulder of a better lag, as wide as the bends of the vehicle are long, is no rival.
    least, deep = max(float(score.max()) - SURELY, 0.0), np.minimum(SURELY, score / 2)
    rivals, peaks = find_peaks(score, height=least, prominence=deep)[0], list[float]()
    rest = lags[rivals[np.argsort(-score[rivals], kind='stable')]]
    while len(rest):
        peaks.append(float(rest[0]))
        rest = rest[np.abs(rest - rest[0]) > FURTHEST_S]
    ends_s = (positions.stamps[positions.usable][[0, -1]] - imu.first_stamp) / 1e9
    ends_s = ends_s - [0.0, (imu.last_stamp - imu.first_stamp) / 1e9]
    fitting = [each for each in peaks if float(np.abs(ends_s - each).max()) <= FURTHEST_S]
    near = [each for each in peaks if abs(each) <= FURTHEST_S + KNOWN_S]
    chosen = fitting[:1] or near[:1] or peaks or [0.0]
    return () if abs(chosen[0]) <= FURTHEST_S + KNOWN_S else tuple(chosen)


def estimate_lag(recording: Recording, usual: Motion | None = None) -> Lag:
    """
    Estimate a lag of up to ``FURTHEST_S``, or of a clock, from gyroscope and accelerometer.

    A lag of more is believed where no other explains as much, see `_far_lags`. Neither unit, sign
    nor mounting of the IMU matters. The motion at the usual smoothing may be given.
    """
    positions, imu = recording.positions, recording.imu
    if positions is None or not imu.of_imu:
        return Lag()
    usual = usual or put_together(positions, imu)
    far = _far_lags(positions, imu, usual) if usual else ()
    if far:
        nearer = replace(positions, stamps=positions.stamps - round(1e9 * far[0]))
        rest = _near_lag(nearer, imu, put_together(nearer, imu))
        if rest.seconds is not None:
            known = replace(rest, seconds=far[0] + rest.seconds)
            return known if len(far) == 1 else Lag(ambiguous=far)
    return _near_lag(positions, imu, usual)


def _near_lag(positions: PositionStream, imu: ImuStream, usual: Motion | None) -> Lag:
    """Average the lags of gyroscope and accelerometer, each at its clearest, by their errors."""
    # The usual smoothing first. Positions of little noise show most when smoothed little.
    others = (put_together(positions, imu, smoothing_s) for smoothing_s in (1.2, 2.4, 4.8))
    seen = [each for each in (usual, *others) if each is not None]
    # All axes of the accelerometer together explain the acceleration to the side.
    pushes = [
        find_lag('linear_acceleration', each.imu[:, :3], each.lateral, each.step_s, each.window)
        for each in seen
    ]
    usable = []
    for found in (list(map(gyroscope_lag, seen)), pushes) if seen else ():
        # The smoothing at which it errs least, of those that keep the bends.
        best = max(each.explained for each in found)
        fair = [each for each in found if each.explained >= 0.95 * best]
        clearest = min(fair, key=lambda each: each.error_s)
        usable += [clearest] if clearest.usable else []
    if not usable:
        return Lag()
    lags = np.array([each.lag_s for each in usable])
    # Slip, banking and the way from IMU to reference point move even a good one by 10 ms.
    weights = 1 / (np.array([each.error_s for each in usable]) ** 2 + 0.01**2)
    # Two standard errors hold nineteen times in twenty; half the difference is for slip.
    uncertainty = np.hypot(2.0 / np.sqrt(weights.sum()), np.ptp(lags) / 2)
    return Lag(float(np.average(lags, weights=weights)), float(uncertainty), tuple(usable))


def agreed_lags(lags: Sequence[Lag]) -> list[Lag]:
    """Return one lag for all recordings if their estimates agree, or each its own."""
    known = [lag for lag in lags if lag.seconds is not None]
    if not known:
        return list(lags)
    seconds = np.array([lag.seconds for lag in known], dtype=np.float64)
    uncertainties = np.array([lag.uncertainty_s for lag in known])
    mean = float(np.average(seconds, weights=uncertainties**-2.0))
    if (np.abs(seconds - mean) > uncertainties).any():
        return list(lags)
    # What slip and mounting do is the same in all of them, so more of them are no surer.
    return [Lag(mean, float(uncertainties.min()))] * len(lags)


def gyroscope_lag(motion: Motion) -> SensorLag:
    """Return the lag of the axis that explains the rate of turn of the course best."""
    found = [
        find_lag(name, motion.imu[:, [axis]], motion.course_rate, motion.step_s, motion.window)
        for axis, name in enumerate(IMU_CHANNELS[3:], start=3)
    ]
    return max(found, key=lambda each: each.explained)


AUTO = 'auto'
"""A position lag that is to be found."""


def parse_position_lag(text: str) -> float | None:
    """Return the seconds that are asked for, or ``None`` for auto; else raise ``InputError``."""
    if text == AUTO:
        return None
    try:
        lag_s = float(text)
    except ValueError:
        lag_s = math.nan
    if not math.isfinite(lag_s):
        raise InputError(f'a position lag of {text!r} is neither {AUTO} nor a number of seconds')
    return lag_s


def trained_lag(model: ModelHead) -> str:
    """Return the position lag of the training for `put_in_step`; empty if it was none."""
    found: list[float] = []
    # A summary may be anything.
    with suppress(AttributeError, LookupError, TypeError, ValueError):
        found = [float(row['corrected_s']) for row in model.summary.get('position_lag', [])]
    # Of bags that differ none is the rule.
    if not found or not max(found) - min(found) <= 0.5 / model.rate_hz or not median(found):
        return ''
    # What is further was a clock, which may have been set since.
    return AUTO if abs(median(found)) > FURTHEST_S else str(median(found))


def put_in_step(
    recordings: Sequence[Recording], wanted: str, why: str = 'as asked for'
) -> list[Recording]:
    """Make positions earlier by the lag ``wanted``: ``auto``, seconds or nothing; notes say so."""
    if not wanted:
        return list(recordings)
    lag_s = parse_position_lag(wanted)
    if lag_s is None:
        # Where those of recordings of one setup agree, all get the same.
        lags = agreed_lags([estimate_lag(recording) for recording in recordings])
        for recording, lag in zip(recordings, lags, strict=True):
            if lag.ambiguous:
                raise InputError(f'{recording.name}: {lag.sentence}')
        corrections = [
            (lag.seconds, f'as found (+- {lag.uncertainty_s:.3f} s)')
            if lag.seconds is not None and lag.exceeds(0.0)
            else (0.0, '')
            for lag in lags
        ]
    else:
        corrections = [(lag_s, why)] * len(recordings)
    alike = len(set(corrections)) == 1
    moved = []
    for recording, (earlier_s, how) in zip(recordings, corrections, strict=True):
        if not how:
            moved.append(recording)
            continue
        side = 'earlier' if earlier_s >= 0 else 'later'
        note = f'positions made {abs(earlier_s):.3f} s {side}, {how}'
        note = note if alike else f'{recording.name}: {note}'
        earlier = recording.with_positions_earlier(earlier_s)
        moved.append(replace(earlier, notes=(*recording.notes, note)))
    return moved


def late_sentences(names: Sequence[str], lags: Sequence[Lag], least_s: float) -> Iterator[str]:
    """Yield a sentence for each late recording of those names, one for all if they agree."""
    agreed = agreed_lags(lags)
    if len(names) > 1 and len(set(agreed)) == 1:
        names, agreed = [f'{names[0]} and {len(names) - 1} more'], agreed[:1]
    for name, lag in zip(names, agreed, strict=True):
        if lag.exceeds(least_s):
            yield f'{name}: {lag.sentence}'
