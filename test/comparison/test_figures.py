# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The pictures of a comparison."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from stub_methods import Failing, Fixed, Repeater

from two_manifold_ros.comparison.comparing import compare
from two_manifold_ros.comparison.outcome import Comparison
from two_manifold_ros.comparison.protocol import Plan
from two_manifold_ros.errors import InputError

pytest.importorskip('matplotlib')
from two_manifold_ros.comparison.figures import caption_of, draw_errors, draw_tracks

DRAWINGS = pytest.mark.parametrize('draw', [draw_errors, draw_tracks])


@pytest.fixture(scope='session')
def compared(ellipse_plan: Plan) -> Comparison:
    """Return a comparison with a failure, two methods with states, and an error of zero."""
    methods = [
        Failing('broken', error=InputError('why')),
        Repeater('seeing', sees_positions=True),
        Fixed('one', states=True),
        Fixed('other', (1.0, 1.0), states=True),
    ]
    return compare(ellipse_plan, methods)


def drawn(draw: Callable[[Comparison, Path], None], comparison: Comparison, path: Path) -> bytes:
    draw(comparison, path)
    content = path.read_bytes()
    assert content.startswith(b'\x89PNG')
    assert len(content) > 10_000
    return content


@pytest.fixture(scope='module')
def pictures(compared: Comparison, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return what each of them draws of it, by name."""
    path = tmp_path_factory.mktemp('pictures') / 'first.png'
    return {draw.__name__: drawn(draw, compared, path) for draw in (draw_errors, draw_tracks)}


@DRAWINGS
def test_the_same_results_give_the_same_bytes_whatever_failed(
    draw: Callable[[Comparison, Path], None],
    compared: Comparison,
    pictures: dict[str, bytes],
    tmp_path: Path,
) -> None:
    first = pictures[draw.__name__]
    # The first result is a failure, which is not drawn.
    rest = replace(compared, results=compared.results[1:])
    assert drawn(draw, rest, tmp_path / 'second.png') == first
    fewer = replace(compared, results=compared.results[:-1])
    assert drawn(draw, fewer, tmp_path / 'fewer.png') != first


def test_our_own_line_is_the_one_that_stands_out(
    compared: Comparison, pictures: dict[str, bytes], tmp_path: Path
) -> None:
    def named(name: str) -> bytes:
        results = (*compared.results[:-1], replace(compared.results[-1], name=name))
        return drawn(draw_errors, replace(compared, results=results), tmp_path / f'{name}.png')

    assert named('default') != named('manifold') == pictures['draw_errors']


@DRAWINGS
def test_methods_without_states_and_horizons_without_scores(
    draw: Callable[[Comparison, Path], None], ellipse_plan: Plan, tmp_path: Path
) -> None:
    (test,) = ellipse_plan.tests
    truth = test.truth.copy()
    truth[:, 1:] = np.nan
    plan = replace(ellipse_plan, tests=(replace(test, truth=truth),))
    drawn(draw, compare(plan, [Fixed('one')]), tmp_path / 'a.png')


def test_the_caption_shows_what_is_given_positions_and_what_is_not_drawn(
    compared: Comparison,
) -> None:
    assert caption_of(compared).splitlines()[1:] == ['Without a state, so not shown: the seeing']
    _, seeing, one, _ = compared.results
    shown = replace(seeing, linear=one.linear)
    lines = caption_of(replace(compared, results=(shown, one))).splitlines()
    assert lines[1:] == ['Given true positions on the way: the seeing']
    assert len(caption_of(replace(compared, results=(one,))).splitlines()) == 1
