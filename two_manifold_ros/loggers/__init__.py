# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Files of data loggers and phones, read into bags; begin with ``log.py``."""
