# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the filter needs of what runs below it, tick by tick, and how one is made of a model."""

from __future__ import annotations

from typing import Protocol, TYPE_CHECKING

from two_manifold_ros.filtering.route_tracker import RouteTracker
from two_manifold_ros.filtering.tracker import Tracker
from two_manifold_ros.model.model import Model
from two_manifold_ros.model.route_model import RouteModel

if TYPE_CHECKING:
    from two_manifold_ros.filtering.step import Step
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.typing import Floats


class HasState(Protocol):
    """A belief."""

    @property
    def state(self) -> Floats:
        """Latent state (k,) after the last observation."""


class CountsTicks(Protocol):
    """The newest observations."""

    @property
    def count(self) -> int:
        """Ticks in a row that were seen."""

    @property
    def full(self) -> bool:
        """Whether a whole window was seen."""


class TickFilter(Protocol):
    """A filter over ticks, whatever the stamps."""

    @property
    def belief(self) -> HasState:
        """What is believed."""

    @property
    def window(self) -> CountsTicks:
        """What was seen."""

    def start(self) -> None:
        """Forget everything but what was learned."""

    def coast(self, ticks: int) -> None:
        """Move on by some ticks without observations; the window has to fill anew."""

    def update(self, values: Floats) -> Step:
        """Take the (c,) means of one tick, in the units of the samples."""

    def read(self) -> tuple[Floats, Floats]:
        """Return means (H + 1, 2) and covariances (H + 1, 2, 2) of positions and velocity."""

    def places(self) -> Floats | None:
        """Return the (m, 3) places where the vehicle may be; ``None`` if they cannot be told."""


def make_tick_filter(model: ModelHead, *, with_places: bool = False) -> TickFilter:
    """
    Return a fresh filter of the kind that the model is for.

    Parameters
    ----------
    model
        Of a kind that has a file.
    with_places
        Whether ``places`` will be asked for; only a belief about places can tell them.

    """
    if isinstance(model, RouteModel):
        return RouteTracker(model, with_places=with_places)
    if isinstance(model, Model):
        return Tracker(model)
    msg = f'no filter runs a {type(model).__name__}'
    raise TypeError(msg)
