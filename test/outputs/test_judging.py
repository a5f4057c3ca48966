# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The reason that is given, for every state of a filter node."""

from types import SimpleNamespace
from typing import Any

import pytest

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.outputs.diagnostics import Level
from two_manifold_ros.outputs.judging import Facts, judge

IMU = 'sensor_msgs/msg/Imu'


def estimate(status: Status = Status.TRACKING, cause: str = '') -> Any:  # noqa: ANN401 - a stand-in
    return SimpleNamespace(status=status, cause=cause)


CASES = {
    'unconfigured': (Facts(trouble='No model'), Level.ERROR, 'No model'),
    'inactive': (Facts(active=False, managed=True), Level.WARN, 'lifecycle manager'),
    'disabled': (Facts(enabled=False), Level.WARN, 'service enable'),
    'waiting': (Facts(received=False), Level.WARN, 'waiting for the first IMU message on /imu'),
    'no_publisher': (
        Facts(received=False, silence_s=3.0),
        Level.ERROR,
        'no IMU message on /imu for 3.0 s: nobody publishes it',
    ),
    'no_input': (Facts(silence_s=3.0, publishers=(IMU,)), Level.ERROR, 'there but silent'),
    'wrong_type': (
        Facts(received=False, publishers=('std_msgs/msg/String',)),
        Level.ERROR,
        'published as std_msgs/msg/String, not as sensor_msgs/msg/Imu',
    ),
    'incompatible': (
        Facts(received=False, publishers=(IMU,), incompatible='durability'),
        Level.ERROR,
        'incompatible durability',
    ),
    'rejected': (Facts(all_rejected='100 zero_stamp'), Level.ERROR, '100 zero_stamp'),
    'too_slow': (
        Facts(imu_rate_hz=7.9, model_rate_hz=10.0, latest=estimate()),
        Level.WARN,
        'on /imu at only 7.9 Hz, but the model needs 10 Hz',
    ),
    'filling': (Facts(filter_why='12 of 60'), Level.WARN, '12 of 60'),
    'gap': (Facts(filter_why='again', latest=estimate(Status.UNSURE, 'gap')), Level.WARN, 'again'),
    'searching': (
        Facts(filter_why='still wide', latest=estimate(Status.LOCALISING, 'searching')),
        Level.WARN,
        'still wide',
    ),
    'reversed': (
        Facts(filter_why='turned', latest=estimate(Status.REFUSED, 'reversed')),
        Level.ERROR,
        'turned',
    ),
    'astray': (
        Facts(filter_why='lost', latest=estimate(Status.LOST, 'astray')),
        Level.ERROR,
        'lost',
    ),
    'tracking': (
        Facts(filter_why='tracking', latest=estimate(), imu_rate_hz=8.1, model_rate_hz=10.0),
        Level.OK,
        'tracking',
    ),
}


@pytest.mark.parametrize('cause', CASES)
def test_reasons(cause: str) -> None:
    facts, level, part = CASES[cause]
    judgement = judge(facts)
    assert (judgement.cause, judgement.level) == (cause, level)
    assert part in judgement.why


def test_a_silence_after_tracking_outweighs_the_last_estimate() -> None:
    assert judge(Facts(latest=estimate(), silence_s=2.0, timeout_s=1.0)).level is Level.ERROR


def test_an_estimate_that_is_filling_is_not_tracking() -> None:
    assert judge(Facts(latest=estimate(Status.FILLING, 'filling'))).cause == 'filling'


@pytest.mark.parametrize(
    'changed',
    [{'silence_s': 2.0}, {'received': False}, {'enabled': False}, {'active': False}],
    ids=str,
)
def test_no_estimate_is_present_where_no_more_come(changed: dict[str, Any]) -> None:
    latest = estimate()
    assert Facts(latest=latest).present is latest
    assert Facts(latest=latest, **changed).present is None


def test_a_camera_is_called_a_camera() -> None:
    camera = {'sensor': 'image', 'msgtype': 'sensor_msgs/msg/Image', 'topic': '/image'}
    silent = judge(Facts(received=False, silence_s=3.0, **camera))
    assert 'no image message on /image for 3.0 s: nobody publishes it; remap image' in silent.why
    wrong = judge(Facts(received=False, publishers=(IMU,), **camera))
    assert wrong.cause == 'wrong_type'
    assert 'not as sensor_msgs/msg/Image' in wrong.why
