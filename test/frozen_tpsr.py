# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn a small TPSR of a recording and freeze it, without the adapting filter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.features.fourier import fourier_features
from two_manifold_ros.features.with_constant import WithConstant
from two_manifold_ros.filtering.span_familiarity import shown_share
from two_manifold_ros.model.tpsr_model import TpsrModel
from two_manifold_ros.readout.targets import segment_targets
from two_manifold_ros.tpsr.belief import TpsrBelief
from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner
from two_manifold_ros.training.dataset import build_dataset

if TYPE_CHECKING:
    from two_manifold_ros.features.feature_map import FeatureMap
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.tpsr.parameters import Tpsr
    from two_manifold_ros.training.settings import TrainingSettings

STATES, RANK, RIDGE = 20, 30, 0.3
WINDOW_FEATURES, OBSERVATION_FEATURES = 300, 60


def learn_tpsr(recording: Recording, settings: TrainingSettings) -> TpsrModel:
    """Return a TPSR of the first segment of a recording; its window comes from the settings."""
    dataset = build_dataset([recording], settings)
    segment, width = dataset.segments[0], dataset.window
    series = dataset.channels.standardise(segment.values)
    windows = np.lib.stride_tricks.sliding_window_view(series, width, axis=0)
    windows = windows.transpose(0, 2, 1).reshape(len(windows), -1)
    every = WithConstant(make_features(windows, WINDOW_FEATURES))
    single = make_features(series, OBSERVATION_FEATURES)
    shown, seen = every.transform(windows), single.transform(series)
    learner = OnlineLearner(
        LearnerSettings(STATES, RANK, RIDGE), np.eye(every.size)[-1], every.size, single.size
    )
    for tick in range(width, len(series) - width):
        learner.add(shown[tick], shown[tick + 1], shown[tick - width], seen[tick])
    learner.fold()
    tpsr = learner.parameters()
    targets = segment_targets(segment.positions, settings.horizons, dataset.period_ns / 1e9)
    coefficients, covariances = read_out(tpsr, seen, targets, width)
    known = segment.positions[np.isfinite(segment.positions).all(axis=1)]
    return TpsrModel(
        rate_hz=dataset.rate_hz,
        period_ns=dataset.period_ns,
        max_gap_ns=dataset.max_gap_ns,
        window=width,
        horizons=settings.horizons,
        imu_topic=recording.imu.topic,
        imu_frame_id=recording.imu.frame_id,
        position_topic=recording.positions.topic,
        frame_id=recording.positions.frame_id,
        origin=None,
        channels=dataset.channels,
        track=segment.positions,
        mean_position=known.mean(axis=0),
        summary={'learned_ticks': len(series), 'memory_s': 600.0},
        tpsr=tpsr,
        observation_features=single,
        window_features=every,
        directions=learner.svd.right.copy(),
        usual_share=float(np.median([shown_share(learner.svd.right, row) for row in shown])),
        most_still=0,
        coefficients=coefficients,
        covariances=covariances,
    )


def make_features(points: np.ndarray, size: int) -> FeatureMap:
    """Return Fourier features with about the median distance of points for a bandwidth."""
    some = points[:: max(1, len(points) // 100)]
    apart = np.linalg.norm(some[:, None] - some, axis=2)
    return fourier_features(points.shape[1], size, float(np.median(apart)), seed=0)


def read_out(
    tpsr: Tpsr, seen: np.ndarray, targets: np.ndarray, settling: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients and covariances by ridge regression on the filtered states."""
    belief = TpsrBelief(tpsr)
    rows = np.ones((len(seen), tpsr.states + 1))
    for row, features in zip(rows, seen, strict=True):
        belief.update(features)
        row[:-1] = belief.state
    coefficients, covariances = [], []
    for column in targets.transpose(1, 0, 2):
        known = np.isfinite(column).all(axis=1)
        known[:settling] = False
        own, wanted = rows[known], column[known]
        gram = own.T @ own
        ridge = 1e-6 * np.trace(gram) / len(gram) * np.eye(len(gram))
        found = np.linalg.solve(gram + ridge, own.T @ wanted)
        errors = wanted - own @ found
        coefficients.append(found.T)
        covariances.append(errors.T @ errors / len(errors))
    return np.array(coefficients), np.array(covariances)
