# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How large the 95 % ellipse of a position may be."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.signs import EllipseLimits
from two_manifold_ros.filtering.soundness import half_axis
from two_manifold_ros.filtering.tick_filter import make_tick_filter
from two_manifold_ros.model.model import Model
from two_manifold_ros.model.route_model import RouteModel
from two_manifold_ros.readout.ridge import RidgeReadout

if TYPE_CHECKING:
    from two_manifold_ros.model.head import ModelHead

WARN_SHARE, ERROR_SHARE = 0.35, 0.7
"""
Shares of the ellipse of one who knows nothing but the route.

Above the second, hardly more is known. Held-out drives of three slot cars and two real cars stay
below the first but for stretches where they are indeed wrong.
"""


def limits_of(model: ModelHead, warn_m: float = 0.0, error_m: float = 0.0) -> EllipseLimits:
    """
    Return the limits for a model.

    Parameters
    ----------
    model
        Any; without positions there are no limits but those that are given.
    warn_m, error_m
        In metres; 0 for what the model says.

    Raises
    ------
    InputError
        If a limit is negative or no number, or the first is above the second.

    """
    whole_m = _knowing_nothing_m(model)
    error = error_m or ERROR_SHARE * whole_m
    warn = warn_m or min(WARN_SHARE * whole_m, error)
    if not 0.0 < warn <= error:
        msg = (
            f'ellipse_warn_m is {warn:.3g} m and ellipse_error_m {error:.3g} m, where 0 takes '
            f'what fits the model: set both so that the first is above 0 and not above the second'
        )
        raise InputError(msg)
    return EllipseLimits(warn, error)


def _knowing_nothing_m(model: ModelHead) -> float:
    """Return how far the ellipse of one who knows nothing but the route reaches, metres."""
    known = model.track[np.isfinite(model.track).all(axis=1)]
    whole = half_axis(np.cov(known.T, bias=True)) if len(known) > 1 else math.nan
    told = math.nan
    # The ridge read-out says the same of every belief, also of one that knows.
    if isinstance(model, RouteModel) or (
        isinstance(model, Model) and not isinstance(model.readout, RidgeReadout)
    ):
        # The calibration may well say less than the spread: a belief may lie but seldom far.
        told = half_axis(make_tick_filter(model).read()[1][0])
    sizes = [each for each in (whole, told) if each > 0.0]
    return min(sizes, default=math.inf)
