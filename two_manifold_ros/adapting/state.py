# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The form of an adaptive tracker in checkpoints: numbers for a JSON header, and arrays."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.adapting.adaptive_tracker import AdaptiveTracker
from two_manifold_ros.adapting.senses import Senses
from two_manifold_ros.errors import InputError
from two_manifold_ros.features.saving import features_from, features_to
from two_manifold_ros.ticks.channels import Channels
from two_manifold_ros.tpsr.learner import OnlineLearner
from two_manifold_ros.tpsr.saving import learner_arrays, learner_from

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from two_manifold_ros.adapting.adapting_head import AdaptingHead
    from two_manifold_ros.adapting.learning_budget import LearningBudget

_MAPS = ('observation_features', 'window_features')
_CHANNELS = ('mean', 'scale', 'limit', 'live')
_PLACES: dict[str, tuple[str, ...]] = {
    'tracker': ('number', 'angle'),
    'learning': ('changes', 'changed', 'turns'),
    'learning.novelty': ('mean', 'seen'),
    'learning.quarantine': ('dropped',),
    'locating': ('since', 'due', 'rehearsals'),
    'locating.learning': ('done',),
    'locating.witness': ('usual_speed', 'seen'),
    'locating.ticks': ('newest',),
}
_ARRAYS: dict[str, tuple[str, ...]] = {
    'locating.learning': ('origin', 'errors', 'counts'),
    'locating.learning.sums': ('gram', 'cross'),
    'locating.ticks': ('numbers', 'features', 'positions', 'good'),
}


def adaptive_arrays(
    tracker: AdaptiveTracker,
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """
    Return what a tracker has learned as JSON values and arrays.

    The stream is not in it: what is made of them goes on, to the bit, as the tracker would after
    ``start``. All arrays are copies, so that they can be written while the tracker goes on.

    Raises
    ------
    InputError
        During the warm-up, when nothing was learned yet.

    """
    senses, learning = tracker.senses, tracker.learning
    if senses is None or learning is None:
        msg = 'nothing was learned yet that could be kept; let the vehicle drive for some seconds'
        raise InputError(msg)
    numbers: dict[str, Any] = {
        'settings': asdict(learning.settings),
        'names': senses.channels.names,
    }
    numbers['believes'] = tracker.tpsr is not None
    arrays = {f'channels.{name}': getattr(senses.channels, name) for name in _CHANNELS}
    arrays['most_still'] = senses.most_still
    for name in _MAPS:
        numbers[name], own = features_to(getattr(senses, name))
        arrays |= {f'{name}.{inner}': array for inner, array in own.items()}
    numbers['learner'], own = learner_arrays(learning.learner)
    arrays |= {f'learner.{inner}': array for inner, array in own.items()}
    for place, fields in _PLACES.items():
        numbers[place] = {name: getattr(_at(tracker, place), name) for name in fields}
    for place, fields in _ARRAYS.items():
        arrays |= {f'{place}.{name}': getattr(_at(tracker, place), name) for name in fields}
    return numbers, {name: np.array(array) for name, array in arrays.items()}


def adaptive_from(
    head: AdaptingHead,
    numbers: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    budget: LearningBudget | None = None,
) -> AdaptiveTracker:
    """
    Return the tracker of what ``adaptive_arrays`` gave.

    Parameters
    ----------
    head
        Of the stream; with the settings that the tracker had.
    numbers, arrays
        What was kept.
    budget
        That may drop samples.

    Raises
    ------
    InputError
        If it was kept with other settings, or anything is missing or does not fit.

    """
    tracker = AdaptiveTracker(head, budget)
    try:
        _fill(tracker, head, numbers, arrays)
    # Numbers of any size and arrays of any shape make Python and NumPy raise almost anything.
    except Exception as error:
        if isinstance(error, InputError):
            raise
        msg = (
            'what was learned before is refused: its numbers and arrays do not fit together '
            f'({error}); begin anew in another folder'
        )
        raise InputError(msg) from error
    return tracker


def _fill(
    tracker: AdaptiveTracker,
    head: AdaptingHead,
    numbers: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> None:
    wanted = asdict(head.settings)
    kept = {**numbers['settings'], 'horizons': tuple(numbers['settings']['horizons'])}
    other = [name for name in wanted if kept.get(name) != wanted[name]]
    if other or tuple(numbers['names']) != head.channels.names:
        what = f'another {other[0]}' if other else 'other channels'
        msg = f'what was learned before is refused: it has {what}; begin anew in another folder'
        raise InputError(msg)
    maps = [features_from(numbers[name], _part(arrays, name)) for name in _MAPS]
    channels = Channels(**_part(arrays, 'channels'), names=tuple(numbers['names']))
    still = arrays['most_still'].copy()
    if still.shape != (int(np.count_nonzero(channels.live)),):
        msg = f'most_still has the shape {still.shape}'
        raise ValueError(msg)
    tracker.adopt_senses(Senses(channels, maps[0], maps[1], still))
    learner = learner_from(numbers['learner'], _part(arrays, 'learner'))
    if tracker.learning is None or not isinstance(learner, OnlineLearner):
        msg = 'it holds another kind of learner'
        raise TypeError(msg)
    tracker.learning.learner = learner
    for place, fields in _PLACES.items():
        for name in fields:
            setattr(_at(tracker, place), name, numbers[place][name])
    for place, fields in _ARRAYS.items():
        for name in fields:
            owner, array = _at(tracker, place), arrays[f'{place}.{name}'].copy()
            if array.shape != getattr(owner, name).shape:
                msg = f'{name} has the shape {array.shape}'
                raise ValueError(msg)
            setattr(owner, name, array)
    if numbers['believes']:
        tracker.believe_in(learner.parameters())
    tracker.locating.learning.adopt(tracker.locating.learning.sums)
    tracker.start()


def _at(tracker: AdaptiveTracker, place: str) -> Any:  # noqa: ANN401 - parts of all kinds
    found: Any = tracker
    for name in place.split('.'):
        found = tracker if name == 'tracker' else getattr(found, name)
    return found


def _part(arrays: Mapping[str, NDArray[Any]], name: str) -> dict[str, NDArray[Any]]:
    prefix = f'{name}.'
    return {key[len(prefix) :]: each for key, each in arrays.items() if key.startswith(prefix)}
