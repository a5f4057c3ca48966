# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One warning per cause, and one word when it is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

REPEAT_S = 30.0
"""A cause that lasts or keeps coming back is warned of at most this often."""


class Notices:
    """
    Turn the causes that are present now into few log lines.

    Parameters
    ----------
    warn, info
        Log one line.

    """

    def __init__(self, warn: Callable[[str], object], info: Callable[[str], object]) -> None:
        self._warn = warn
        self._info = info
        self._said: dict[str, float] = {}
        self._open: dict[str, tuple[float, str]] = {}

    def update(self, present: Mapping[str, str], now_s: float) -> bool:
        """
        Warn of causes that are new, and tell which are over and how long they lasted.

        Parameters
        ----------
        present
            Sentence by cause.
        now_s
            Seconds of a clock that never goes back.

        Returns
        -------
        bool
            Whether any was told to be over.

        """
        for cause, sentence in present.items():
            said = self._said.get(cause)
            if said is None or now_s - said >= REPEAT_S:
                self._said[cause] = now_s
                begun_s, _ = self._open.get(cause, (now_s, ''))
                self._open[cause] = begun_s, sentence
                self._warn(sentence)
        over = [cause for cause in self._open if cause not in present]
        for cause in over:
            begun_s, sentence = self._open.pop(cause)
            self._info(f'Over after {now_s - begun_s:.1f} s: {sentence}')
        return bool(over)
