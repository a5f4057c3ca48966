# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Compare two methods on the same part of a bag.

It prints::

    method    RMSE now  2.5 s ahead  published
    route      0.030 m      0.192 m       100%
    spectral   0.104 m      0.403 m       100%
    mean       1.629 m
"""

from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

recording = read_recording('my_bag')
known, rest = recording.between(None, 45.0), recording.between(75.0, None)
print('method    RMSE now  2.5 s ahead  published')
for method in ('route', 'spectral'):
    settings = TrainingSettings(method=method, rate_hz=20.0, window=30, horizons=(0, 50))
    evaluation = evaluate(train_model([known], settings), [rest])
    now, ahead = (score.model.all.rmse_m for score in evaluation.scores)
    share = evaluation.published / evaluation.ticks
    print(f'{method:8}  {now:6.3f} m  {ahead:9.3f} m  {share:9.0%}')
print(f'mean      {evaluation.scores[0].mean.all.rmse_m:6.3f} m')
