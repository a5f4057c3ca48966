# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A transition of which no mode grows (section 6.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


ROUNDING = 1e-9
"""By which the modulus of a mode may exceed one."""


def stable(transition: Floats) -> Floats:
    """
    Return a (k, k) transition with its growing modes shrunk to modulus one.

    Modes inside the unit circle stay as they are, and so does a transition that has no other. If
    modes are too nearly parallel to be told apart, all are scaled by the same factor.
    """
    values, vectors = np.linalg.eig(transition)
    modulus = np.abs(values)
    scaled: Floats = transition / modulus.max(initial=1.0)
    if not modulus.max(initial=1.0) > 1.0:
        return scaled
    try:
        shrunk = ((vectors * (values / np.maximum(modulus, 1.0))) @ np.linalg.inv(vectors)).real
    except np.linalg.LinAlgError:
        return scaled
    told_apart = np.abs(np.linalg.eigvals(shrunk)).max() <= 1.0 + ROUNDING
    return shrunk if told_apart else scaled
