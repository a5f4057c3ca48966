# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One model takes over from another between two messages."""

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
import re
from threading import Event
from typing import Any

import numpy as np
from other_models import small_tpsr, tolerant
import pytest
from raw_imu import raw_drive, raw_imu

from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.successor import Successor, WINDOWS_FED
from two_manifold_ros.interface import session
from two_manifold_ros.model.model import Model
from two_manifold_ros.model.model_file import load_model, save_model
from two_manifold_ros.recordings.recording import GeodeticOrigin
from two_manifold_ros.simulation.slot_car_run import run_to_recording, SlotCarRun

PERIOD_NS, IMU_PERIOD_NS = 100_000_000, 20_000_000
HORIZONS = (0, 5, 10, 20)


class Bench:
    """A session with a swap, driven message by message as the node does."""

    def __init__(self, drive: SlotCarRun, path: Path, kept: int = 1000) -> None:
        self.session = session.Session(load_model(path), kept=kept)
        self.said: list[str] = []
        self.swap = session.ModelSwap(
            self.session, str(path), session.file_version(str(path)), Filter
        )
        self.published = []
        self.late_ns: list[int] = []
        self._messages = zip(drive.stamps_ns.tolist(), raw_drive(drive), strict=True)

    def go(self, messages: int) -> None:
        for stamp_ns, raw in islice(self._messages, messages):
            estimates = self.session.take(raw) or []
            self.published += estimates
            self.late_ns += [stamp_ns - each.stamp_ns for each in estimates]
            self.said += filter(None, [self.swap.advance(idle=False)])

    def load(self, path: Path, before: int = 0) -> Successor:
        """Load a model while no message comes after so many."""
        self.go(before)
        assert self.swap.start(str(path)) == ''
        successor = self.session.successor
        assert successor is not None
        successor._thread.join()
        return successor

    def gaps(self) -> np.ndarray:
        return np.diff([each.stamp_ns for each in self.published]) / PERIOD_NS

    def assert_failed(self, words: str) -> None:
        """The other model is not waited for, and nobody noticed."""
        assert self.swap.state == 'failed'
        assert re.search(words, self.swap.trouble)
        assert (self.swap.swaps, self.session.successor) == (0, None)
        assert self.gaps().max() == 1.0


@pytest.fixture(scope='module')
def other(drive: SlotCarRun) -> Model:
    """Return a model of another kind with one horizon more, of the same drive."""
    return tolerant(small_tpsr(run_to_recording(drive), HORIZONS))


@pytest.fixture(scope='module')
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Model], Path]:
    folder = tmp_path_factory.mktemp('models')

    def save(model: Model) -> Path:
        save_model(model, path := folder / f'{len(list(folder.iterdir()))}.npz')
        return path

    return save


@pytest.fixture(scope='module')
def other_path(other: Model, saved: Callable[[Model], Path]) -> Path:
    return saved(other)


@pytest.fixture(scope='module')
def slower_path(drive: SlotCarRun, saved: Callable[[Model], Path]) -> Path:
    return saved(tolerant(small_tpsr(run_to_recording(drive), HORIZONS, 5.0, 30)))


@pytest.fixture
def bench(drive: SlotCarRun, model_path: Path) -> Bench:
    return Bench(drive, model_path)


def test_the_other_model_takes_over_without_a_gap_and_the_one_before_again(
    bench, other, model_path, other_path, drive
):
    bench.load(other_path, before=400)
    before = bench.session.counts()
    bench.go(100)
    kinds = [len(each.positions) for each in bench.published]
    assert kinds == sorted(kinds)
    assert abs(kinds.count(4) - 20) <= 1
    assert 0.0 < bench.gaps().min() <= bench.gaps().max() < 2.0
    # Each comes with the sample that ends its tick, and with none after that.
    assert 0 <= min(bench.late_ns) <= max(bench.late_ns) < IMU_PERIOD_NS
    assert (bench.swap.path, bench.swap.swaps, bench.swap.state) == (str(other_path), 1, 'none')
    assert type(bench.session.model) is type(other)
    counts = bench.session.counts()
    assert counts['received'] == counts['used'] == before['received'] + 100
    assert abs(counts['ticks'] - before['ticks'] - 20) <= 1
    assert counts['resets'] == before['resets']
    # The same as if it had run since the windows that it was fed with.
    alone = Filter(other)
    first = 400 - WINDOWS_FED * 20 * 5 - 1
    samples = zip(drive.stamps_ns[first:500].tolist(), drive.imu[first:500], strict=True)
    wanted = [each for stamp, sample in samples for each in alone.push(stamp, sample)]
    assert wanted[-1].stamp_ns == bench.published[-1].stamp_ns
    np.testing.assert_array_equal(wanted[-1].state, bench.published[-1].state)
    bench.load(model_path)
    bench.go(100)
    assert (bench.swap.path, bench.swap.swaps) == (str(model_path), 2)
    assert [len(each.positions) for each in bench.published[-15:]] == [3] * 15
    assert bench.gaps().max() < 2.0
    assert bench.said[-1] == f'Model {model_path} runs in place of {other_path}'


def test_what_comes_while_it_loads_is_not_missed(bench, other_path, monkeypatch):
    loading = Event()
    monkeypatch.setattr(
        session, 'load_model', lambda path: loading.wait(10.0) and load_model(path)
    )
    bench.go(400)
    bench.swap.start(str(other_path))
    bench.go(20)
    assert bench.swap.state == 'loading'
    assert 'swap in progress' in bench.swap.start(str(other_path))
    bench.go(30)
    loading.set()
    bench.session.successor._thread.join()
    bench.go(50)
    assert bench.swap.swaps == 1
    assert len(bench.published[-1].positions) == 4
    assert bench.gaps().max() < 2.0


def test_a_file_that_is_no_model_changes_nothing(bench, tmp_path):
    assert bench.swap.start('') == (
        'No next model is given: set the parameter next_model to the path of one.'
    )
    assert bench.swap.state == 'none'
    broken = tmp_path / 'broken.npz'
    broken.write_bytes(b'no model')
    for path in (broken, f'{tmp_path}/none.npz', 'null\0byte'):
        bench.load(path, before=100)
        bench.go(20)
        bench.assert_failed(f'^{path}: ')
        assert bench.said[-1] == bench.swap.trouble


def test_the_file_that_runs_already_is_refused_until_it_is_changed(
    bench, model_path, other, tmp_path
):
    path, link = tmp_path / 'new.npz', tmp_path / 'link.npz'
    assert 'this model runs already' in bench.swap.start(str(model_path))
    assert bench.swap.state == 'none'
    save_model(other, path)
    link.symlink_to(path)
    bench.load(path)
    bench.go(1)
    for same in (path, link):
        assert bench.swap.start(str(same)).startswith(f'{same}: this model runs already')
    save_model(other, path)
    bench.load(path)


def divide_by_zero(*_: object) -> Any:  # noqa: ANN401
    raise ZeroDivisionError


@pytest.mark.parametrize('running', [False, True])
def test_a_bug_is_reported_with_its_traceback_and_does_not_stop_the_one_in_use(
    running, bench, slower_path, monkeypatch
):
    if not running:
        monkeypatch.setattr(session, 'load_model', divide_by_zero)
    successor = bench.load(slower_path, before=150)
    if running:
        monkeypatch.setattr(successor.filter, 'push', divide_by_zero)
    bench.go(50)
    bench.assert_failed('^ZeroDivisionError, please report it')
    assert '\n' not in bench.swap.trouble
    assert 'Traceback' in bench.said[-1]


@pytest.mark.parametrize(
    ('part', 'changes', 'state'),
    [
        ('novelty', {'own': -20.0, 'other': -19.0}, 'lost: the input is unlike'),
        ('channels', {'limit': np.full(6, 1e-9)}, r'samples rejected: out_of_range \(\d+\)'),
    ],
)
def test_a_model_that_is_silent_is_not_taken_from_one_that_tracks(
    part, changes, state, bench, other, saved
):
    path = saved(replace(other, **{part: replace(getattr(other, part), **changes)}))
    bench.load(path, before=300)
    bench.go(5 * 39)
    assert bench.swap.state == 'waiting'
    bench.go(15)
    bench.assert_failed(f'is tracking its state is: {state}')
    # Without one that tracks there is nothing to lose.
    bench.session.reset('a test')
    bench.load(path)
    bench.go(1)
    assert bench.swap.swaps == 1


def test_a_reset_reaches_the_one_that_is_made_ready(bench, other_path):
    bench.go(300)
    bench.swap.start(str(other_path))
    bench.session.reset('a test')
    bench.session.successor._thread.join()
    bench.go(1)
    # Neither of the two tracks.
    assert (bench.swap.swaps, bench.session.latest) == (1, None)
    count = len(bench.published)
    bench.go(98)
    assert len(bench.published) == count
    bench.go(20)
    assert len(bench.published) > count


def test_it_waits_until_the_other_one_has_seen_a_window_or_nothing_comes(
    bench, drive, model_path, slower_path
):
    bench.load(slower_path, before=150)
    bench.go(100)
    assert bench.swap.state == 'waiting'
    bench.go(70)
    assert bench.swap.swaps == 1
    # Two ticks of the slower one are four of the other.
    assert bench.gaps().max() < 4.0
    assert len(bench.published[-1].positions) == 4
    few = Bench(drive, model_path, kept=50)
    few.go(120)
    kept = few.session.newest_samples()
    assert [stamp for stamp, _ in kept] == drive.stamps_ns[70:120].tolist()
    few.session.take(raw_imu(0, np.full(6, np.nan)))
    assert len(few.session.newest_samples()) == 50
    few.session.reset('a test')
    assert few.session.newest_samples() == []
    few.load(slower_path, before=10)
    few.swap.advance(idle=True)
    assert few.swap.swaps == 1


def test_what_would_change_the_meaning_of_the_numbers_is_refused(other, model_path):
    present = load_model(model_path)
    session.check_successor(other, present, 'm')
    session.check_successor(replace(other, frame_id='', imu_frame_id=''), present, 'm')
    names = tuple(f'pixel.{number}' for number in range(6))
    camera = replace(other, channels=replace(other.channels, names=names))
    laps, knows = {'frame_id': 'lap'}, 'only one of it and the model in use knows'
    for changed, of_present, words in (
        ({'frame_id': 'odom'}, {}, "in the frame 'odom', but the model in use has"),
        ({'imu_frame_id': 'upside_down'}, {}, "its IMU was in the frame 'upside_down'"),
        ({'origin': GeodeticOrigin(49.0, 8.0, 100.0)}, {}, 'another geodetic origin'),
        (laps, {'frame_id': ''}, knows),
        ({'frame_id': ''}, laps, knows),
        ({'channels': camera.channels}, {}, 'subscribes to an IMU'),
    ):
        with pytest.raises(InputError, match=f'^m: .*{words}'):
            session.check_successor(replace(other, **changed), replace(present, **of_present), 'm')
    with pytest.raises(InputError, match=r'm: the model takes pixel\.0 and similar channels'):
        session.check_input(camera, 'm')


def test_an_estimate_of_what_it_was_made_with_is_not_about_the_present(drive, other):
    live = Filter(other)
    samples = list(zip(drive.stamps_ns.tolist()[:440], drive.imu, strict=False))
    for each in samples[:400]:
        live.push(*each)
    assert live.latest is not None
    successor = Successor(lambda: live, at_once=True)
    assert (successor.latest, successor.tracks) == (None, False)
    for each in samples[400:]:
        successor.take(*each)
    assert successor.tracks
