# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""All methods by name: rivals that learn next to nothing, other filters, and those of ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
import itertools
from typing import Any, TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.signal import savgol_filter

from two_manifold_ros.comparison.comparing import (
    fit_best,
    Fitted,
    Method,
    Predictions,
    ScoredSegment,
    TrainSplit,
)
from two_manifold_ros.comparison.hidden_markov import hidden_markov
from two_manifold_ros.comparison.linear_system import kalman_filter
from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.estimate import Estimate, make_tick_filter
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.names import KERNELS, OURS
from two_manifold_ros.ticks.rest import stretches_of
from two_manifold_ros.ticks.sliding import SlidingWindow
from two_manifold_ros.ticks.windows import lay_end_to_end
from two_manifold_ros.training.train import train_model
from two_manifold_ros.typing import Bools, Floats, Ints

if TYPE_CHECKING:
    from two_manifold_ros.model.model import TrainedModel
    from two_manifold_ros.recordings.recording import ImuStream
    from two_manifold_ros.ticks.segments import Segment


SPAN_S = 0.6
"""Seconds over which channels and motion are averaged: less lets noise in, more averages bends."""

GIVEN_S = 0.5
"""Seconds of driving, and ten ticks at least, whose positions are given and show the start."""


def still_position(train: TrainSplit, *, of_tick: bool) -> Fitted:
    """Answer the true position of the tick, or the mean of training, which a method must beat."""
    mean, horizons = None if of_tick else train.mean_position(), len(train.horizons)

    def predict(segment: Segment) -> Predictions:
        places = segment.positions if mean is None else np.tile(mean, (len(segment), 1))
        return Predictions(np.repeat(places[:, None], horizons, axis=1))

    return Fitted(predict, {})


def nearest_windows(train: TrainSplit) -> Fitted:
    """Mean of the positions that followed the training windows most like the live one."""
    window = train.dataset.window
    lengths = dict.fromkeys(max(1, round(share * window)) for share in (1.0, 0.5, 0.25))
    candidates = [
        {'neighbours': n, 'window': length} for length in lengths for n in (5, 1, 10, 20)
    ]
    return fit_best(candidates, train, lambda part: partial(follow_nearest, part))


def follow_nearest(train: TrainSplit, neighbours: int, window: int) -> Fitted:
    """Keep windows that cross no seam; ``InputError`` if none, and NaN until one is full."""
    series, begins = lay_end_to_end(train.dataset.observations)
    starts: Ints = np.concatenate(
        [
            np.arange(begin, max(end - window + 1, begin), dtype=np.int64)
            for begin, end in itertools.pairwise(begins.tolist())
        ]
    )
    if not len(starts):
        msg = f'no stretch of the training part holds a window of {window} ticks; record longer'
        raise InputError(msg)
    # Positions at the horizons after the last tick of each window (n, H, 2), NaN if unknown.
    targets = np.concatenate(train.targets)[starts + window - 1]
    known: Bools = np.all(np.isfinite(targets), axis=2)
    targets = np.where(known[..., None], targets, 0.0)

    def predict(segment: Segment) -> Predictions:
        positions = np.full((len(segment), *targets.shape[1:]), np.nan)
        live = SlidingWindow(series, starts, window)
        for tick, observation in enumerate(train.dataset.channels.standardise(segment.values)):
            live.push(observation)
            if not live.full:
                continue
            distances, amount, found = live.distances(), 2 * neighbours, False
            while not found:
                near = np.arange(len(distances))
                if amount < len(distances):
                    near = np.argpartition(distances, amount)[:amount]
                near = near[np.argsort(distances[near], kind='stable')]
                rank = known[near].cumsum(axis=0)
                # Near the end of a segment the position at a horizon is unknown: look further.
                found = len(near) == len(distances) or rank[-1].min() >= neighbours
                amount *= 4
            counted = known[near] & (rank <= neighbours)
            total = counted.sum(axis=0).astype(np.float64)
            total[total == 0.0] = np.nan
            sums = np.einsum('nh,nhc->hc', counted, targets[near])
            positions[tick] = sums / total[:, None]
        return Predictions(positions)

    return Fitted(predict, {})


@dataclass(frozen=True)
class Motion:
    """Linear maps from the IMU to the motion in the plane, and how the speed is corrected."""

    weights: Floats  # (3, 7) of six channels and 1: course rate, forward and leftward acceleration
    gain: float  # of the rest of the leftward one: the Kalman filter of a speed seen in bends
    usual_m_s: float
    fastest_m_s: float
    ahead_s: Floats  # (H,), the horizons
    period_s: float

    @property
    def fitted(self) -> Fitted:
        """The method, with the weights as its settings."""
        return Fitted(self.predict, {'weights': self.weights.tolist()})

    def predict(self, segment: Segment) -> Predictions:
        """Integrate from the first second of driving on: x, y (m), course (rad), speed (m/s)."""
        positions = np.full((len(segment), len(self.ahead_s), 2), np.nan)
        states = np.full((len(segment), 4), np.nan)
        known = np.flatnonzero(np.isfinite(segment.positions).all(axis=1))
        places, given = segment.positions[known], max(round(GIVEN_S / self.period_s), 10)
        away = np.linalg.norm(places - places[:1], axis=1) > 0.2 * self.usual_m_s * GIVEN_S
        # Until it drives, all positions are given.
        used = known[np.argmax(away) :][:given] if away.any() else known
        for tick, after in itertools.pairwise([*known[known <= used[-1:]], len(segment)]):
            positions[tick:after] = segment.positions[tick]
        if not away.any() or len(used) < given:
            return Predictions(positions, states)
        seconds = self.period_s * (used - used[-1])
        _, velocity, place = np.polyfit(seconds, segment.positions[used], 2)
        course, speed = float(np.arctan2(velocity[1], velocity[0])), float(np.hypot(*velocity))
        for tick in range(used[-1] + 1, len(segment)):
            rate, ahead, aside = (self.weights @ np.append(segment.values[tick], 1.0)).tolist()
            place = place + _way(course, speed, rate, np.array([self.period_s]))[0]
            course += self.period_s * rate
            ahead += self.gain * np.sign(rate) * (aside - speed * rate)
            speed = float(np.clip(speed + self.period_s * ahead, 0.0, self.fastest_m_s))
            positions[tick] = place + _way(course, speed, rate, self.ahead_s)
            states[tick] = *place, course, speed
        return Predictions(positions, states)


def _way(course: float, speed: float, rate: float, seconds: Floats) -> Floats:
    """Return the (H, 2) ways driven after (H,) seconds at one speed and one course rate."""
    half = rate * seconds / 2.0
    chord = speed * seconds * np.sinc(half / np.pi)
    return np.stack([chord * np.cos(course + half), chord * np.sin(course + half)], axis=1)


def learn_motion(train: TrainSplit) -> Motion:
    """Regress the motion on the live axes; ``InputError`` without a kind of them or motion."""
    live, period_s = train.dataset.channels.live, train.dataset.period_s
    if not (live[:3].any() and live[3:].any()):
        msg = 'no accelerometer axis, or no gyroscope axis, varies in training: it shows no motion'
        raise InputError(msg)
    window = max(2 * round(0.3 / period_s / 2) + 1, 5)
    span = max(round(SPAN_S / period_s), 1)
    # Means over the span of channels (n, 6), and least speed and means of speed, course rate and
    # acceleration (n, 4).
    means, motions = [np.empty((0, 6))], [np.empty((0, 4))]
    for segment in train.dataset.segments:
        known: Bools = np.asarray(np.isfinite(segment.positions).all(axis=1))
        for start, stop in stretches_of(known):
            if stop - start <= window + span:
                continue
            places = segment.positions[start:stop]
            velocity = savgol_filter(places, window, 3, axis=0, deriv=1, delta=period_s)
            speeds = np.linalg.norm(velocity, axis=1)
            course = np.unwrap(np.arctan2(velocity[:, 1], velocity[:, 0]))
            rates = np.diff(np.column_stack([course, speeds]), axis=0) / period_s
            moving = np.column_stack([(speeds[1:] + speeds[:-1]) / 2.0, rates])
            spans = sliding_window_view(moving, span, axis=0)
            motions.append(np.column_stack([spans[:, 0].min(axis=1), spans.mean(axis=2)]))
            seen = segment.values[start + 1 : stop]
            means.append(sliding_window_view(seen, span, axis=0).mean(axis=2))
    values, motion = np.concatenate(means), np.concatenate(motions)
    # At a fifth of the usual speed the course does not show the heading.
    usual = float(np.quantile(motion[:, 0], 0.75)) if len(motion) else 0.0
    driving = motion[:, 0] > max(0.2 * usual, 1e-3)
    values, motion, fewest = values[driving], motion[driving], train.dataset.window
    if len(motion) < fewest:
        raise InputError(
            f'the vehicle is known to move during {len(motion)} training ticks, fewer than the '
            f'{fewest} of a window, too few to learn how the IMU is mounted; record longer'
        )
    usual, fastest = np.quantile(motion[:, 1], (0.5, 0.99)).tolist()
    speed, rate, ahead = motion[:, 1:].T
    axes = np.flatnonzero(live)
    # In bends the leftward acceleration is speed times course rate, which corrects the speed.
    # Nothing corrects the position, so that it drifts.
    turning, _ = _regress(values, rate, axes[axes >= 3])
    pulling, noise_ahead = _regress(values, ahead, axes[axes < 3])
    leaning, noise_aside = _regress(values, speed * rate, axes[axes < 3])
    gain = noise_ahead / max(noise_aside, 1e-9)
    weights = np.stack([turning, pulling, leaning])
    ahead_s = period_s * np.array(train.horizons, dtype=np.float64)
    return Motion(weights, gain, usual, 2.0 * fastest, ahead_s, period_s)


def _regress(values: Floats, target: Floats, axes: Ints) -> tuple[Floats, float]:
    """Return the (7,) weights of some of (n, 6) channels and 1, and what is left, robustly."""
    columns = np.append(axes, 6)
    design = np.column_stack([values, np.ones(len(values))])
    kept: Bools = np.ones(len(target), dtype=np.bool_)
    weights = np.zeros(7)
    for _ in range(4):
        weights[columns] = np.linalg.lstsq(design[kept][:, columns], target[kept], rcond=None)[0]
        left = np.abs(target - design @ weights)
        scale = 1.4826 * float(np.median(left[kept]))
        # Four robust deviations off are jumps of the reference, and crashes.
        kept = np.asarray(left <= 4.0 * scale + 1e-12)
    return weights, scale


def fitted_model(model: TrainedModel) -> Fitted:
    """Return a model as a method: of samples the filter of the nodes, of ticks its belief."""
    chosen = {
        **model.summary['chosen'],
        # Fewer than were chosen, or none with this kernel: what counts is what the model has.
        'states': model.states,
        'neighbours': model.summary['neighbours'],
    }

    latest: tuple[ImuStream, dict[int, Estimate]] | None = None

    def filtered(imu: ImuStream) -> dict[int, Estimate]:
        """Return the estimates by stamp; segments of one recording come one after the other."""
        nonlocal latest
        if latest is None or latest[0] is not imu:
            live = Filter(model)
            samples = zip(imu.stamps.tolist(), imu.samples, strict=True)
            found = itertools.chain.from_iterable(live.push(*each) for each in samples)
            latest = imu, {estimate.stamp_ns: estimate for estimate in found}
        return latest[1]

    def predict(segment: Segment) -> Predictions:
        positions = np.full((len(segment), len(model.horizons), 2), np.nan)
        states = np.full((len(segment), model.states), np.nan)
        if isinstance(segment, ScoredSegment):
            estimates, valid = filtered(segment.imu), np.zeros(len(segment), dtype=np.bool_)
            for tick, stamp in enumerate(segment.stamps.tolist()):
                if stamp in estimates:
                    estimate = estimates[stamp]
                    positions[tick], states[tick] = estimate.positions, estimate.state
                    valid[tick] = estimate.valid
            return Predictions(positions, states, valid)
        tracker = make_tick_filter(model)
        for tick, values in enumerate(segment.values):
            tracker.update(values)
            positions[tick] = tracker.read()[0][:-1]
            states[tick] = tracker.belief.state
        return Predictions(positions, states)

    return Fitted(predict, chosen)


def own(name: str, title: str, **changes: Any) -> Method:  # noqa: ANN401 - any settings
    """Return a method that trains a model of this package with some settings changed."""

    def fit(train: TrainSplit) -> Fitted:
        dataset = train.dataset
        asked = replace(train.settings, rate_hz=dataset.rate_hz, window=dataset.window)
        wanted = asked.with_method(**{'method': asked.method, **changes})
        return fitted_model(train_model(train.recordings, wanted))

    return Method(name, title, fit)


_USUAL = (
    Method('mean', 'mean position', partial(still_position, of_tick=False)),
    Method('previous', 'previous position', partial(still_position, of_tick=True), True),
    Method('imu-only', 'integrated IMU', lambda train: learn_motion(train).fitted, True),
    Method('kalman', 'Kalman filter (N4SID)', kalman_filter),
    Method('hmm', 'HMM (EM)', hidden_markov),
    Method('nearest', 'nearest windows', nearest_windows),
    own('gaussian', 'HSE-HMM, Gaussian', method='spectral', kernel='gaussian'),
    own('paper', 'HSE-HMM of the paper', method='paper'),
    own('manifold', 'manifold HSE-HMM', method='spectral', kernel='laplacian-eigenmap'),
    own(OURS, 'this package'),
)

_BY_KERNEL = {kernel: kernel for kernel in KERNELS} | {'laplacian-eigenmap': 'manifold'}

_OTHERS = (
    *(
        own(name, name, method='spectral', kernel=kernel)
        for kernel, name in _BY_KERNEL.items()
        if name not in {'gaussian', 'manifold'}
    ),
    own('paper-gaussian', 'HSE-HMM of the paper, Gaussian', method='paper', kernel='gaussian'),
    own('tpsr', 'TPSR', method='tpsr'),
)

METHODS = {each.name: each for each in (*_USUAL, *_OTHERS)}
"""All methods by name."""

NAMES = tuple(each.name for each in _USUAL)
"""What runs unless something else is asked for."""

GROUPS = {'kernels': tuple(_BY_KERNEL.values())}
"""Names that stand for several: the spectral filter with every kernel."""


def methods_named(names: Sequence[str]) -> list[Method]:
    """Return methods in the order of ``METHODS``."""
    known = (*METHODS, *GROUPS)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        msg = f'there is no method {", ".join(unknown) or "named"}; choose from {",".join(known)}'
        raise InputError(msg)
    wanted = {each for name in names for each in GROUPS.get(name, (name,))}
    return [method for name, method in METHODS.items() if name in wanted]
