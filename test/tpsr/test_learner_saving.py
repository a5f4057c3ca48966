# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
import json
import math
from typing import Any

import numpy as np
import pytest
from tpsr_streams import part, unit, wandering

from two_manifold_ros.errors import InputError
from two_manifold_ros.tpsr.base_learner import Learner
from two_manifold_ros.tpsr.exact import ExactLearner
from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner
from two_manifold_ros.tpsr.saving import learner_arrays, learner_from

KINDS = [OnlineLearner, ExactLearner]


def learner(kind: type[Learner], memory: float = 50.0, fold_every: int = 8) -> Learner:
    return kind(LearnerSettings(3, 5, 0.3, memory, fold_every), unit(8), 8, 5)


def give(learner: Learner, begin: int, end: int) -> None:
    for row in zip(*vars(part(wandering(700), begin, end)).values(), strict=True):
        learner.add(*row)


def saved(learner: Learner) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    numbers, arrays = learner_arrays(learner)
    return json.loads(json.dumps(numbers, allow_nan=False)), arrays


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize(('samples', 'fold_every'), [(0, 8), (5, 8), (8, 8), (555, 8), (203, 1)])
def test_a_resumed_learner_goes_on_with_the_same_bytes(
    kind: type[Learner], samples: int, fold_every: int
) -> None:
    one = learner(kind, fold_every=fold_every)
    one.covariance.ridge = 0.5
    give(one, 0, samples)
    numbers, arrays = saved(one)
    other = learner_from(numbers, arrays)
    assert type(other) is kind
    for array in arrays.values():
        array[:] = np.nan
    for begin, end in ((samples, samples + 3), (samples + 3, 700)):
        give(one, begin, end)
        give(other, begin, end)
        mine, theirs = learner_arrays(one), learner_arrays(other)
        assert mine[0] == theirs[0]
        for name, array in mine[1].items():
            assert array.tobytes() == theirs[1][name].tobytes(), name
    for name, value in vars(one.parameters()).items():
        assert np.asarray(value).tobytes() == np.asarray(vars(other.parameters())[name]).tobytes()


@pytest.mark.parametrize('kind', KINDS)
def test_what_was_taken_stays_as_it_was(kind: type[Learner]) -> None:
    one = learner(kind)
    give(one, 0, 203)
    _, arrays = learner_arrays(one)
    before = {name: array.copy() for name, array in arrays.items()}
    give(one, 203, 400)
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, before[name])


def test_nothing_forgotten_is_kept_in_json() -> None:
    one = learner(OnlineLearner, math.inf)
    assert learner_from(*saved(one)).settings == one.settings


@pytest.mark.parametrize(
    ('change', 'cause'),
    [
        ({'kind': 'other'}, "'other' is no kind"),
        ({'kind': ['online']}, 'is no kind'),
        ({'states': 6}, 'rank'),
        ({'states': 2.0}, 'states is 2.0'),
        ({'rank': True}, 'rank is True'),
        ({'rank': 4, 'states': 3}, 'more than the 4'),
        ({'fold_every': 3}, 'samples wait'),
        ({'memory': -1.0}, 'memory is -1.0'),
        ({'weight': math.nan}, 'weight is nan'),
        ({'samples': -1}, 'samples is -1'),
        ({'ridge': 0}, 'ridge'),
        ({'more': 1}, 'more are missing or too many'),
    ],
)
def test_numbers_that_do_not_fit_are_refused(change: dict[str, Any], cause: str) -> None:
    one = learner(OnlineLearner)
    give(one, 0, 203)
    numbers, arrays = saved(one)
    with pytest.raises(InputError, match=cause):
        learner_from(numbers | change, arrays)


@pytest.mark.parametrize('kind', KINDS)
def test_arrays_that_do_not_fit_are_refused(kind: type[Learner]) -> None:
    one = learner(kind)
    give(one, 0, 203)
    numbers, arrays = saved(one)
    for name, array in arrays.items():
        nan = array.copy()
        nan.flat[0] = np.nan
        for bad in (nan, array[..., None], array[..., :-1], array.astype(np.float32)):
            with pytest.raises(InputError):
                learner_from(numbers, arrays | {name: bad})
        with pytest.raises(InputError, match=name):
            learner_from(numbers, {key: arrays[key] for key in arrays if key != name})


@pytest.mark.parametrize(
    ('name', 'change', 'cause'),
    [
        ('left', 0.1, 'orthonormal'),
        ('right', 0.1, 'orthonormal'),
        ('values', -1e4, 'singular values'),
        ('values', 1e4, 'singular values'),
        ('covariance', 0.1, 'symmetric'),
        ('inverse', 0.1, 'symmetric'),
        ('waiting_importance', -10.0, 'could not have been taken'),
    ],
)
def test_arrays_that_cannot_be_what_they_are_called_are_refused(
    name: str, change: float, cause: str
) -> None:
    one = learner(OnlineLearner)
    give(one, 0, 203)
    numbers, arrays = saved(one)
    arrays[name].flat[1] += change
    with pytest.raises(InputError, match=cause):
        learner_from(numbers, arrays)


def test_a_kind_without_a_form_is_not_saved() -> None:
    class Other(OnlineLearner):
        pass

    with pytest.raises(TypeError, match='Other has no form'):
        learner_arrays(learner(Other))
