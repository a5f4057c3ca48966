# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inspect a recording before training; start with `inspecting.inspect_recording`."""
