# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The figures of evaluations."""

import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import evaluate, Evaluation
from two_manifold_ros.model.model import RouteModel
from two_manifold_ros.recordings.recording import Recording

pytest.importorskip('matplotlib')
from two_manifold_ros.evaluation.figures import draw_evaluation


@pytest.fixture(scope='session')
def short(slot_car_model: RouteModel, slot_car_laps: tuple[Recording, Recording]) -> Evaluation:
    """Return the evaluation of 3 s, in which the longest horizon has no truth."""
    return evaluate(slot_car_model, [slot_car_laps[1].between(0, 3)])


@pytest.mark.parametrize(
    ('name', 'magic'), [('a.png', b'\x89PNG'), ('b.PDF', b'%PDF'), ('c.svg', b'<?xml')]
)
def test_figures_are_written_in_the_format_of_their_name(
    name, magic, short, slot_car_model, tmp_path
):
    draw_evaluation(short, slot_car_model, tmp_path / name, 'a title')
    content = (tmp_path / name).read_bytes()
    assert content.startswith(magic)
    assert len(content) > 8_000


@pytest.mark.parametrize(
    ('name', 'cause'),
    [('figure', 'use a name in .png'), ('a.docx', 'use a name in .png'), ('no/a.png', 'no/a.png')],
)
def test_where_no_figure_can_be_written_is_refused(name, cause, short, slot_car_model, tmp_path):
    with pytest.raises(InputError, match=cause):
        draw_evaluation(short, slot_car_model, tmp_path / name)
    assert not list(tmp_path.iterdir())
