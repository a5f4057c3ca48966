# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Models and their file.

Start with `head.ModelHead`; `model_file` saves and loads.
"""
