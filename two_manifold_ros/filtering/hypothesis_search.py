# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Search for the known misconfiguration of an IMU that explains input unlike that of training.

A misconfiguration is named if the newest windows would be as in training with it undone, are not
as they are, and would not be with anything else undone. Windows are smoothed to about ``PARTS``
parts, which takes out what shakes and leaves few numbers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
import itertools
import math
from operator import itemgetter
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.status import Finding
from two_manifold_ros.recordings.recording import GRAVITY
from two_manifold_ros.ticks.sliding import contrast, contrast_gap, NewestRows, SMALLEST_RATIO
from two_manifold_ros.typing import Bools, Floats

if TYPE_CHECKING:
    from two_manifold_ros.model.model import TrainedModel
    from two_manifold_ros.ticks.segments import Channels


class Misconfiguration(NamedTuple):
    """
    Something that may have been done to the samples of an IMU, and the correction.

    Channels (6,), found in ``sources``, are multiplied by ``factors``, then ``offsets`` are added.
    """

    cause: str
    words: str
    factors: Floats = np.ones(6)
    offsets: Floats = np.zeros(6)
    sources: tuple[int, ...] = tuple(range(6))


def known_misconfigurations(channels: Channels) -> tuple[Misconfiguration, ...]:
    """Return those that have an effect on the channels used, each of its own, of an IMU alone."""
    if not channels.of_imu:
        return ()
    live = np.flatnonzero(channels.live).tolist()
    kept: dict[tuple[object, ...], Misconfiguration] = {}
    # The likelier ones first, but before them none at all.
    ranked = (_NONE, *_units(), *_gravity(channels.mean[:3]), *_signs(), *_axes())
    for each in ranked:
        effect = tuple((each.sources[c], each.factors[c], each.offsets[c]) for c in live)
        kept.setdefault(effect, each)
    return tuple(kept.values())[1:]


_NONE = Misconfiguration('', '')

_FORCES = {
    'accelerations_in_g': ('the accelerations look like g, not m/s^2', GRAVITY),
    'accelerations_in_milli_g': ('the accelerations look like milli-g, not m/s^2', GRAVITY / 1e3),
    'accelerations_not_in_g': ('the accelerations look like m/s^2, not g', 1.0 / GRAVITY),
}
_RATES = {
    'rates_in_degrees': ('the angular rates look like deg/s, not rad/s', 1.0 / (180.0 / math.pi)),
    'rates_not_in_degrees': ('the angular rates look like rad/s, not deg/s', 180.0 / math.pi),
}


def _units() -> Iterator[Misconfiguration]:
    """Yield other units of either sensor, then of both."""
    cure = 'as in training: have the driver publish the units of the training'
    for cause, (words, factor) in _FORCES.items():
        yield Misconfiguration(cause, f'{words} {cure}', np.repeat([factor, 1.0], 3))
    for cause, (words, factor) in _RATES.items():
        yield Misconfiguration(cause, f'{words} {cure}', np.repeat([1.0, factor], 3))
    for force, rate in itertools.product(_FORCES, _RATES):
        (first, factor), (second, other) = _FORCES[force], _RATES[rate]
        words = f'{first}, and {second}, {cure}'
        yield Misconfiguration(f'{force}_and_{rate}', words, np.repeat([factor, other], 3))


def has_gravity(mean: Floats) -> bool | None:
    """Return whether gravity is in accelerations of a mean (3,), m/s^2; ``None`` if unclear."""
    size = float(np.linalg.norm(mean))
    if abs(size - GRAVITY) < 0.25 * GRAVITY:
        return True
    return False if size < 0.4 * GRAVITY else None


def _gravity(mean: Floats) -> Iterator[Misconfiguration]:
    """Yield gravity that is missing, or that is there and was not in training."""
    had = has_gravity(mean)
    if had:
        words = (
            'gravity looks removed from the accelerations, but training had it: use the raw topic '
            'of the IMU'
        )
        offsets = np.concatenate([mean * (GRAVITY / np.linalg.norm(mean)), np.zeros(3)])
        yield Misconfiguration('gravity_removed', words, offsets=offsets)
    words = (
        'gravity looks left in the accelerations, but training had none: use the topic that was '
        'trained on'
    )
    for axis, down in itertools.product((2, 1, 0) if had is False else (), (-GRAVITY, GRAVITY)):
        yield Misconfiguration('gravity_added', words, offsets=down * np.eye(6)[axis])


def _signs() -> Iterator[Misconfiguration]:
    cure = 'had the opposite sign to training: compare the driver and the mounting of the IMU'
    for name, factors in zip(
        ('ax', 'ay', 'az', 'wx', 'wy', 'wz'), 1.0 - 2.0 * np.eye(6), strict=True
    ):
        yield Misconfiguration(f'sign_of_{name}', f'{name} looks as if it {cure}', factors)
    for name, what, signs in (
        ('accelerations', 'accelerations', (-1.0, 1.0)), ('rates', 'angular rates', (1.0, -1.0))
    ):  # fmt: skip
        words = f'all {what} look as if they {cure}'
        yield Misconfiguration(f'sign_of_{name}', words, np.repeat(signs, 3))


def _axes() -> Iterator[Misconfiguration]:
    """Yield the IMU turned, half turns first, then axes of a left-handed frame, and exchanges."""
    found = [
        (bool(np.linalg.det(np.eye(3)[list(order)] * np.array(sign)[:, None]) < 0.0), order, sign)
        for order in itertools.permutations(range(3))
        for sign in itertools.product((1.0, -1.0), repeat=3)
    ]
    for mirrored, order, sign in sorted(found, key=itemgetter(0)):
        cause, words = 'turned', 'the IMU looks turned'
        if mirrored:
            cause, words = 'axes_exchanged', 'axes of the IMU look exchanged or reversed'
        elif order == (0, 1, 2):
            cause = f'turned_about_{"xyz"[sign.index(1.0)]}'
            words = f'the IMU looks turned by half a turn about {cause[-1]}'
        mapping = ', '.join(
            f'{name} is now {"-" if each < 0.0 else ""}{"xyz"[axis]}'
            for name, axis, each in zip('xyz', order, sign, strict=True)
            if each < 0.0 or name != 'xyz'[axis]
        )
        words = f'{words} ({mapping}): mount it as in training, or turn its axes back'
        sources = (*order, *(3 + axis for axis in order))
        yield Misconfiguration(cause, words, np.array(2 * sign), sources=sources)
    words = (
        'acceleration and angular rate look exchanged: compare the fields that the driver fills'
    )
    yield Misconfiguration('sensors_exchanged', words, sources=(3, 4, 5, 0, 1, 2))


PARTS = 20
"""Means to which a window is smoothed."""

MOST_WINDOWS, SAMPLED = 2_000, 100
"""
Windows of training that are compared with at most, or smoothed parts: some laps are enough; and of
those some from which it is learned what is usual.
"""


class HypothesisScorer:
    """
    Compare windows with those of training as they are and with misconfigurations undone.

    They have so many ``ticks``: 4 s, at least 20 ticks, at most the window of the model; of them
    ``each`` so many are averaged to a part.
    """

    def __init__(self, model: TrainedModel, hypotheses: Sequence[Misconfiguration]) -> None:
        channels = model.channels
        own = np.flatnonzero(channels.live)
        self.ticks = width = min(model.window, max(20, round(4.0 * model.rate_hz)))
        self.each = each = max(1, round(width / PARTS))
        self._parts = parts = width // each
        # Windows (d, parts, n), evenly chosen.
        summed = np.cumsum(np.pad(model.series, ((0, 0), (1, 0))), axis=1)
        means = (summed[:, each:] - summed[:, :-each]) / each
        starts = model.starts[:: -(-len(model.starts) // MOST_WINDOWS)]
        windows = np.ascontiguousarray(means[:, np.arange(parts)[:, None] * each + starts])
        # A channel that varies by less than this share of the usual is not that of a drive.
        self._least_spreads = 0.2 * windows.std(axis=1).mean(axis=1)
        self._flat = windows.reshape(-1, len(starts))
        self._squares = np.square(self._flat).sum(axis=0)
        # Of a window whose surroundings had not been driven the squared distance to the nearest
        # and the contrast, and by how much the contrast is larger if its halves are swapped.
        chosen = np.linspace(0, len(starts) - 1, min(len(starts), SAMPLED)).astype(np.int64)
        away = np.abs(starts - starts[chosen, None])
        other = away >= np.minimum(2 * width, away.max(axis=1, keepdims=True))
        rows = windows[:, :, chosen]
        near, self._own = self._nearest_and_contrast(rows, other)
        _, elsewhere = self._nearest_and_contrast(np.roll(rows, parts // 2, axis=1), other)
        self._gap = contrast_gap(self._own, elsewhere)
        self._usual = max(near, float(np.finfo(float).tiny))
        # How each learned channel is read from the seen ones, first with nothing undone.
        undone = (_NONE, *hypotheses)
        self._sources = np.array([each.sources for each in undone])[:, own]
        scale = channels.scale[own]
        self._factors = np.array([each.factors for each in undone])[:, own] / scale
        offsets = np.array([each.offsets for each in undone])[:, own]
        self._added = (offsets - channels.mean[own]) / scale

    def score(self, window: Floats, hypotheses: int | None = None) -> tuple[Floats, Floats, Bools]:
        """
        Score a (w, c) window of ticks, in the units of the samples: (H + 1,) each.

        It is read as it is, then under so many ``hypotheses``, by default all. Returned are the
        logarithm of the squared distance to the nearest window of training over the usual one;
        the logarithm to base 2 of the novelty, about 0 on the route and 1 on another one; and
        whether every channel varies as it does when driving.
        """
        which = slice(None if hypotheses is None else 1 + hypotheses)
        used = window[len(window) - self.each * self._parts :]
        seen = used.reshape(self._parts, self.each, -1).mean(axis=1).T
        read = seen[self._sources[which]] * self._factors[which, :, None]
        read += self._added[which, :, None]
        rows = read.reshape(len(read), -1)
        squared = self._squares - 2.0 * rows @ self._flat
        squared += np.square(rows).sum(axis=1, keepdims=True)
        nearest = np.maximum(squared.min(axis=1), SMALLEST_RATIO * self._usual)
        ratio = np.maximum(nearest / np.maximum(squared.mean(axis=1), nearest), SMALLEST_RATIO)
        driving = np.asarray((read.std(axis=2) >= self._least_spreads).all(axis=1))
        return np.log(nearest / self._usual), (np.log(ratio) - self._own) / self._gap, driving

    def _nearest_and_contrast(self, rows: Floats, other: Bools) -> tuple[float, float]:
        """Return the medians over (d, parts, m) rows, each compared with other windows (m, n)."""
        points = rows.reshape(-1, rows.shape[2])
        squared = self._squares + np.square(points).sum(axis=0)[:, None]
        squared = np.maximum(squared - 2.0 * points.T @ self._flat, 0.0)
        nearest = np.where(other, squared, np.inf).min(axis=1)
        means = np.where(other, squared, 0.0).sum(axis=1) / other.sum(axis=1)
        contrasts = [contrast(*pair) for pair in zip(nearest, means, strict=True)]
        return float(np.median(nearest)), float(np.median(contrasts))


def alignment_cost(stretch: Floats, learned: Floats, skipped: float = 0.5) -> Floats:
    """
    Return the least cost of laying a stretch (k, d) over the training (n, d) up to each part (n,).

    A part costs its squared distance; staying on one of the training or leaving one out,
    ``skipped``.
    """
    apart = np.square(learned).sum(axis=1) + np.square(stretch).sum(axis=1)[:, None]
    apart -= 2.0 * stretch @ learned.T
    total = apart[0]
    for row in apart[1:]:
        least = total + skipped
        np.minimum(least[1:], total[:-1], out=least[1:])
        np.minimum(least[2:], total[:-2] + skipped, out=least[2:])
        total = least + row
    floored: Floats = np.maximum(total, np.finfo(float).tiny)
    return floored


class ReversedRoute:
    """
    Detect the route driven the other way round; with an IMU alone, and on no network.

    The same bends come in reversed order then, left for right, but not at the same speed. So the
    newest ``stretch`` parts of so many ticks ``each`` are laid over the training forwards and
    backwards, stretched in time as fits best. It is found if the logarithm of the cost over the
    usual one is above ``forward_cost``, below ``backward_cost``, and lower backwards by ``gain``:
    on other tracks that is .3 at most.
    """

    forward_cost, backward_cost, gain = 0.7, 2.3, 0.45
    stretch = 2 * PARTS

    def __init__(self, model: TrainedModel, each: int) -> None:
        channels = model.channels
        live = np.flatnonzero(channels.live)
        # Bends, slopes and banks; forward acceleration is the driver's choice.
        bends = np.isin(live, (1, 2, 3, 4, 5))
        self._channels, self._each = live[bends], each
        self._mean, self._scale = channels.mean[self._channels], channels.scale[self._channels]
        # Of longer trainings the start is used.
        self._learned = learned = _parts(model.series[bends, : MOST_WINDOWS * each].T, each)
        # What stretches of training cost, away from where they are.
        self._usual = math.inf
        able = channels.of_imu and bends.any() and model.network is None
        if able and len(learned) > 2 * self.stretch:
            found = []
            for end in np.linspace(self.stretch, len(learned), 20).astype(int):
                costs = alignment_cost(learned[end - self.stretch : end], learned)
                costs[max(0, end - 2 * self.stretch) : end + 2 * self.stretch] = math.inf
                found.append(costs.min())
            self._usual = max(float(np.median(found)), 0.5)
        self.ticks = self.stretch * each
        # A look each second of the stream, averaged over two.
        self.every = max(1, round(model.rate_hz))
        self.looks: deque[list[float]] = deque(maxlen=2)
        self.finding: Finding | None = None

    def look(self, rows: Floats, *, novel: bool) -> None:
        """Look at the newest `ticks` (t, c); ``novel`` is whether they need an explanation."""
        if not novel:
            self.looks.clear()
            self.finding = None
            return
        if not math.isfinite(self._usual):
            return
        seen, signs = rows[:, self._channels], np.array([1.0, -1.0, 1.0, 1.0, 1.0, -1.0])
        costs = [
            alignment_cost(_parts((way - self._mean) / self._scale, self._each), self._learned)
            for way in (seen, seen[::-1] * signs[self._channels])
        ]
        self.looks.append([math.log(each.min() / self._usual) for each in costs])
        if len(self.looks) == self.looks.maxlen:
            forth, back = np.mean(self.looks, axis=0).tolist()
            fits = forth > self.forward_cost and back < self.backward_cost
            words = (
                'the bends come as on the route driven the other way round: compare direction and '
                'track with training'
            )
            found = fits and forth - back > self.gain
            self.finding = Finding('wrong_way', words, refuses=True) if found else None


def _parts(rows: Floats, each: int) -> Floats:
    """Return the means of so many (t, d) rows each."""
    count = len(rows) // each
    means: Floats = rows[: count * each].reshape(count, each, -1).mean(axis=1)
    return means


class HypothesisSearch:
    """
    Search for misconfigurations along a stream; the ``finding`` is the one in force.

    By its scores a window needs an explanation from a novelty of ``novel``, or a distance of
    ``far``, on, and has one below ``known`` and ``near``. The distance has to shrink by ``gain``,
    and by ``lasting`` for a name to stay. Misconfigurations whose distances differ by less than
    ``apart`` cannot be distinguished. An answer is given after ``agreeing`` ones in a row, and
    ended by ``well`` good looks.
    """

    novel, far = 0.5, 1.5
    known, near = 0.8, 2.0
    gain, lasting = 0.8, 0.4
    apart = 0.35
    agreeing, well = 2, 4

    def __init__(self, model: TrainedModel) -> None:
        self._hypotheses = known_misconfigurations(model.channels)
        self._scorer = HypothesisScorer(model, self._hypotheses)
        self._reversed = ReversedRoute(model, self._scorer.each)
        most = max(self._scorer.ticks, self._reversed.ticks)
        self._recent = NewestRows(most, len(model.channels.mean))
        # A look each half second of the stream, averaged over four: one window may err.
        self._every = max(1, round(0.5 * model.rate_hz))
        self._looks: deque[tuple[Floats, Floats, float]] = deque(maxlen=4)
        self._named: tuple[int, ...] = ()
        self._found: Finding | None = None
        self.finding: Finding | None = None
        self.pause()

    def clear(self) -> None:
        """Forget the stream and all findings."""
        self.pause()
        self._name(())
        self.finding = self._reversed.finding = None

    def pause(self) -> None:
        """Forget the stream, as after a gap, and keep the findings."""
        self._reversed.looks.clear()
        self._recent.count = 0
        self._looks.clear()
        self._answer: tuple[int, ...] = ()
        self._agreeing_looks = self._good_looks = 0
        self._novel = False

    def push(self, means: Floats) -> None:
        """Take the (c,) means of one tick, in the units of the samples."""
        recent, ticks, backwards = self._recent, self._scorer.ticks, self._reversed
        recent.push(means)
        if self._hypotheses and recent.count >= ticks and recent.count % self._every == 0:
            self._look(recent.newest(ticks))
        if recent.count >= backwards.ticks and recent.count % backwards.every == 0:
            backwards.look(recent.newest(backwards.ticks), novel=self._novel)
        self.finding = self._found or backwards.finding

    def _look(self, window: Floats) -> None:
        (distance,), (novelty,), _ = self._scorer.score(window, 0)
        self._novel = bool(novelty >= self.novel or distance >= self.far)
        self._good_looks = 0 if self._novel else self._good_looks + 1
        if not self._novel:
            # Also when the vehicle stands as it stood in training: nothing is wrong with that.
            self._looks.clear()
            if self._good_looks >= self.well:
                self._name(())
            return
        distances, novelties, driving = self._scorer.score(window)
        # Nothing is learned from a vehicle that hardly drives: its windows count as far away.
        never = 8.0
        counted = np.where(driving, distances, never)
        if counted.min() < never:
            self._looks.append((counted, novelties, float(distances[0])))
        if len(self._looks) == self._looks.maxlen:
            answer = self._explain()
            self._agreeing_looks = self._agreeing_looks + 1 if answer == self._answer else 1
            self._answer = answer
            if self._agreeing_looks >= self.agreeing:
                self._name(answer)

    def _explain(self) -> tuple[int, ...]:
        """Return which misconfigurations would explain the last looks equally well."""
        distances, novelties, plain = zip(*self._looks, strict=True)
        distance, novelty = np.mean(distances, axis=0), np.mean(novelties, axis=0)
        gain = np.mean(plain) - distance
        best = int(np.argmin(distance))
        explains = distance[best] < self.near and novelty[best] < self.known
        if best > 0 and explains and gain[best] > self.gain:
            return tuple(np.flatnonzero(distance < distance[best] + self.apart))
        lasts = bool(self._named) and gain[list(self._named)].min() > self.lasting
        return self._named if lasts else ()

    def _name(self, which: tuple[int, ...]) -> None:
        if which == self._named:
            return
        self._named, self._found = which, None
        named = [self._hypotheses[index - 1] for index in which]
        words = {each.cause: each.words for each in named}
        if len(words) > 2:
            self._found = Finding(
                'axes_or_signs',
                'the input would be as in training with other axes or signs, but several explain '
                'it equally well: compare the driver and the mounting of the IMU',
                refuses=True,
            )
        elif words:
            self._found = Finding('_or_'.join(words), ', or '.join(words.values()), refuses=True)
