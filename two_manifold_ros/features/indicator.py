# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One-hot features of words of symbols."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.features.checking import check_count, check_points, LARGEST_SIZE

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class IndicatorFeatures:
    """
    A one for the word that a point is and zeros for all others, for discrete data.

    A point is a row of symbol codes 0, 1, ..., the first one counting most in the order of the
    words: with two symbols 00, 01, 10, 11. The features of a point add up to one, so the constant
    is written in them as all ones.

    Parameters
    ----------
    symbols
        In the alphabet.
    length
        Symbols in a word.

    Raises
    ------
    InputError
        If a number is not a whole one of at least 1, or the words are too many.

    """

    symbols: int
    length: int

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_count('symbols', self.symbols)
        check_count('length', self.length)
        # The power of a large length would itself take for ever, and 20 are enough to be too many.
        if max(self.length, self.symbols ** min(self.length, 20)) > LARGEST_SIZE:
            msg = (
                f'words of {self.length} out of {self.symbols} symbols are more than '
                f'{LARGEST_SIZE}; take shorter words or fewer symbols'
            )
            raise InputError(msg)

    @property
    def inputs(self) -> int:
        """Symbols in a word."""
        return self.length

    @property
    def size(self) -> int:
        """How many words there are."""
        words: int = self.symbols**self.length
        return words

    def transform(self, points: Floats) -> Floats:
        """
        Return the (n, size) one-hot rows of (n, length) symbol codes.

        Raises
        ------
        InputError
            If the points have another shape or hold anything but codes of symbols.

        """
        points = check_points(points, self.length)
        codes = np.clip(points, 0, self.symbols - 1).astype(np.int64)
        if not np.array_equal(codes, points):
            msg = (
                f'a point holds something else than the codes 0 to {self.symbols - 1} of the '
                'symbols; give every symbol one of these codes'
            )
            raise InputError(msg)
        weights = self.symbols ** np.arange(self.length - 1, -1, -1, dtype=np.int64)
        features = np.zeros((len(points), self.size))
        features[np.arange(len(points)), codes @ weights] = 1.0
        return features
