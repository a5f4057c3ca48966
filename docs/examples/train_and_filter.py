# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Train a model from a bag, filter the rest of the bag, and print the errors.

It prints::

    8.3 laps, 20 ticks a second
    published 1409 of 1409 ticks
     0.0 s ahead: RMSE 0.028 m
     0.5 s ahead: RMSE 0.046 m
     2.5 s ahead: RMSE 0.170 m
     5.0 s ahead: RMSE 0.403 m
"""

from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.training.settings import RouteSettings
from two_manifold_ros.training.train import train_model

recording = read_recording('my_bag')
# One rate of ticks instead of a choice among three: quicker, and good for this car.
settings = RouteSettings(max_step_load=0.0)
model = train_model([recording.between(None, 75.0)], settings)
print(f'{model.summary["laps"]:.1f} laps, {model.rate_hz:g} ticks a second')

evaluation = evaluate(model, [recording.between(75.0, None)])
print(f'published {evaluation.published} of {evaluation.ticks} ticks')
for score in evaluation.scores:
    ahead_s = score.horizon / model.rate_hz
    print(f'{ahead_s:4.1f} s ahead: RMSE {score.model.all.rmse_m:.3f} m')
