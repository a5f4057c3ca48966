# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What live input looks like beside that of training, and what is wrong with it in words."""
