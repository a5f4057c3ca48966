# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a node and an evaluation need of whatever learns from a stream while it filters it."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TYPE_CHECKING

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from two_manifold_ros.adapting.reference import Reference
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.filtering.filter import Filter
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.typing import Floats


class Lacking(NamedTuple):
    """
    What a learner lacks to tell positions.

    Parameters
    ----------
    cause
        A short key.
    why
        One sentence.

    """

    cause: str
    why: str


class Learner(Protocol):
    """
    A filter that learns from what it filters, and positions from a reference.

    Attributes
    ----------
    head
        What is known of the stream; who learns of its frames or origin puts another one here.
    filter
        What filters now; another one after a handover inside.
    reference
        What refuses positions; its ``counters``.

    """

    head: ModelHead
    filter: Filter
    reference: Reference

    @property
    def running(self) -> ModelHead:
        """What the filter runs; before anything was learned, what is known of the stream."""

    @property
    def counters(self) -> Counter[str]:
        """What became of the stream; ``learned`` is the number of samples learned from."""

    @property
    def changes(self) -> int:
        """How often what was learned has become something else."""

    @property
    def news(self) -> object:
        """Something else each time that something was learned that is worth telling."""

    def push(self, stamp_ns: int, sample: Sequence[float] | Floats) -> list[Estimate]:
        """Take one sample, see ``Filter.push``."""

    def add_reference(self, stamp_ns: int, x: float, y: float) -> bool:
        """Take a reference position in metres; return whether it is used, see `Reference`."""

    def reset(self, cause: str) -> None:
        """Forget the stream, but nothing that was learned; see ``Filter.reset``."""

    def model(self) -> ModelHead | None:
        """Return what was learned as a model for other filters; ``None`` if it is too little."""

    def lacking(self, reference_topic: str) -> Lacking | None:
        """Return what it lacks to tell positions; ``None`` if nothing but a good estimate."""

    def values(self) -> dict[str, float | str]:
        """Return numbers and words for diagnostics."""

    def progress(self) -> tuple[dict[str, float], Floats]:
        """Return numbers for plots by name, and singular values, largest first, if there are."""

    def saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return JSON values and copies of arrays from which another one can go on."""

    def restore(self, numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on with what ``saved`` gave; raises `InputError` if it does not fit."""

    def close(self) -> None:
        """End whatever runs beside; nothing may be pushed any more."""
