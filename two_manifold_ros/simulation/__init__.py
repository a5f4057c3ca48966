# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Vehicles on routes, as streams of IMU samples and positions.

Begin at `worlds`: one table of vehicles from a slot car to a car on a circuit of 4 km, and
`drive`, which gives a recording of any of them with the truth beside it; `world_course` has the
line and the pace, `world_sensors` what the sensors make of them. `slot_car` is another slot car,
which goes step by step and can be written into a bag or published live: begin there for a live
source. The files whose names begin with `room` make the pictures of a camera for the experiments.
"""
