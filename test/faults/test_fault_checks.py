# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Each check of the fault matrix sees what it is there for."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

from checks import judge
from fault import Look, LOST, Published, StreamFault, TRACKING, Word
from healthy_drive import HealthyDrive, Sample
import numpy as np
import pytest
from trial import Trial

from two_manifold_ros.interface.assessment import REJECTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

PERIOD_NS = 20_000_000
SAMPLES, BEGIN, END = 500, 100, 200
AHEAD = np.array([0.1, 0.0])


def drive() -> HealthyDrive:
    """Drive straight on at 1 m/s; the undisturbed filter errs by 10 cm."""
    stamps = 10**9 + PERIOD_NS * np.arange(SAMPLES)
    positions = np.stack([np.arange(SAMPLES) / 50.0, np.zeros(SAMPLES), np.zeros(SAMPLES)], axis=1)
    run = SimpleNamespace(stamps_ns=stamps, imu=np.zeros((SAMPLES, 6)), positions=positions)
    estimates = [
        SimpleNamespace(stamp_ns=stamp, positions=xyz[None, :2] + AHEAD, valid=True)
        for stamp, xyz in zip(stamps[::5].tolist(), positions[::5], strict=True)
    ]
    return HealthyDrive(run, estimates)


def numbers(received: int, **others: float) -> dict[str, float]:
    known = {'received': received, 'used': received, 'waiting': 0, **dict.fromkeys(REJECTIONS, 0)}
    return {**known, **others}


@pytest.fixture
def good() -> Trial:
    """Return a trial in which a fault is named after 0.4 s and over 20 ticks after its end."""
    driven = drive()
    sent = driven.between(0.0, SAMPLES / 50.0)
    fault = StreamFault(
        name='fault',
        seen='here',
        rule='lost',
        says=(LOST, 'diverged'),
        within_s=0.5,
        recovers=25,
        words='drive on',
    )
    published = [
        Published(row + 1, sent[row].stamp_ns, place + AHEAD, np.eye(2) * 0.01)
        for row, place in enumerate(driven.run.positions[:, :2])
        if row and row % 5 == 0 and not 119 <= row < 300
    ]
    words = [
        Word(0, TRACKING, '', 'tracking', 0.0),
        Word(120, LOST, 'diverged', 'lost: drive on', 0.0),
        Word(301, TRACKING, '', 'tracking', 0.0),
    ]
    looks = [Look(count, numbers(count)) for count in (0, BEGIN, SAMPLES)]
    return Trial(
        fault, driven, sent, BEGIN, END, words, looks, published, 0.0, not_finite=0, survived=True
    )


def test_a_good_trial_has_no_complaints(good: Trial) -> None:
    outcome = judge(good)
    assert outcome.complaints == ()
    assert outcome.detected_s == pytest.approx(0.38)
    assert outcome.recovered == 20
    assert outcome.error_ratio == pytest.approx(1.0)
    assert outcome.unnoticed == 0


def word(trial: Trial, **changes: str) -> dict[str, object]:
    """Return the words with the second one, about the fault, changed."""
    first, named, back = trial.words
    return {'words': [first, named._replace(**changes), back]}


def place(trial: Trial, change: np.ndarray | float, spread: float = 0.01) -> dict[str, object]:
    """Return the positions with one of them moved."""
    published = list(trial.published)
    place, covariance = published[3].place + change, np.eye(2) * spread
    published[3] = published[3]._replace(place=place, covariance=covariance)
    return {'published': published}


def resets(trial: Trial, count: int) -> dict[str, object]:
    """Return a fault that is one reset, and looks that count some."""
    looks = [look._replace(numbers={**look.numbers, 'resets': 0}) for look in trial.looks]
    looks[-1].numbers['resets'] = count
    return {'fault': replace(trial.fault, counts={'resets': 1}), 'looks': looks}


SPOILT: list[tuple[str, Callable[[Trial], dict[str, object]]]] = [
    (
        "before the fault it said 'lost'",
        lambda trial: {
            'published': [each for each in trial.published if each.after > END],
            'words': [Word(0, LOST, 'x', 'lost', 0.0), *trial.words[1:]],
        },
    ),
    ('not finite', lambda _: {'not_finite': 1}),
    (
        "while it said 'lost'",
        lambda trial: {
            'published': [*trial.published, trial.published[0]._replace(after=150)],
        },
    ),
    ('1 positions are published as sure and wrong, not 0', lambda trial: place(trial, 0.5)),
    (
        '1 positions are published as sure and wrong, not 0',
        lambda trial: place(trial, 2.3 * AHEAD, 0.001),
    ),
    ('it never said', lambda trial: word(trial, cause='novelty')),
    ('it never said', lambda trial: word(trial, why='lost')),
    (
        'after 0.38 s, not within 0.3 s',
        lambda trial: {'fault': replace(trial.fault, within_s=0.3)},
    ),
    (
        'it did not say why',
        lambda trial: {
            'words': [*trial.words[:2], Word(130, LOST, '', 'lost', 0.0), trial.words[2]]
        },
    ),
    (
        'after 20 ticks, not within 15',
        lambda trial: {'fault': replace(trial.fault, recovers=15)},
    ),
    (
        'it did not track again',
        lambda trial: {
            'published': [each for each in trial.published if each.after < END],
            'words': trial.words[:2],
        },
    ),
    (
        '1.50 times',
        lambda trial: {
            'published': [
                each._replace(place=each.place + 0.5 * AHEAD * (each.after > END))
                for each in trial.published
            ]
        },
    ),
    (
        'non_finite was counted 0 times, not 1',
        lambda trial: {
            'sent': [
                each._replace(refused='non_finite' if row == BEGIN else '')
                for row, each in enumerate(trial.sent)
            ]
        },
    ),
    (
        'do not add up',
        lambda trial: {
            'looks': [*trial.looks[:-1], Look(SAMPLES, numbers(SAMPLES, used=SAMPLES - 1))]
        },
    ),
    ('resets was counted 2 times, not 1', lambda trial: resets(trial, 2)),
    ('the node died', lambda _: {'survived': False}),
]


@pytest.mark.parametrize(('complaint', 'spoil'), SPOILT, ids=[each for each, _ in SPOILT])
def test_every_check_complains(
    good: Trial, spoil: Callable[[Trial], dict[str, object]], complaint: str
) -> None:
    complaints = judge(replace(good, **spoil(good))).complaints
    assert len(complaints) == 1
    assert complaint in complaints[0]


def test_a_harmless_fault_must_not_be_noticed(good: Trial) -> None:
    harmless = replace(good.fault, says=(TRACKING, ''), words='')
    complaints = judge(replace(good, fault=harmless)).complaints
    assert any("it said 'lost' because of 'diverged'" in each for each in complaints)


def test_the_wrong_place_is_known_from_the_samples(good: Trial) -> None:
    """A car that was put elsewhere is where its samples were taken, not where its stamps say."""
    ahead = [each._replace(taken_ns=each.taken_ns + 25 * PERIOD_NS) for each in good.sent[:400]]
    moved: list[Sample] = [*ahead, *good.sent[400:]]
    assert judge(replace(good, sent=moved)).unnoticed > 10
