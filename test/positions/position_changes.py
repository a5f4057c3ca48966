# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Make faulty positions out of those of a clean drive."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from worlds.shuttle import Line, SHUTTLE, shuttle

if TYPE_CHECKING:
    from position_fault import Change

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Bools, Floats, Ints


SHUTTLE_LEGS = 12
"""Legs of a shuttle that is trained on, or followed: two minutes."""


def with_positions(recording: Recording, stamps: Ints, places: Floats) -> Recording:
    """Return the recording with other stamps and places (M, 2) of its positions."""
    assert recording.positions is not None
    return replace(
        recording, positions=replace(recording.positions, stamps=stamps, positions=places)
    )


def streams(recording: Recording) -> tuple[Ints, Floats]:
    """Return a copy of stamps (M,) and places (M, 2) of the positions."""
    assert recording.positions is not None
    return recording.positions.stamps.copy(), recording.positions.positions.copy()


def only(kept: Bools, recording: Recording) -> Recording:
    """Return the recording with some of its positions."""
    assert recording.positions is not None
    return replace(recording, positions=recording.positions.select(kept))


def glitches(count: int, nearest_m: float, farthest_m: float) -> Change:
    """Move single positions any way by distances that are even on a logarithmic scale."""

    def change(recording: Recording, rng: np.random.Generator) -> Recording:
        stamps, places = streams(recording)
        # Never two in a row.
        chosen = 2 * rng.choice(len(places) // 2, count, replace=False)
        places[chosen] += moves(rng, count, nearest_m, farthest_m)
        return with_positions(recording, stamps, places)

    return change


def moves(rng: np.random.Generator, count: int, nearest_m: float, farthest_m: float) -> Floats:
    """Return moves (count, 2) in any direction, their lengths even on a logarithmic scale."""
    metres = np.exp(rng.uniform(np.log(nearest_m), np.log(farthest_m), count))
    angle = rng.uniform(0.0, 2.0 * np.pi, count)
    return metres[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def doubled(recording: Recording, rng: np.random.Generator) -> Recording:
    """Give a fifth of the positions twice."""
    stamps, places = streams(recording)
    times = 1 + (rng.random(len(places)) < 0.2)
    return with_positions(recording, np.repeat(stamps, times), np.repeat(places, times, axis=0))


def missing(share: float) -> Change:
    """Lose a share of the positions at random."""

    def change(recording: Recording, rng: np.random.Generator) -> Recording:
        assert recording.positions is not None
        return only(rng.random(len(recording.positions.stamps)) >= share, recording)

    return change


def glitch(metres: float) -> Change:
    """Move one position in the middle."""

    def change(recording: Recording, _: np.random.Generator) -> Recording:
        stamps, places = streams(recording)
        places[len(places) // 2] += [0.6 * metres, -0.8 * metres]
        return with_positions(recording, stamps, places)

    return change


def first_and_last(metres: float) -> Change:
    """Move the first positions and the last."""

    def change(recording: Recording, _: np.random.Generator) -> Recording:
        stamps, places = streams(recording)
        places[:5] += [metres, 0.0]
        places[-5:] += [0.0, metres]
        return with_positions(recording, stamps, places)

    return change


def bursts(count: int, seconds: float, nearest_m: float, farthest_m: float) -> Change:
    """Move all positions of some stretches of time, each by one distance."""

    def change(recording: Recording, rng: np.random.Generator) -> Recording:
        stamps, places = streams(recording)
        for begin, move in zip(
            _begins(rng, stamps, count), moves(rng, count, nearest_m, farthest_m), strict=True
        ):
            places[(stamps >= begin) & (stamps < begin + round(1e9 * seconds))] += move
        return with_positions(recording, stamps, places)

    return change


def scattered(count: int, seconds: float, metres: float) -> Change:
    """Put all positions of some stretches of time anywhere."""

    def change(recording: Recording, rng: np.random.Generator) -> Recording:
        stamps, places = streams(recording)
        for begin in _begins(rng, stamps, count):
            during = (stamps >= begin) & (stamps < begin + round(1e9 * seconds))
            places[during] += rng.normal(scale=metres, size=(np.count_nonzero(during), 2))
        return with_positions(recording, stamps, places)

    return change


def _begins(rng: np.random.Generator, stamps: Ints, count: int) -> list[int]:
    """Return stamps that are at least half of an equal part of the time apart."""
    part = np.ptp(stamps) / count
    return [int(stamps[0] + (i + rng.uniform(0.1, 0.6)) * part) for i in range(count)]


def moved_for_good(metres: float) -> Change:
    """Move the localisation half-way, for the rest of the drive."""

    def change(recording: Recording, _: np.random.Generator) -> Recording:
        stamps, places = streams(recording)
        places[3 * len(places) // 5 :] += [metres, 0.0]
        return with_positions(recording, stamps, places)

    return change


def wandering(metres: float, seconds: float) -> Change:
    """Let the receiver wander: an error with that spread which lasts that long."""

    def change(recording: Recording, rng: np.random.Generator) -> Recording:
        stamps, places = streams(recording)
        knots = np.arange(0.0, 1e-9 * np.ptp(stamps) + 2.0 * seconds, seconds)
        elapsed = (stamps - stamps[0]) * 1e-9
        for axis in range(2):
            places[:, axis] += np.interp(elapsed, knots, rng.normal(scale=metres, size=len(knots)))
        return with_positions(recording, stamps, places)

    return change


def at_rate(rate_hz: float, noise_m: float = 0.0) -> Change:
    """Give positions at another rate."""

    def change(recording: Recording, rng: np.random.Generator) -> Recording:
        stamps, places = streams(recording)
        asked = np.arange(stamps[0], stamps[-1], round(1e9 / rate_hz))
        between = [np.interp(asked - stamps[0], stamps - stamps[0], axis) for axis in places.T]
        noise = rng.normal(scale=noise_m, size=(len(asked), 2))
        return with_positions(recording, asked, np.stack(between, axis=1) + noise)

    return change


def throttled(every: int) -> Change:
    """Give only every so many positions in the second half."""

    def change(recording: Recording, _: np.random.Generator) -> Recording:
        assert recording.positions is not None
        rows = np.arange(len(recording.positions.stamps))
        return only((rows < len(rows) // 2) | (rows % every == 0), recording)

    return change


def repeated(every: int) -> Change:
    """Repeat every so many positions with new stamps until the next one, as after a bridge."""

    def change(recording: Recording, _: np.random.Generator) -> Recording:
        stamps, places = streams(recording)
        return with_positions(recording, stamps, places[np.arange(len(places)) // every * every])

    return change


def parked_first(seconds: float, noise_m: float) -> Change:
    """Record for some time before the vehicle drives."""

    def change(recording: Recording, rng: np.random.Generator) -> Recording:
        imu = recording.imu
        stamps, places = streams(recording)
        earlier, sooner = (
            each[0] - np.arange(round(1e9 * seconds), 0, -int(np.median(np.diff(each))))
            for each in (imu.stamps, stamps)
        )
        rest = np.array([0.0, 0.0, 9.81, 0.0, 0.0, 0.0])
        still = rest + rng.normal(scale=0.02, size=(len(earlier), 6))
        every = np.concatenate([earlier, imu.stamps])
        imu = replace(
            imu, stamps=every, receive_stamps=every, samples=np.concatenate([still, imu.samples])
        )
        there = places[0] + rng.normal(scale=noise_m, size=(len(sooner), 2))
        return with_positions(
            replace(recording, imu=imu),
            np.concatenate([sooner, stamps]),
            np.concatenate([there, places]),
        )

    return change


def on_a_line(recording: Recording, _: np.random.Generator) -> Recording:
    """Measure one coordinate alone, as an encoder of a lift or a rail does."""
    stamps, places = streams(recording)
    places[:, 1] = 3.0
    return with_positions(recording, stamps, places)


def unrolled(recording: Recording, _: np.random.Generator) -> Recording:
    """Drive perfectly straight on."""
    stamps, places = streams(recording)
    steps = np.linalg.norm(np.diff(places, axis=0, prepend=places[:1]), axis=1)
    return with_positions(
        recording, stamps, np.stack([np.cumsum(steps), np.zeros(len(steps))], axis=1)
    )


def shuttling(line: Line, white_m: float = 0.0) -> Change:
    """Drive to and fro on a line instead, with another seed for each part of the clean drive."""

    def change(recording: Recording, _: np.random.Generator) -> Recording:
        world = replace(SHUTTLE, positions=replace(SHUTTLE.positions, white_m=white_m))
        begin = int(recording.imu.stamps[0] // 10**9)
        return shuttle(SHUTTLE_LEGS, line, world=world, seed=begin).recording

    return change
