# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Status, cause and reason for whatever a node may know of itself."""

from dataclasses import replace
from typing import Any

import pytest
from snapshots import snapshot

from two_manifold_ros.filtering.status import CAUSES, Finding, Status
from two_manifold_ros.interface.assessment import (
    assess,
    format_duration,
    InputHealth,
    InputLimits,
    Interruption,
    Level,
    LEVELS,
    oddities,
    Publisher,
)

IMU = 'sensor_msgs/msg/Imu'
STRINGS = (Publisher('std_msgs/msg/String'),)
DRIVER = (Publisher(IMU, '/driver'),)
TRACKS: dict[str, Any] = {'status': Status.TRACKING, 'cause': '', 'why': 'tracking'}
FILLS: dict[str, Any] = {
    'status': Status.FILLING,
    'cause': 'filling',
    'why': 'filling the window: 3 of 60 ticks',
}
LOST: dict[str, Any] = {'status': Status.LOST, 'cause': 'diverged', 'why': 'lost: too wide'}
TURNED: dict[str, Any] = {'status': Status.REFUSED, 'cause': 'reversed', 'why': 'refused: turned'}

UNHEARD, DRIVEN = {'received': False}, {'publishers': DRIVER}
SILENT = DRIVEN | {'silence_s': 3.0}
SLOW = {'usable_rate_hz': 7.9, 'rate_hz': 10.0}
IN_G = {'finding': Finding('in_g', 'wrong units', True)}
IN_A_ROW, UNUSED_S = InputLimits.most_in_a_row, InputHealth().unused_s


def refused(unused_s: float = UNUSED_S, **rejected: int) -> dict[str, Any]:
    return {'rejected': rejected, 'unused_s': unused_s}


def interrupted(cause: str, seconds: float) -> dict[str, Any]:
    return {'interruption': Interruption(cause, seconds)}


OK, WARN, ERROR = Level
CASES: dict[str, tuple[Level, Status | None, dict[str, Any]]] = {
    'unconfigured': (ERROR, None, {'trouble': 'No model'}),
    'inactive': (WARN, None, {'active': False, 'managed': True}),
    'disabled': (WARN, None, {'enabled': False}),
    'waiting': (WARN, Status.WAITING, UNHEARD),
    'no_publisher': (ERROR, Status.WAITING, UNHEARD | {'silence_s': 6.0}),
    'silent': (ERROR, Status.NO_DATA, SILENT),
    'publisher_gone': (
        ERROR, Status.NO_DATA, {'silence_s': 3.0, 'clock': 'clock_stands'},
    ),
    'wrong_type': (ERROR, Status.WAITING, UNHEARD | {'publishers': STRINGS}),
    'incompatible': (ERROR, Status.WAITING, UNHEARD | DRIVEN | {'incompatible': 'durability'}),
    'clock_stands': (ERROR, Status.NO_DATA, SILENT | {'clock': 'clock_stands'}),
    'zero_stamp': (ERROR, Status.REFUSED, TRACKS | refused(0.2, zero_stamp=IN_A_ROW)),
    'non_finite': (ERROR, Status.REFUSED, TRACKS | refused(1.1, zero_stamp=1, non_finite=2)),
    'malformed': (ERROR, Status.REFUSED, IN_G | refused(malformed=99)),
    'in_g': (ERROR, Status.REFUSED, IN_G | refused(out_of_range=99)),
    'several_publishers': (
        WARN, Status.UNSURE, TRACKS | {'publishers': (*DRIVER, Publisher(IMU))},
    ),
    'too_slow': (ERROR, Status.LOST, LOST | SLOW),
    'frame_changed': (
        WARN, Status.FILLING, FILLS | {'complaints': {'frame_changed': 'other axes'}},
    ),
    'frame': (WARN, Status.TRACKING, TRACKS | {'complaints': {'frame': 'other axes'}}),
    'shared_output': (
        WARN, Status.TRACKING,
        TRACKS | {'shared_outputs': {'/position': ('/other',), '/status': ('/other',)}},
    ),
    'duplicate_stamp': (
        WARN, Status.TRACKING,
        TRACKS | {'rejected_share': 0.1, 'rejected_most': 'duplicate_stamp'},
    ),
    'no_clock': (WARN, Status.TRACKING, TRACKS | DRIVEN | {'clock': 'no_clock'}),
    'stepped_ahead': (WARN, Status.FILLING, FILLS | interrupted('stepped_ahead', 30.0)),
    'stepped_back': (
        WARN, Status.UNSURE,
        interrupted('stepped_back', 0.75) | {'status': Status.UNSURE, 'cause': 'gap'},
    ),
    'gap': (WARN, Status.FILLING, FILLS | interrupted('gap', 61.0)),
    'filling': (WARN, Status.FILLING, FILLS),
    'diverged': (ERROR, Status.LOST, LOST),
    'reversed': (ERROR, Status.REFUSED, TURNED | SLOW),
    '': (OK, Status.TRACKING, TRACKS | DRIVEN | {'usable_rate_hz': 8.1, 'rate_hz': 10.0}),
}  # fmt: skip
WORDS = {
    'waiting': 'waiting for the first IMU message on /imu',
    'no_publisher': 'no IMU message on /imu for 6.0 s: it has no publisher; remap imu',
    'silent': 'no data: no IMU message on /imu for 3.0 s: its publisher is there but silent',
    'publisher_gone': 'for 3.0 s: its publisher has gone: start it again',
    'wrong_type': 'published as std_msgs/msg/String, not as sensor_msgs/msg/Imu',
    'in_g': '(99 out_of_range): wrong units',
    'several_publishers': 'unsure: 2 publishers are on /imu (/driver, unnamed)',
    'too_slow': 'but the model needs 10 Hz: set the driver to a higher rate; too wide',
    'frame_changed': 'other axes; 3 of 60 ticks',
    'frame': 'tracking, but other axes',
    'shared_output': 'tracking, but /position and 1 more topics of this node are also',
    'duplicate_stamp': '10% of the IMU messages on /imu are not used, most for duplicate',
    'stepped_ahead': '3 of 60 ticks; the stamps stepped ahead by 30 s',
}
"""Parts of what is said in some of these cases."""


@pytest.mark.parametrize('cause', CASES)
def test_reasons(cause):
    level, status, known = CASES[cause]
    assessment = assess(snapshot(**known))
    assert assessment[:3] == (level, status, cause)
    assert WORDS.get(cause, '') in assessment.why


def test_a_clock_that_stands_is_odd_only_while_a_publisher_is_there():
    for publishers, cause in ((DRIVEN, 'clock_stands'), ({'publishers': ()}, '')):
        known = snapshot(clock='clock_stands', **TRACKS, **publishers)
        assert assess(known).cause == cause


@pytest.mark.parametrize(('rejection', 'cause'), [('zero_stamp', 'no_clock'), ('malformed',) * 2])
def test_stamps_of_a_clock_that_does_not_go_are_no_fault_of_the_driver(rejection, cause):
    known = snapshot(rejected={rejection: 99}, clock='no_clock', **TRACKS)
    assert assess(known)[1:3] == (Status.REFUSED, cause)


@pytest.mark.parametrize('own', [FILLS, LOST])
def test_what_is_known_to_be_wrong_is_not_forgotten_where_nothing_is_published(own):
    finding = Finding('rates_in_degrees', 'the rates look like deg/s', refuses=True)
    assessment = assess(snapshot(finding=finding, **interrupted('gap', 2.6), **own))
    assert assessment[:3] == (Level.ERROR, Status.REFUSED, finding.cause)
    assert assessment.why == 'input rejected: the rates look like deg/s'
    mixed = assess(snapshot(finding=finding, publishers=DRIVER * 2, **own))
    assert mixed.cause == finding.cause
    assert mixed.why.startswith(f'{assessment.why}; 2 publishers are on /imu')
    doubtful = replace(finding, refuses=False)
    assert assess(snapshot(finding=doubtful, **own)).status is own['status']


def test_every_status_has_a_level():
    assert set(LEVELS) == set(Status)


def test_one_message_after_a_silence_does_not_make_old_words_true():
    assessment = assess(snapshot(unused_s=3600.0, **TRACKS))
    assert assessment[:3] == (Level.ERROR, Status.NO_DATA, 'silent')
    assert 'no IMU message on /imu for 3600.0 s until now' in assessment.why
    for known, status in (
        (FILLS | {'unused_s': 3600.0}, Status.FILLING),
        (LOST | {'unused_s': 3600.0}, Status.LOST),
        (TRACKS | {'unused_s': 1.0, 'timeout_s': 1.0}, Status.TRACKING),
        (TRACKS | {'silence_s': 2.0, 'timeout_s': 1.0}, Status.NO_DATA),
    ):
        assert assess(snapshot(**known)).status is status


def test_what_is_over_or_rare_is_no_reason_once_it_tracks():
    rare = refused(0.3, non_finite=3) | {'rejected_share': 0.02}
    for known in (rare, interrupted('gap', 2.0)):
        assert assess(snapshot(**known, **TRACKS)).cause == ''


def test_a_remapping_that_was_forgotten_is_reported():
    known = snapshot(received=False, silence_s=6.0, elsewhere=('/imu/data', '/spare'))
    assert assess(known).why.endswith('the topic of the driver, /imu/data or /spare')


def test_publishers_may_still_be_looked_for_at_first():
    for publishers in ((), DRIVER):
        early = UNHEARD | {'silence_s': 4.0, 'publishers': publishers}
        assert assess(snapshot(**early)).cause == 'waiting'
    # What has come before is missed at once, and so is what a long timeout allows.
    assert assess(snapshot(**SILENT)).cause == 'silent'
    assert assess(snapshot(**UNHEARD, silence_s=9.0, timeout_s=10.0)).cause == 'waiting'


def test_not_to_be_configured_yet_is_no_error():
    waits = snapshot(trouble='waiting', managed=True)
    assert assess(waits)[:3] == (WARN, None, 'unconfigured')
    assert assess(replace(waits, failed=True)).level is ERROR


def test_what_is_known_of_a_gap_need_not_be_looked_for():
    known = {
        'status': Status.UNSURE,
        'cause': 'gap',
        'why': CAUSES['gap'].format(seen=3, window=9),
    }
    why = assess(snapshot(**known | interrupted('stepped_back', 5.0))).why
    assert 'look for lost messages' not in why
    assert 'stepped back by 5 s' in why


def test_publishers_of_another_type_are_not_mixed_in():
    odd = snapshot(publishers=(*DRIVER, Publisher('std_msgs/msg/String')), **TRACKS)
    assert oddities(odd) == {}


def test_all_that_is_odd_is_reported_at_once():
    found = oddities(
        snapshot(
            publishers=DRIVER * 2,
            usable_rate_hz=1.0,
            rate_hz=10.0,
            complaints={'frame': 'other axes'},
            rejected_share=0.5,
            rejected_most='malformed',
            clock='no_clock',
        )
    )
    assert list(found) == ['several_publishers', 'too_slow', 'frame', 'malformed', 'no_clock']
    # The rate may be all right.
    assert found['too_slow'].endswith(found['malformed'])


def test_a_camera_is_called_a_camera():
    camera = {'sensor': 'image', 'msgtype': 'sensor_msgs/msg/Image', 'topic': '/image'}
    silent = assess(snapshot(**UNHEARD, silence_s=6.0, **camera))
    assert 'no image message on /image for 6.0 s: it has no publisher; remap image' in silent.why
    wrong = assess(snapshot(**UNHEARD, **DRIVEN, **camera))
    assert wrong.cause == 'wrong_type'
    assert 'not as sensor_msgs/msg/Image' in wrong.why


@pytest.mark.parametrize(
    ('seconds', 'words'),
    [
        (0.302, '0.302 s'),
        (119.0, '119 s'),
        (120.0, '2 minutes'),
        (7199.0, '120 minutes'),
        (9000.0, '2.5 hours'),
        (864_000.0, '10 days'),
        (1.8e9, '57 years'),
    ],
)
def test_durations(seconds, words):
    assert format_duration(seconds) == words
