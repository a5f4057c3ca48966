# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Long durations have units that somebody can imagine."""

import pytest

from two_manifold_ros.interface.snapshot import format_duration


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
def test_durations(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words
