# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Short names for types that the package passes around: arrays, and tables of texts."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Ints: TypeAlias = NDArray[np.int64]
Indices: TypeAlias = NDArray[np.uint32]
"""Compiled loops look whether an index is negative, unless it cannot be."""
Bools: TypeAlias = NDArray[np.bool_]


class Table(NamedTuple):
    """A table of texts, for the terminal and for a page; header and title may be empty."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
