# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A map learned while driving: from nothing, beside the filter, and kept."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
import itertools
import math
from threading import get_ident
from time import sleep
from types import SimpleNamespace
from typing import Any, TypeAlias
from unittest.mock import patch

import numpy as np
import pytest

from two_manifold_ros.adapting import training_material
from two_manifold_ros.adapting.checkpoints import kept_in, saved
from two_manifold_ros.adapting.stream_learner import StreamLearner
from two_manifold_ros.adapting.stream_memory import make_head
from two_manifold_ros.adapting.training_material import Trained, Training
from two_manifold_ros.adapting.updater_session import learned_seconds, learning_values
from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.model.model import TpsrModel
from two_manifold_ros.names import WINDOW_FEATURES
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, SlotCarRun
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import learn_model, train_model

Saved: TypeAlias = 'tuple[dict[str, Any], dict[str, np.ndarray]]'

HEAD = make_head((0, 10))
SETTINGS = TrainingSettings(horizons=(0, 10))
LEARNED = 760
"""Samples after which a map of three laps has been learned."""


@cache
def run() -> SlotCarRun:
    """Drive for ten laps of nine seconds."""
    return simulate(SlotCarSettings(seed=5, rate_hz=20.0), samples=1800)


class Recorder:
    """Runs a training, after showing the test what it learns from."""

    def __init__(self, before: Callable[[Sequence[Recording]], object] = lambda _: None) -> None:
        self.before = before
        self.trained_on: list[list[Recording]] = []

    def __call__(self, training: Training) -> Trained:
        own = get_ident()

        # A training of a test that is over may still run beside it.
        def learn(recordings: Sequence[Recording], *given: Any) -> object:  # noqa: ANN401
            if get_ident() == own:
                self.trained_on.append(list(recordings))
                self.before(recordings)
            return learn_model(recordings, *given)

        with patch('two_manifold_ros.training.train.learn_model', learn):
            return training.run()


def new_learner(**options: Any) -> StreamLearner:  # noqa: ANN401 - passed on
    return StreamLearner(HEAD, SETTINGS, **{'at_once': True, **options})


def place(index: int) -> np.ndarray:
    return run().positions[index, :2]


def feed(
    learner: StreamLearner,
    first: int,
    stop: int,
    *,
    reference: bool = True,
    later_ns: int = 0,
    late_ns: int = 0,
    place: Callable[[int], np.ndarray] = place,
) -> list[Estimate]:
    """Feed samples, and references to every other of them, which may be late."""
    estimates = []
    for index in range(first, stop):
        stamp = int(run().stamps_ns[index]) + later_ns
        estimates += learner.push(stamp, run().imu[index])
        if reference and index % 2 == 0:
            learner.add_reference(stamp + late_ns, *place(index).tolist())
    return estimates


def errors(
    estimates: list[Estimate], place: Callable[[np.ndarray], np.ndarray] = place
) -> np.ndarray:
    valid = [each for each in estimates if each.valid]
    where = np.searchsorted(run().stamps_ns, [each.stamp_ns for each in valid])
    return np.linalg.norm([each.positions[0] for each in valid] - place(where), axis=1)


def rmse_m(estimates: list[Estimate]) -> float:
    return float(np.sqrt(np.mean(np.square(errors(estimates)))))


@pytest.fixture(scope='module')
def learned() -> SimpleNamespace:
    """Output of a learner on the first laps, into which nothing may be pushed any more."""
    learner = new_learner(train=(train := Recorder()))
    published = feed(learner, 0, LEARNED)
    return SimpleNamespace(learner=learner, published=published, trained_on=train.trained_on[-1])


@pytest.fixture(scope='module')
def kept(learned: SimpleNamespace) -> Saved:
    return saved(learned.learner)


def restored(kept: Saved, **options: Any) -> StreamLearner:  # noqa: ANN401
    learner = new_learner(**options)
    learner.resume(*kept_in('kept', kept, HEAD))
    return learner


@pytest.mark.slow
def test_from_nothing_it_publishes_positions_after_some_laps_and_goes_on_alone(kept):
    """Without references nothing is learned and the model stays."""
    train = Recorder()
    learner = restored(kept, train=train)
    due_s = learner.schedule.due_s
    # Once more when positions have ended; see `Schedule`.
    feed(learner, LEARNED, LEARNED + 20)
    ended = feed(learner, LEARNED + 20, LEARNED + 260, reference=False)
    assert learner.schedule.due_s <= due_s, 'it puts a training off'
    trained, models = len(train.trained_on), learner.models
    assert 'no positions come any more' in str(learning_values(learner)['learning'])
    alone = ended[40:] + feed(learner, LEARNED + 260, 1500, reference=False)
    assert (len(train.trained_on), learner.models) == (trained, models)
    assert np.mean([each.valid for each in alone]) > 0.95
    # The mean position errs by about a metre.
    assert rmse_m(alone) < 0.1


def test_the_same_stream_gives_the_same_bits_of_a_map_of_all_of_it(learned):
    """And no tick is lost or reported twice."""
    (recording,) = learned.trained_on
    count = len(recording.imu.stamps)
    assert count > 0.7 * LEARNED
    assert recording.imu.stamps.tolist() == run().stamps_ns[:count].tolist()
    assert recording.imu.samples.tobytes() == run().imu[:count].tobytes()
    assert recording.positions.positions.tobytes() == run().positions[:count:2, :2].tobytes()
    offline = train_model([recording], SETTINGS)
    model = learned.learner.model()
    assert model.route.likelihood.means.tobytes() == offline.route.likelihood.means.tobytes()
    again = new_learner()
    published = feed(again, 0, 600)
    assert again.models > 1
    for found, wanted in zip(published, learned.published, strict=False):
        assert found.positions.tobytes() == wanted.positions.tobytes()
    steps = np.diff([each.stamp_ns for each in learned.published])
    assert 0 < steps.min() <= steps.max() <= 2 * HEAD.period_ns
    values, live = learning_values(learned.learner), learned.learner.filter
    assert values['error_m'] < 0.3 * values['mean_error_m']
    assert values['judged_s'] == pytest.approx(2 * learned.learner.lap_s, abs=0.5)
    assert live.counters['received'] == LEARNED == live.counters['used'] + live.waiting


@pytest.mark.parametrize('moved', [0.0, 3.0])
def test_a_given_model_makes_room_only_for_a_better_map(kept, moved):
    """Of all laps it knows more than the first of them; not so if places are elsewhere now."""
    model = restored(kept).model()
    learner = StreamLearner(model, SETTINGS, at_once=True)
    assert learner.has_model
    assert learner.model() is None
    feed(learner, 0, 700, place=lambda each: np.add(place(each), [moved, 0.0]))
    assert bool(learner.models) == bool(moved)
    assert (learner.filter.running is model) == (not moved)
    assert ('the given model' in str(learning_values(learner)['learning'])) == (not moved)
    assert learner.counters['trainings_tried'] >= 1
    assert bool(learner.counters['trainings_lost']) == (not moved)
    assert ('stays' if not moved else 'its model runs, and errs by') in learner.verdict
    assert learning_values(learner)['last_training'] == learner.verdict


@pytest.mark.parametrize('judged', ['nothing', 'with one jump'])
def test_a_given_model_stays_where_a_mean_error_does_not_say_that_it_is_worse(kept, judged):
    """One jump counts little in a mean, as that of the parts left out, but much in an RMSE."""
    learner = StreamLearner(restored(kept).model(), SETTINGS, at_once=True)
    index = 0
    while learner.candidate is None or learner.candidate.failure:
        feed(learner, index, index + 1)
        index += 1
    if judged == 'nothing':
        learner.reset('a test')
    else:
        scored, error_m = learner.score._scored, learner._trained[0].error_m
        jump_m = 2.0 * error_m * math.sqrt(len(scored))
        scored.append((scored[-1][0], jump_m**2, *scored[-1][2:]))
    feed(learner, index, index + 100, reference=judged != 'nothing')
    assert (learner.models, learner.counters['trainings_lost']) == (0, 1), learner.verdict


def test_samples_do_not_wait_for_a_training():
    began, ends = [], []

    def slow(recordings: Sequence[Recording]) -> None:
        began.append(len(recordings[0].imu.stamps))
        while not ends:
            sleep(0.01)

    learner = new_learner(at_once=False, train=Recorder(slow))
    tens, most = iter(range(0, 1800, 10)), 25
    # It comes by the same place for the second time, and drives on.
    while not learner.has_model:
        most -= bool(began)
        if not most:
            assert (len(began), learner.candidate is None) == (1, False)
            ends.append(True)
        first = next(tens)
        feed(learner, first, first + 10)
        # A look at the positions alone is soon over.
        sleep(0.02 * (learner.candidate is not None))
    assert most <= 0
    assert learner.failure == ''


@pytest.mark.parametrize(
    ('raised', 'words'),
    [(InputError('it was killed'), 'it was killed'), (RuntimeError('bug'), 'report it: bug')],
)
def test_a_training_that_fails_is_reported_and_the_next_one_is_tried(raised, words):
    left = [raised]

    def fail_once(_: Sequence[Recording]) -> None:
        if left:
            raise left.pop()

    learner = new_learner(train=Recorder(fail_once))
    feed(learner, 0, 400)
    assert words in learner.failure
    assert words in learning_values(learner)['learning_trouble']
    assert learner.counters['trainings_failed'] == isinstance(raised, RuntimeError)
    feed(learner, 400, 600)
    assert learner.failure == ''
    assert learner.has_model


def test_what_cannot_be_restored_changes_nothing_and_other_horizons_are_learned(kept):
    """Limits that suit no map of so short a route are refused by the map alone."""
    learner = new_learner(ellipse_m=(50.0, 0.0))
    with pytest.raises(InputError, match='ellipse_warn_m'):
        learner.resume(*kept_in('kept', kept, make_head((0, 10))))
    assert (learner.counters['samples_learned'], learner.schedule.known_s) == (0, 0.0)
    assert (learner.head, learner.has_model) == (HEAD, False)
    settings = TrainingSettings(horizons=(0, 5))
    learner = StreamLearner(make_head((0, 5)), settings, at_once=True)
    learner.resume(*kept_in('kept', kept, learner.head))
    assert learner.filter.running.horizons == (0, 10)
    feed(learner, LEARNED, LEARNED + 40)
    assert learner.filter.running.horizons == (0, 5)


def test_late_positions_are_put_in_step(kept):
    late_ns = 300_000_000
    # The same laps with late positions, of which no map was learned yet.
    memory, _, head, *_ = kept_in('kept', kept, HEAD)
    lengths, arrays = memory.saved()
    memory.restore(lengths, {**arrays, 'fixes': arrays['fixes'] + late_ns})
    with pytest.raises(InputError, match='position lag'):
        new_learner(position_lag='late')
    learner = new_learner(position_lag='0.3')
    learner.resume(memory, None, head)
    published = feed(learner, LEARNED + 10, LEARNED + 400, late_ns=late_ns)
    assert rmse_m(published) < 0.1
    # An estimate is compared with where the vehicle was at its stamp.
    assert learning_values(learner)['error_m'] < 0.1


def test_what_changes_for_good_is_learned_in_a_few_laps_and_what_was_before_is_left_out(kept):
    """The reference is moved: to the IMU both places look the same."""
    learner = restored(kept)

    def moved(index: Any) -> np.ndarray:  # noqa: ANN401 - one or several
        return place(index) + np.multiply.outer(index >= LEARNED + 380, [3.0, 0.0])

    wrong = errors(feed(learner, LEARNED, 1700, place=moved), moved)
    lap = round(20.0 * learner.lap_s)
    assert np.median(wrong[380 : 380 + lap]) > 1.0
    assert np.median(wrong[-lap:]) < 0.1
    # Nothing of where the route was before, which is not kept any more either.
    (kept_drive,) = learner.memory.recordings(HEAD)
    assert kept_drive.positions.positions[:, 0].min() > run().positions[:, 0].min() + 2.0
    model = learner.model()
    known = model.track[np.isfinite(model.track[:, 0])]
    assert known[:, 0].min() > run().positions[:, 0].min() + 2.0


def test_stamps_are_judged_as_by_the_filter(kept):
    """Wild, zero and double ones end no drive and are not learned; late ones are sorted."""
    learner = restored(kept, reorder_ns=120_000_000)
    drive = run()
    far = 10**17
    for index in range(LEARNED, LEARNED + 200):
        # In pairs the wrong way round.
        row = index + (1 if index % 2 == 0 else -1)
        learner.push(int(drive.stamps_ns[row]), drive.imu[row])
        if index % 10 == 0:
            learner.push(0, drive.imu[row])
        if index == LEARNED + 100:
            learner.push(int(drive.stamps_ns[row]) + far, drive.imu[row])
            learner.add_reference(int(drive.stamps_ns[row]) + far, 0.0, 0.0)
        learner.add_reference(int(drive.stamps_ns[index]), *drive.positions[index, :2].tolist())
    (recording,) = learner.memory.recordings(HEAD)
    assert len(recording.imu.stamps) >= LEARNED + 195
    assert np.diff(recording.imu.stamps).max() <= 2 * HEAD.period_ns
    assert recording.positions.stamps.max() <= drive.stamps_ns[LEARNED + 200]
    assert learner.schedule.known_s == pytest.approx((LEARNED + 200) / 20.0, abs=0.6)
    assert not learner.schedule.ended


def test_positions_without_samples_teach_nothing():
    learner = new_learner()
    for index in range(400):
        learner.add_reference(10**9 + index * 50_000_000, np.cos(0.1 * index), 0.0)
    assert learner.schedule.known_s == 0.0
    assert not any(learner.counters.values())
    feed(learner, 0, 100, late_ns=12 * 3600 * 10**9)
    assert (learner.reference.counters['far_from_samples'], learner.schedule.known_s) == (50, 0.0)


def test_later_maps_are_trained_on_the_newest_laps_with_positions(kept, monkeypatch):
    """Time without positions counts for nothing, nor does the pause between two drives."""
    train = Recorder()
    monkeypatch.setattr(training_material, 'NEWEST_LAPS', 4.0)
    learner = restored(kept, train=train)
    lap = round(20.0 * learner.lap_s)
    feed(learner, LEARNED, LEARNED + lap, reference=False)
    feed(learner, LEARNED + lap, 1500, later_ns=60 * 10**9)
    assert len(learner.memory.recordings(HEAD)) == 2
    train.trained_on.clear()
    learner.schedule.due_s = 0.0
    feed(learner, 1500, 1501, later_ns=60 * 10**9)
    (one,) = train.trained_on
    stamps = [each.positions.stamps for each in one if each.positions is not None]
    known = sum(int(np.minimum(np.diff(each), 10**9).sum()) for each in stamps)
    assert known * 1e-9 == pytest.approx(4.0 * learner.lap_s, abs=0.3)
    assert one[-1].imu.stamps[-1] == run().stamps_ns[1500] + 60 * 10**9
    # Half of it is of the first drive.
    assert len(one) == 2


def test_what_errs_no_less_than_the_mean_position_is_not_reported(kept):
    """Positions of half a lap before, and later right ones again; nothing newer is learned."""
    learner = restored(kept, train=lambda _: Trained())
    lap = round(20.0 * learner.lap_s)
    right = LEARNED + 2 * lap

    def wrong(index: int) -> np.ndarray:
        return place(index - (index < right) * lap // 2)

    before = feed(learner, LEARNED, right + 1, place=wrong)[-lap // 2 : -1]
    assert learner.filter.said[:2] == (Status.LOST, 'not_useful')
    assert 'so nothing is published' in str(learning_values(learner)['learning'])
    assert restored(saved(learner)).filter.withheld
    assert {each.cause for each in before} == {'not_useful'}
    assert not any(each.valid for each in before)
    # The withheld estimate stays there, for the comparison.
    assert np.isfinite([each.positions for each in before]).all()
    assert all(each.valid for each in feed(learner, right + 1, LEARNED + 5 * lap)[-lap // 2 :])
    learner.filter.withheld = True
    learner.reset('a test')
    assert not learner.filter.withheld


TPSR = TrainingSettings(method='tpsr', horizons=(0, 10), features=200)


def tpsr_learner(stop: int = 0, **changes: str) -> StreamLearner:
    """Return a learner of a TPSR that has learned so many samples, and is not trained again."""
    learner = StreamLearner(HEAD, replace(TPSR, **changes), at_once=True)
    feed(learner, 0, stop)
    if stop:
        learner.schedule.due_s = np.inf
    return learner


@pytest.mark.parametrize('features', WINDOW_FEATURES)
def test_a_tpsr_goes_on_learning_between_trainings(features):
    learner = tpsr_learner(window_features=features)
    found, models, published = [], [], []
    for begin in range(0, 1000, 10):
        published += feed(learner, begin, begin + 10)
        if learner.models:
            found.append(learner.filter.running)
            models.append(learner.models)
    assert isinstance(found[-1], TpsrModel)
    changes = np.count_nonzero([new is not old for old, new in itertools.pairwise(found)])
    trained = models[-1] - models[0]
    # What it has learned from grows with each of them: 50 s of driving in the end.
    spans = [each.summary['seconds'] for each in found]
    assert all(new > old for old, new in itertools.pairwise(dict.fromkeys(spans)))
    assert len(set(spans)) > trained + 10
    assert 40.0 < spans[-1] == learned_seconds(learner) < 50.0
    # Of the newest lap most is published, on a track of three metres.
    assert np.mean([each.valid for each in published[-180:]]) > 0.8
    assert np.median(errors(published[-180:])) < 0.1
    # Laps of 9 s are learned in quarters.
    assert changes > trained + 10
    feed(learner, 1000, 1200, reference=False)
    model = learner.filter.running
    feed(learner, 1200, 1300, reference=False)
    assert learner.filter.running is model


@pytest.mark.slow
def test_a_tpsr_does_not_go_on_with_a_part_that_is_unlike_those_before():
    learner = tpsr_learner(1000)
    before = len(learner.filter.running.weights)
    # Less than the two laps that are a change.
    feed(learner, 1000, 1300, place=lambda each: np.add(place(each), [3.0, 0.0]))
    # At most what was left of the part before: a quarter of a lap.
    assert len(learner.filter.running.weights) - before < 25


@pytest.mark.slow
@pytest.mark.parametrize('in_training', [False, True])
def test_a_tpsr_goes_on_from_the_next_training_after_the_clock_was_set_back(in_training):
    """Also if it was in training then; and nothing is learned over the seam."""
    learner = tpsr_learner()
    index = 0
    while index < 700 or (learner.candidate is not None) != in_training:
        feed(learner, index, index + 1)
        index += 1
    back_ns = int(run().stamps_ns[0] - run().stamps_ns[index])
    learner.schedule.due_s = np.inf
    feed(learner, index, index + 200, later_ns=back_ns)
    before = learner.filter.running
    feed(learner, index + 200, index + 400, later_ns=back_ns)
    assert learner.filter.running is before
    learner.schedule.due_s = 0.0
    feed(learner, index + 400, index + 800, later_ns=back_ns)
    # Ticks that it remembers: of quarters of laps after the training as well.
    assert len(learner.filter.running.weights) > len(before.weights) + 100


def test_wrong_references_make_neither_the_map_nor_what_follows_useless(learned):
    """Wild places and stamps, a receiver that is throttled, and an axis of the IMU that is NaN."""
    drive, learner, published = run(), new_learner(), []
    samples = np.where(np.arange(6) == 3, np.nan, drive.imu)
    # A number that is missing now and then, or all of them, is no axis that is unset.
    samples[[100, 600], 0] = np.nan
    samples[[200, 700]] = np.nan
    for index in range(LEARNED):
        stamp = int(drive.stamps_ns[index])
        published += learner.push(stamp, samples[index])
        x, y = drive.positions[index, :2].tolist()
        if index % 100 == 2:
            learner.add_reference(stamp, x + 1e5 if index % 200 == 2 else x - 3.0, y)
        elif index % 100 == 52:
            learner.add_reference(stamp + 5 * 10**9, x, y)
        elif index % 2 == 0 and (index < 350 or index % 6 == 0):
            learner.add_reference(stamp, x, y)
    clean, model = learned.learner.model(), learner.model()
    assert model.route.places == pytest.approx(clean.route.places, rel=0.1)
    counters = learner.reference.counters
    # The first wrong place comes before there is anything that it could be held against.
    assert (counters['jumped'], counters['wild_stamp']) == (7, 8)
    assert learner.filter.counters['non_finite'] == 4
    assert learner.counters['samples_learned'] == LEARNED - 4
    late = [each for each in published if each.stamp_ns > drive.stamps_ns[450]]
    assert np.mean([each.valid for each in late]) > 0.9
    assert rmse_m(late) < 0.1
