# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The estimate of a tick, the check of its numbers, and what a model says of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
import math
from typing import Final, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.atlas import AtlasTracker
from two_manifold_ros.filtering.status import EllipseLimits, Status, USABLE
from two_manifold_ros.filtering.tracker import (
    half_axis,
    RouteTracker,
    TickFilter,
    TpsrTracker,
    Tracker,
)
from two_manifold_ros.model.model import AtlasModel, Model, ModelHead, RouteModel, TpsrModel
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from two_manifold_ros.filtering.network_lines import Branch
    from two_manifold_ros.model.path_ahead import Ahead


@dataclass(frozen=True)
class Estimate:
    """
    The filter's answer at one tick, which ended at ``stamp_ns``; observations used are older.

    Parameters
    ----------
    tick
        Ticks since the filter was last reset, those without observations included, from 0.
    status, cause, why
        Whether it may be used, and why it is so, see ``Verdict``.
    state : (k,)
        Latent state, the belief about the next tick, mathematics (6.1).
    positions : (H, 2), covariances : (H, 2, 2)
        Position at each horizon of the model, metres, now the first, and their calibrated
        covariances, m^2, positive definite.
    velocity : (2,), velocity_covariance : (2, 2)
        Velocity now, m/s, and its covariance, (m/s)^2.
    evidence
        Share of the observation's weight that survives cancellation, in [-1, 1]; 1 is best
        (mathematics, section 6.5).
    novelty
        See ``NoveltyScore``: about 1 on the trained route, about 2 on another and more where units
        or mounting are wrong; NaN until a window is full.
    ellipse_m
        Half the long axis of the 95 % ellipse of the present position, metres; NaN if a number
        above is not finite or a covariance not positive definite.
    off_route
        Probability that the vehicle is off the trained route, or of an atlas that it is not where
        the estimate says; NaN where the filter has none.
    places : (m, 3), optional
        x, y and chance of the modes of the position; now and then, of a route belief.
    route, line
        Names of the known route and of the line of a network that is driven; empty if it has none.
    chances
        Probability that the vehicle drives on each known route or line, by name; the rest up to
        one is the probability that it drives on none of them.
    branches
        The ways ahead that may be driven, first those of the route, each group with the likeliest
        first; empty if there is one alone.
    fork
        Index of the first horizon at which lines on the map of the route lead to different places,
        from which on positions and covariances are of a mixture; ``None`` if they do not.
    ahead
        Returns the path ahead if it is not along the map of the model, else ``None``.

    """

    stamp_ns: int
    tick: int
    status: Status
    cause: str
    why: str
    state: Floats
    positions: Floats
    covariances: Floats
    velocity: Floats
    velocity_covariance: Floats
    evidence: float
    novelty: float
    ellipse_m: float
    off_route: float = math.nan
    places: Floats | None = None
    route: str = ''
    line: str = ''
    chances: Mapping[str, float] = field(default_factory=dict)
    branches: tuple[Branch, ...] = ()
    fork: int | None = None
    ahead: Callable[[], Ahead] | None = None

    @property
    def name(self) -> str:
        """Name of the line or route that is driven; empty where none has a name."""
        return self.line or self.route

    @property
    def path(self) -> Floats:
        """Positions (H, 2) along the likeliest way ahead, metres."""
        return self.positions if self.fork is None else self.branches[0].positions

    @property
    def path_name(self) -> str:
        """Name of the line or route of `path`; empty where none has a name."""
        return self.name if self.fork is None else self.branches[0].name

    @property
    def valid(self) -> bool:
        """True if the estimate may be published; then every number of it is finite."""
        return self.status in USABLE


def make_tick_filter(model: ModelHead, *, with_places: bool = False) -> TickFilter:
    """Return a fresh filter for the model; only one of routes can be asked for ``places``."""
    if isinstance(model, AtlasModel):
        return AtlasTracker(model, with_places=with_places)
    if isinstance(model, RouteModel):
        return RouteTracker(model, with_places=with_places)
    if isinstance(model, Model):
        return Tracker(model)
    if isinstance(model, TpsrModel):
        return TpsrTracker(model)
    raise TypeError(f'no filter runs a {type(model).__name__}')


WARN_SHARE, ERROR_SHARE = 0.35, 0.7
"""
Default limits of the 95 % ellipse, over the ellipse of a uniform prior over the route: above the
second, the route is nearly all that is known.
"""


def limits_of(model: ModelHead, warn_m: float = 0.0, error_m: float = 0.0) -> EllipseLimits:
    """
    Return the limits of the ellipse, given in metres, or 0 for what the model says.

    Without positions there are none but those that are given. An `InputError` is raised if a limit
    is negative or no number, or the first is above the second.
    """
    known = model.track[np.isfinite(model.track).all(axis=1)]
    # Of a uniform prior over the route; the calibration may give less than the spread, since a
    # belief may err often but rarely by much.
    spreads = [np.cov(known.T, bias=True)] if len(known) > 1 else []
    if model.trained_model is not None:
        spreads += make_tick_filter(model).spread_anywhere()
    whole_m = min((each for each in map(half_axis, spreads) if each > 0.0), default=math.inf)
    error = error_m or ERROR_SHARE * whole_m
    warn = warn_m or min(WARN_SHARE * whole_m, error)
    if not 0.0 < warn <= error:
        raise InputError(
            f'ellipse_warn_m is {warn:.3g} m and ellipse_error_m {error:.3g} m, where 0 takes '
            f'what fits the model: set both so that the first is above 0 and not above the second'
        )
    return EllipseLimits(warn, error)


ANYWHERE: Final = np.array([[-math.inf] * 2, [math.inf] * 2])
"""The region of a filter that nothing is known of."""


def region_of(model: ModelHead, margin: float) -> Floats:
    """
    Return the (2, 2) least and greatest coordinates that a sound estimate of a model can have.

    A belief of signed weights is thrown far outside when its normaliser comes near zero, and its
    ellipse need not show that. The ``margin`` is the ellipse above which none is published.
    """
    known = model.track[np.isfinite(model.track).all(axis=1)]
    if not len(known) or not math.isfinite(margin):
        return ANYWHERE
    return np.array([known.min(axis=0) - margin, known.max(axis=0) + margin])
