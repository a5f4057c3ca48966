# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A transition of which no mode grows (section 6.2)."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


def stable(transition: Floats) -> Floats:
    """
    Return a (k, k) transition with its growing modes shrunk to modulus one.

    Modes inside the unit circle stay as they are, and so does a transition that has no other. If
    its modes are too nearly parallel to be told apart, all of them are scaled.
    """
    bounded: Floats = transition.copy()
    values, vectors = np.linalg.eig(transition)
    modulus = np.abs(values)
    if not modulus.max(initial=0.0) > 1.0:
        return bounded
    with suppress(np.linalg.LinAlgError):
        bounded = ((vectors * (values / np.maximum(modulus, 1.0))) @ np.linalg.inv(vectors)).real
    bounded /= max(float(np.abs(np.linalg.eigvals(bounded)).max()), 1.0)
    return bounded
