# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A frozen model of what an adapting filter has learned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from learned_drive import LEARNED, learned_filter, make_run, push, rms_error, SETTINGS
import numpy as np

from two_manifold_ros.adapting.adapting_head import make_head
from two_manifold_ros.adapting.adaptive_filter import AdaptiveFilter
from two_manifold_ros.adapting.snapshot import snapshot
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.model.model_file import load_model, save_model

if TYPE_CHECKING:
    from pathlib import Path

HEAD = make_head(SETTINGS, imu_topic='imu', frame_id='track')


def test_it_is_none_as_long_as_positions_cannot_be_told() -> None:
    adaptive = AdaptiveFilter(HEAD)
    assert snapshot(adaptive.tracker, HEAD) is None
    push(adaptive, 0, 700, reference=False)
    assert snapshot(adaptive.tracker, HEAD) is None


def test_it_survives_its_file_and_filters_as_well(tmp_path: Path) -> None:
    adaptive = learned_filter()
    model = snapshot(adaptive.tracker, HEAD)
    assert model is not None
    save_model(model, tmp_path / 'model.npz')
    frozen = Filter(load_model(tmp_path / 'model.npz'))
    run, estimates = make_run(), []
    for index in range(LEARNED, LEARNED + 400):
        estimates += frozen.push(int(run.stamps_ns[index]), run.imu[index])
    adapting = push(adaptive, LEARNED, LEARNED + 400)
    assert sum(each.valid for each in estimates) > 300
    assert rms_error(estimates) < 1.5 * rms_error(adapting) + 0.05
    assert (tmp_path / 'model.npz').stat().st_size < 2_000_000


def test_nothing_in_it_changes_when_learning_goes_on() -> None:
    adaptive = learned_filter()
    model = snapshot(adaptive.tracker, HEAD)
    assert model is not None
    before = [model.directions.copy(), model.coefficients.copy(), model.tpsr.operators.copy()]
    push(adaptive, LEARNED, LEARNED + 200)
    after = [model.directions, model.coefficients, model.tpsr.operators]
    assert all(np.array_equal(a, b) for a, b in zip(after, before, strict=True))
