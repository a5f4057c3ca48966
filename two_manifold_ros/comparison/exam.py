# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A segment to follow, cut as the live filter cuts, and the truth held against the answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.comparison.method import SampledSegment
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.scores import directions_ahead
from two_manifold_ros.recordings.recording import IMU_CHANNELS
from two_manifold_ros.ticks.segments import cut_segments, median_interval_ns, positions_at
from two_manifold_ros.ticks.usable import largest_believable, usable_samples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from two_manifold_ros.comparison.method import Lesson
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Bools, Floats


@dataclass(frozen=True)
class Exam:
    """
    A segment to follow, and what is held against the answers.

    Parameters
    ----------
    recording
        Name of the recording it is from.
    segment
        T ticks, with positions.
    truth : (T, H, 2)
        True positions at the horizons, NaN where unknown.
    directions : (T, H, 2)
        True directions of travel there, unit vectors, NaN if the vehicle never moves.
    scored : (T,) bool
        Ticks whose predictions count.

    """

    recording: str
    segment: SampledSegment
    truth: Floats
    directions: Floats
    scored: Bools

    @property
    def answerable(self) -> bool:
        """Whether any prediction can be scored."""
        return bool(np.isfinite(self.truth[self.scored]).all(axis=2).any())


def cut_exams(recording: Recording, lesson: Lesson) -> Iterator[Exam]:
    """
    Cut a recording at its gaps; every tick counts once the window has filled.

    Raises
    ------
    InputError
        If the recording is not of the kind that the lesson is of.

    """
    dataset = lesson.dataset
    _check_fit(lesson, recording)
    # The live filter looks at no dead channel.
    samples = np.where(dataset.channels.live, recording.imu.samples, dataset.channels.mean)
    cleaned = replace(recording, imu=replace(recording.imu, samples=samples))
    largest = largest_believable([each.imu.samples for each in lesson.recordings])
    segments, _ = cut_segments(cleaned, dataset.period_ns, dataset.max_gap_ns, largest)
    for segment in segments:
        truth = [
            # Beyond the last tick of a segment positions may still be known.
            positions_at(recording.positions, segment.stamps + horizon * dataset.period_ns)
            for horizon in lesson.horizons
        ]
        full: Bools = np.arange(len(segment)) >= dataset.window - 1
        yield Exam(
            recording.name,
            SampledSegment(segment.stamps, segment.values, segment.positions, recording.imu),
            np.stack(truth, axis=1),
            directions_ahead(
                recording.positions, segment.stamps, lesson.horizons, dataset.period_ns
            ),
            full,
        )


def _check_fit(lesson: Lesson, followed: Recording) -> None:
    dataset, learned = lesson.dataset, lesson.recordings[0]
    place = f'{followed.name}: topic {followed.imu.topic}'
    interval = median_interval_ns(followed.imu.stamps)
    if interval > 1.25 * dataset.period_ns:
        msg = (
            f'{place} runs at {1e9 / interval:.1f} Hz, slower than the {dataset.rate_hz:g} Hz of '
            'the ticks; choose a lower --rate'
        )
        raise InputError(msg)
    missing = dataset.channels.live & ~_varying(followed)
    if missing.any():
        names = ', '.join(np.array(IMU_CHANNELS)[missing])
        msg = f'{place} has no signal on {names}, which training uses; follow another recording'
        raise InputError(msg)
    frames = [each.positions.frame_id for each in (learned, followed) if each.positions]
    if len(set(frames)) > 1:
        msg = (
            f'the positions of {learned.name} and {followed.name} are in different frames '
            f'({", ".join(frames)}); compare on recordings of one frame'
        )
        raise InputError(msg)


def _varying(recording: Recording) -> Bools:
    """Return which of the six channels are not constant."""
    usable, samples = usable_samples(recording.imu.samples)
    if not usable.any():
        return np.zeros(len(IMU_CHANNELS), dtype=np.bool_)
    return np.asarray(np.ptp(samples[usable], axis=0) > 0.0)
