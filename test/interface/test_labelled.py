# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers with names."""

import math

from two_manifold_ros.interface.estimates import labelled_array


def test_stamp_and_numbers_have_their_names_in_the_label() -> None:
    stamp_ns = 1_700_000_000_123_456_789
    message = labelled_array(stamp_ns, {'used': 3, 'level': math.nan})
    seconds, nanoseconds, used, level = message['data']
    assert int(seconds) * 10**9 + int(nanoseconds) == stamp_ns
    assert used == 3.0
    assert isinstance(used, float)
    assert math.isnan(level)
    (dimension,) = message['layout']['dim']
    assert dimension == {'label': 'sec,nanosec,used,level', 'size': 4, 'stride': 4}
