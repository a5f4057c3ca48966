# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics as published."""

from two_manifold_ros.interface.status import diagnostics_message, Health, Level


def test_says_why_and_writes_numbers_as_words() -> None:
    values = {'imu_rate_hz': 99.98765432, 'evidence': float('nan'), 'received': 12, 'model': 'a'}
    health = Health(Level.WARN, 'filling the window: 12 of 60 ticks', values)
    message = diagnostics_message(1_500_000_000, 'filter_node', 'imu_link', health)
    (status,) = message['status']
    assert message['header']['stamp'] == {'sec': 1, 'nanosec': 500_000_000}
    assert (status['level'], status['name'], status['hardware_id']) == (
        1,
        'filter_node',
        'imu_link',
    )
    assert status['message'] == 'filling the window: 12 of 60 ticks'
    assert {entry['key']: entry['value'] for entry in status['values']} == {
        'imu_rate_hz': '99.9877',
        'evidence': 'unknown',
        'received': '12',
        'model': 'a',
    }
