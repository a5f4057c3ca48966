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
import itertools
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.status import Finding
from two_manifold_ros.recordings.recording import GRAVITY
from two_manifold_ros.ticks.novelty import contrast, contrast_gap, SMALLEST_RATIO

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from two_manifold_ros.model.model import TrainedModel
    from two_manifold_ros.ticks.segments import Channels
    from two_manifold_ros.typing import Bools, Floats, Ints


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

    def effect(each: Misconfiguration) -> tuple[object, ...]:
        return tuple((each.sources[c], each.factors[c], each.offsets[c]) for c in live)

    seen = {effect(Misconfiguration('', ''))}
    kept = []
    # The likelier ones first.
    for each in [*_units(), *_gravity(channels.mean[:3]), *_signs(), *_axes()]:
        if effect(each) not in seen:
            seen.add(effect(each))
            kept.append(each)
    return tuple(kept)


def _scaled(cause: str, words: str, force: float, rate: float) -> Misconfiguration:
    return Misconfiguration(cause, words, np.repeat([force, rate], 3))


def _units() -> Iterator[Misconfiguration]:
    cure = 'as in training: have the driver publish the units of the training'
    degrees = 180.0 / math.pi
    forces = {
        'accelerations_in_g': ('the accelerations look like g, not m/s^2', GRAVITY),
        'accelerations_in_milli_g': (
            'the accelerations look like milli-g, not m/s^2', GRAVITY / 1000.0
        ),
        'accelerations_not_in_g': ('the accelerations look like m/s^2, not g', 1 / GRAVITY),
    }  # fmt: skip
    rates = {
        'rates_in_degrees': ('the angular rates look like deg/s, not rad/s', 1.0 / degrees),
        'rates_not_in_degrees': ('the angular rates look like rad/s, not deg/s', degrees),
    }
    for cause, (words, factor) in forces.items():
        yield _scaled(cause, f'{words} {cure}', factor, 1.0)
    for cause, (words, factor) in rates.items():
        yield _scaled(cause, f'{words} {cure}', 1.0, factor)
    for force, rate in itertools.product(forces, rates):
        (first, factor), (second, other) = forces[force], rates[rate]
        yield _scaled(f'{force}_and_{rate}', f'{first}, and {second}, {cure}', factor, other)


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
        offsets = np.concatenate([mean * (GRAVITY / np.linalg.norm(mean)), np.zeros(3)])
        words = (
            'gravity looks removed from the accelerations, but training had it: use the raw topic '
            'of the IMU'
        )
        yield Misconfiguration('gravity_removed', words, offsets=offsets)
    words = (
        'gravity looks left in the accelerations, but training had none: use the topic that was '
        'trained on'
    )
    for axis, down in itertools.product((2, 1, 0) if had is False else (), (-GRAVITY, GRAVITY)):
        yield Misconfiguration('gravity_added', words, offsets=down * np.eye(6)[axis])


def _signs() -> Iterator[Misconfiguration]:
    cure = 'the opposite sign to training: compare the driver and the mounting of the IMU'
    for index, name in enumerate(('ax', 'ay', 'az', 'wx', 'wy', 'wz')):
        single = _scaled(f'sign_of_{name}', f'{name} looks as if it had {cure}', 1.0, 1.0)
        single.factors[index] = -1.0
        yield single
    words = f'look as if they had {cure}'
    yield _scaled('sign_of_accelerations', f'all accelerations {words}', -1.0, 1.0)
    yield _scaled('sign_of_rates', f'all angular rates {words}', 1.0, -1.0)


def _axes() -> Iterator[Misconfiguration]:
    """Yield the IMU turned, half turns first, then axes of a left-handed frame, and exchanges."""
    signs = list(itertools.product((1.0, -1.0), repeat=3))
    found = list(itertools.product(itertools.permutations(range(3)), signs))
    for order, sign in sorted(found, key=lambda each: _is_mirrored(*each)):
        if _is_mirrored(order, sign):
            cause, words = 'axes_exchanged', 'axes of the IMU look exchanged or reversed'
        elif order == (0, 1, 2):
            cause = f'turned_about_{"xyz"[sign.index(1.0)]}'
            words = f'the IMU looks turned by half a turn about {cause[-1]}'
        else:
            cause, words = 'turned', 'the IMU looks turned'
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


def _is_mirrored(order: Sequence[int], signs: Sequence[float]) -> bool:
    return bool(np.linalg.det(np.eye(3)[list(order)] * np.array(signs)[:, None]) < 0.0)


PARTS = 20
"""Means to which a window is smoothed."""

MOST_WINDOWS, SAMPLED = 2_000, 100
"""
Windows of training that are compared with at most, or smoothed parts: some laps are enough; and of
those some from which it is learned what is usual.
"""


class Scores(NamedTuple):
    """
    Scores of one window, read as it is and then with each misconfiguration undone: (H + 1,).

    The logarithm of the squared distance to the nearest window of training over the usual one; the
    logarithm to base 2 of the novelty, about 0 on the route and 1 on another one; and whether
    every channel varies as it does when driving.
    """

    distance: Floats
    novelty: Floats
    driving: Bools


def watched_ticks(model: TrainedModel) -> int:
    """Return the ticks of a window to score: 4 s, at least 20 ticks, at most the model's."""
    return min(model.window, max(20, round(4.0 * model.rate_hz)))


class HypothesisScorer:
    """Compare windows with those of training as they are and with misconfigurations undone."""

    def __init__(self, model: TrainedModel, hypotheses: Sequence[Misconfiguration]) -> None:
        channels = model.channels
        own = np.flatnonzero(channels.live)
        width = watched_ticks(model)
        self._each = max(1, round(width / PARTS))
        self._parts = width // self._each
        self._windows, starts = _smoothed(model, self._each, self._parts)  # (d, parts, n)
        # A channel that varies by less than this share of the usual is not that of a drive.
        self._least_spreads = 0.2 * self._windows.std(axis=1).mean(axis=1)
        self._usual, self._own, self._gap = _anchors(self._windows, starts, width)
        self._flat = self._windows.reshape(-1, len(starts))
        self._squares = np.square(self._flat).sum(axis=0)
        # How each learned channel is read from the seen ones, first with nothing undone.
        self._sources = np.stack([own, *(np.array(each.sources)[own] for each in hypotheses)])
        factors = np.stack([np.ones(len(own)), *(each.factors[own] for each in hypotheses)])
        offsets = np.stack([np.zeros(len(own)), *(each.offsets[own] for each in hypotheses)])
        scale = channels.scale[own]
        self._factors = factors / scale
        self._added = (offsets - channels.mean[own]) / scale

    def score(self, window: Floats, hypotheses: int | None = None) -> Scores:
        """
        Score a (w, c) window of ticks, in the units of the samples.

        It is read as it is and under so many ``hypotheses``, by default all.
        """
        which = slice(None if hypotheses is None else 1 + hypotheses)
        used = window[len(window) - self._each * self._parts :]
        seen = used.reshape(self._parts, self._each, -1).mean(axis=1).T
        read = seen[self._sources[which]] * self._factors[which, :, None]
        read += self._added[which, :, None]
        rows = read.reshape(len(read), -1)
        squared = self._squares - 2.0 * rows @ self._flat
        squared += np.square(rows).sum(axis=1, keepdims=True)
        nearest = np.maximum(squared.min(axis=1), SMALLEST_RATIO * self._usual)
        ratio = np.maximum(nearest / np.maximum(squared.mean(axis=1), nearest), SMALLEST_RATIO)
        return Scores(
            distance=np.log(nearest / self._usual),
            novelty=(np.log(ratio) - self._own) / self._gap,
            driving=(read.std(axis=2) >= self._least_spreads).all(axis=1),
        )


def _smoothed(model: TrainedModel, each: int, parts: int) -> tuple[Floats, Ints]:
    """Return some windows of means (d, parts, n), evenly chosen, and their starts."""
    summed = np.cumsum(np.pad(model.series, ((0, 0), (1, 0))), axis=1)
    means = (summed[:, each:] - summed[:, :-each]) / each
    starts = model.starts[:: -(-len(model.starts) // MOST_WINDOWS)]
    places = np.arange(parts)[:, None] * each + starts
    return np.ascontiguousarray(means[:, places]), starts


def _anchors(windows: Floats, starts: Ints, width: int) -> tuple[float, float, float]:
    """
    Return what is usual for a window whose surroundings had not been driven.

    Its squared distance to the nearest, its contrast, and by how much the contrast of a window
    with its halves swapped is above.
    """
    chosen = np.linspace(0, len(starts) - 1, min(len(starts), SAMPLED)).astype(np.int64)
    away = np.abs(starts - starts[chosen, None])
    other = away >= np.minimum(2 * width, away.max(axis=1, keepdims=True))
    rows = windows[:, :, chosen]
    swapped = np.roll(rows, rows.shape[1] // 2, axis=1)
    near, own = _nearest_and_contrast(windows, rows, other)
    _, elsewhere = _nearest_and_contrast(windows, swapped, other)
    return max(near, float(np.finfo(float).tiny)), own, contrast_gap(own, elsewhere)


def _nearest_and_contrast(windows: Floats, rows: Floats, other: Bools) -> tuple[float, float]:
    """Return the medians over (d, parts, m) rows, each compared with other windows (m, n)."""
    flat = windows.reshape(-1, windows.shape[2])
    points = rows.reshape(-1, rows.shape[2])
    squared = np.square(flat).sum(axis=0) + np.square(points).sum(axis=0)[:, None]
    squared = np.maximum(squared - 2.0 * points.T @ flat, 0.0)
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


_WRONG_WAY = Finding(
    'wrong_way',
    'the bends come as on the route driven the other way round: compare direction and track with '
    'training',
    refuses=True,
)


class ReversedRoute:
    """
    Detect the route driven the other way round; with an IMU alone, and on no network.

    The same bends come in reversed order then, left for right, but not at the same speed. So the
    newest ``stretch`` parts are laid over the training forwards and backwards, stretched in time
    as fits best. It is found if the logarithm of the cost over the usual one is above
    ``forward_cost``, below ``backward_cost``, and lower backwards by ``gain``: on other tracks
    that is .3 at most.
    """

    forward_cost, backward_cost, gain = 0.7, 2.3, 0.45
    stretch = 2 * PARTS

    def __init__(self, model: TrainedModel) -> None:
        live = np.flatnonzero(model.channels.live)
        # Bends, slopes and banks; forward acceleration is the driver's choice.
        bends = np.isin(live, (1, 2, 3, 4, 5))
        self._channels = live[bends]
        self._each = max(1, round(watched_ticks(model) / PARTS))
        self._mean = model.channels.mean[self._channels]
        self._scale = model.channels.scale[self._channels]
        # Of longer trainings the start is used.
        self._learned = _parts(model.series[bends, : MOST_WINDOWS * self._each].T, self._each)
        able = model.channels.of_imu and bends.any() and model.network is None
        able = able and len(self._learned) > 2 * self.stretch
        self._usual = self._usual_cost() if able else math.inf
        self.ticks = self.stretch * self._each
        # A look each second of the stream, averaged over two.
        self.every = max(1, round(model.rate_hz))
        self._looks: deque[tuple[float, float]] = deque(maxlen=2)
        self.finding: Finding | None = None

    def pause(self) -> None:
        """Forget the stream, as after a gap, and keep the findings."""
        self._looks.clear()

    def look(self, rows: Floats, *, novel: bool) -> None:
        """Look at the newest `ticks` (t, c); ``novel`` is whether they need an explanation."""
        if not novel:
            self._looks.clear()
            self.finding = None
        elif math.isfinite(self._usual):
            self._looks.append(self._costs(rows[:, self._channels]))
            if len(self._looks) == self._looks.maxlen:
                forth, back = np.mean(self._looks, axis=0).tolist()
                fits = forth > self.forward_cost and back < self.backward_cost
                self.finding = _WRONG_WAY if fits and forth - back > self.gain else None

    def _costs(self, rows: Floats) -> tuple[float, float]:
        """Return the costs of the newest stretch read forwards and backwards, over the usual."""
        signs = np.array([1.0, -1.0, 1.0, 1.0, 1.0, -1.0])[self._channels]
        forth, back = (
            alignment_cost(_parts((each - self._mean) / self._scale, self._each), self._learned)
            for each in (rows, rows[::-1] * signs)
        )
        return math.log(forth.min() / self._usual), math.log(back.min() / self._usual)

    def _usual_cost(self) -> float:
        """Return the median cost of stretches of training, away from where they are."""
        found = []
        for end in np.linspace(self.stretch, len(self._learned), 20).astype(int):
            costs = alignment_cost(self._learned[end - self.stretch : end], self._learned)
            costs[max(0, end - 2 * self.stretch) : end + 2 * self.stretch] = math.inf
            found.append(costs.min())
        return max(float(np.median(found)), 0.5)


def _parts(rows: Floats, each: int) -> Floats:
    """Return the means of so many (t, d) rows each."""
    count = len(rows) // each
    means: Floats = rows[: count * each].reshape(count, each, -1).mean(axis=1)
    return means


class HypothesisSearch:
    """
    Search for misconfigurations along a stream.

    A window needs an explanation from a `Scores` novelty of ``novel``, or distance of ``far``, on,
    and has one below ``known`` and ``near``. The distance has to shrink by ``gain``, and by
    ``lasting`` for a name to stay. Misconfigurations whose distances differ by less than ``apart``
    cannot be distinguished. An answer is given after ``agreeing`` ones in a row, and ended by
    ``well`` good looks.
    """

    novel, far = 0.5, 1.5
    known, near = 0.8, 2.0
    gain, lasting = 0.8, 0.4
    apart = 0.35
    agreeing, well = 2, 4

    def __init__(self, model: TrainedModel) -> None:
        self._hypotheses = known_misconfigurations(model.channels)
        self._scorer = HypothesisScorer(model, self._hypotheses)
        self._reversed = ReversedRoute(model)
        self._ticks = watched_ticks(model)
        # The newest ticks, each of them twice, so that they are always in one piece.
        self._most = max(self._ticks, self._reversed.ticks)
        self._twice = np.zeros((2 * self._most, len(model.channels.mean)))
        # A look each half second of the stream, averaged over four: one window may err.
        self._every = max(1, round(0.5 * model.rate_hz))
        self._looks: deque[tuple[Floats, Floats, float]] = deque(maxlen=4)
        self._named: tuple[int, ...] = ()
        # What is named, and the finding in force.
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
        self._reversed.pause()
        # Ticks seen in a row.
        self._count = 0
        self._looks.clear()
        self._answer: tuple[int, ...] = ()
        self._agreeing_looks = self._good_looks = 0
        self._novel = False

    def push(self, means: Floats) -> None:
        """Take the (c,) means of one tick, in the units of the samples."""
        place = self._count % self._most
        self._twice[place] = self._twice[place + self._most] = means
        self._count = count = self._count + 1
        end = count % self._most + self._most
        if self._hypotheses and count >= self._ticks and count % self._every == 0:
            self._look(self._twice[end - self._ticks : end])
        if count >= self._reversed.ticks and count % self._reversed.every == 0:
            newest = self._twice[end - self._reversed.ticks : end]
            self._reversed.look(newest, novel=self._novel)
        self.finding = self._found or self._reversed.finding

    def _look(self, window: Floats) -> None:
        plain = self._scorer.score(window, 0)
        self._novel = bool(plain.novelty[0] >= self.novel or plain.distance[0] >= self.far)
        self._good_looks = 0 if self._novel else self._good_looks + 1
        if not self._novel:
            # Also when the vehicle stands as it stood in training: nothing is wrong with that.
            self._looks.clear()
            if self._named and self._good_looks >= self.well:
                self._name(())
            return
        scores = self._scorer.score(window)
        # Nothing is learned from a vehicle that hardly drives: its windows count as far away.
        never = 8.0
        distance = np.where(scores.driving, scores.distance, never)
        if distance.min() < never:
            self._looks.append((distance, scores.novelty, float(scores.distance[0])))
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
