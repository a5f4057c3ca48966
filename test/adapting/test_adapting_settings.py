# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What can be chosen about an adapting filter, and what is refused."""

from __future__ import annotations

import pytest

from two_manifold_ros.adapting.settings import AdaptingSettings
from two_manifold_ros.errors import InputError


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('window_s', -1.0),
        ('horizons', (1, 2)),
        ('horizons', (0, 5, 5)),
        ('features', 9),
        ('observation_features', 1),
        ('states', 1),
        ('rank', 59),
        ('ridge', 0.0),
        ('memory_s', float('nan')),
        ('reference_memory_s', float('inf')),
        ('fold_every', 0),
        ('quarantine_s', 0.0),
        ('warm_up_s', 7.0),
        ('seed', -1),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(InputError, match=name):
        AdaptingSettings(**{name: value})


def test_a_rate_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(InputError, match='a rate of'):
        AdaptingSettings(rate_hz=0.0)


def test_seconds_become_ticks() -> None:
    settings = AdaptingSettings(rate_hz=25.0, window_s=1.0)
    assert (settings.window, settings.period_ns, settings.ticks(0.001)) == (25, 40_000_000, 1)
