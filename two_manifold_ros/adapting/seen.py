# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an adapting tracker shows of its window, and of a belief before there is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


@dataclass
class NoBelief:
    """
    What is believed before anything was learned.

    Parameters
    ----------
    state : (k,)
        Zeros.

    """

    state: Floats


@dataclass
class Seen:
    """
    What was seen.

    Parameters
    ----------
    count
        Ticks in a row.
    full
        Whether a whole window was seen.

    """

    count: int = 0
    full: bool = False
