# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pages for a browser, drawn by Bokeh, an extra: start reading in ``report.py``."""
