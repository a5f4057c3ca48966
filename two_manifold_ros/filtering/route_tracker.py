# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter over ticks that runs a belief about the place on a route."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from two_manifold_ros.filtering.estimate import Places
from two_manifold_ros.filtering.tracker import Step, TickInput
from two_manifold_ros.route.belief import RouteBelief
from two_manifold_ros.ticks.novelty import UNFAMILIAR

if TYPE_CHECKING:
    from two_manifold_ros.model.route_model import RouteModel
    from two_manifold_ros.typing import Floats


class SeenTicks:
    """
    Count the ticks in a row that were seen.

    Parameters
    ----------
    width
        Ticks in a window.

    Attributes
    ----------
    count
        How many.

    """

    def __init__(self, width: int) -> None:
        self._width = width
        self.count = 0

    @property
    def full(self) -> bool:
        """Whether a whole window was seen."""
        return self.count >= self._width


class RouteTracker:
    """
    Belief and window of one model, see ``TickFilter``.

    Parameters
    ----------
    model
        Any; several may share it.
    with_places
        Whether ``places`` will be asked for.

    Attributes
    ----------
    belief
        About the place, and whether the vehicle is on the route at all.
    window
        How much was seen.

    """

    def __init__(self, model: RouteModel, *, with_places: bool = False) -> None:
        route = model.route
        self._input = TickInput(model)
        self._most_still = model.most_still + model.window
        self._places = Places(route.targets[:, 0]) if with_places else None
        self.belief = RouteBelief(route)
        self.window = SeenTicks(model.window)

    def start(self) -> None:
        """Forget everything."""
        self._input.clear()
        self.belief.start()
        self.window.count = 0

    def coast(self, ticks: int) -> None:
        """Move on by some ticks without observations; the window has to fill anew."""
        self.belief.skip(ticks)
        self.window.count = 0

    def update(self, values: Floats) -> Step:
        """Take the (c,) means of one tick, in the units of the samples."""
        seen, belief = self._input, self.belief
        seen.push(values)
        evidence = belief.update(seen.observation)
        self.window.count += 1
        broken = max(seen.still / self._most_still, seen.beyond)
        return Step(
            evidence,
            accepted=evidence > 0.0,
            # Where nothing is broken nothing is unfamiliar; whether it is the route is told apart.
            familiarity=max(1.0, UNFAMILIAR * broken) if self.window.full else math.nan,
            restarted=evidence == 0.0,
            off_route=max(1.0 - belief.on_route, 0.0),
            unlike=belief.unlike,
        )

    def read(self) -> tuple[Floats, Floats]:
        """Return means (H + 1, 2) and covariances (H + 1, 2, 2) of positions and velocity."""
        return self.belief.read()

    def places(self) -> Floats | None:
        """Return the (m, 3) places where the vehicle may be; ``None`` if they cannot be told."""
        return None if self._places is None else self._places.read(self.belief.weights)
