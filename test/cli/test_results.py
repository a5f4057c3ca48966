# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What commands that simulate, convert or run a model write, and what they tell people."""

from dataclasses import replace
import json
import re

from logger_files import drive, DRIVER, racechrono
import numpy as np
import pytest

from two_manifold_ros import demo
from two_manifold_ros.errors import InputError
from two_manifold_ros.model.model_file import load_model, save_model
from two_manifold_ros.model.vehicle import load_vehicle
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.recordings import reading
from two_manifold_ros.recordings.bag import Bag
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
        ('export {model} {bag} -o {new}.csv', ('ticks, ', 'published, written to {new}.csv')),
    ],
)
def test_people_are_told_and_what_is_written_is_kept(
    line, words, slot_car_bag, model_file, tmp_path, command
):
    given = {'bag': slot_car_bag, 'model': model_file, 'new': tmp_path / 'new'}
    given['log'] = racechrono(tmp_path / 'session.csv', drive(20.0))
    asked = line.format(**given).split()
    said = command.words(*asked)
    assert all(each.format(**given) in said for each in words)
    if 'new} ' in f'{line} ':
        before = {path: path.read_bytes() for path in (tmp_path / 'new').iterdir()}
        assert 'exists already' in command.refused(*asked)
        assert {path: path.read_bytes() for path in (tmp_path / 'new').iterdir()} == before


def test_a_simulated_bag_is_the_drive_of_the_options(tmp_path, command):
    options = '--laps 1 --seed 3 --rate 60 --noise 0.5 --speed-wander 2 --driver timid'
    summary = command.json('simulate', '-o', tmp_path / 'bag', *options.split())
    expected = simulate(SlotCarSettings(3, 60.0, 0.5, 2.0, 'timid'), laps=1)
    recording = read_recording(str(tmp_path / 'bag'))
    np.testing.assert_array_equal(recording.imu.samples, expected.imu)
    assert summary['seconds'] == np.ptp(expected.stamps_ns) / 1e9
    assert summary['metres'] == np.ptp(expected.distances)
    counts = [(each['topic'], each['messages'], each['rate_hz']) for each in summary['topics']]
    assert counts == [
        ('/imu', len(recording.imu.stamps), 60.0),
        ('/reference', len(recording.positions.stamps), 30.0),
    ]


def test_names_of_people_are_left_out_and_columns_are_an_option(tmp_path, command):
    session = racechrono(tmp_path / 'session.csv', drive(20.0))
    content = command.json('import', session, '-o', tmp_path / 'bag')
    with Bag(tmp_path / 'bag') as bag:
        raw = b''.join(raw for _, _, raw in bag.messages(bag.topics))
    assert DRIVER.encode() not in raw
    assert DRIVER not in json.dumps(content)
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


def test_a_replayed_bag_holds_what_the_json_counts(
    slot_car_bag, model_file, tmp_path, command, monkeypatch
):
    samples = len(read_recording(str(slot_car_bag)).imu.stamps)
    # Positions are not read.
    monkeypatch.setattr(reading, 'position_decoder', None)
    content = command.json('replay', model_file, slot_car_bag, '-o', tmp_path / 'bag')
    assert content['messages']['position'] == samples - 1 - 19
    with highlevel.AnyReader([tmp_path / 'bag']) as reader:
        counts = {each.topic.strip('/'): each.msgcount for each in reader.connections}
        durable = {
            each.topic: [qos.durability.name for qos in each.ext.offered_qos_profiles]
            for each in reader.connections
        }
    assert counts == content['messages']
    assert durable['/markers'] == ['TRANSIENT_LOCAL']
    assert 'TRANSIENT_LOCAL' not in durable['/position']


def test_export_writes_the_ticks_of_a_bag_unless_the_model_knows_laps_alone(
    slot_car_bag, model_file, tmp_path, command
):
    content = command.json('export', model_file, slot_car_bag, '-o', tmp_path / 'a.csv')
    lines = (tmp_path / 'a.csv').read_text().splitlines()
    assert content['written'] == content['ticks'] == len(lines) - 1
    assert 0 < content['published'] < content['ticks']
    save_model(replace(load_model(model_file), frame_id=LAP_FRAME), tmp_path / 'laps.npz')
    asked = ('export', tmp_path / 'laps.npz', slot_car_bag, '-o', tmp_path / 'b.csv')
    assert 'two-manifold laps' in command.refused(*asked)
    assert not (tmp_path / 'b.csv').exists()


def test_a_vehicle_is_measured_and_evaluated(command, model_file, tmp_path):
    """Its gyroscope is scaled, and its accelerometer is biased."""
    bag, found = tmp_path / 'bag', tmp_path / 'vehicle.json'
    run = simulate(SlotCarSettings(seed=2, rate_hz=10.0), laps=12)
    imu = run.imu * [1.0, 1.0, 1.0, 1.0, 1.0, 1.12] + [0.0, 0.6, 0.0, 0.0, 0.0, 0.0]
    write_run(replace(run, imu=imu), bag)
    said = command.json('vehicle', model_file, bag, '-o', found)
    written = load_vehicle(str(found))
    assert said['counted'] > 0.5 * said['ticks']
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
    for name in ('linear_acceleration.z', 'angular_velocity.x', 'angular_velocity.y'):
        assert f'scale error of {name} not measured - ' in words
        assert re.search(rf'bias of {name}, \S+ not measured -', words)
    assert not re.search(r'angular_velocity.z(, \S+)? not measured', words)


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
