# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Status, cause and reason for whatever a node may know of itself, and what its log says."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from two_manifold_ros.filtering.status import CAUSES, Finding, Status
from two_manifold_ros.interface import assessment as module

IMU = 'sensor_msgs/msg/Imu'
STRINGS = (module.Publisher('std_msgs/msg/String'),)
DRIVER, UNNAMED = (module.Publisher(IMU, '/driver'),), module.Publisher(IMU)
TRACKS: dict[str, Any] = {'status': Status.TRACKING, 'cause': '', 'why': 'tracking'}
FILLS: dict[str, Any] = {
    'status': Status.FILLING, 'cause': 'filling', 'why': 'filling the window: 3 of 60 ticks',
}  # fmt: skip
GAP = {'status': Status.UNSURE, 'cause': 'gap', 'why': CAUSES['gap'].format(seen=3, window=9)}
LOST: dict[str, Any] = {'status': Status.LOST, 'cause': 'diverged', 'why': 'lost: too wide'}
TURNED: dict[str, Any] = {'status': Status.REFUSED, 'cause': 'reversed', 'why': 'refused: turned'}

UNHEARD, DRIVEN = {'received': False}, {'publishers': DRIVER}
SILENT = DRIVEN | {'silence_s': 3.0}
SLOW = {'usable_rate_hz': 7.9, 'rate_hz': 10.0}
IN_G = {'finding': Finding('in_g', 'wrong units', True)}
IN_A_ROW, UNUSED_S = module.InputLimits.most_in_a_row, module.Health().unused_s


def refused(unused_s: float = UNUSED_S, **rejected: int) -> dict[str, Any]:
    return {'rejected': rejected, 'unused_s': unused_s}


def complains(cause: str) -> dict[str, Any]:
    return {'complaints': {cause: 'other axes'}}


def interrupted(cause: str, seconds: float) -> dict[str, Any]:
    return {'interruption': Finding(cause, f'{cause} by {seconds:g} s', refuses=False)}


OK, WARN, ERROR = module.Level
CASES: dict[str, tuple[module.Level, Status | None, dict[str, Any]]] = {
    'unconfigured': (ERROR, None, {'trouble': 'No model'}),
    'inactive': (WARN, None, {'active': False, 'managed': True}),
    'disabled': (WARN, None, {'enabled': False}),
    'waiting': (WARN, Status.WAITING, UNHEARD),
    'no_publisher': (ERROR, Status.WAITING, UNHEARD | {'silence_s': 6.0}),
    'silent': (ERROR, Status.NO_DATA, SILENT),
    'publisher_gone': (ERROR, Status.NO_DATA, {'silence_s': 3.0, 'clock': 'clock_stands'}),
    'wrong_type': (ERROR, Status.WAITING, UNHEARD | {'publishers': STRINGS}),
    'incompatible': (ERROR, Status.WAITING, UNHEARD | DRIVEN | {'incompatible': 'durability'}),
    'clock_stands': (ERROR, Status.NO_DATA, SILENT | {'clock': 'clock_stands'}),
    'zero_stamp': (ERROR, Status.REFUSED, TRACKS | refused(0.2, zero_stamp=IN_A_ROW)),
    'non_finite': (ERROR, Status.REFUSED, TRACKS | refused(1.1, zero_stamp=1, non_finite=2)),
    'in_g': (ERROR, Status.REFUSED, IN_G | refused(out_of_range=99)),
    'several_publishers': (WARN, Status.UNSURE, TRACKS | {'publishers': (*DRIVER, UNNAMED)}),
    'too_slow': (ERROR, Status.LOST, LOST | SLOW),
    'frame_changed': (WARN, Status.FILLING, FILLS | complains('frame_changed')),
    'frame': (WARN, Status.TRACKING, TRACKS | complains('frame')),
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
    'stepped_back': (WARN, Status.UNSURE, GAP | interrupted('stepped_back', 0.75)),
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
    'stepped_ahead': '3 of 60 ticks; stepped_ahead by 30 s',
}
"""Parts of what is said in some of these cases."""


@pytest.mark.parametrize('cause', CASES)
def test_reasons(cause):
    level, status, known = CASES[cause]
    assessment = module.assess(module.Health(**known))
    assert assessment[:3] == (level, status, cause)
    assert WORDS.get(cause, '') in assessment.why


DEGREES = Finding('rates_in_degrees', 'the rates look like deg/s', refuses=True)
STANDS, GOES_NOT = {'clock': 'clock_stands'}, {'clock': 'no_clock'}
MORE: list[tuple[str, dict[str, Any], str]] = [
    # A clock that stands is odd only while a publisher is there, and no fault of the driver.
    ('clock_stands', TRACKS | DRIVEN | STANDS, 'tracking, but'),
    ('', TRACKS | STANDS, 'tracking'),
    ('malformed', GOES_NOT | IN_G | refused(malformed=99), 'input rejected'),
    ('no_clock', TRACKS | GOES_NOT | refused(zero_stamp=99), 'input rejected'),
    # What is known to be wrong is not forgotten where nothing is published.
    ('rates_in_degrees', FILLS | {'finding': DEGREES} | interrupted('gap', 2.6), 'input rejected'),
    ('rates_in_degrees', LOST | {'finding': DEGREES, 'publishers': DRIVER * 2}, '; 2 publishers'),
    ('filling', FILLS | {'finding': DEGREES._replace(refuses=False)}, 'filling the window'),
    # One message after a silence does not make old words true.
    ('silent', TRACKS | {'unused_s': 3600.0}, 'no IMU message on /imu for 3600.0 s until now'),
    ('filling', FILLS | {'unused_s': 3600.0}, ''),
    ('diverged', LOST | {'unused_s': 3600.0}, ''),
    ('', TRACKS | {'unused_s': 1.0, 'timeout_s': 1.0}, ''),
    # What is over or rare is no reason once it tracks.
    ('', TRACKS | refused(0.3, non_finite=3) | {'rejected_share': 0.02}, ''),
    ('', TRACKS | interrupted('gap', 2.0), ''),
    # Publishers are looked for at first, and as long as a timeout allows.
    ('waiting', UNHEARD | {'silence_s': 4.0}, ''),
    ('waiting', UNHEARD | {'silence_s': 9.0, 'timeout_s': 10.0}, ''),
    ('stepped_back', GAP | interrupted('stepped_back', 5.0), 'stepped_back by 5 s'),
    ('', TRACKS | {'publishers': (*DRIVER, *STRINGS)}, ''),
]
"""Causes in other circumstances, and part of what is said."""


@pytest.mark.parametrize(('cause', 'known', 'words'), MORE)
def test_reasons_in_other_circumstances(cause, known, words):
    assessment = module.assess(module.Health(**known))
    assert assessment.cause == cause
    assert words in assessment.why
    assert 'look for lost messages' not in assessment.why


def test_not_to_be_configured_yet_is_no_error_and_all_that_is_odd_is_reported_at_once():
    waits = module.Health(trouble='waiting', managed=True)
    assert module.assess(waits)[:3] == (WARN, None, 'unconfigured')
    assert module.assess(replace(waits, failed=True)).level is ERROR
    assert set(module.LEVELS) == set(Status)
    found = module.oddities(
        module.Health(
            publishers=DRIVER * 2, usable_rate_hz=1.0, rate_hz=10.0,
            rejected_share=0.5, rejected_most='malformed', clock='no_clock', **complains('frame'),
        )
    )  # fmt: skip
    assert list(found) == ['several_publishers', 'too_slow', 'frame', 'malformed', 'no_clock']
    # The rate may be all right.
    assert found['too_slow'].endswith(found['malformed'])


def complained(frame: str, covariance: float, published: str = '', trained: str = '') -> Any:  # noqa: ANN401
    """Return complaints about a message on /car1/imu/data while another topic is published."""
    covariances = 'linear_acceleration_covariance', 'angular_velocity_covariance'
    message = SimpleNamespace(
        header=SimpleNamespace(frame_id=frame), **{key: [covariance] for key in covariances}
    )
    model: Any = SimpleNamespace(imu_frame_id='imu_link', live_channels=('linear_acceleration.x',))
    return module.imu_complaints(message, model, trained, '/car1/imu/data', published.__eq__)


def test_what_does_not_fit_the_model_and_the_topic_of_the_training_beside_another_one():
    # Only what the model needs has to be measured.
    for frame, covariance, causes in (
        ('', 0.0, []),
        ('camera_imu', 0.0, ['frame']),
        ('imu_link', -1.0, ['linear_acceleration_not_measured']),
    ):
        assert list(complained(frame, covariance)) == causes
    # The topic of the training is missed if it is published too, in any namespace.
    raw = '/car1/imu/data_raw'
    for trained, published, missed in (
        (raw, '', False),
        (raw, raw, True),
        ('/imu/data_raw', raw, True),
        ('/car2/data', '/car1/imu/data', False),
        ('', '/car1/imu/', False),
    ):
        words = complained('imu_link', 0.0, published, trained=trained).get('other_topic', '')
        assert bool(words) == missed
        assert (f'remap imu to {raw}' in words) == missed


def test_durations():
    words = {0.302: '0.302 s', 120.0: '2 minutes', 9000.0: '2.5 hours', 1.8e9: '57 years'}
    assert {seconds: module.format_duration(seconds) for seconds in words} == words


LASTING = [(second, ['gap']) for second in range(75)]
FLICKERING = [(second, ['gap'] * (second % 2)) for second in range(30)]
LOGS: dict[str, tuple[list[tuple[float, list[str]]], list[str]]] = {
    'warned of once, and its end reported': (
        [(0, ['gap']), (4, ['gap']), (6, []), (7, [])], ['W gap', 'I Over after 6.0 s: gap'],
    ),
    'repeated rarely': ([*LASTING, (80, [])], ['W gap'] * 3 + ['I Over after 80.0 s: gap']),
    'throttled where it flickers': (FLICKERING, ['W gap', 'I Over after 1.0 s: gap'] * 3),
    'independent of others': (
        [(0, ['a', 'b']), (1, ['a'])], ['W a', 'W b', 'I Over after 1.0 s: b'],
    ),
}  # fmt: skip
"""Seconds, and causes that are present; what is logged."""


@pytest.mark.parametrize('case', LOGS)
def test_a_cause_is(case):
    (updates, wanted), said = LOGS[case], []
    log = module.ThrottledLog(
        *(lambda line, kind=kind: said.append(f'{kind} {line}') for kind in 'WI')
    )
    for second, causes in updates:
        # The end is said with the newest numbers.
        log.update({cause: f'{cause} at {second}' for cause in causes}, second)
    assert [line.partition(' at ')[0] for line in said] == wanted


def test_a_sentence_starts_with_a_capital_but_a_name_stays_as_it_is():
    assert module.capitalised('learning: 12 samples') == 'Learning: 12 samples'
    assert module.capitalised('no IMU message on /imu yet') == 'No IMU message on /imu yet'
    for named in ('', 'my bad.npz: the model', 'runs/bad: the model', 'filter_node runs models'):
        assert module.capitalised(named) == named
