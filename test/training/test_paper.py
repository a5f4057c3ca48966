# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The configuration of the paper."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.time_scales import PAPER, paper_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.recordings.recording import Recording


def test_all_that_the_paper_settles_is_as_there() -> None:
    asked = TrainingSettings(
        8.0, 30, 99, 'gaussian', 9, 44, 'cross-covariance', 'ridge', 'sharpened', (0, 7), 'route'
    )
    assert paper_settings(asked, []) == TrainingSettings(
        8.0, 30, 20, 'laplacian-eigenmap', 50, 44, 'gram-product', 'raw', 'ridge', (0, 7),
        'spectral', clock='time',
    )  # fmt: skip


@pytest.mark.parametrize(('seconds', 'window'), [(155.0, 150), (145.0, None), (5.0, None)])
def test_the_window_is_that_of_the_paper_where_ten_fit(
    seconds: float, window: int | None, drive: Callable[..., Recording]
) -> None:
    asked = TrainingSettings(rate_hz=10.0)
    wanted = replace(asked, window=window, **PAPER)
    assert paper_settings(asked, [drive(seconds)]) == wanted
