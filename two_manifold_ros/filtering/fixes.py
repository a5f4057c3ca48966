# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A measured position as evidence about the place on a map: from a person, a tag, a satellite."""

from __future__ import annotations

from dataclasses import dataclass, replace
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.readout import floors, squared_mahalanobis
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.recordings.satellite_fixes import east_north, latitude_longitude
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.recordings.recording import GeodeticOrigin
    from two_manifold_ros.route.route import Route

NEWEST = 0
"""Stamp of a fix that is of the newest tick, whichever that is."""


@dataclass(frozen=True)
class Fix:
    """
    A position (2,) of the vehicle at a stamp in ns, x and y in metres in a frame.

    ``covariance`` (2, 2), m^2, is that of the measurement alone; the map adds how far drives
    scatter about its places, so zero means as exact as the positions of the training. A
    ``heading`` (rad, of the front, counter-clockwise from x) with a variance (rad^2) is weighed as
    well, NaN if unknown. An ``origin`` is of the tangent plane of satellite fixes.
    """

    stamp_ns: int
    position: Floats
    covariance: Floats
    heading: float = math.nan
    heading_variance: float = 0.0
    frame_id: str = ''
    origin: GeodeticOrigin | None = None

    def __post_init__(self) -> None:
        """Raise `InputError` if a number is not finite, or a covariance cannot be one."""
        for name, shape in (('position', (2,)), ('covariance', (2, 2))):
            values = np.asarray(getattr(self, name), dtype=np.float64)
            if values.shape != shape:
                raise InputError(f'the {name} of a position fix has to be of the shape {shape}')
            object.__setattr__(self, name, values)
        known = [*self.position, *self.covariance.ravel(), self.heading_variance]
        # Products of larger ones are not finite.
        if not (np.abs(known) < 1e100).all():
            msg = 'a position fix has a number that is not finite: look at what measures it'
            raise InputError(msg)
        (a, b), (c, d) = self.covariance.tolist()
        # Up to rounding, as in another frame.
        positive = a >= 0.0 and d >= 0.0 and (1.0 + 1e-9) * a * d >= b * b
        if not (b == c and positive) or self.heading_variance < 0:
            raise InputError(
                'the covariance of a position fix cannot be one: it is not symmetric, or a '
                'variance is negative; look at what measures it'
            )

    def on_map_of(self, model: ModelHead) -> Fix | None:
        """Return it in the plane of a model, ``None`` if its frame is another one."""
        if (self.origin is None) != (model.origin is None) or model.frame_id == LAP_FRAME:
            return None
        if self.origin is None or self.origin == model.origin:
            return None if len({self.frame_id, model.frame_id} - {''}) > 1 else self
        assert model.origin is not None  # noqa: S101 - as the other one, checked above
        (degrees,) = latitude_longitude(self.position[None], self.origin)
        height = np.array([self.origin.altitude_m])
        (there,) = east_north(degrees[:1], degrees[1:], height, model.origin)
        return replace(self, position=there, origin=model.origin)


class Weights(NamedTuple):
    """
    How likely a fix is, over how likely one of any place of the map is.

    ``near`` (r, P) is of a vehicle at each place, at each of r speed ratios there, ``away`` of one
    that is not on the map. ``density``, 1/m^2, is that of one of any place.
    """

    near: Floats
    away: float
    density: float


class FixedPlaces:
    """Where a fix is to be expected from each place of a map."""

    def __init__(self, route: Route) -> None:
        readout, motion, geometry = route.readout, route.motion, route.geometry
        self._positions = readout.targets[:, 0]
        self._known = np.isfinite(self._positions).all(axis=1)
        self._covariances = readout.covariances[:, 0] * readout.factors[0]
        self._covariances += floors(readout.targets)[0] * np.eye(2)
        # A vehicle in reverse moves against its heading.
        self._velocities = (
            readout.targets[:, -1] * np.where(motion.tick_lengths < 0, -1, 1)[:, None]
        )
        self._velocity_covariances = readout.covariances[:, -1]
        self._rates, self._tail = motion.rates, route.likelihood.tail
        # From each place to the one that most drives came from, one place before.
        begins, targets, steps, shares = geometry
        sources = np.repeat(np.arange(route.places), np.diff(begins))
        one = np.flatnonzero(steps == 1)
        one = one[np.argsort(shares[one], kind='stable')]
        self._before = np.arange(route.places)
        self._before[targets[one]] = sources[one]
        # A vehicle at a place is anywhere as far from it as half the way to the next one.
        steps_m = np.nan_to_num(self._positions - self._positions[self._before])
        self._covariances += np.einsum('pi,pj->pij', steps_m, steps_m) / 12.0

    def positions_before(self, ago: float, ratios: Floats) -> Floats:
        """Return the positions (r, P, 2) so many ticks ago, at speed ratios (r, P) on the way."""
        at = np.broadcast_to(np.arange(ratios.shape[1]), ratios.shape)
        left = np.full(ratios.shape, ago)
        ratios = np.maximum(ratios, 1e-9)
        while True:
            before = self._before[at]
            lasts = 1.0 / (self._rates[before] * ratios)
            goes = (left >= lasts) & (before != at)
            if not goes.any():
                share = np.where(before != at, np.minimum(left / lasts, 1.0), 0.0)[..., None]
                found: Floats = (1.0 - share) * self._positions[at] + share * self._positions[
                    before
                ]
                return found
            at, left = np.where(goes, before, at), np.where(goes, left - lasts, left)

    def weigh(self, fix: Fix, ago: float, ratios: Floats) -> Weights:
        """Weigh a fix of so many ticks ago, since when it moved at speed ratios (r, P)."""
        apart = fix.position - self.positions_before(ago, ratios)
        apart[:, ~self._known] = 0.0
        # A little more, so that one of a line, or of a rounded one, has an inverse.
        more = 1e-8 * np.trace(fix.covariance) * np.eye(2)
        covariances = self._covariances + fix.covariance + more
        # Student t, as of the observations: covariances of sensors and maps are rarely exact.
        squares = squared_mahalanobis(apart, covariances)
        likely = (1.0 + squares / self._tail) ** (-0.5 * (self._tail + 2.0))
        likely /= 2.0 * math.pi * np.sqrt(np.linalg.det(covariances))
        likely[:, ~self._known] = 0.0
        if math.isfinite(fix.heading):
            likely *= self._headings(fix)
        # Of a vehicle anywhere about the map, whose fix is within three deviations of that area.
        known = self._positions[self._known]
        spread = 3.0 * np.sqrt(np.diagonal(covariances.mean(axis=0)))
        anywhere = 1.0 / float(np.prod(np.ptp(known, axis=0) + 2.0 * spread))
        any_place = max(float(likely.mean()), anywhere)
        return Weights(likely / any_place, anywhere / any_place, any_place)

    def _headings(self, fix: Fix) -> Floats:
        """Return the likelihood (P,) of a heading over that of any heading."""
        velocities, spreads = self._velocities, self._velocity_covariances
        squares = np.maximum(np.square(velocities).sum(axis=1), 1e-12)
        across = np.column_stack([-velocities[:, 1], velocities[:, 0]])
        variances = np.einsum('pi,pij,pj->p', across, spreads, across) / squares**2
        variances = fix.heading_variance + np.maximum(variances, 1e-4)
        apart = fix.heading - np.arctan2(velocities[:, 1], velocities[:, 0])
        # Of von Mises, which is even where the variance is large.
        precisions = np.minimum(1.0 / variances, 500.0)
        scaled: Floats = np.exp(precisions * np.cos(apart)) / np.i0(precisions)
        return scaled
