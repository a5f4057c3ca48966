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
from two_manifold_ros.comparison.outcome import Comparison, Result
from two_manifold_ros.comparison.protocol import Plan
from two_manifold_ros.errors import InputError

pytest.importorskip('matplotlib')
from two_manifold_ros.comparison.figures import caption_of, draw_errors, draw_tracks

DRAWINGS = pytest.mark.parametrize('draw', [draw_errors, draw_tracks])
Draw = Callable[[Comparison, Path], None]


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


def drawn(draw: Draw, comparison: Comparison, path: Path) -> bytes:
    draw(comparison, path)
    content = path.read_bytes()
    assert content.startswith(b'\x89PNG')
    assert len(content) > 10_000
    return content


@DRAWINGS
def test_the_same_results_give_the_same_bytes_whatever_failed(draw, compared, tmp_path):
    def bytes_of(*results: Result) -> bytes:
        return drawn(draw, replace(compared, results=results), tmp_path / 'drawn.png')

    failed, *others, last = compared.results
    first = bytes_of(failed, *others, last)
    # A failure is not drawn.
    assert bytes_of(*others, last) == first != bytes_of(failed, *others)
    if draw is draw_errors:
        # Our own line is the one that stands out.
        own, other = (bytes_of(*others, replace(last, name=n)) for n in ('default', 'manifold'))
        assert own != other == first


@DRAWINGS
def test_methods_without_states_and_horizons_without_scores(draw, ellipse_plan, tmp_path):
    (test,) = ellipse_plan.tests
    truth = test.truth.copy()
    truth[:, 1:] = np.nan
    plan = replace(ellipse_plan, tests=(replace(test, truth=truth),))
    drawn(draw, compare(plan, [Fixed('one')]), tmp_path / 'a.png')


def test_the_caption_shows_what_is_given_positions_and_what_is_not_drawn(compared):
    assert caption_of(compared).splitlines()[1:] == ['Without a state, so not shown: the seeing']
    _, seeing, one, _ = compared.results
    shown = replace(seeing, linear=one.linear)
    lines = caption_of(replace(compared, results=(shown, one))).splitlines()
    assert lines[1:] == ['Given true positions on the way: the seeing']
    assert len(caption_of(replace(compared, results=(one,))).splitlines()) == 1
