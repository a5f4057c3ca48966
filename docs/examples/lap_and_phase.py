# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Find the lap and the phase, which is the share of the lap driven, from estimates.

It prints::

    361 places in a lap
    5 laps began, 9.2 9.7 9.8 9.6 s apart
"""

from matplotlib.figure import Figure
import numpy as np

from two_manifold_ros.evaluation.evaluate import run_filter
from two_manifold_ros.model.model import RouteModel
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.recordings.reading import read_recording

model = load_model('model.npz')
assert isinstance(model, RouteModel)
# From place 0 on take the way of one step, until it comes back: the places of one lap.
ways = model.route.geometry
loop, place = [0], ways.targets_of[ways.begins[0] + 1]
while place != 0:
    loop.append(int(place))
    place = ways.targets_of[ways.begins[place] + 1]
corners = model.route.readout.targets[loop, 0]
print(f'{len(loop)} places in a lap')

run = run_filter(model, read_recording('my_bag').between(75.0, 120.0), lambda *_: None)
here = run.positions[run.published, 0]
nearest = np.linalg.norm(here[:, None] - corners, axis=2).argmin(axis=1)
phase = nearest / len(loop)
# Half a lap back from one tick to the next is the begin of a lap.
lap = np.cumsum(np.diff(phase, prepend=phase[0]) < -0.5)
seconds = 1e-9 * (run.stamps[run.published] - run.stamps[0])
begins = seconds[np.flatnonzero(np.diff(lap))]
print(f'{lap[-1]} laps began,', *(f'{each:.1f}' for each in np.diff(begins)), 's apart')

figure = Figure(figsize=(6.0, 2.6), layout='constrained')
axes = figure.subplots()
axes.scatter(seconds, phase, c=lap, s=2.0, cmap='viridis')
axes.set(xlabel='time (s)', ylabel='phase', yticks=[0.0, 0.5, 1.0])
figure.savefig('lap_and_phase.png', dpi=110, metadata={'Software': None})
