# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Files of data loggers and phones: read them into bags, and write estimates for their viewers.

Begin with ``log.py``, what every file is read into.
"""
