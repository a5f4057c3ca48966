# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Show when a filter was unsure and why: its IMU freezes, and is then turned on the vehicle.

It prints::

       0 s  filling the window  filling
       3 s  tracking
      20 s  unsure              unlikely
      21 s  input rejected      stuck
      27 s  tracking
      40 s  lost                disagrees
      44 s  input rejected      turned_about_z
      53 s  tracking
"""

from itertools import groupby

from matplotlib.figure import Figure

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.recordings.reading import read_recording

imu = read_recording('my_bag').between(80.0, 140.0).imu
samples = imu.samples.copy()
samples[2000:2500] = samples[2000]
samples[4000:5000, :2] *= -1.0  # half a turn about z
samples[4000:5000, 3:5] *= -1.0

live = Filter(load_model('model.npz'))
estimates = []
for stamp_ns, sample in zip(imu.stamps.tolist(), samples, strict=True):
    estimates += live.push(stamp_ns, sample)
for status, group in groupby(estimates, key=lambda each: each.status):
    first, *others = group
    since_s = 1e-9 * (first.stamp_ns - int(imu.stamps[0]))
    if len(others) > 20:  # a second or more
        print(f'{since_s:4.0f} s  {status.value:18}  {first.cause}')

seconds = [1e-9 * (each.stamp_ns - int(imu.stamps[0])) for each in estimates]
states = [list(Status).index(each.status) for each in estimates]
figure = Figure(figsize=(6.0, 2.6), layout='constrained')
axes = figure.subplots()
axes.plot(seconds, states, '.', ms=2.0)
axes.axvspan(20.0, 25.0, color='tab:orange', alpha=0.3, lw=0.0, label='frozen')
axes.axvspan(40.0, 50.0, color='tab:red', alpha=0.2, lw=0.0, label='turned')
axes.set_yticks(range(len(Status)), [each.value for each in Status])
axes.set(xlabel='time (s)')
axes.legend(loc='lower right')
figure.savefig('unsure_and_why.png', dpi=110, metadata={'Software': None})
