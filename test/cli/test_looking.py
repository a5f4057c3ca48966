# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold info` and `inspect`, tables, and the unit of positions."""

from dataclasses import replace
import json

from ellipse import drive as ellipse
from ellipse import write_bag as write_ellipse
import pytest

from two_manifold_ros.cli.options import print_table
from two_manifold_ros.model.model_file import load_model, model_parts, save_model
from two_manifold_ros.names import LAP_FRAME

pytest.importorskip('rosbags')
pytest.importorskip('rich')


@pytest.fixture
def words_of(tmp_path, command):
    """Return a function that returns the words of the table of a model."""
    return lambda model: save_model(model, tmp_path / 'm') or command.words('info', tmp_path / 'm')


def test_the_json_is_the_header_and_what_is_no_model_is_refused(
    model_file, slot_car_model, tmp_path, command
):
    assert command.json('info', model_file) == model_parts(load_model(model_file))[0]
    for options in ([], ['--json']):
        line = command.refused('info', tmp_path / 'none', *options)
        assert line.startswith(f'{tmp_path / "none"}: there is no')
    save_model(replace(slot_car_model, summary={'notes': 7}), tmp_path / 'm')
    assert 'its notes on the training cannot be read' in command.refused('info', tmp_path / 'm')
    command.json('info', tmp_path / 'm')


@pytest.mark.parametrize(
    ('corrected', 'words'),
    [
        ([0.0], 'position lag not corrected ticks'),
        ([0.04] * 3, 'position lag corrected by 0.040 s ticks'),
        ([0.2, 0.0], 'position lag corrected by 0.000 to 0.200 s ticks'),
    ],
)
def test_what_was_undone_of_the_lag_of_the_bags(corrected, words, slot_car_model, words_of):
    lags = [{'recording': 'bag', 'corrected_s': each} for each in corrected]
    summary = slot_car_model.summary | {'position_lag': lags}
    assert words in words_of(replace(slot_car_model, summary=summary))


def test_a_model_of_laps_says_that_its_metres_are_none(model_file, words_of):
    model = load_model(model_file)
    assert 'seconds of a usual lap' not in words_of(model)
    laps = words_of(replace(model, frame_id=LAP_FRAME, position_topic=''))
    assert 'knows laps and no positions' in laps
    left_out = 'position lag', '(m)', f'{model.imu_topic} ->'
    assert not any(each in laps for each in left_out)


def test_findings_are_shown_whole(tmp_path, command):
    words = command.words('inspect', write_ellipse(tmp_path / 'late [1]', ellipse(late_s=0.2)))
    assert 'late [1]' in words
    assert 'warning: The stamps of the positions are 0.20' in words
    assert 'time offset: position stamps 0.20' in words
    assert words.endswith('and stamp camera images when they are taken.')


def test_the_options_reach_the_reading(ellipse_bag, command):
    for options, words in (
        (['--imu-topic', '/none'], '/none, which is not there'),
        (['--imu-topic', '/pose:pose.x'], 'pose.x.linear_acceleration.x'),
        (['--position-topic', '/imu'], 'name a topic of type geometry_msgs/PoseStamped'),
    ):
        assert words in command.refused('inspect', ellipse_bag, *options)
    output = command('inspect', ellipse_bag, '--use-receive-time', '--json')
    note = 'Receive times are used, as asked.'
    assert output.err == f'two-manifold: note: {note}\n'
    assert json.loads(output.out)['recordings'][0]['notes'] == [note]


@pytest.mark.slow
def test_of_many_bags_each_has_a_line_and_one_that_cannot_be_read_costs_no_other(
    tmp_path, ellipse_bag, command
):
    late = write_ellipse(tmp_path / 'late', ellipse(late_s=0.2))
    bags = [tmp_path / 'none', ellipse_bag, late, ellipse_bag]
    for workers in ((), ('--workers', 1)):
        if workers:
            pytest.importorskip('distributed', reason='Dask is not installed (extra: fleet)')
        captured = command('inspect', *bags, *workers, status=2)
        (line,) = (each for each in captured.err.splitlines() if 'error' in each)
        assert line.endswith(f'{tmp_path / "none"} does not exist: check the path of the bag.')
        lines = captured.out.splitlines()
        rows = [each.split() for each in lines if ' 0.8 ' in each]
        assert [each[1:4] for each in rows] == [['0.8', '100', '25.0']] * 3
        assert [each[-1] == 'time_offset' for each in rows] == [False, True, False]
        assert 'The stamps of the positions are 0.20' in captured.out
        assert '3 bags of 2.4 min' in captured.out
        none = command('inspect', *[tmp_path / 'none'] * 4, *workers, status=2)
        assert none.out == ''
        content = json.loads(command('inspect', *bags, *workers, '--json', status=2).out)
        assert list(content['unread']) == [str(tmp_path / 'none')]
        assert len(content['recordings']) == 3


def test_numbers_are_aligned_to_the_right_and_words_to_the_left(capsys):
    print_table(
        'errors [m]', ['horizon', 'rmse', 'note'], [['0', '0.25', 'a'], ['10', '1.5', 'b']]
    )
    output = capsys.readouterr().out
    assert 'errors [m]' in output
    assert '        0  0.25  a\n' in output
    assert '       10   1.5  b\n' in output


@pytest.mark.parametrize(
    ('words', 'status'),
    [
        ('train {bag} -o {new}', 2), ('evaluate {model} {bag}', 2),
        ('evaluate {model} {bag} --from 20', 2), ('evaluate --fleet {model} {bag}', 2),
        ('learn {bag}', 2), ('compare {bag}', 2), ('laps {model} {bag}', 2),
        ('replay {model} {bag} -o {new} --position-topic /pose', 2), ('inspect {bag}', 0),
        ('train {bag} {again} -o {new} --most-minutes 0.1', 2),
    ],
)  # fmt: skip
def test_every_command_that_takes_positions_names_their_unit(
    words, status, drive, write_bag, model_file, tmp_path, command
):
    """Not in the middle of the work, nor in a model or scores of no meaning."""
    recording = drive()
    places = replace(recording.positions, positions=1e3 * recording.positions.positions)
    scaled = replace(recording, positions=places)
    names = {each: write_bag(tmp_path / each, scaled) for each in ('bag', 'again')}
    names |= {'model': model_file, 'new': tmp_path / 'new.npz'}
    said = command(*words.format(**names).split(), status=status)
    assert 'probably in millimetres' in ' '.join((said.out + said.err).split())
