# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Freeze what was learned into a model that any filter runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.model.tpsr_model import TpsrModel

if TYPE_CHECKING:
    from two_manifold_ros.adapting.adaptive_tracker import AdaptiveTracker
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.typing import Floats


def snapshot(tracker: AdaptiveTracker, head: ModelHead) -> TpsrModel | None:
    """
    Return a frozen model of the present parameters and read-out; nothing in it is shared.

    Parameters
    ----------
    tracker
        What has learned.
    head
        Topics, frames and origin of its stream.

    Returns
    -------
    TpsrModel or None
        ``None`` as long as positions cannot be told.

    """
    senses, learning, tpsr = tracker.senses, tracker.learning, tracker.tpsr
    reading = tracker.locating.learning
    if senses is None or learning is None or tpsr is None or not reading.ready:
        return None
    track = _track(tracker)
    coefficients = reading.readout.coefficients[:, :, [*range(tpsr.states), -1]].copy()
    coefficients[:-1, :, -1] += reading.origin
    known = reading.numbers >= 0
    doubts = np.median(reading.doubts[known], axis=0) if known.any() else np.ones(1)
    return TpsrModel(
        rate_hz=head.rate_hz,
        period_ns=head.period_ns,
        max_gap_ns=head.max_gap_ns,
        window=head.window,
        horizons=head.horizons,
        imu_topic=head.imu_topic,
        imu_frame_id=head.imu_frame_id,
        position_topic=head.position_topic,
        frame_id=head.frame_id,
        origin=head.origin,
        channels=senses.channels,
        track=track,
        mean_position=np.nanmean(track, axis=0),
        summary={
            'learned_ticks': learning.learner.samples,
            'memory_s': learning.learner.settings.memory / head.rate_hz,
        },
        tpsr=tpsr,
        observation_features=senses.observation_features,
        window_features=senses.window_features,
        directions=learning.learner.svd.right.copy(),
        usual_share=max(learning.novelty.usual, np.finfo(float).tiny),
        most_still=int(senses.most_still.min()),
        coefficients=coefficients,
        covariances=reading.errors * doubts[:, None, None],
    )


def _track(tracker: AdaptiveTracker) -> Floats:
    """Return the remembered positions in order, with NaN where some are missing."""
    ticks = tracker.locating.ticks
    _, _, positions, _ = ticks.part(max(0, ticks.newest + 1 - len(ticks)), ticks.newest + 1)
    return positions
