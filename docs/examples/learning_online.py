# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Learn a noisy oscillator online by a TPSR, and predict its next measurement.

This is the online learner of Boots & Gordon (2011) without ROS and without a vehicle. To go on
filtering while it learns, give each move that `add` returns to `TpsrBelief.adopt`. The noise is
0.10; the last measurement, repeated, errs by 0.26.

It prints::

    1479 samples, error one tick ahead 0.11
"""

import numpy as np

from two_manifold_ros.tpsr.features import fourier_features, WithConstant
from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner
from two_manifold_ros.tpsr.parameters import TpsrBelief

rng = np.random.default_rng(0)
phase = np.cumsum(0.2 + 0.02 * rng.normal(size=3000))
series = np.stack([np.sin(phase), np.sin(2 * phase + 1)], axis=1)
series += 0.1 * rng.normal(size=series.shape)
window, middle = 10, 1500

# Bandwidths are about the median distance between two points of their kind.
windows = WithConstant(fourier_features(2 * window, 300, bandwidth=4.0, seed=1))
observations = fourier_features(2, 40, bandwidth=1.4, seed=2)

# Row t: features of the window series[t : t + window].
rows = np.lib.stride_tricks.sliding_window_view(series, (window, 2)).reshape(-1, 2 * window)
seen, observed = windows.transform(rows), observations.transform(series)

constant = np.eye(windows.size)[-1]  # what WithConstant appends to a history is always one
settings = LearnerSettings(states=15, rank=40, ridge=0.03)
learner = OnlineLearner(settings, constant, windows.size, observations.size)
for t in range(window, middle - window - 1):
    # A test is the window from t on, the next test that from t + 1 on, a history that before t.
    learner.add(seen[t], seen[t + 1], seen[t - window], observed[t])

# Filter, and read the next measurement from the state by least squares.
belief = TpsrBelief(learner.parameters())
states = np.empty((len(series), 15))
for t, features in enumerate(observed):
    states[t] = belief.state  # knows series[:t]
    belief.update(features)
readout = np.linalg.lstsq(states[50:middle], series[50:middle], rcond=None)[0]
error = np.sqrt(np.mean((states[middle:] @ readout - series[middle:]) ** 2))
print(f'{middle - 2 * window - 1} samples, error one tick ahead {error:.2f}')
