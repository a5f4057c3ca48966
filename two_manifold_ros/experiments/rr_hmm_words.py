# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Features of the words of two symbols that come before and after a tick."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.features.indicator import IndicatorFeatures
from two_manifold_ros.tpsr.triples import Triples

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

LENGTH = 5
"""Symbols of a history and of a test. The HMM is 2-step observable, but longer words tell more."""

_SPAN = 2 * LENGTH + 1
"""Symbols that a sample is made of: a history, the observation and the test after it."""

CODES = 2**_SPAN
"""How many different samples there are."""


def samples_in(symbols: int) -> int:
    """Return how many samples that many symbols in a row hold."""
    return max(0, symbols - _SPAN + 1)


def codes_of(symbols: Ints) -> Ints:
    """Return the codes of the samples in (n,) symbols, in turn."""
    codes = np.zeros(samples_in(len(symbols)), dtype=np.int64)
    for place in range(_SPAN):
        codes = 2 * codes + symbols[place : place + len(codes)]
    return codes


class WordFeatures:
    """
    Indicators of the words of 1 to ``LENGTH`` symbols that a test begins or a history ends with.

    Short words are seen often and long ones tell more; one length alone does worse with few
    samples or with many. Each is scaled so that all lengths weigh the same for a fair coin.

    Attributes
    ----------
    constant : (d,)
        The constant in features of histories.

    """

    def __init__(self) -> None:
        words = IndicatorFeatures(2, LENGTH)
        whole = (np.arange(words.size)[:, None] >> np.arange(LENGTH)[::-1]) & 1
        points = whole.astype(np.float64)
        self._tests = _stacked([points[:, :length] for length in range(1, LENGTH + 1)])
        self._histories = _stacked([points[:, -length:] for length in range(1, LENGTH + 1)])
        self._observations = np.eye(2)
        self.constant = np.zeros(self._histories.shape[1])
        # Either the one or the other symbol came last.
        self.constant[:2] = 2.0**-0.5

    def triples(self, codes: Ints, counts: Floats) -> Triples:
        """Return the features of samples by code, each of which was seen so many times."""
        words = 2**LENGTH
        return Triples(
            self._tests[(codes // 2) % words],
            self._tests[codes % words],
            self._histories[codes // (2 * words)],
            self._observations[(codes // words) % 2],
            counts,
        )


def _stacked(parts: list[Floats]) -> Floats:
    scaled = [
        2.0 ** (part.shape[1] / 2) * IndicatorFeatures(2, part.shape[1]).transform(part)
        for part in parts
    ]
    return np.hstack(scaled)
