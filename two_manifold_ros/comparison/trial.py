# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One method fitted to the lesson and sent along the exams; what it told is all that is kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
import json
from pathlib import Path
import traceback
from typing import Any, TYPE_CHECKING

import numpy as np
from scipy.sparse.linalg import ArpackError

from two_manifold_ros.comparison.linear_track import fit_linear_track
from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.comparison.method import Course, FittedMethod, Lesson, Method
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Bools, Floats

_ARITHMETIC = (ArithmeticError, np.linalg.LinAlgError, ArpackError)
_OWN = __name__.split('.', maxsplit=1)[0]


@dataclass(frozen=True)
class Trial:
    """
    What one method told.

    Parameters
    ----------
    positions
        For each segment that was followed (T, H, 2), NaN where the method could not tell.
    linear
        For each segment (T, 2) positions now, read from the method's states by a linear
        regression on the lesson; what a method that is told positions says itself, because it
        has them in its state; ``None`` without states.
    chosen
        See ``FittedMethod``.
    valid
        For each segment (T,), see ``Course``; ``None`` for a method that withholds nothing.

    """

    positions: tuple[Floats, ...]
    linear: tuple[Floats, ...] | None
    chosen: dict[str, Any]
    valid: tuple[Bools, ...] | None = None


@dataclass(frozen=True)
class Failure:
    """
    Why a method has nothing to tell.

    Parameters
    ----------
    reason
        One sentence.

    """

    reason: str


def try_method(method: Method, lesson: Lesson, segments: Sequence[Segment]) -> Trial | Failure:
    """
    Fit a method and let it follow the segments, their positions hidden unless it is told them.

    Overflows and divisions by zero are left to the method: what is not finite is not scored. No
    exception holds up the other methods, but an interrupt ends all.
    """
    try:
        fitted = method.fit(lesson)
        courses = [_follow(method, fitted, segment) for segment in segments]
        linear = None
        if all(course.states is not None for course in courses):
            linear = _linear(method, fitted, lesson, courses)
        chosen = json.loads(json.dumps(fitted.chosen, sort_keys=True, allow_nan=False))
    except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
        return Failure(_sentence(error))
    valid = tuple(course.valid for course in courses if course.valid is not None)
    positions = tuple(course.positions for course in courses)
    return Trial(positions, linear, chosen, valid if len(valid) == len(courses) else None)


def _follow(method: Method, fitted: FittedMethod, segment: Segment) -> Course:
    if not method.told:
        segment = replace(segment, positions=np.full_like(segment.positions, np.nan))
    return fitted.follow(segment)


def _linear(
    method: Method, fitted: FittedMethod, lesson: Lesson, courses: Sequence[Course]
) -> tuple[Floats, ...] | None:
    if method.told:
        return tuple(course.positions[:, 0] for course in courses)
    learned = lesson.dataset.segments
    states = [_states(_follow(method, fitted, segment)) for segment in learned]
    # As in the exams: before the window has filled a method may not know yet.
    window = lesson.dataset.window
    track = fit_linear_track(
        np.concatenate([each[window:] for each in states]),
        np.concatenate([segment.positions[window:] for segment in learned]),
    )
    return None if track is None else tuple(track.read(_states(course)) for course in courses)


def _states(course: Course) -> Floats:
    if course.states is None:
        msg = 'a method has states along some segments and none along others'
        raise ValueError(msg)
    return course.states


def _sentence(error: Exception) -> str:
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, ImportError) and not (error.name or '').startswith(_OWN):
        return _import_sentence(error)
    if isinstance(error, MemoryError):
        return 'there is not enough memory; give a shorter recording or a lower --rate'
    said = ' '.join(str(error).split())
    if isinstance(error, _ARITHMETIC):
        return f'the arithmetic failed: {said or type(error).__name__}'
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f'{type(error).__name__} in line {place.lineno} of {Path(place.filename).name}'
        f'{": " if said else ""}{said}; this is a fault of the method, not of the recordings'
    )


def _import_sentence(error: ImportError) -> str:
    if isinstance(error, ModuleNotFoundError):
        return (
            f'the Python package {error.name!r} is missing: install the offline extra with pip '
            "install 'two_manifold_ros[train]'"
        )
    said = ' '.join(str(error).split()) or type(error).__name__
    return f'a Python package that it needs is there but cannot be loaded: {said}'
