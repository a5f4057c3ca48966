# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What commands that look at, simulate, convert or run something print and write."""

from dataclasses import replace
import json
import re

import ellipse
from logger_files import drive, DRIVER, racechrono
import numpy as np
import pytest

from two_manifold_ros import demo
from two_manifold_ros.cli.options import print_table
from two_manifold_ros.errors import InputError
from two_manifold_ros.model.model_file import load_model, model_parts, save_model
from two_manifold_ros.model.vehicle import load_vehicle
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.recordings import reading
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate, write_run
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

highlevel = pytest.importorskip('rosbags.highlevel')
pytest.importorskip('rich')


@pytest.mark.parametrize(
    ('line', 'words'),
    [
        ('simulate -o {new} --laps 1', ('1 laps', 'm/s', '/imu', '/reference', 'rate (Hz)')),
        ('import {log} -o {new}', ('RaceChrono', '20.0 s, written to {new}', 'assumed: ')),
        ('inspect {bag}', ('/imu', '/reference', 'linear_acceleration.z', 'laps: ')),
        ('info {model}', ('slot car with seed 1', '10 Hz, windows of 20', 'frame map')),
        ('evaluate {model} {bag}', ('Publishes ', 'position error in metres', 'mean: ')),
        (
            'laps {model} {bag}',
            ('laps of', 'sector 3', 'to best', 'start line at', 'positions by 0.'),
        ),
        ('replay {model} {bag} -o {new}', ('PoseWithCovarianceStamped', '/diagnostics')),
    ],
)
def test_people_are_told_and_files_kept(line, words, slot_car_bag, model_file, tmp_path, command):
    given = {'bag': slot_car_bag, 'model': model_file, 'new': tmp_path / 'new'}
    given['log'] = racechrono(tmp_path / 'session.csv', drive(20.0))
    asked = line.format(**given).split()
    said = command.words(*asked)
    assert all(each.format(**given) in said for each in words)
    if 'new} ' in f'{line} ':
        before = {path: path.read_bytes() for path in (tmp_path / 'new').iterdir()}
        assert DRIVER not in said
        assert not any(DRIVER.encode() in each for each in before.values())
        assert 'exists already' in command.refused(*asked)
        assert {path: path.read_bytes() for path in (tmp_path / 'new').iterdir()} == before


def test_a_simulated_bag_is_the_drive_of_the_options(tmp_path, command):
    options = '--laps 1 --seed 3 --rate 60 --noise 0.5 --speed-wander 2 --driver timid'
    summary = command.json('simulate', '-o', tmp_path / 'bag', *options.split())
    expected = simulate(SlotCarSettings(3, 60.0, 0.5, 2.0, 'timid'), laps=1)
    recording = read_recording(str(tmp_path / 'bag'))
    np.testing.assert_array_equal(recording.imu.samples, expected.imu)
    assert summary['seconds'] == np.ptp(expected.stamps_ns) / 1e9
    counts = [(each['topic'], each['messages'], each['rate_hz']) for each in summary['topics']]
    assert counts[0] == ('/imu', len(recording.imu.stamps), 60.0)
    assert counts[1] == ('/reference', len(recording.positions.stamps), 30.0)


def test_columns_are_an_option(tmp_path, command):
    table = tmp_path / 'table.csv'
    table.write_text('a,b\n0,1\n0.1,2\n0.2,3\n')
    command('import', table, '-o', tmp_path / 'other', '--columns', 't=a,ax=b:g')
    assert command.refused('import', table, '-o', tmp_path / 'c', '--columns', 't=a,ax=c')


def test_laps_have_the_line_and_the_sectors_asked_for(slot_car_bag, model_file, command):
    laps = command.with_arguments('laps', model_file, slot_car_bag)
    (usual,) = laps.json()['recordings']
    (moved,) = laps.json('--start-line', '0.5', '--sectors', '0.5')['recordings']
    assert usual['bag'] == str(slot_car_bag)
    assert [lap['lap'] for lap in usual['laps']] == list(range(1, len(usual['laps']) + 1))
    assert usual['start_line'] != moved['start_line']
    assert moved['length_m'] == usual['length_m']
    assert all(len(lap['sectors_s']) == 2 for lap in moved['laps'])
    assert 'no lap was timed' in laps('--until', '5').err


def test_a_replayed_bag_is_as_counted(slot_car_bag, model_file, tmp_path, command, monkeypatch):
    samples = len(read_recording(str(slot_car_bag)).imu.stamps)
    # Positions are not read.
    monkeypatch.setattr(reading, 'position_decoder', None)
    content = command.json('replay', model_file, slot_car_bag, '-o', tmp_path / 'bag')
    assert content['messages']['position'] == samples - 1 - 19
    with highlevel.AnyReader([tmp_path / 'bag']) as reader:
        topics = {each.topic.strip('/'): each for each in reader.connections}
    assert {name: each.msgcount for name, each in topics.items()} == content['messages']
    for name in ('markers', 'position'):
        durable = {each.durability.name for each in topics[name].ext.offered_qos_profiles}
        assert ('TRANSIENT_LOCAL' in durable) == (name == 'markers')


def test_a_vehicle_is_measured_and_evaluated(command, model_file, tmp_path):
    """Its gyroscope is scaled."""
    bag, found = tmp_path / 'bag', tmp_path / 'vehicle.json'
    run = simulate(SlotCarSettings(seed=2, rate_hz=10.0), laps=12)
    write_run(replace(run, imu=run.imu * [1.0, 1.0, 1.0, 1.0, 1.0, 1.12]), bag)
    said = command.json('vehicle', model_file, bag, '-o', found)
    written = load_vehicle(str(found))
    np.testing.assert_allclose(np.degrees(written.angles), said['angles_deg'])
    assert written.scales[5] == pytest.approx(0.12, abs=4.0 * written.deviations[8])
    words = command.words('vehicle', model_file, bag)
    assert f'turned about x, degrees {said["angles_deg"][0]:.4f} ' in words
    assert 'not measured' not in words
    errors_m = [
        command.json('evaluate', model_file, bag, *more)['horizons']['0']['all']['rmse_m']
        for more in ((), ('--vehicle', found))
    ]
    assert errors_m[1] < errors_m[0]


def test_what_a_drive_does_not_show_is_not_measured(command, tmp_path):
    """A prior is no result: three channels are dead."""
    run = simulate(SlotCarSettings(seed=1, rate_hz=10.0), laps=12)
    planar = replace(run, imu=run.imu * [1.0, 1.0, 0.0, 0.0, 0.0, 1.0])
    write_run(planar, tmp_path / 'planar')
    settings = TrainingSettings(window=20, horizons=(0, 5), sharpness=0.2)
    save_model(train_model([run_to_recording(planar)], settings), tmp_path / 'planar.npz')
    words = command.words('vehicle', tmp_path / 'planar.npz', tmp_path / 'planar')
    for measure in ('scale error of ', 'bias of '):
        found = re.findall(rf'{measure}(\S+?)(?:, \S+)? not measured - ', words)
        assert found == ['linear_acceleration.z', 'angular_velocity.x', 'angular_velocity.y']


SHORT = (
    'simulate -o recording --laps 6',
    'train recording -o model.npz --until 40 --rate 20 --window 20',
)


@pytest.mark.slow
@pytest.mark.parametrize('with_nodes', [True, False])
def test_the_demo_ends_with_a_vehicle_that_is_followed(with_nodes, tmp_path, monkeypatch, capfd):
    if with_nodes:
        pytest.importorskip('rclpy', reason='the demo needs ROS 2')
    else:
        monkeypatch.setattr(demo, 'find_spec', lambda _: None)
    for name in ('ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_DOMAIN_ID'):
        monkeypatch.setenv(name, '0')
    folder = tmp_path / 'tour'
    assert demo.run_tour(str(folder), way=SHORT) == 0
    said = capfd.readouterr().out
    assert ('  tracking\n' in said) == with_nodes
    assert ('replayed' in said) == (folder / 'predictions').exists() == (not with_nodes)
    # The same folder is taken again, and the first command that fails ends it.
    assert demo.run_tour(str(folder), way=('info none.npz', *SHORT)) == 2
    assert not (folder / 'recording').exists()
    # A folder of something else is kept.
    (folder / demo.MARKER).unlink()
    with pytest.raises(InputError, match='was not made here'):
        demo.run_tour(str(folder))


def test_json_is_the_header_and_bad_notes_refused(model_file, slot_car_model, tmp_path, command):
    assert command.json('info', model_file) == model_parts(load_model(model_file))[0]
    save_model(replace(slot_car_model, summary={'notes': 7}), tmp_path / 'm')
    assert 'its notes on the training cannot be read' in command.refused('info', tmp_path / 'm')
    command.json('info', tmp_path / 'm')


def test_what_lag_was_undone_is_said_and_that_laps_have_no_metres(model_file, tmp_path, command):
    model = load_model(model_file)
    for corrected, words in (
        ([0.0], 'position lag not corrected ticks'),
        ([0.04] * 3, 'position lag corrected by 0.040 s ticks'),
        ([0.2, 0.0], 'position lag corrected by 0.000 to 0.200 s ticks'),
    ):
        lags = {'position_lag': [{'recording': 'bag', 'corrected_s': each} for each in corrected]}
        save_model(replace(model, summary=model.summary | lags), tmp_path / 'm')
        assert words in command.words('info', tmp_path / 'm')
    save_model(replace(model, frame_id=LAP_FRAME, position_topic=''), tmp_path / 'm')
    laps = command.words('info', tmp_path / 'm')
    assert 'knows laps and no positions: its errors are in seconds of a usual lap' in laps
    assert 'position lag' not in laps
    assert '(m)' not in laps


def test_receive_times_are_an_option(ellipse_bag, command):
    output = command('inspect', ellipse_bag, '--use-receive-time', '--json')
    note = 'Receive times are used, as asked.'
    assert output.err == f'two-manifold: note: {note}\n'
    assert json.loads(output.out)['recordings'][0]['notes'] == [note]


def test_each_bag_has_a_line_and_an_unreadable_one_costs_no_other(tmp_path, ellipse_bag, command):
    late = ellipse.write_bag(tmp_path / 'late', ellipse.drive(late_s=0.2))
    bags = [tmp_path / 'none', ellipse_bag, late, ellipse_bag]
    captured = command('inspect', *bags, status=2)
    (line,) = (each for each in captured.err.splitlines() if 'error' in each)
    assert line.endswith(f'{tmp_path / "none"} does not exist: check the path of the bag.')
    rows = [each.split() for each in captured.out.splitlines() if ' 0.8 ' in each]
    assert [each[1:4] for each in rows] == [['0.8', '100', '25.0']] * 3
    assert [each[-1] == 'time_offset' for each in rows] == [False, True, False]
    assert '3 bags of 2.4 min' in captured.out
    assert not command('inspect', *[tmp_path / 'none'] * 4, status=2).out


def test_numbers_are_aligned_to_the_right_and_words_to_the_left(capsys):
    print_table('errors', ['horizon', 'rmse', 'a'], [['0', '0.25', 'b'], ['10', '1.5', 'cc']])
    assert '        0  0.25  b\n       10   1.5  cc\n' in capsys.readouterr().out


@pytest.mark.parametrize(
    ('words', 'status'),
    [
        ('train {bag} -o {new}', 2), ('evaluate {model} {bag}', 2), ('laps {model} {bag}', 2),
        ('evaluate --fleet {model} {bag}', 2), ('learn {bag}', 2), ('compare {bag}', 2),
        ('replay {model} {bag} -o {new} --position-topic /pose', 2), ('inspect {bag}', 0),
        ('train {bag} {again} -o {new} --most-minutes 0.1', 2),
    ],
)  # fmt: skip
def test_commands_with_positions_name_units(words, status, drive, model_file, tmp_path, command):
    """Not in the middle of the work, nor in a model or scores of no meaning."""
    recording = drive()
    places = replace(recording.positions, positions=1e3 * recording.positions.positions)
    scaled = replace(recording, positions=places)
    names = {each: ellipse.write_bag(tmp_path / each, scaled) for each in ('bag', 'again')}
    names |= {'model': model_file, 'new': tmp_path / 'new.npz'}
    said = command(*words.format(**names).split(), status=status)
    assert 'have their publisher convert to metres' in ' '.join((said.out + said.err).split())
