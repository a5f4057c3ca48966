# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Better models are handed to a filter node, whatever becomes of it and of its files."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
import shutil

import numpy as np
from other_models import displaced, tolerant
import pytest

from two_manifold_ros.adapting.checkpoints import NumberedFiles
from two_manifold_ros.adapting.prequential import BLOCKS_PER_LAP
from two_manifold_ros.adapting.promotion import (
    Answer,
    AWAY_S,
    Notice,
    PATIENCE_S,
    Promotion,
    SwapProtocol,
)
from two_manifold_ros.model.model import Model
from two_manifold_ros.model.model_file import save_model

OLD, NEW = 'old.npz', 'new.npz'
BEFORE = ('failed', OLD, 'before')


class Asked:
    """Remembers what was asked; the test answers."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.answers: list[Answer] = []

    def name_next(self, path: str, answer: Answer) -> None:
        self.swap(answer, f'next {path}')

    def take_back(self, answer: Answer) -> None:
        self.swap(answer, 'take back')

    def swap(self, answer: Answer, name: str = 'swap') -> None:
        self.names.append(name)
        self.answers.append(answer)

    def answer(self, why_not: str = '') -> None:
        self.answers[-1](why_not)


@pytest.fixture
def asked() -> Asked:
    return Asked()


@pytest.fixture
def protocol(asked: Asked) -> SwapProtocol:
    return SwapProtocol(asked)


def hear(
    protocol: SwapProtocol, second: float, swap: str, model: str = OLD, why: str = ''
) -> None:
    protocol.hear({'model': model, 'swap': swap, 'swap_trouble': why}, second)


def test_taking_back(protocol, asked):
    protocol.take_back(OLD, NEW, 0.0)
    assert asked.names == ['take back']
    asked.answer()
    hear(protocol, 1.0, 'none', NEW)
    assert protocol.busy
    hear(protocol, 2.0, 'none', OLD)
    assert (protocol.busy, protocol.trouble) == (False, '')


@pytest.mark.parametrize(
    ('answers', 'heard', 'busy', 'trouble'),
    [
        (['no'], [], False, 'no'),
        (['', 'no'], [], False, 'no'),
        (['', ''], [('none', NEW, '')], False, ''),
        (['', ''], [('none', 'other.npz', '')], False, 'another client chose other.npz'),
        # The first word may be about something older.
        (['', ''], [BEFORE], True, ''),
        (['', ''], [BEFORE, ('failed', OLD, 'of another track')], False, 'of another track'),
        # Before the answer it is no outcome.
        ([''], 3 * [BEFORE], True, ''),
    ],
)
def test_outcomes_of_a_swap(protocol, asked, answers, heard, busy, trouble):
    protocol.begin(NEW, OLD, 0.0)
    for answer in answers:
        asked.answer(answer)
    for second, each in enumerate(heard):
        hear(protocol, second, *each)
    assert protocol.busy == busy
    assert trouble in protocol.trouble
    assert bool(trouble) == bool(protocol.trouble)


@pytest.mark.parametrize('answers', [0, 1, 2])
def test_silence_ends_it_but_loading_may_take_long(protocol, asked, answers):
    protocol.begin(NEW, OLD, 100.0)
    for _ in range(answers):
        asked.answer()
    last = 100.0
    if answers == 2:
        for last in range(100, 200):
            hear(protocol, last, 'loading')
            protocol.look(last + 0.5)
    protocol.look(last + PATIENCE_S)
    assert protocol.busy
    protocol.look(last + 0.1 + PATIENCE_S)
    assert not protocol.busy
    assert f'{NEW} was to run, but no answer was received' in protocol.trouble


def test_an_answer_counts_once_and_not_too_late(protocol, asked):
    protocol.begin(NEW, OLD, 0.0)
    late = asked.answers[-1]
    protocol.look(PATIENCE_S + 1.0)
    protocol.begin('newer.npz', OLD, 100.0)
    late('')
    late('no')
    first = asked.answers[-1]
    first('')
    first('')
    assert asked.names == [f'next {NEW}', 'next newer.npz', 'swap']
    asked.answer()
    first('no')
    assert (protocol.busy, protocol.trouble) == (True, '')


BETTER, WORSE = np.array([0.4, 0.1, 1.0]), np.array([0.1, 0.4, 1.0])
"""Errors of incumbent and candidate, and of the mean position."""


class Far:
    """A filter node that does at once what it is asked, as far as the test lets it."""

    def __init__(self, path: Path) -> None:
        self.refusal = self.before = ''
        self.path = self.next = str(path)
        self.swaps = self.received = 0

    def name_next(self, path: str, answer: Answer) -> None:
        self.next = path
        answer('')

    def swap(self, answer: Answer) -> None:
        if not self.refusal:
            self.run(self.next)
        answer(self.refusal)

    def take_back(self, answer: Answer) -> None:
        self.next = self.before
        self.swap(answer)

    def run(self, path: str) -> None:
        self.before, self.path = self.path, path
        self.swaps += 1

    def published(self) -> dict[str, str]:
        self.received += 100
        numbers = {'swaps': self.swaps, 'received': self.received, 'ellipse_error_m': 50.0}
        return {'model': self.path, **{name: str(each) for name, each in numbers.items()}}


class Bench:
    """A promotion and a filter node, second by second."""

    def __init__(self, far: Far, folder: Path, snapshot: Model | None) -> None:
        self.far = far
        self.files = NumberedFiles(folder, 'robot.model', 'model', 3)
        self.files.lock()
        self.snapshot = snapshot
        # Each second there is a model of a newer training, or one that was learned on since.
        self.is_the_same = False
        self.training = 1
        self.learned: list[Model | None] = []
        self.candidates: set[int] = set()
        self.notices: list[Notice] = []
        self.now_s = 100.0
        self.promotion = Promotion(far, self.files, 0.9)

    def second(self, *, heard: bool = True) -> None:
        self.now_s += 1.0
        if heard:
            self.promotion.hear(self.far.published(), self.now_s)
        learned = self.snapshot
        if learned is not None:
            learned = replace(learned)
            self.training += not self.is_the_same
        try:
            self.promotion.look(self.now_s, learned, self.training)
        finally:
            self.notices += self.promotion.drain_notices()
        self.promotion.wait()
        self.learned.append(learned)
        candidate = self.promotion.candidate
        model = candidate.running if candidate else None
        # On trial the candidate is what ran before, which was read from its file.
        if model is not None and any(model is each for each in self.learned):
            self.candidates.add(id(model))

    @property
    def warned(self) -> list[str]:
        return [each.text for each in self.notices if each.is_warning]

    def seconds(self, count: int, *, heard: bool = True) -> None:
        for _ in range(count):
            self.second(heard=heard)

    def blocks(self, errors: np.ndarray, count: int = BLOCKS_PER_LAP, seconds: int = 4) -> None:
        """Let as many blocks end with such errors, and then some seconds pass."""
        for index in range(count):
            self.promotion.contest.count(*(errors * (1.0 + 0.01 * index)).tolist())
        self.seconds(seconds)

    @property
    def trouble(self) -> str:
        return self.promotion.trouble


@pytest.fixture(scope='module')
def good(tpsr_model: Model) -> Model:
    return tolerant(tpsr_model)


@pytest.fixture(scope='module')
def old(good: Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a model that is wrong by more than a metre."""
    path = tmp_path_factory.mktemp('old') / 'old.npz'
    save_model(displaced(good, 1.5), path)
    return path


@pytest.fixture
def bench(old: Path, good: Model, tmp_path: Path) -> Iterator[Bench]:
    """A bench on which two models are being compared."""
    bench = Bench(Far(old), tmp_path, good)
    bench.seconds(3)
    assert bench.promotion.state == 'comparing'
    yield bench
    bench.promotion.close()


def test_what_is_measured_to_be_better_is_handed_over(bench, slot_car_laps, tmp_path):
    # Both filter with the limits that the filter node reports.
    for each in (bench.promotion.incumbent, bench.promotion.candidate):
        assert each.limits.error_m == 50.0
    imu, positions = slot_car_laps[1].imu, slot_car_laps[1].positions
    places: dict[int, tuple[float, float]] = {}
    for stamp, sample, position in zip(
        imu.stamps.tolist(), imu.samples, positions.positions.tolist(), strict=True
    ):
        bench.promotion.take(stamp, sample)
        places[stamp] = position
        bench.promotion.settle(stamp, places.get)
    values = bench.promotion.values()
    assert values['incumbent_error_m'] > 1.0 > values['candidate_error_m']
    bench.seconds(4)
    assert bench.far.path == str(tmp_path / 'robot.model.000001.npz')
    assert bench.promotion.state == 'on trial'
    assert bench.promotion.values()['incumbent'] == bench.far.path
    assert bench.promotion.counters == {'hand_overs': 1, 'take_backs': 0, 'contests_lost': 0}
    assert bench.notices[0].text.startswith(
        f'Verdict: hand over {bench.far.path}, because it errs by'
    )


def test_what_turns_out_worse_is_taken_back_and_another_candidate_comes(bench, old):
    bench.blocks(BETTER)
    bench.blocks(BETTER)
    assert bench.far.path == str(old)
    assert bench.promotion.counters == {'hand_overs': 1, 'take_backs': 1, 'contests_lost': 0}
    assert bench.promotion.state == 'comparing'
    assert len(bench.candidates) == 2
    assert bench.trouble == ''


@pytest.mark.parametrize('is_the_same', [True, False])
def test_what_was_compared_already_is_not_compared_until_chance_lets_it_win(bench, is_the_same):
    bench.is_the_same = is_the_same
    # The first candidate was there before.
    for _ in range(2):
        bench.seconds(4)
        assert bench.promotion.state == 'comparing'
        bench.blocks(WORSE, seconds=20)
    assert bench.promotion.values()['blocks'] == (BLOCKS_PER_LAP if is_the_same else 0)
    # Each contest that was lost leaves a count and a sentence, and no more.
    texts = [each.text for each in bench.notices]
    assert bench.promotion.counters['contests_lost'] == len({*texts}) == len(texts) >= 1
    assert all('stays, because' in text and 'errs by 0.4' in text for text in texts)


def test_on_trial_no_other_candidate_comes_and_then_one_may(bench):
    bench.blocks(BETTER)
    bench.blocks(WORSE, BLOCKS_PER_LAP - 1)
    assert bench.promotion.state == 'on trial'
    assert (bench.far.swaps, len(bench.candidates)) == (1, 1)
    bench.blocks(WORSE, 1)
    assert bench.promotion.state == 'comparing'
    assert (bench.far.swaps, len(bench.candidates)) == (1, 2)


@pytest.mark.parametrize('content', [None, b'', b'no model'])
def test_a_model_that_cannot_be_read_here_makes_no_contest_but_one_sentence(
    old, good, tmp_path, content
):
    path = tmp_path / 'running.npz'
    if content is not None:
        path.write_bytes(content)
    bench = Bench(Far(path), tmp_path, good)
    bench.seconds(5)
    assert bench.trouble.startswith(f'{path}: ')
    assert bench.promotion.obstacle == bench.trouble
    assert bench.promotion.state == 'no contest'
    bench.promotion.take(1, [0.0] * 6)
    bench.promotion.settle(1, lambda _: (0.0, 0.0))
    bench.far.path = str(old)
    bench.seconds(3)
    assert (bench.trouble, bench.promotion.state) == ('', 'comparing')


def test_nothing_is_put_up_before_something_was_learned_nor_in_another_frame(old, good, tmp_path):
    bench = Bench(Far(old), tmp_path, None)
    bench.seconds(5)
    assert bench.promotion.state == 'no candidate yet'
    bench.snapshot = good
    bench.seconds(2)
    assert bench.promotion.state == 'comparing'
    other = Bench(Far(old), tmp_path / 'other', replace(good, frame_id='elsewhere'))
    other.seconds(10)
    assert "its positions are in the frame 'elsewhere'" in other.trouble
    assert other.promotion.state == 'no contest'


def test_a_refusal_is_reported_and_another_candidate_tries(bench, old):
    bench.far.refusal = 'no room'
    bench.blocks(BETTER)
    assert bench.trouble == bench.promotion.values()['promotion_trouble'] == 'no room'
    assert bench.warned == ['no room']
    assert bench.promotion.obstacle == ''
    assert len(bench.candidates) == 2
    bench.far.refusal = ''
    bench.blocks(BETTER)
    assert 'promotion_trouble' not in bench.promotion.values()
    assert bench.far.path != str(old)


def test_a_folder_that_is_gone_is_reported_and_tried_again(bench, tmp_path):
    shutil.rmtree(tmp_path)
    bench.blocks(BETTER)
    assert 'cannot be written' in bench.trouble
    assert bench.far.swaps == 0
    tmp_path.mkdir()
    bench.blocks(BETTER)
    assert bench.far.swaps == 1
    assert bench.trouble == ''


def test_the_file_that_runs_outlives_those_that_were_refused(bench, tmp_path):
    bench.blocks(BETTER)
    bench.blocks(WORSE, seconds=0)
    bench.far.refusal = 'no room'
    bench.seconds(4)
    for _ in range(3):
        bench.blocks(BETTER)
    bench.blocks(BETTER, seconds=0)
    numbers = [int(path.name.split('.')[-2]) for path in sorted(tmp_path.glob('*.npz'))]
    assert numbers == [1, 2, 3, 4]
    assert bench.far.path.endswith('000001.npz')


def test_a_bug_is_reported_and_not_repeated_at_once(bench, monkeypatch):
    written = []

    def write(*_: object) -> None:
        written.append(1)
        raise RuntimeError(str(len(written)))

    monkeypatch.setattr(bench.files, 'write', write)
    bench.blocks(BETTER, seconds=1)
    with pytest.raises(RuntimeError):
        bench.second()
    bench.seconds(5)
    assert bench.warned == ['RuntimeError, please report it: 1']
    assert len(written) == 1
    assert bench.promotion.state == 'comparing'


def test_another_client_chooses_a_model_and_a_restart(bench, old, tmp_path):
    other = tmp_path / 'other.npz'
    shutil.copy(old, other)
    bench.blocks(BETTER, 2, seconds=0)
    bench.far.run(str(other))
    bench.seconds(3)
    values = bench.promotion.values()
    assert (values['incumbent'], values['blocks']) == (str(other), 0)
    assert bench.trouble == ''
    # A restart with the same model is noticed.
    bench.blocks(BETTER, 2, seconds=0)
    bench.far.received = 0
    bench.seconds(3)
    assert bench.promotion.values()['blocks'] == 0


def test_a_filter_node_that_is_away_has_no_contest(bench):
    bench.seconds(int(AWAY_S), heard=False)
    assert bench.promotion.state == 'comparing'
    bench.second(heard=False)
    assert 'diagnostics are not received' in bench.promotion.state
    assert 'blocks' not in bench.promotion.values()
    bench.seconds(3)
    assert bench.promotion.state == 'comparing'


def test_a_filter_node_that_dies_meanwhile(bench):
    bench.far.swap = lambda _: None  # type: ignore[method-assign,assignment,misc]
    bench.blocks(BETTER)
    bench.seconds(30, heard=False)
    assert bench.promotion.counters['hand_overs'] == 0
    assert 'diagnostics are not received' in bench.promotion.state
