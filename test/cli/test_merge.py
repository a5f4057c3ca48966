# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold merge`: one model of what several robots keep of one route."""

import numpy as np
import pytest
from raw_imu import raw_imu

from two_manifold_ros.adapting.checkpoints import Checkpoints, drives_in
from two_manifold_ros.adapting.stream_learner import StreamLearner
from two_manifold_ros.adapting.stream_memory import make_head
from two_manifold_ros.adapting.updater_session import UpdaterSession
from two_manifold_ros.cli.fleet import drives_of
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.interface.parameters import UpdaterParameters
from two_manifold_ros.model.container import read_container, write_container
from two_manifold_ros.model.model_file import load_model, save_model
from two_manifold_ros.recordings.decoding import ImuDecoder
from two_manifold_ros.recordings.reading import ReadingOptions
from two_manifold_ros.recordings.recording import GeodeticOrigin
from two_manifold_ros.recordings.satellite_fixes import in_plane, latitude_longitude
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

pytest.importorskip('rosbags')
pytest.importorskip('rich')

HORIZONS = (0, 5, 10)


@pytest.fixture(scope='module')
def robots(tmp_path_factory):
    """Return checkpoints of two robots that saw one half of the track each."""
    files = []
    for number in range(2):
        run = simulate(SlotCarSettings(seed=50 + number, rate_hz=20.0), laps=8)
        folder = tmp_path_factory.mktemp(f'robot{number}')
        head = make_head(HORIZONS)
        settings = TrainingSettings(rate_hz=10.0, window=20, horizons=HORIZONS)
        session = UpdaterSession(StreamLearner(head, settings, at_once=True), ImuDecoder())
        rows = zip(run.stamps_ns.tolist(), run.imu, run.positions.tolist(), strict=True)
        for index, (stamp, sample, (x, y, _)) in enumerate(rows):
            session.take(raw_imu(stamp, sample))
            if index % 2 == 0 and (x > 0.0) == (number == 1):
                session.take_position(stamp, 'map', x, y)
        chosen = UpdaterParameters(
            learner='map', horizons=list(HORIZONS), checkpoint_folder=str(folder)
        )
        Checkpoints(chosen, session).end()
        files.append(next(folder.glob('*.npz')))
    return files


def test_a_merged_model_knows_what_each_robot_saw_in_part(robots, command, tmp_path):
    merged = tmp_path / 'merged.npz'
    said = command.words('merge', *robots, '-o', merged)
    assert str(robots[0]) in said.replace(' ', '') or robots[0].name in said
    drive = run_to_recording(simulate(SlotCarSettings(seed=70, rate_hz=20.0), laps=4))
    alone = [train_model(drives_in(each), TrainingSettings()) for each in robots]
    errors = [
        evaluate(model, [drive]).scores[0].model.all.rmse_m
        for model in (load_model(merged), *alone)
    ]
    assert errors[0] < 0.3 * min(errors[1:])


def test_what_holds_no_drives_is_refused(robots, command, slot_car_model, tmp_path):
    model, out = tmp_path / 'model.npz', tmp_path / 'merged.npz'
    save_model(slot_car_model, model)
    assert 'checkpoint_folder' in command.refused('merge', robots[0], model, '-o', out)
    damaged = tmp_path / 'damaged.npz'
    header, arrays = read_container(robots[0])
    write_container(damaged, header, arrays | {'stamps': arrays['stamps'][1:]}, 'checkpoint')
    with pytest.raises(InputError, match='do not fit together'):
        drives_in(damaged)
    # Of images, or with commands, as an older version made them.
    wider = np.column_stack([arrays['samples'], arrays['samples'][:, :1]])
    write_container(damaged, header, arrays | {'samples': wider}, 'checkpoint')
    with pytest.raises(InputError, match=r'keeps 7 numbers for each sample, .*IMU alone, or bags'):
        drives_in(damaged)
    assert not out.exists()


def test_drives_of_several_origins_are_put_into_one_plane(robots, tmp_path):
    header, arrays = read_container(robots[1])
    origins = [GeodeticOrigin(50.0, 8.0, 100.0), GeodeticOrigin(50.01, 8.02, 90.0)]
    paths = []
    for number, origin in enumerate(origins):
        header['numbers']['stream']['origin'] = vars(origin)
        paths.append(str(tmp_path / f'{number}.npz'))
        write_container(paths[-1], header, arrays, 'checkpoint')
    of, drives = drives_of(paths, ReadingOptions())
    assert of == paths
    one, other = (each.positions for each in drives)
    assert one.origin == other.origin == origins[0]
    before = drives_in(paths[1])[0].positions
    np.testing.assert_allclose(
        latitude_longitude(other.positions, origins[0]),
        latitude_longitude(before.positions, origins[1]),
        atol=1e-9,
    )
    assert in_plane(one, origins[0]) is one
