# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Cut a recording at gaps and jumps, average over ticks, scale the channels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
import itertools
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import IMU_CHANNELS, IN_A_ROW, usual_gap_ns
from two_manifold_ros.ticks.stamps import average_ticks, judge_stamps, JUMP_BACK_NS
from two_manifold_ros.typing import Bools, Floats, Ints

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import PositionStream, Recording


LIMIT_FACTOR = 5.0
"""A sample farther from the mean than this many times the largest in training is refused."""

NO_LIMIT = float(np.finfo(np.float64).max)
"""Limit of a channel that is left out."""


@dataclass(frozen=True)
class Channels:
    """
    Mean, scale and range of the c channels of a sample over the training ticks, in their units.

    ``scale`` (c,) is the standard deviation of the ticks, of a TPSR over the share of it that
    lasts; ``limit`` (c,) the largest believable distance of one sample from the mean. Only the
    ``live`` channels (c,) vary; the others are left out, and may be anything finite.
    """

    mean: Floats
    scale: Floats
    limit: Floats
    live: Bools
    names: tuple[str, ...] = IMU_CHANNELS

    @property
    def of_imu(self) -> bool:
        """True if the samples are those of an IMU, in its units."""
        return self.names == IMU_CHANNELS

    @property
    def dead_names(self) -> tuple[str, ...]:
        """Names of the channels left out."""
        return tuple(np.array(self.names)[~self.live].tolist())

    @property
    def live_names(self) -> tuple[str, ...]:
        """Names of the channels used, in order."""
        return tuple(np.array(self.names)[self.live].tolist())

    @property
    def largest(self) -> Floats:
        """Largest magnitudes (c,) of the training, see ``largest_believable``."""
        return np.asarray(self.limit / LIMIT_FACTOR - np.abs(self.mean))

    def without_dead(self, samples: Floats) -> Floats:
        """Return (N, c) samples with the mean in channels left out, at which no filter looks."""
        return np.where(self.live, samples, self.mean)

    def standardise(self, values: Floats) -> Floats:
        """Return the live channels of (T, c) values with mean 0 and variance 1: (T, d)."""
        live = self.live
        return np.asarray((values[..., live] - self.mean[live]) / self.scale[live])


def fit_channels(
    segments: Sequence[Segment], largest: Floats, names: tuple[str, ...] = IMU_CHANNELS
) -> Channels:
    """Measure channels over segments as `measure_channels`; refuse them if none varies."""
    values = np.concatenate([segment.values for segment in segments])
    channels = measure_channels(values, largest, names)
    if not channels.live.any():
        raise InputError('no channel varies during training; record while the vehicle drives')
    return channels


def measure_channels(values: Floats, largest: Floats, names: tuple[str, ...]) -> Channels:
    """Measure channels over ticks (T, c), of samples that are at ``largest`` (c,) so large."""
    mean = values.mean(axis=0)
    scale = values.std(axis=0)
    live = scale > 1e-9 * np.maximum(1.0, np.abs(mean))
    limit = np.where(live, LIMIT_FACTOR * (largest + np.abs(mean)), NO_LIMIT)
    return Channels(mean, scale, limit, live, names)


LARGEST = 1e9
"""Largest number that a sensor may give, in any unit."""


def unmeasured_axes(samples: Floats) -> Bools:
    """Return which columns of (N, 6) samples hold no finite number: some drivers fill axes so."""
    return np.asarray(~np.isfinite(samples).any(axis=0))


def usable_samples(samples: Floats) -> tuple[Bools, Floats]:
    """Return where (N, 6) samples are finite, and the samples with unmeasured axes set to zero."""
    finite = np.isfinite(samples)
    unmeasured = unmeasured_axes(samples)
    usable = (finite | unmeasured).all(axis=1) & finite.any(axis=1)
    return np.asarray(usable), np.where(unmeasured, 0.0, samples)


def largest_believable(samples: Sequence[Floats]) -> Floats:
    """
    Return the largest magnitude of each channel over recordings, absurd samples left out: (c,).

    A bit flipped on a bus makes a sample of 10^4 m/s^2 or 10^308. One sample in a thousand, and at
    least one, may be absurd; more of them if they exceed ``LARGEST``.
    """
    usable, cleaned = usable_samples(np.concatenate(samples))
    magnitudes = np.abs(cleaned[usable])
    if not len(magnitudes):
        return np.zeros(magnitudes.shape[1])
    largest: Floats = np.where(magnitudes <= LARGEST, magnitudes, 0.0).max(axis=0)
    # What np.quantile calls the lower one, by a name that changed with NumPy 1.22.
    rank = int((len(magnitudes) - 1) * (1.0 - 0.001))
    usual: Floats = np.partition(magnitudes, rank, axis=0)[rank]
    believed: Floats = np.where(usual > 0.0, np.minimum(usual, largest), largest)
    return believed


def absurd_values(samples: Floats, usable: Bools, largest: Floats | None = None) -> Bools:
    """Return which values (N, 6) of usable samples are far beyond the ``largest``, or usual."""
    largest = largest_believable([samples[usable]]) if largest is None else largest
    limit = LIMIT_FACTOR * largest + np.finfo(float).tiny
    return np.asarray(usable[:, None] & (np.abs(samples) > limit))


def only_near_fixes(
    segment: Segment, stream: PositionStream | None, reach_ns: int, margin: int = 0
) -> Segment:
    """
    Forget positions interpolated further than ``reach_ns`` from any measured one in ``stream``.

    Between positions far apart a straight line cuts the curves. ``margin`` ticks at either end
    keep their positions: nothing better will be known of them.
    """
    if stream is None:
        return segment
    fixes = np.sort(stream.stamps[stream.usable])
    if not len(fixes):
        return segment
    after = np.minimum(np.searchsorted(fixes, segment.stamps), len(fixes) - 1)
    before = np.maximum(after - 1, 0)
    apart = [np.abs(fixes[each] - segment.stamps) for each in (before, after)]
    kept = np.minimum(*apart) <= reach_ns
    kept[:margin] = kept[len(kept) - min(margin, len(kept)) :] = True
    return replace(segment, positions=np.where(kept[:, None], segment.positions, np.nan))


@dataclass(frozen=True)
class Segment:
    """
    A stretch of ticks without a gap, which end at the stamps (T,), ns.

    Over each tick there are the means ``values`` (T, 6), in the units of the IMU, the means of
    ``further`` sensors (T, m), NaN where unknown, and ``spreads`` (T, 6): the standard deviation
    of the noise that shakes as much within it, see `with_shakes`. Positions (T, 2) are at the
    stamps, metres; NaN where unknown. ``begins`` says whether the recording begins with it: behind
    a long gap a vehicle may be anywhere.
    """

    stamps: Ints
    values: Floats
    positions: Floats
    further: Floats | None = field(default=None, kw_only=True)
    line: str = field(default='', kw_only=True)
    spreads: Floats | None = field(default=None, kw_only=True)
    begins: bool = field(default=True, kw_only=True)

    def __len__(self) -> int:
        """Return the number of ticks."""
        return len(self.stamps)

    def part(self, start: int, stop: int) -> Segment:
        """Return the ticks from ``start`` up to ``stop``."""
        columns = {
            name: each[start:stop] for name, each in vars(self).items() if hasattr(each, 'shape')
        }
        return replace(self, **columns, begins=self.begins and start == 0)


def positions_at(stream: PositionStream | None, stamps: Ints) -> Floats:
    """
    Interpolate positions (T, 2) linearly at stamps (T,), without unusable ones and duplicates.

    NaN before the first, after the last, and inside `holes`. A position whose stamp is wild or not
    above zero is none. Where the clock jumped back, a stamp stands for two moments: NaN if the
    vehicle was then at two places.
    """
    result = np.full((len(stamps), 2), np.nan)
    if stream is None or not len(stamps):
        return result
    judged = judge_stamps(stream.stamps, usual_gap_ns(stream.stamps))
    # A zero stamp is no clock that was set back, which would end a part.
    says_time = stream.stamps > 0
    says_time[judged.wild] = False
    times = np.flatnonzero(says_time)
    jumps = np.flatnonzero(np.diff(stream.stamps[times]) < -JUMP_BACK_NS) + 1
    for part in np.split(times, jumps):
        usable = part[stream.usable[part]]
        known, first = np.unique(stream.stamps[usable], return_index=True)
        if len(known) < 2:
            continue
        places = stream.positions[usable][first]
        after = np.clip(np.searchsorted(known, stamps), 1, len(known) - 1)
        steps = np.diff(known)
        new = (stamps >= known[0]) & (stamps <= known[-1]) & ~holes(steps)[after - 1]
        share = ((stamps - known[after - 1]) / steps[after - 1])[:, None]
        found = places[after - 1] * (1.0 - share) + places[after] * share
        old = np.isfinite(result).all(axis=1)
        # Positions nearer than 1 um are those of a bag recorded twice, not of two moments.
        contradicted = new & old & (np.abs(found - result) > 1e-6).any(axis=1)
        result[new & ~old] = found[new & ~old]
        result[contradicted] = np.nan
    return result


def holes(steps: Ints) -> Bools:
    """
    Return which positive steps (n,) between stamps, ns, are holes in a stream.

    Those above three usual intervals and 0.25 s: the usual one is the median of all, or of
    ``IN_A_ROW`` around if that is longer, as where a stream was slowed down half-way.
    """
    nearby = sliding_window_view(np.pad(steps, IN_A_ROW // 2, mode='symmetric'), IN_A_ROW)
    usual = np.maximum(np.median(nearby, axis=1).astype(np.int64), int(np.median(steps)))
    return np.asarray(steps > np.maximum(250_000_000, 3 * usual))


def with_shakes(samples: Floats, before: Floats, earlier: Floats) -> Floats:
    """
    Return samples (..., c) with what shakes behind them, of which a tick has the mean.

    It is a sixth of the squared second differences, with the samples ``before`` and ``earlier``
    (..., d), of the first d channels: of white noise the variance, and no larger if a vehicle
    turns in or brakes within the tick.
    """
    bent = samples[..., : before.shape[-1]] - 2.0 * before + earlier
    return np.concatenate([samples, np.square(bent) / 6.0], axis=-1)


def cut_segments(
    recording: Recording,
    period_ns: int,
    max_gap_ns: int,
    largest: Floats | None = None,
    *,
    spreads: bool = False,
) -> tuple[list[Segment], Counter[str]]:
    """
    Average a recording, in any state, over ticks; steps longer than ``max_gap_ns`` are gaps.

    Samples far beyond ``largest`` (6,) of `largest_believable` are set aside. Returned are
    segments that hold at least one tick, and counts of samples received, used and set aside, and
    of gaps.
    """
    imu = recording.imu
    counts: Counter[str] = Counter(received=len(imu.stamps))
    usable, cleaned = usable_samples(imu.samples)
    counts['non_finite'] = int(np.count_nonzero(~usable))
    if largest is not None:
        absurd = absurd_values(cleaned, usable, largest).any(axis=1)
        counts['out_of_range'] = int(np.count_nonzero(absurd))
        usable &= ~absurd
    names = [name for stream in recording.sensors for name in stream.names]
    own = cleaned.shape[1]
    if names:
        # They are averaged by the same rule, and neither refuse a sample nor are refused.
        cleaned = np.hstack([cleaned, recording.samples_with(names)[:, own:]])
    whole = cleaned.shape[1]
    stamps, samples = imu.stamps[usable], cleaned[usable]
    judged = judge_stamps(stamps, max_gap_ns)
    counts.update(judged.counts)
    stamps, samples = stamps[judged.kept], samples[judged.kept]
    counts['used'] = len(stamps)
    segments = []
    for start, stop in itertools.pairwise([*judged.begins.tolist(), len(stamps)]):
        part = samples[start:stop]
        if spreads:
            padded = np.concatenate([part[:1], part[:1], part])[:, :own]
            part = with_shakes(part, padded[1:-1], padded[:-2])
        ends, means = average_ticks(stamps[start:stop], part, period_ns)
        if len(ends):
            segments.append(
                Segment(
                    ends,
                    np.ascontiguousarray(means[:, :own]),
                    positions_at(recording.positions, ends),
                    further=means[:, own:whole] if names else None,
                    line=recording.line,
                    spreads=np.sqrt(means[:, whole:]) if spreads else None,
                )
            )
    return segments, counts
