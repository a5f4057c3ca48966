# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Facts of a result, and the word, the numbers and the cure that its verdict has."""

from argparse import Namespace
from dataclasses import replace
import math
from types import SimpleNamespace

from command_runs import said_by
from ellipse import drive
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.cli import verdict
from two_manifold_ros.cli.verdict import Verdict, word_for
from two_manifold_ros.evaluation.evaluate import Evaluation, HorizonScore, score
from two_manifold_ros.inspection.inspecting import inspect_recording
from two_manifold_ros.names import LAP_FRAME

SHARES = st.floats(0.0, 1.0)


@pytest.mark.parametrize(
    ('error', 'published', 'word'),
    [
        (0.05, 1.0, 'good'), (0.124, 1.0, 'good'), (0.126, 1.0, 'fair'), (0.24, 1.0, 'fair'),
        (0.26, 1.0, 'poor'), (0.49, 1.0, 'poor'), (0.5, 1.0, 'no use'), (3.0, 1.0, 'no use'),
        (math.nan, 1.0, 'unknown'),
        (0.01, 0.9, 'good'), (0.01, 0.8, 'fair'), (0.01, 0.5, 'poor'), (0.0, 0.09, 'no use'),
    ],
)  # fmt: skip
def test_the_word_is_by_the_share_of_the_mean_error_that_is_left(error, published, word):
    for unit in (1.0, 1e-3, 1e5):
        assert word_for(unit * error, unit, published) == word


@given(SHARES, SHARES, SHARES, SHARES)
def test_no_word_is_better_for_a_larger_error_or_for_fewer_positions(first, more, least, rest):
    better = verdict.WORDS.index(word_for(first, 1.0, least + (1.0 - least) * rest))
    assert better <= verdict.WORDS.index(word_for(first + more, 1.0, least))


HELD_OUT = {'followed_m': 0.069, 'mean_position_m': 4.2, 'published_share': 1.0}


def trained(
    frame_id: str = 'map', held_out: object = HELD_OUT, **others: object
) -> SimpleNamespace:
    summary = {'refusal': None, 'laps': 6.5, 'validation': held_out} | others
    return SimpleNamespace(summary=summary, frame_id=frame_id)


WIDE = HELD_OUT | {'followed_m': 2.0}
REFUSED = {
    'cause': 'the model is of no use: there are 2.0 laps',
    'cure': 'drive at least five laps',
    'evidence': 'mean error on parts left out 2 m, of the mean position 3 m',
}


@pytest.mark.parametrize(
    ('model', 'until', 'words'),
    [
        (trained(), 300.0, ('good', '6.9 cm', '4.2 m', '100 %', 'evaluate m.npz bag --from 300')),
        (trained(), None, ('good', 'evaluate m.npz OTHER_BAG')),
        # Without the part that is held out a map knows less, and publishes less.
        (
            trained(held_out=HELD_OUT | {'published_share': 0.83}),
            None,
            ('good', '83 %', 'OTHER_B'),
        ),
        (trained(held_out=HELD_OUT | {'published_share': None}), None, ('good', '4.2 m): good.')),
        (trained(held_out=WIDE, laps=0.0), None, ('poor', 'held-out drives', '2 m', 'record')),
        (trained(held_out=WIDE, laps=30.0), None, ('poor', 'find out where', '--report')),
        (trained(LAP_FRAME), None, ('good', '69 ms', '4.2 s', 'laps m.npz OTHER_BAG')),
        (trained(held_out=None), None, ('unknown', 'held out', 'record')),
        (trained(refusal=REFUSED), None, ('no use', '2.0 laps (mean error', 'Next: drive at lea')),
    ],
)
def test_a_training_is_judged_by_what_it_held_out(model, until, words):
    args = Namespace(output='m.npz', bags=['bag'], until=until)
    assert said_by(verdict.of_training(model, args), *words)


def evaluation_of(
    off: float, share: float = 1.0, wide: float = 1.0, unit: float = 1.0
) -> Evaluation:
    """Return laps of a circle, a share of them published, off most in the east, in a unit."""
    angle = np.linspace(0.0, 8.0 * np.pi, 800, endpoint=False)
    truths = unit * 4.0 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    east = truths[:, :1] > unit * 3.8
    errors = unit * off * np.where(east, 2.0, 1.0) * np.array([0.8, 0.6])
    covariances = np.tile(wide * (unit * off) ** 2 * np.eye(2), (len(truths), 1, 1))
    published = np.arange(len(truths)) % 100 < 100 * share
    scores = score(errors, covariances, published, np.full_like(truths, np.nan))
    mean = score(truths, covariances, published, np.full_like(truths, np.nan))
    run = SimpleNamespace(
        positions=(truths + errors)[:, None], published=published, stamps=np.arange(len(truths)),
        causes=np.where(published, '', 'wide').tolist(),
        reasons={'wide': 'unsure: the ellipse is wide; drive on'},
    )  # fmt: skip
    return Evaluation((HorizonScore(0, scores, mean, mean),), (run,), (truths[:, None],))


def judged(found: Evaluation, *trained_on: str, start: float | None = None) -> Verdict:
    model = SimpleNamespace(
        mean_position=np.zeros(2), rate_hz=20.0, imu_topic='/imu/data',
        summary={'recordings': trained_on, 'seconds': 300.0, 'laps': 6.5},
    )  # fmt: skip
    args = Namespace(model='m.npz', bags=['./bag/'], start=start, vehicle=None, report=None)
    return verdict.of_evaluation(args, model, found)


@pytest.mark.parametrize(
    ('facts', 'words'),
    [
        ((0.1, 1.0), ('good', '100 %', '20 cm', ' 4 m', 'filter_node', '-r imu:=/imu/data')),
        ((0.1, 0.16), ('poor', '16 %', 'record laps driven like this drive')),
        ((0.1, 0.05), ('no use', '5 %', 'record laps driven like this drive')),
        ((0.1, 0.0), ('no use', 'Nothing would have been published: unsure: the el', 'compare u')),
        ((0.7, 1.0), ('fair', '1.4 m', 'record at least five')),
        ((3.0, 1.0), ('no use', '6 m', 'check that the recording is of the route')),
        ((0.1, 1.0, 0.1), ('fair', '95 % ellipses are too small', '0 % are inside')),
    ],
)
def test_an_evaluation_is_judged_alike_in_any_unit(facts, words):
    assert said_by(judged(evaluation_of(*facts)), *words)
    assert judged(evaluation_of(*facts, unit=1000.0)).word == words[0]


def test_what_is_not_useful_needs_other_training_and_no_other_input():
    found = evaluation_of(0.1, 0.0)
    found.runs[0].causes = ['not_useful'] * len(found.runs[0].published)
    found.runs[0].reasons = {'not_useful': 'lost: it errs: drive more laps'}
    assert judged(found).next == 'drive more laps'


def test_the_worst_place_is_named_what_was_trained_on_is_no_proof_nor_are_few_positions():
    found = evaluation_of(0.1)
    worst = 'Worst around (4.0, 0.4), where half of the errors exceed 20 cm: good.'
    assert worst in judged(found).sentence
    for start in (None, 5.0):
        seen = judged(found, 'bag', start=start)
        assert seen.next == 'two-manifold evaluate m.npz OTHER_BAG'
    assert judged(found, 'bag', start=300.0).next.startswith('filter_node')
    (truths,) = found.truths
    truths = np.where(np.arange(len(truths))[:, None, None] < 19, truths, np.nan)
    words = 'Only 19 published positions have a true one to compare with.'
    assert judged(replace(found, truths=(truths,)))[:2] == ('unknown', words)


BARE = replace(drive(), positions=None)


@pytest.mark.parametrize(
    ('recordings', 'words'),
    [
        ([drive()], ('good', '6.0 laps of 8 s', '99.9 %', 'train bag -o model.npz')),
        ([drive(late_s=0.2)], ('fair', 'the stamps of the positions are 0.2', 'or go on with')),
        ([drive(16.0)], ('poor', 'there are only 2.0 laps', 'Next: record at least five')),
        ([BARE], ('no use', '48 s, but there are no positions', '--marks')),
        ([drive(late_s=0.2), drive(16.0), BARE], ('no use', '(the most serious of', 'ellipse: ')),
        ([drive(late_s=0.2)] * 2, ('fair', '12.0 laps', 'ellipse and 1 more: the stamps')),
        # The laps of several bags count together, and three bags may be drives of a network.
        ([drive(16.0)] * 2, ('good', '4.0 laps')),
        ([drive(6.0)] * 2, ('poor', 'the positions never close a lap', 'Next: record several')),
        ([drive(6.0)] * 3, ('fair', 'the positions never close a lap', 'or go on with')),
    ],
)
def test_recordings_are_judged_by_the_most_serious_warning(recordings, words):
    reports = [inspect_recording(each) for each in recordings]
    for order in (reports, reports[::-1]):
        found = verdict.of_inspection(order, Namespace(bags=['bag'], imu_topic=None))
        assert said_by(found, *words)


def test_of_several_routes_the_worst_gives_the_word_and_the_cure():
    hall, ring = Verdict('good', 'It is good.', 'drive'), Verdict('poor', 'It is poor.', 'record')
    both = verdict.of_routes({'hall': hall, 'ring': ring})
    assert both == ('poor', 'hall: It is good.\nring: It is poor.', 'record')


def test_the_next_command_reads_the_same_topics_of_the_same_bags():
    args = Namespace(bags=['my run', 'b'], imu_topic='/imu/raw', position_topic=None)
    found = verdict.of_inspection([inspect_recording(drive())], args)
    assert found.next == "two-manifold train 'my run' b --imu-topic /imu/raw -o model.npz"
