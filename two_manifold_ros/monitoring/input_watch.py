# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Watch the input of a filter."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.monitoring.finding import Finding
    from two_manifold_ros.typing import Floats


class InputWatch:
    """
    Hold samples and ticks against those of training.

    Parameters
    ----------
    model
        Whose training.

    """

    def __init__(self, model: ModelHead) -> None:
        self._model = model
        self.finding: Finding | None = None

    def sample(self, stamp_ns: int, sample: Floats) -> None:
        """Take one good (c,) sample."""

    def tick(self, means: Floats, familiarity: float) -> None:
        """Take the (c,) means of one tick, and how familiar the window is that it ends."""

    def clear(self) -> None:
        """Forget the stream."""
