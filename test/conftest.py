# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings and models that several tests read, and which tests stay in one process."""

from collections.abc import Callable
from dataclasses import replace
import fcntl
import os
from pathlib import Path
import pickle
import sys
from typing import TypeVar

from two_manifold_ros.model.model import (
    Model,
    RouteModel,
    SensedRouteModel,
    TpsrModel,
    TrainedModel,
)
from two_manifold_ros.processes import one_blas_thread

# As in every program of the package, and before anything imports NumPy.
one_blas_thread()

# As in ./run: all sources would be compiled again by every process that a test starts, and all
# tests by every run.
sys.dont_write_bytecode = False
os.environ.pop('PYTHONDONTWRITEBYTECODE', None)

import browsing
import ellipse
import hypothesis
import numpy as np
from other_models import small_tpsr
import pytest
from worlds.drive import drive as drive_world
from worlds.network import Network, rounds, tracks, travel
from worlds.table import world_named

from two_manifold_ros.model.model import atlas_of, AtlasModel
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

# The same examples every time, and no deadline: the first example compiles loops.
hypothesis.settings.register_profile('repeatable', derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile('repeatable')

browse, browser = browsing.browse, browsing.browser

TOGETHER = ('test/adapting/', 'test/faults/', 'test/promises/', 'test/real/')
"""Folders that one process takes as a whole: what their files share is expensive."""

SLOW_FIXTURES = {
    'browser', 'copied_checkout', 'fast_kart_atlas', 'machine', 'played',
    'recordings_folder', 's3_server', 'site', 'slow_node', 'start', 'stream_outcomes',
    'yard_model',
}  # fmt: skip
"""A test with one of these waits for another process or for real time, or trains for long."""

SLOW_FILES = (
    'test/adapting/test_worker.py', 'test/benchmarks/', 'test/cli/test_workers.py',
    'test/comparison/test_comparing.py', 'test/comparison/test_rivals.py', 'test/experiments/',
    'test/promises/test_played_bag.py', 'test/packaging/test_installs.py',
    'test/packaging/test_run_script.py',
    'test/test_compilation.py', 'test/test_fleet.py', 'test/test_processes.py',
)  # fmt: skip
"""Files that start processes, or whose subject neither a robot nor a training runs."""

Made = TypeVar('Made')
Once = Callable[[str, Callable[[], Made]], Made]

FIRST = ('test/filtering/test_atlas.py', 'test/test_compilation.py', 'test/benchmarks/')
"""What has to start early, or it would be left over at the end, when no other process has work."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what is slow, and give each of several processes a file at a time."""
    for item in items:
        wanted = SLOW_FIXTURES.intersection(getattr(item, 'fixturenames', ()))
        if wanted or item.nodeid.startswith(SLOW_FILES):
            item.add_marker(pytest.mark.slow)
    if hasattr(config, 'workerinput'):
        items.sort(key=lambda item: not item.nodeid.startswith(FIRST))
        for item in items:
            whole = (folder for folder in TOGETHER if item.nodeid.startswith(folder))
            item.add_marker(pytest.mark.xdist_group(next(whole, item.nodeid.split('::')[0])))


@pytest.fixture(scope='session')
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Return a function that makes something by a name, once for all processes of this run."""
    folder = tmp_path_factory.getbasetemp()
    if 'PYTEST_XDIST_WORKER' in os.environ:
        folder = folder.parent

    def made_once(name: str, make: Callable[[], Made]) -> Made:
        file = folder / f'{name}.once'
        # Whoever comes second waits for the first.
        with file.with_suffix('.lock').open('w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not file.exists():
                content = pickle.dumps(make())
                file.write_bytes(content)
        made: Made = pickle.loads(file.read_bytes())  # noqa: S301 - written above
        return made

    return made_once


@pytest.fixture(scope='session')
def recordings_folder() -> Path:
    """Return the folder of real recordings beside the checkout."""
    folder = Path(__file__).resolve().parents[2] / 'shared' / 'recordings'
    if not folder.is_dir():
        pytest.skip('real recordings are not beside the checkout')
    return folder


@pytest.fixture(scope='session')
def drive() -> Callable[..., Recording]:
    """Return a function that drives laps of an ellipse: IMU at 100 Hz, positions at 25 Hz."""
    return ellipse.drive


@pytest.fixture(scope='session')
def write_bag() -> Callable[..., Path]:
    pytest.importorskip('rosbags')
    return ellipse.write_bag


@pytest.fixture(scope='session')
def ellipse_bag(tmp_path_factory: pytest.TempPathFactory, write_bag: Callable[..., Path]) -> Path:
    """Return a bag of 48 s, six laps, with ``/imu`` and ``/pose``."""
    return write_bag(tmp_path_factory.mktemp('bags') / 'ellipse', ellipse.drive())


def laps_with(*sensors: str) -> tuple[Recording, Recording]:
    run = simulate(SlotCarSettings(seed=1, rate_hz=10.0), laps=20)
    seconds = 0.8 * float(np.ptp(run.stamps_ns)) / 1e9
    recording = run_to_recording(run, sensors)
    return recording.between(None, seconds), recording.between(seconds, None)


@pytest.fixture(scope='session')
def slot_car_laps() -> tuple[Recording, Recording]:
    """Return laps of the slot car at 10 Hz: 16 to train on, and the next 4 to test on."""
    return laps_with()


@pytest.fixture(scope='session')
def slot_car_model(slot_car_laps: tuple[Recording, Recording]) -> RouteModel:
    """Return a model of the slot car: 10 Hz, windows of 20 ticks, horizons 0, 5 and 20."""
    return train_model([slot_car_laps[0]], TrainingSettings(window=20, horizons=(0, 5, 20)))


@pytest.fixture(scope='session')
def sensed_laps() -> tuple[Recording, Recording]:
    """Return the laps of `slot_car_laps` with a magnetometer and the speed of a wheel."""
    return laps_with('magnetometer', 'wheel')


@pytest.fixture(scope='session')
def sensed_model(sensed_laps: tuple[Recording, Recording]) -> SensedRouteModel:
    model = train_model([sensed_laps[0]], TrainingSettings(window=20, horizons=(0, 5, 20)))
    assert isinstance(model, SensedRouteModel)
    return model


@pytest.fixture(scope='session')
def kart_drives() -> dict[str, tuple[Recording, Recording]]:
    """Return drives of one kart on three tracks, each in a frame of its own: two days of each."""
    drives = {}
    for name, number in (('hall', 2), ('paddock', 4), ('ring', 8)):
        both = []
        for day, laps in ((0, 6), (1, 2)):
            seed = number + 50 * day
            recording = drive_world(tracks()[number], day=day, laps=laps, seed=seed).recording
            assert recording.positions is not None
            positions = replace(recording.positions, frame_id=name)
            both.append(replace(recording, name=f'{name}_{day}', positions=positions))
        drives[name] = both[0], both[1]
    return drives


def atlas_at(rate_hz: float, drives: dict[str, tuple[Recording, Recording]]) -> AtlasModel:
    settings = TrainingSettings(rate_hz=rate_hz)
    return atlas_of({name: train_model([made], settings) for name, (made, _) in drives.items()})


@pytest.fixture(scope='session')
def kart_atlas(kart_drives: dict[str, tuple[Recording, Recording]], once: Once) -> AtlasModel:
    """Return a model of the three tracks, at 10 Hz."""
    return once('kart_atlas', lambda: atlas_at(10.0, kart_drives))


@pytest.fixture(scope='session')
def fast_kart_atlas(kart_drives: dict[str, tuple[Recording, Recording]], once: Once) -> AtlasModel:
    """Return the same at 20 Hz, of which a second costs four times as much."""
    return once('fast_kart_atlas', lambda: atlas_at(20.0, kart_drives))


@pytest.fixture(scope='session')
def forked_drives() -> dict[str, Recording]:
    """Return drives of a kart on two lines with a common trunk, and over both by turns."""
    trunk = (-70.0, 0.0, 12.0), (40.0, 0.0, 12.0)
    lines = {
        'left': (*trunk, (70.0, 60.0, 12.0), (0.0, 90.0, 14.0), (-110.0, 50.0, 12.0)),
        'right': (
            *trunk, (110.0, -10.0, 14.0), (60.0, -90.0, 14.0), (-60.0, -60.0, 12.0),
            (-110.0, -20.0, 12.0),
        ),
    }  # fmt: skip
    world = replace(world_named('kart'), name='fork', corners=(), stations=())
    network = Network(world, lines, (), 420.0)
    mixed = ['left', 'right', 'right', 'left']
    turns = {'left': ['left'] * 4, 'right': ['right'] * 4, 'both': mixed}
    drives = {}
    for seed, (name, names) in enumerate(turns.items()):
        made = travel(network, rounds(network, names), day=int(name == 'both'), seed=seed)
        drives[name] = replace(made.recording, name=name)
    return drives


@pytest.fixture(scope='session')
def forked_model(forked_drives: dict[str, Recording], once: Once) -> RouteModel:
    """Return a model of both lines on one map."""
    settings = TrainingSettings(rate_hz=20.0, horizons=(0, 20, 60))
    named = [replace(forked_drives[name], line=name) for name in ('left', 'right')]
    model = once('forked_model', lambda: train_model(named, settings))
    assert isinstance(model, RouteModel)
    return model


@pytest.fixture(scope='session')
def spectral_model(slot_car_laps: tuple[Recording, Recording]) -> Model:
    """Return the same, but with the spectral filter."""
    settings = TrainingSettings(window=20, horizons=(0, 5, 20), method='spectral')
    return train_model([slot_car_laps[0]], settings)


@pytest.fixture(scope='session')
def tpsr_model(slot_car_laps: tuple[Recording, Recording]) -> TpsrModel:
    """Return a TPSR of the same laps, windows and horizons."""
    return small_tpsr(slot_car_laps[0], (0, 5, 20))


@pytest.fixture(params=['slot_car_model', 'spectral_model', 'tpsr_model'])
def each_model(request: pytest.FixtureRequest) -> TrainedModel:
    return request.getfixturevalue(request.param)
