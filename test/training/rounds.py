# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Drives around a circle that the channels show, and along any course, of use or not."""

from collections.abc import Callable

import numpy as np
from scipy.ndimage import gaussian_filter1d

from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording

Course = Callable[[np.ndarray], np.ndarray]
"""Positions (T, 2), metres, at times (T,), seconds."""
START_NS, STEPS_HZ = 1_700_000_000_000_000_000, 200


def recording_of(
    samples: np.ndarray, positions: np.ndarray, rate_hz: float, name: str = 'rounds'
) -> Recording:
    """Return a recording with a position at each sample."""
    stamps = START_NS + np.round(np.arange(len(samples)) * 1e9 / rate_hz).astype(np.int64)
    imu = ImuStream('/imu', 'imu_link', stamps, samples, stamps)
    return Recording(name, imu, PositionStream('/pose', 'map', '', stamps, positions))


def felt(angle: np.ndarray) -> np.ndarray:
    """Return the six channels at these angles, of which three never change."""
    nothing = np.zeros_like(angle)
    live = np.cos(angle), np.sin(2.0 * angle), np.cos(3.0 * angle + 1.0)
    return np.stack([*live[:2], nothing, nothing, nothing, live[2]], axis=1)


def on_circle(angle: np.ndarray, radius_m: float = 1.0) -> np.ndarray:
    return radius_m * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def drive(
    course: Course, seconds: float = 90.0, rate_hz: int = 50, late_s: float = 0.0, seed: int = 0
) -> Recording:
    """Drive a course with an IMU that is level and exact positions at 25 Hz."""
    rng = np.random.default_rng(seed)
    path = course(np.arange(round(seconds * STEPS_HZ)) / STEPS_HZ)
    velocity = np.gradient(path, 1.0 / STEPS_HZ, axis=0)
    speed = np.linalg.norm(velocity, axis=1)
    forward = velocity / speed[:, None]
    left = np.stack([-forward[:, 1], forward[:, 0]], axis=1)
    force = np.gradient(velocity, 1.0 / STEPS_HZ, axis=0)
    ahead, aside = (force * forward).sum(axis=1), (force * left).sum(axis=1)
    none = np.zeros(len(path))
    exact = np.stack([ahead, aside, none + 9.81, none, none, aside / speed], axis=1)
    every, seen = STEPS_HZ // rate_hz, STEPS_HZ // 25
    samples = exact[: len(exact) // every * every].reshape(-1, every, 6).mean(axis=1)
    samples += rng.normal(size=samples.shape) * np.repeat([0.1, 0.01], 3)
    stamps = START_NS + np.arange(len(samples)) * (1_000_000_000 // rate_hz)
    places = path[::seen]
    at = START_NS + np.arange(len(places)) * 40_000_000 + round(late_s * 1e9)
    kind = 'geometry_msgs/msg/PoseStamped'
    positions = PositionStream('/pose', 'map', kind, at, places)
    return Recording('drive', ImuStream('/imu', 'imu_link', stamps, samples, stamps), positions)


def eight(drift: float = 0.0) -> Course:
    """Fly figures of eight in 12 s each that drift, m/s."""

    def course(times: np.ndarray) -> np.ndarray:
        turns = 2.0 * np.pi * times / 12.0
        there = np.stack([5.0 * np.sin(turns), 2.5 * np.sin(2.0 * turns)], axis=1)
        return there + drift * times[:, None] * [1.0, 0.3]

    return course


def weaving(times: np.ndarray) -> np.ndarray:
    """Drive a round of 20 s, and weave otherwise each time."""
    count = len(times)
    aside = gaussian_filter1d(np.random.default_rng(2).normal(size=count), 0.5 * STEPS_HZ)
    return (6.0 + 0.7 * aside / aside.std())[:, None] * on_circle(2.0 * np.pi * times / 20.0)


def track(lap_s: float = 10.0, varied: float = 0.05, seed: int = 1) -> Course:
    """Drive a twisty track of some 10 m at speeds that vary from lap to lap by a share."""

    def course(times: np.ndarray) -> np.ndarray:
        rng = np.random.default_rng(seed)
        shape = rng.normal(size=(5, 4)) / np.arange(1, 6)[:, None] ** 1.5
        shape[0] = [1.6, 0.0, 0.0, 1.0]
        changes = gaussian_filter1d(rng.normal(size=len(times)), 2.0 * STEPS_HZ)
        paces = 1.0 + varied * changes / changes.std()
        laps = np.cumsum(paces * np.gradient(times)) / lap_s
        angles = 2.0 * np.pi * laps[:, None] * np.arange(1, 6)
        both = np.cos(angles) @ shape[:, ::2] + np.sin(angles) @ shape[:, 1::2]
        return 4.0 * both

    return course


def with_stops(course: Course, share: float, stops: int = 5) -> Course:
    """Stand still for a share of the time, in so many stops, the last one at the end."""

    def stopping(times: np.ndarray) -> np.ndarray:
        phases = (np.arange(len(times)) / len(times) * stops) % 1.0
        speed = gaussian_filter1d((phases < 1.0 - share).astype(float), 0.1 * STEPS_HZ)
        # So slow that the heading is still known.
        return course(np.cumsum(np.maximum(speed, 1e-4)) / STEPS_HZ)

    return stopping
