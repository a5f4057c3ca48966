# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Samples of misconfigured IMUs, written down once more."""

from collections.abc import Callable

import numpy as np

Array = np.ndarray


FORCES, RATES = slice(0, 3), slice(3, 6)


def scaled(forces: float, rates: float) -> Callable[[Array], Array]:
    """Return another choice of units."""
    return lambda samples: samples * ([forces] * 3 + [rates] * 3)


def turned(matrix: list[list[int]]) -> Callable[[Array], Array]:
    """Return the IMU mounted so that what it reads are these rows times what it read."""
    rows = np.array(matrix)
    return lambda samples: np.hstack([samples[:, FORCES] @ rows.T, samples[:, RATES] @ rows.T])


def reversed_signs(*channels: int) -> Callable[[Array], Array]:
    """Return some channels with the other sign."""
    return lambda samples: samples * [-1 if c in channels else 1 for c in range(6)]


def exchanged(samples: Array) -> Array:
    """Return the fields of the message mixed up."""
    return np.hstack([samples[:, RATES], samples[:, FORCES]])


WRONG: dict[str, Callable[[Array], Array]] = {
    'accelerations_in_g': scaled(1 / 9.80665, 1.0),
    'accelerations_in_milli_g': scaled(1000 / 9.80665, 1.0),
    'rates_in_degrees': scaled(1.0, 57.29577951308232),
    'accelerations_in_g_and_rates_in_degrees': scaled(1 / 9.80665, 57.29577951308232),
    'gravity_removed': lambda samples: samples - [0, 0, 9.80665, 0, 0, 0],
    'sign_of_ax': reversed_signs(0),
    'sign_of_ay': reversed_signs(1),
    'sign_of_wz': reversed_signs(5),
    'sign_of_rates': reversed_signs(3, 4, 5),
    'turned_about_x': turned([[1, 0, 0], [0, -1, 0], [0, 0, -1]]),
    'turned_about_z': turned([[-1, 0, 0], [0, -1, 0], [0, 0, 1]]),
    'turned': turned([[0, 1, 0], [-1, 0, 0], [0, 0, 1]]),
    'axes_exchanged': turned([[0, 1, 0], [1, 0, 0], [0, 0, 1]]),
    'sensors_exchanged': exchanged,
}
"""By the cause that should be named."""
