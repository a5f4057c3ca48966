# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Keeping what was learned and going on from it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from learned_drive import LEARNED, learned_filter, push, SETTINGS
import numpy as np
import pytest

from two_manifold_ros.adapting.adapting_head import make_head
from two_manifold_ros.adapting.adaptive_filter import AdaptiveFilter
from two_manifold_ros.adapting.adaptive_tracker import AdaptiveTracker
from two_manifold_ros.adapting.settings import AdaptingSettings
from two_manifold_ros.adapting.state import adaptive_arrays, adaptive_from
from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from typing import Any

HEAD = make_head(SETTINGS)


def kept() -> tuple[dict[str, Any], dict[str, Any]]:
    numbers, arrays = adaptive_arrays(learned_filter().tracker)
    return json.loads(json.dumps(numbers)), arrays


def test_what_was_kept_goes_on_to_the_bit() -> None:
    original = learned_filter()
    numbers, arrays = adaptive_arrays(original.tracker)
    before = {name: array.copy() for name, array in arrays.items()}
    original.reset('a power cut')
    numbers = json.loads(json.dumps(numbers))
    resumed = AdaptiveFilter(HEAD, tracker=adaptive_from(HEAD, numbers, arrays))
    one, other = (push(each, LEARNED, LEARNED + 500) for each in (original, resumed))
    assert any(each.valid for each in one)
    for a, b in zip(one, other, strict=True):
        assert (a.status, a.evidence) == (b.status, b.evidence)
        assert np.array_equal(a.state, b.state)
        assert np.array_equal(a.positions, b.positions)
        assert np.array_equal(a.covariances, b.covariances)
    assert original.tracker.counters == resumed.tracker.counters
    # They were copies: what went on has changed none of them.
    assert all(np.array_equal(arrays[name], before[name], equal_nan=True) for name in before)


def test_during_the_warm_up_there_is_nothing_to_keep() -> None:
    with pytest.raises(InputError, match='nothing was learned yet'):
        adaptive_arrays(AdaptiveTracker(HEAD))


def test_other_settings_and_channels_are_refused() -> None:
    numbers, arrays = kept()
    with pytest.raises(InputError, match='another window_s'):
        adaptive_from(make_head(AdaptingSettings(window_s=1.0)), numbers, arrays)
    with pytest.raises(InputError, match='other channels'):
        adaptive_from(make_head(SETTINGS, names=('a', 'b')), numbers, arrays)


@pytest.mark.parametrize('name', ['most_still', 'locating.ticks.good', 'learner.left'])
def test_missing_and_misshapen_arrays_are_refused(name: str) -> None:
    numbers, arrays = kept()
    with pytest.raises(InputError):
        adaptive_from(HEAD, numbers, {**arrays, name: arrays[name][:-1]})
    del arrays[name]
    with pytest.raises(InputError):
        adaptive_from(HEAD, numbers, arrays)
