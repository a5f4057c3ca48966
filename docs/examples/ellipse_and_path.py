# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Draw where the vehicle is, how sure that is, and where it will be.

It prints::

    in 4 s at (2.3, 1.1) m
         now: half axis 0.03 m
    in 0.5 s: half axis 0.07 m
    in 2.5 s: half axis 0.31 m
      in 5 s: half axis 0.71 m
"""

from matplotlib.figure import Figure
import numpy as np

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.interface.messages import choose_scene
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.recordings.reading import read_recording

model = load_model('model.npz')
imu = read_recording('my_bag').between(80.0, 97.0).imu
live = Filter(model)
for stamp_ns, sample in zip(imu.stamps.tolist(), imu.samples, strict=True):
    live.push(stamp_ns, sample)
now = live.latest
assert now is not None

figure = Figure(figsize=(6.0, 3.4), layout='constrained')
axes = figure.subplots()
axes.plot(*model.track.T, '.', color='0.7', ms=1.0)
ahead = choose_scene(model).ahead(now)
axes.plot(*ahead.positions.T, color='0.3', lw=1.0)
# The path ahead is timed in ticks.
x, y = (np.interp(4.0 * model.rate_hz, ahead.ticks, each) for each in ahead.positions.T)
print(f'in 4 s at ({x:.1f}, {y:.1f}) m')
circle = np.exp(1j * np.linspace(0.0, 2.0 * np.pi, 60))
for horizon, position, covariance in zip(
    model.horizons, now.positions, now.covariances, strict=True
):
    # The 95 % ellipse: the root of the covariance times a circle of 2.45 standard deviations.
    ellipse = 2.45 * np.linalg.cholesky(covariance) @ [circle.real, circle.imag]
    (line,) = axes.plot(*(position[:, None] + ellipse), lw=1.5)
    label = f'in {horizon / model.rate_hz:g} s' if horizon else 'now'
    axes.plot(*position, 'o', color=line.get_color(), label=label)
    print(f'{label:>8}: half axis {2.45 * np.linalg.eigvalsh(covariance)[-1] ** 0.5:.2f} m')
axes.set(xlabel='x (m)', ylabel='y (m)', aspect='equal')
axes.legend(loc='lower right')
figure.savefig('ellipse_and_path.png', dpi=110, metadata={'Software': None})
