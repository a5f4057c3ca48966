# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The state of a node as plain numbers."""

import math

from two_manifold_ros.interface.status import NUMBERS, status_message


def test_the_layout_is_always_the_same_and_what_is_unknown_is_nan() -> None:
    message = status_message(3 * 10**9 + 7, {'used': 12, 'valid': True})
    (dimension,) = message['layout']['dim']
    names = dimension['label'].split(',')
    assert names == ['sec', 'nanosec', *NUMBERS]
    assert dimension['size'] == len(message['data'])
    told = dict(zip(names, message['data'], strict=True))
    known = {name: number for name, number in told.items() if not math.isnan(number)}
    assert known == {'sec': 3.0, 'nanosec': 7.0, 'used': 12.0, 'valid': 1.0}
