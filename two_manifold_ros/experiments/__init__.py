# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the papers show, each as an experiment with claims that pass or fail and a picture."""
