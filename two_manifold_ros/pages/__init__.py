# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Pages for a browser: a report in one file, and a live page. Start reading in ``report.py``.

All of it is drawn by Bokeh, an extra, which the nodes never import.
"""
