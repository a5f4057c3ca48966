# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is learned from and what is followed: the same for every method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.comparison.exam import cut_exams
from two_manifold_ros.comparison.lap_doubts import lap_doubts
from two_manifold_ros.comparison.method import Lesson
from two_manifold_ros.comparison.place_doubts import place_doubts
from two_manifold_ros.errors import InputError
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.drive_summary import measure_drives
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.comparison.exam import Exam
    from two_manifold_ros.recordings.recording import Recording

SHARE = 0.3
"""Of a single recording, at its end, that is followed and not learned from."""


@dataclass(frozen=True)
class SlotCarProtocol:
    """
    How a slot car is learned and followed; the numbers of the paper unless others are given.

    Parameters
    ----------
    rate_hz, window, states, neighbours
        See ``TrainingSettings``.
    farthest
        Ticks ahead to predict; every fewer number is predicted too.
    learned_ticks, followed_ticks, all_ticks
        Learned from at the beginning, followed at the end, and in the whole run.
    extents
        Fewest and most ticks that are filtered before it is predicted.

    """

    rate_hz: float = 10.0
    window: int = 150
    states: int = 20
    neighbours: int = 50
    farthest: int = 100
    learned_ticks: int = 2_000
    followed_ticks: int = 500
    all_ticks: int = 3_000
    extents: tuple[int, int] = (100, 350)

    @property
    def settings(self) -> TrainingSettings:
        """Settings of a training; horizon 0 comes with every one."""
        return TrainingSettings(
            rate_hz=self.rate_hz,
            window=self.window,
            states=self.states,
            neighbours=self.neighbours,
            horizons=tuple(range(self.farthest + 1)),
        )


SLOT_CAR = SlotCarProtocol()
"""That of the paper."""


@dataclass(frozen=True)
class Plan:
    """
    Who learns what and is asked what.

    Parameters
    ----------
    protocol
        ``'share'``, ``'bags'`` or ``'slot-car'``.
    lesson
        What every method learns from.
    exams
        What every method then follows, at least one with a tick that counts.
    notes
        Sentences to know before believing the numbers.

    """

    protocol: str
    lesson: Lesson
    exams: tuple[Exam, ...]
    notes: tuple[str, ...] = ()


def plan_share(recording: Recording, settings: TrainingSettings, share: float = SHARE) -> Plan:
    """
    Learn from the beginning of one recording and follow its last share.

    Raises
    ------
    InputError
        If the share is not between 0 and 1, or either part is too short.

    """
    if not 0.0 < share < 1.0:
        msg = f'a share of {share:g} cannot be followed; give a number between 0 and 1'
        raise InputError(msg)
    cut_s = (1.0 - share) * _seconds(recording)
    first, last = recording.between(None, cut_s), recording.between(cut_s, None)
    return _plan('share', [first], [last], settings)


def plan_bags(
    learned: Sequence[Recording], followed: Sequence[Recording], settings: TrainingSettings
) -> Plan:
    """
    Learn from some recordings and follow others.

    Every tick counts once the window has filled, as in the live filter.

    Raises
    ------
    InputError
        If nothing can be learned from, nothing counts, or the two do not fit together.

    """
    twice = {recording.name for recording in learned} & {each.name for each in followed}
    if twice:
        msg = f'{", ".join(sorted(twice))}: learned from and followed; name other bags with --test'
        raise InputError(msg)
    return _plan('bags', learned, followed, settings)


def _plan(
    protocol: str,
    learned: Sequence[Recording],
    followed: Sequence[Recording],
    settings: TrainingSettings,
) -> Plan:
    lesson = Lesson(tuple(learned), build_dataset(learned, settings), settings)
    exams = tuple(
        exam for recording in followed for exam in cut_exams(recording, lesson) if exam.answerable
    )
    if not exams:
        names = ', '.join(dict.fromkeys(recording.name for recording in followed))
        msg = (
            f'{names}: the part to follow has no stretch longer than a window of '
            f'{lesson.dataset.window * lesson.period_s:.1f} s with positions after it; follow a '
            'longer part, or shorten --window'
        )
        raise InputError(msg)
    return Plan(protocol, lesson, exams, _notes(lesson, exams))


def plan_slot_car(recording: Recording, protocol: SlotCarProtocol = SLOT_CAR) -> Plan:
    """
    Do as the paper does with its slot car: 2,000 ticks learned, the last 500 of 3,000 followed.

    The first 100 to 350 ticks of the part that is followed are filtered, and positions 1 to 100
    ticks later are predicted from each.

    Parameters
    ----------
    recording
        At least as long as the protocol.
    protocol
        For other numbers than those of the paper.

    Raises
    ------
    InputError
        If the recording is too short or too slow, or a gap is in the part to follow.

    """
    fewest, most = protocol.extents
    all_s = protocol.all_ticks / protocol.rate_hz
    followed_s = protocol.followed_ticks / protocol.rate_hz
    learned = recording.between(None, protocol.learned_ticks / protocol.rate_hz)
    followed = recording.between(all_s - followed_s, all_s)
    lesson = Lesson((learned,), build_dataset([learned], protocol.settings), protocol.settings)
    exams = list(cut_exams(followed, lesson)) if len(followed.imu.stamps) else []
    needed = most + protocol.farthest
    if max((len(exam.segment) for exam in exams), default=0) < needed:
        msg = (
            f'{recording.name}: the protocol of the slot car needs {all_s:g} s, '
            f'{needed / protocol.rate_hz:g} s without a gap among the last {followed_s:g} s of '
            'them; record longer, or leave out --protocol'
        )
        raise InputError(msg)
    longest = max(exams, key=lambda exam: len(exam.segment))
    filtered = np.arange(1, len(longest.segment) + 1)
    exam = replace(longest, scored=(filtered >= fewest) & (filtered <= most))
    if not exam.answerable:
        msg = f'{recording.name}: no position is known where the slot car is followed'
        raise InputError(msg)
    return Plan('slot-car', lesson, (exam,), _notes(lesson, (exam,)))


def _notes(lesson: Lesson, exams: tuple[Exam, ...]) -> tuple[str, ...]:
    drives = measure_drives(lesson.recordings)
    return (*place_doubts(lesson, exams, drives), *lap_doubts(lesson, exams, drives))


def _seconds(recording: Recording) -> float:
    stamps = recording.imu.stamps
    if len(stamps) < 2:
        msg = f'{recording.name}: there are no two IMU samples; record longer'
        raise InputError(msg)
    return int(stamps[-1] - recording.imu.first_stamp) * 1e-9
