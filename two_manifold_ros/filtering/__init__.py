# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The live filter: one IMU sample in, estimates with a status out.

Start with `filter.Filter`; `status` lists every status and cause.
"""
