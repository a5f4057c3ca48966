# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What validation chooses of the route belief: the usual, unless another is clearly better."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.training import validation
from two_manifold_ros.training.route_assembly import RouteCandidate
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.validation import CLEARLY, SHARPNESSES, usual_candidate, validate

if TYPE_CHECKING:
    from collections.abc import Callable

USUAL = RouteCandidate(0.5, 3, averaged=True, states=20, neighbours=30)


@pytest.fixture
def choose(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, dict[Any, float]]]:
    """Return a function that lets given scores decide on as many blocks as needed."""

    def chosen(
        score: Callable[[Any], float], settings: TrainingSettings | None = None
    ) -> tuple[Any, dict[Any, float]]:
        scored = {}

        def scored_once(candidate: Any) -> float:  # noqa: ANN401 - any candidate
            assert candidate not in scored
            scored[candidate] = score(candidate)
            return scored[candidate]

        bench: Any = SimpleNamespace(
            windows=0,
            lost_m=1.0,
            score=scored_once,
            calibrate=lambda _: np.ones(3),
            ticks=7,
        )
        monkeypatch.setattr(validation, 'HeldOutBench', lambda *_: bench)
        held: Any = [None] * validation.FEWEST_BLOCKS
        dataset: Any = None
        settings = settings or TrainingSettings()
        found = validate([], held, dataset, settings, lambda *_: None)
        assert found.score_m == scored[found.candidate]
        return found.candidate, scored

    return chosen


def test_what_is_usual() -> None:
    assert usual_candidate(TrainingSettings()) == USUAL


@pytest.mark.parametrize(
    ('given', 'changed'),
    [
        ({'sharpness': 3.0}, {'sharpness': 3.0}),
        ({'paces_each_way': 0}, {'paces_each_way': 0}),
        ({'averaged': False}, {'averaged': False}),
        ({'averaged': True}, {}),
        ({'states': 9}, {'states': 9}),
        ({'neighbours': 12}, {'neighbours': 12}),
    ],
)
def test_what_is_given_is_usual(given: dict[str, Any], changed: dict[str, Any]) -> None:
    assert usual_candidate(TrainingSettings(**given)) == replace(USUAL, **changed)


@pytest.mark.parametrize(('gain', 'taken'), [(1.0, False), (CLEARLY, False), (1.06, True)])
@pytest.mark.parametrize('change', [{'sharpness': 1.0}, {'paces_each_way': 0}], ids=str)
def test_only_what_is_clearly_better_is_taken(
    gain: float,
    taken: bool,
    change: dict[str, Any],
    choose: Callable[..., tuple[Any, dict[Any, float]]],
) -> None:
    other = replace(USUAL, **change)
    best, _ = choose(lambda each: 1.0 if each == other else gain)
    assert best == (other if taken else USUAL)


def test_the_best_of_those_clearly_better(
    choose: Callable[..., tuple[Any, dict[Any, float]]],
) -> None:
    scores = {0.5: 2.0, 1.0: 1.5, 2.0: 1.6, 0.25: 1.7}
    best, _ = choose(lambda each: scores[each.sharpness])
    assert best == replace(USUAL, sharpness=1.0)


def test_the_paces_are_tried_at_the_sharpness_taken(
    choose: Callable[..., tuple[Any, dict[Any, float]]],
) -> None:
    best, scored = choose(
        lambda each: 2.0 - 0.5 * (each.sharpness == 1.0) - 0.5 * (each.paces_each_way == 0)
    )
    assert best == replace(USUAL, sharpness=1.0, paces_each_way=0)
    sharper = [replace(USUAL, sharpness=each) for each in SHARPNESSES]
    assert list(scored) == [*sharper[1:], USUAL, best]
