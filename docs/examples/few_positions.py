# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Train with one position every four seconds, with and without the manifold of windows.

It prints::

    15 positions of 3000
    mkdr       RMSE 0.24 m, 97% published
    sharpened  RMSE 1.38 m, 0% published
"""

from dataclasses import replace

from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.training.settings import RouteSettings
from two_manifold_ros.training.train import train_model

recording = read_recording('my_bag')
known, rest = recording.between(None, 60.0), recording.between(75.0, None)
assert known.positions is not None
few = known.positions.select(known.positions.stamps % 4_000_000_000 == 0)
print(f'{len(few.stamps)} positions of {len(known.positions.stamps)}')
for readout in ('mkdr', 'sharpened'):
    settings = RouteSettings(rate_hz=20.0, readout=readout, horizons=(0,))
    model = train_model([replace(known, positions=few)], settings)
    evaluation = evaluate(model, [rest])
    share = evaluation.published / evaluation.ticks
    print(
        f'{readout:9}  RMSE {evaluation.scores[0].model.all.rmse_m:.2f} m, {share:.0%} published'
    )
