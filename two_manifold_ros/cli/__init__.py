# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The commands of `two-manifold`.

Each is a file; `__main__.py` of the package chooses one.
"""
