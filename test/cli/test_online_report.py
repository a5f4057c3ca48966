# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold evaluate --online`."""

from argparse import ArgumentTypeError
from pathlib import Path

from command_runs import Command
import pytest

from two_manifold_ros.cli.evaluate import seconds_or_share, some_learners


def test_a_table_a_figure_and_json_say_how_soon_the_route_is_known(
    slot_car_bag: Path, tmp_path: Path, command: Command
) -> None:
    """Of both learners, beside the model trained of the same laps."""
    pytest.importorskip('matplotlib')
    figure = tmp_path / 'curve.png'
    arguments = ['evaluate', '--online', slot_car_bag, '--positions-until', '80%']
    text = command(*arguments, '--until', '20', '--figure', figure).out
    for words in ('lap', 'map:', 'tpsr:', 'offline:', 'mean:', 'published', 'IMU alone', 'metres'):
        assert words in text
    assert str(figure) in text
    assert figure.read_bytes().startswith(b'\x89PNG')
    content = command.json(*arguments, '--learners', 'map')
    assert content['bags'] == [str(slot_car_bag)]
    assert content['known_s'] == pytest.approx(0.8 * 46.0, abs=0.5)
    alone = {row['name']: row for row in content['rows'] if row['lap'] == 0}
    assert set(alone) == {'map', 'offline', 'mean'}
    assert alone['map']['rmse_m'] < 0.25 * alone['mean']['rmse_m']


@pytest.mark.parametrize(
    ('text', 'wanted'),
    [('120', (120.0, False)), ('70%', (0.7, True)), ('0.5', (0.5, False)), ('100 %', (1.0, True))],
)
def test_a_number_of_seconds_or_a_share(text: str, wanted: tuple[float, bool]) -> None:
    assert seconds_or_share(text) == wanted


@pytest.mark.parametrize('text', ['', '%', '0', '-3', '0%', '101%', 'nan', 'inf', '7 laps'])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match='neither a number of seconds'):
        seconds_or_share(text)


def test_names_of_learners() -> None:
    assert some_learners('tpsr, map,tpsr') == ('tpsr', 'map')
    with pytest.raises(ArgumentTypeError, match="no learner named 'hmm'; choose among map, tpsr"):
        some_learners('map,hmm')


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        ('--online BAG --from 1000', 'it lasts 46.5 s'),
        ('--online BAG --figure curve.txt', 'use a name in .png, .pdf, .svg'),
        ('--online BAG --figure /no/such/folder/x.png', 'does not exist'),
        ('--online BAG --positions-until 5000', 'the drive ends after'),
        ('--online missing_bag', 'missing_bag'),
        ('model.npz', 'Name the bags'),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(
    arguments: str, words: str, slot_car_bag: Path, command: Command
) -> None:
    given = arguments.replace('BAG', str(slot_car_bag)).split()
    assert words in command.refused('evaluate', *given)
