# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Better models are handed to a filter node, whatever becomes of it and of its files."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
import shutil
from types import SimpleNamespace
from typing import Any

import numpy as np
from other_models import displaced, tolerant
import pytest

from two_manifold_ros.adapting.checkpoints import numbered, NumberedFiles
from two_manifold_ros.adapting.handover import AWAY_S, HandOver, PATIENCE_S
from two_manifold_ros.adapting.prequential import BLOCKS_PER_LAP
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.model.model import Model
from two_manifold_ros.model.model_file import save_model

BETTER, WORSE = np.array([0.4, 0.1, 1.0]), np.array([0.1, 0.4, 1.0])
"""Errors of incumbent and candidate, and of the mean position."""


class Bench:
    """A hand-over, second by second, to a node that does what it is asked, if the test lets it."""

    def __init__(self, path: Path, folder: Path, learned: Model | None) -> None:
        # What the filter node says of itself besides the model that runs.
        self.state_there: dict[str, str] = {}
        self.path, self.swaps = str(path), 0
        self.asked: list[str] = []
        self.files = NumberedFiles(folder, 'robot.model', 'model')
        places: dict[int, tuple[float, float]] = {}
        self.learned = learned
        self.learner: Any = SimpleNamespace(
            make_filter=Filter, models=1, places=places, model=lambda: self.learned,
            reference=SimpleNamespace(known_until_ns=0, position_at=places.get),
        )  # fmt: skip
        # What is logged, and whether it is a warning.
        self.said: list[tuple[str, bool]] = []
        self.now_s = 100.0
        self.handover = HandOver(
            self.ask, self.files, self.learner, lambda *each: self.said.append(each)
        )

    def ask(self, path: str) -> None:
        self.asked.append(path)
        if not self.state_there:
            self.run(path)

    def run(self, path: str) -> None:
        self.path, self.swaps = path, self.swaps + 1

    def seconds(self, count: int, *, heard: bool = True) -> None:
        for _ in range(count):
            self.now_s += 1.0
            if heard:
                there = {'model': self.path, 'swaps': str(self.swaps), **self.state_there}
                self.handover.hear(there, self.now_s)
            self.handover.look(self.now_s)
            if (job := self.handover._job) is not None:
                job.exception()

    def blocks(self, errors: np.ndarray, seconds: int = 4) -> None:
        """Let a lap end with such errors, and then some seconds pass."""
        contest = self.handover.contest
        assert contest is not None
        for index in range(BLOCKS_PER_LAP):
            contest.count(*(errors * (1.0 + 0.01 * index)).tolist())
        self.seconds(seconds)

    def train(self) -> None:
        """Let the learner run the model of another training."""
        self.learner.models += 1
        self.seconds(1)

    @property
    def state(self) -> object:
        return self.handover.values()['promotion']

    @property
    def warned(self) -> list[str]:
        return [text for text, is_warning in self.said if is_warning]


@pytest.fixture
def good(tpsr_model: Model) -> Model:
    return tolerant(tpsr_model)


@pytest.fixture
def old(good: Model, tmp_path: Path) -> Path:
    """Return the file of a model that is wrong by more than a metre."""
    save_model(displaced(good, 1.5), tmp_path.with_suffix('.npz'))
    return tmp_path.with_suffix('.npz')


@pytest.fixture
def bench(old: Path, good: Model, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(old, tmp_path, good)
    bench.seconds(3)
    assert bench.state == 'comparing'
    yield bench
    bench.handover.close()


def test_what_is_measured_to_be_better_is_handed_over(bench, good, old, slot_car_laps, tmp_path):
    imu, positions = slot_car_laps[1].imu, slot_car_laps[1].positions
    live, learner = Filter(good), bench.learner
    for stamp, sample, position in zip(
        imu.stamps.tolist(), imu.samples, positions.positions.tolist(), strict=True
    ):
        learner.reference.known_until_ns, learner.places[stamp] = stamp, position
        bench.handover.take(stamp, sample, live.push(stamp, sample))
    values = bench.handover.values()
    assert values['incumbent_error_m'] > 1.0 > values['candidate_error_m']
    bench.seconds(4)
    assert bench.handover.values()['incumbent'] == bench.path
    assert bench.path == str(tmp_path / 'robot.model.000001.npz')
    assert bench.handover.counters == {'hand_overs': 1, 'contests_lost': 0}
    ((text, _),) = bench.said
    assert text.startswith('Verdict: hand over, because the new model errs by')
    # Whoever wants it back finds its file in the log.
    assert str(old) in text
    # The same training gives no other candidate, whatever is learned on.
    bench.seconds(5)
    assert (bench.state, bench.swaps) == ('no candidate yet', 1)
    bench.train()
    assert bench.state == 'comparing'


def test_a_contest_that_is_lost_is_said_once_and_ends_until_the_next_training(bench, old):
    for lost in (1, 2):
        bench.blocks(WORSE, seconds=20)
        assert bench.handover.counters == {'hand_overs': 0, 'contests_lost': lost}
        assert bench.state == 'no candidate yet'
        bench.train()
        assert bench.handover.values()['blocks'] == 0
    assert len(bench.said) == 2
    assert all(text.startswith(f'Verdict: {old} stays, because') for text, _ in bench.said)
    # A training goes on with the contest, and its model runs for a lap before it is handed over.
    bench.blocks(BETTER, seconds=0)
    bench.train()
    bench.seconds(3)
    assert (bench.path, bench.handover.values()['blocks']) == (str(old), BLOCKS_PER_LAP)
    bench.blocks(BETTER)
    assert bench.handover.counters['hand_overs'] == 1


@pytest.mark.parametrize('is_there', [False, True])
def test_a_model_that_cannot_be_read_here_makes_no_contest_but_one_sentence(
    old, good, tmp_path, is_there
):
    path = tmp_path / 'running.npz'
    if is_there:
        path.write_bytes(b'no model')
    bench = Bench(path, tmp_path, good)
    bench.seconds(5)
    assert bench.handover.trouble.startswith(f'{path}: ')
    assert bench.warned == [f'Nothing is handed over: {bench.handover.trouble}']
    assert bench.state == 'no contest'
    bench.handover.take(1, [0.0] * 6, [])
    bench.path = str(old)
    bench.seconds(3)
    assert (bench.handover.trouble, bench.state) == ('', 'comparing')


def test_nothing_is_put_up_before_something_was_learned_nor_in_another_frame(old, good, tmp_path):
    bench = Bench(old, tmp_path, None)
    bench.seconds(5)
    assert bench.state == 'no candidate yet'
    for bench.learned, state in ((good, 'comparing'), (None, 'no candidate yet')):
        bench.seconds(1)
        assert bench.state == state
    other = Bench(old, tmp_path / 'other', replace(good, frame_id='elsewhere'))
    other.seconds(10)
    assert "its positions are in the frame 'elsewhere'" in other.handover.trouble
    assert other.state == 'no contest'


@pytest.mark.parametrize(
    ('state', 'words'),
    [
        ({'swap': 'failed', 'swap_trouble': 'of another track'}, 'of another track'),
        ({'swap': 'none'}, 'robot.model.000001.npz does not run'),
    ],
)
def test_a_refusal_is_reported_and_the_model_tries_again_after_a_lap(bench, old, state, words):
    bench.state_there = state
    bench.blocks(BETTER, seconds=round(PATIENCE_S) + 6)
    trouble = str(bench.handover.values()['promotion_trouble'])
    assert words in trouble
    assert bench.warned == [f'Nothing is handed over: {trouble}']
    assert len(bench.asked) == 1
    bench.state_there = {}
    bench.blocks(BETTER)
    assert 'promotion_trouble' not in bench.handover.values()
    assert bench.path not in {str(old), bench.asked[0]}


def test_a_folder_that_is_gone_is_tried_again_and_the_file_that_runs_outlives_the_refused(
    bench, tmp_path
):
    shutil.rmtree(tmp_path)
    bench.blocks(BETTER)
    assert 'cannot be written' in bench.handover.trouble
    assert bench.swaps == 0
    tmp_path.mkdir()
    bench.blocks(BETTER)
    assert (bench.swaps, bench.handover.trouble) == (1, '')
    bench.seconds(2)
    bench.state_there = {'swap': 'none'}
    for _ in range(4):
        bench.train()
        bench.blocks(BETTER, seconds=round(PATIENCE_S) + 6)
    assert [*numbered(tmp_path, 'robot.model')] == [1, 3, 4, 5]
    assert bench.path.endswith('000001.npz')


def test_a_bug_is_reported_and_not_repeated_at_once(bench, monkeypatch):
    written = []

    def write(*_: object) -> None:
        written.append(1)
        raise RuntimeError(str(len(written)))

    monkeypatch.setattr(bench.files, 'write', write)
    with pytest.raises(RuntimeError):
        bench.blocks(BETTER)
    bench.seconds(5)
    assert bench.warned == ['Nothing is handed over: RuntimeError, please report it: 1']
    assert bench.state == 'no candidate yet'


@pytest.mark.parametrize('is_asked', [False, True])
def test_another_client_chooses_a_model_or_the_filter_node_is_away(bench, old, tmp_path, is_asked):
    other = tmp_path / 'other.npz'
    shutil.copy(old, other)
    if is_asked:
        # Loading may take long.
        bench.state_there = {'swap': 'loading'}
        bench.blocks(BETTER, seconds=100)
        assert (bench.state, bench.warned) == ('handing over', [])
    bench.run(str(other))
    bench.state_there = {}
    bench.seconds(3)
    values = bench.handover.values()
    assert (values['incumbent'], values['blocks'], values['hand_overs']) == (str(other), 0, 0)
    # One that is away has no contest.
    if is_asked:
        bench.state_there = {'swap': 'loading'}
        bench.blocks(BETTER)
    bench.seconds(int(AWAY_S) - 1, heard=False)
    assert bench.state == ('handing over' if is_asked else 'comparing')
    bench.seconds(2, heard=False)
    assert 'diagnostics are not received' in bench.state
    assert 'blocks' not in bench.handover.values()
    bench.seconds(3)
    assert bench.state == 'comparing'
