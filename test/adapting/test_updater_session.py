# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From parameters to a learner behind the node: bytes in, estimates out, and every bad input."""

from collections import Counter
import re
from typing import Any

import numpy as np
import pytest
from raw_imu import odd_stream, raw_imu, unaccounted
from updater_feed import feed, LEARNED, small_session, tpsr_session

from two_manifold_ros.adapting import updater_session
from two_manifold_ros.adapting.updater_session import learner_of, learning_events, UpdaterSession
from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.interface.assessment import assess, Assessment, Health, Level, REJECTIONS
from two_manifold_ros.interface.parameters import UpdaterParameters
from two_manifold_ros.model.model import TrainedModel
from two_manifold_ros.model.model_file import load_model


def said(session: UpdaterSession) -> str:
    health = Health().with_filter(session.learner.filter, 0.0)
    return updater_session.assess_learning(assess(health), session.learner, '/reference').why


def test_it_learns_where_it_is_and_says_on_the_way_what_it_does(drive):
    session = small_session()
    assert feed(session, drive, slice(0, 10), positions=False) == []
    assert said(session).startswith('no position came on /reference yet')
    assert feed(session, drive, slice(10, 300)) == []
    assert re.search(r'learning the route: \d s with positions seen', said(session))
    assert feed(session, drive, slice(300, 700)) == []
    published = len(feed(session, drive, slice(700, LEARNED)))
    assert published
    assert said(session) == 'tracking'
    estimates = feed(session, drive, slice(LEARNED, None))
    values = updater_session.learning_values(session.learner)
    assert values['error_m'] < 0.25 * values['mean_error_m']
    assert session.counts()['published'] == published + len(estimates)
    assert session.learner.head.frame_id == 'map'


def test_no_message_whatever_it_holds_breaks_it(drive, learned):
    stamp = int(drive.stamps_ns[LEARNED])
    good = raw_imu(stamp, drive.imu[LEARNED])
    for raw in (b'', good[:50], b'\x00\x07' + good[2:], b'\xff' * 300):
        assert learned.take(raw) == []
    assert learned.counts()['malformed'] == 4
    for value in (np.nan, np.inf, 1e300):
        learned.take(raw_imu(stamp, np.full(6, value)))
        assert not learned.take_position(stamp, 'map', value, 0.0)
    # Who listens gets every sample and what is said of it.
    samples, counts = [], learned.counts()
    assert (counts['non_finite'], counts['out_of_range']) == (2, 1)
    learned.on_sample = lambda *each: samples.append(each)
    published = feed(learned, drive, slice(LEARNED, LEARNED + 100))
    assert [each[0] for each in samples] == drive.stamps_ns[LEARNED : LEARNED + 100].tolist()
    assert samples[3][1] == pytest.approx(drive.imu[LEARNED + 3])
    assert [each for *_, said in samples for each in said] == published != []
    assert learned.counts()['estimates_not_finite'] == 0


def test_positions_in_another_frame_are_refused_and_named(drive, learned, model_path):
    stamp = int(drive.stamps_ns[LEARNED])
    assert not learned.take_position(stamp, 'odom', 0.0, 0.0)
    assert learned.learner.reference.counters['other_frame'] == 1
    (said,) = learning_events(Counter(reference_other_frame=1), learned, '/fix').values()
    assert "'odom'" in said
    assert "'map'" in said
    session = tpsr_session(load_model(model_path))
    feed(session, drive, slice(0, 10), positions=False)
    stamp = int(drive.stamps_ns[9])
    assert not session.take_position(stamp, 'odom', 0.0, 0.0)
    assert session.take_position(stamp, session.learner.head.frame_id, 0.0, 0.0)


def test_reset_keeps_what_was_learned_and_forget_does_not(drive, learned):
    before = learned.learner.counters['samples_learned']
    learned.reset('test')
    live = learned.learner.filter
    assert (live.latest, learned.learner.counters['samples_learned']) == (None, before)
    assert feed(learned, drive, slice(LEARNED, LEARNED + 200))
    learned.learner.forget()
    assert not any(learned.learner.counters.values())
    assert learned.counts()['used'] == LEARNED + 200
    # Then another frame may be that of the positions.
    assert feed(learned, drive, slice(LEARNED + 200, LEARNED + 250), positions=False) == []
    assert learned.take_position(int(drive.stamps_ns[LEARNED + 249]), 'odom', 0.0, 0.0)
    assert learned.learner.head.frame_id == 'odom'
    assert 'give positions for some laps' in said(learned)


def test_every_message_is_accounted_for_and_times_of_arrival_take_the_place_of_stamps(drive):
    ticking = iter(range(10**9, 10**12, 2 * 10**7))
    stamped = tpsr_session(small_session().learner.head, ticking.__next__)
    for sample in drive.imu[:20]:
        stamped.take(raw_imu(0, sample))
    assert stamped.counts()['used'] == 20
    assert stamped.arrivals.newest_ns == 10**9 + 19 * 2 * 10**7
    session = small_session()
    for index, message in enumerate(odd_stream(drive, 600)):
        session.take(message)
        if index % 200 == 100:
            session.learner.forget()
        if index % 200 == 150:
            session.reset('a test')
        assert unaccounted(session.counts()) == 0
    assert all(session.counts()[cause] for cause in REJECTIONS)


def test_what_is_chosen_makes_a_learner_whose_process_ends_with_it(model_path):
    for name, value in {'model': 'no.npz', 'position_lag': '2 s', 'horizons': [5, 7]}.items():
        with pytest.raises(InputError, match=r'no\.npz|position lag|horizons'):
            learner_of(UpdaterParameters(**{name: value}), '/imu')
    learner = learner_of(UpdaterParameters(learner='tpsr', model=str(model_path)), '/imu')
    assert isinstance(learner.filter.running, TrainedModel)
    assert learner.head.frame_id == load_model(model_path).frame_id
    worker: Any = learner.close
    process = worker.__self__.process
    learner.forget()
    assert process.poll() is None
    learner.close()
    assert process.poll() is not None


def test_what_happened_lately_is_said_once_and_a_checkpoint_hides_nothing_else(learned):
    for counter, words in (
        ('trainings_failed', 'No newer model was learned'),
        ('reference_jumped', 'Positions on /fix jumped'),
        ('reference_moved', 'stay where they jumped to'),
        ('reference_non_finite', 'Positions not used on /fix: non_finite (3)'),
        ('reference_far_from_samples', 'set the clocks'),
    ):
        (sentence,) = learning_events(Counter({counter: 3}), learned, '/fix').values()
        assert words in sentence
    assert learning_events(Counter(reference_used=3), learned, '/fix') == {}
    well = Assessment(Level.OK, Status.TRACKING, '', 'tracking')
    lost = Assessment(Level.ERROR, Status.LOST, 'diverged', 'lost')
    warned = Assessment(Level.WARN, Status.TRACKING, 'checkpoint', 'tracking, but disk full')
    for before, trouble, after in (
        (well, '', well), (lost, 'disk full', lost), (well, 'disk full', warned)
    ):  # fmt: skip
        assert updater_session.assess_learning(before, learned.learner, '/fix', trouble) == after
