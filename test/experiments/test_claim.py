# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Claims: what passes."""

from __future__ import annotations

import math

import pytest

from two_manifold_ros.experiments.experiment import at_least, at_most


@pytest.mark.parametrize(
    ('ours', 'most', 'least'),
    [(0.9, True, False), (1.0, True, True), (1.1, False, True), (math.nan, False, False)],
)
def test_a_limit_is_inside_and_nan_never_is(ours: float, *, most: bool, least: bool) -> None:
    assert at_most('error', '.5', ours, 1.0).passed is most
    assert at_least('R2', '.5', ours, 1.0).passed is least


def test_a_claim_tells_its_limit_and_verdict() -> None:
    claim = at_most('error (m)', '.5', 0.81234, 0.8)
    assert (claim.what, claim.ours) == ('error (m), at most 0.8', '0.812')
    assert (claim.value, claim.limit) == (0.81234, 0.8)
    assert claim.verdict == 'fail'
    assert at_most('error (m)', '.5', math.inf, 0.8).value is None
    assert at_least('R2', '.5', 1.0, 0.8).verdict == 'pass'
