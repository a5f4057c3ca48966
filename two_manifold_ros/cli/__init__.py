# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The commands of `two-manifold`.

Start with `main`; each sub-command is a file.
"""
