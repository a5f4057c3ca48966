# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How the learning goes, as a labelled array, for plotting."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from two_manifold_ros.outputs.labelled import labelled_array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.outputs.topics import Message


def adaptation_message(stamp_ns: int, numbers: Mapping[str, float]) -> Message | None:
    """
    Return ``std_msgs/Float64MultiArray``, see `labelled_array`.

    Parameters
    ----------
    stamp_ns
        Nanoseconds.
    numbers
        By name, in the order to tell them.

    Returns
    -------
    Message, optional
        ``None`` if not every number is finite.

    """
    entries = {name: float(number) for name, number in numbers.items()}
    finite = all(map(math.isfinite, entries.values()))
    return labelled_array(stamp_ns, entries) if finite else None
