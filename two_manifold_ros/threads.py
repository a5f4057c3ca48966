# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Limit the number of threads that linear algebra uses."""

from __future__ import annotations

import os

_LIMITS = ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS')


def one_blas_thread() -> None:
    """
    Keep linear algebra on the calling thread; call before NumPy is imported.

    At these sizes more threads only add jitter, fight over the cores of a robot, and make the
    last bits of a training depend on how many there are. What the environment says goes first.
    """
    for name in _LIMITS:
        os.environ.setdefault(name, '1')
