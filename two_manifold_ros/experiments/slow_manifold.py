# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The experiment ``slow-manifold`` of Singer & Coifman (2008), section 1.

The slow variable of a system is found behind a fast one, from short stretches of both.
"""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

import numpy as np
from scipy.stats import spearmanr

from two_manifold_ros.experiments import experiment as lab
from two_manifold_ros.experiments.independent_components import reflect
from two_manifold_ros.manifold.anisotropic_diffusion import AnisotropicDiffusion, GivenCovariances
from two_manifold_ros.manifold.diffusion_map import DiffusionMap
from two_manifold_ros.manifold.independent_components import local_covariances
from two_manifold_ros.manifold.learner import PointSet

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


class SlowSettings(NamedTuple):
    """Settings of the experiment."""

    recordings: int = 100
    points: int = 20  # taken from each recording
    way: int = 100  # longer steps between them
    trials: int = 5  # sets of recordings


class SlowSystem:
    r"""
    A slow variable reflected at 0 and 1, and a fast one that it drives.

    .. math:: ds = \tfrac12 f\,dt + dw_1, \qquad
              df = (a \sin 2 \pi s - f)\,dt/\tau + a \sqrt{2/\tau}\,dw_2
    """

    fast_time = 0.02  # tau; the slow variable takes ten times as long
    spread = 0.4  # a, of the fast variable around a mean that moves as far
    step = 5e-6  # time between the samples of a recording
    skip = 2e-4  # time between the states on the way from one point to the next
    half = 20  # steps of a recording before a point, and after it

    def record(self, settings: SlowSettings, rng: np.random.Generator) -> Recorded:
        """Record the system several times, and take points from the recordings."""
        count, half = settings.recordings, self.half
        states = np.stack([rng.random(count), self.spread * rng.standard_normal(count)])
        kept = np.empty((settings.points, 2 * half + 1, 2, count))
        for place in range(settings.points):
            for _ in range(settings.way):
                states = self._move(states, self.skip, rng)
            for step in range(2 * half + 1):
                kept[place, step] = states = self._move(states, self.step, rng)
        slow, fast = kept.transpose(2, 3, 0, 1).reshape(2, count * settings.points, -1)
        # Seen is the slow variable as a radius and the fast one as an angle.
        radius = 1.0 + slow
        seen = np.stack([radius * np.cos(fast), radius * np.sin(fast)], axis=-1)
        return Recorded(slow[:, half], fast[:, half], seen)

    def _move(self, states: Floats, step: float, rng: np.random.Generator) -> Floats:
        slow, fast = states
        noise = rng.standard_normal(states.shape) * np.sqrt(step)
        pull = (self.spread * np.sin(2.0 * np.pi * slow) - fast) / self.fast_time
        kick = self.spread * np.sqrt(2.0 / self.fast_time) * noise[1]
        return np.stack([reflect(slow + 0.5 * fast * step + noise[0]), fast + pull * step + kick])


class Recorded(NamedTuple):
    """The hidden variables at points, (n,), and what is seen around each point, (n, m, 2)."""

    slow: Floats
    fast: Floats
    stretches: Floats

    @property
    def points(self) -> Floats:
        """Observations of the points: (n, 2)."""
        return self.stretches[:, self.stretches.shape[1] // 2]


def slowest(coordinates: Floats) -> Floats:
    """
    Return the first of (n, m) coordinates that is a function of all points: (n,).

    A point that noise has thrown far from all others is almost a component of the graph of its
    own. Its indicator, with an eigenvalue near one, then comes before the slow variable: more than
    half of the square of such a coordinate is on one point.
    """
    squares = np.square(coordinates - coordinates.mean(axis=0))
    spread = squares.max(axis=0) <= 0.5 * squares.sum(axis=0)
    first: Floats = coordinates[:, int(spread.argmax())]
    return first


class Slow(NamedTuple):
    """A draw, and the first coordinate (n,) of both maps."""

    recorded: Recorded
    anisotropic: Floats
    isotropic: Floats


def fit(settings: SlowSettings, seed: int, _: lab.Progress) -> Slow:
    """Find the slow variable with and without the covariances of short stretches."""
    system, neighbours = SlowSystem(), 100
    recorded = system.record(settings, np.random.default_rng(seed))
    # The one path through each point is what there is of a burst.
    duration = 2 * system.half * system.step
    covariances = local_covariances(recorded.stretches[:, None], duration)
    source, points = GivenCovariances(covariances, rank=2), PointSet(recorded.points)
    aware = AnisotropicDiffusion(4, neighbours, source, density=0.5, power=0.0)
    maps = (aware, DiffusionMap(4, neighbours))
    return Slow(recorded, *(slowest(each.fit(points).coordinates) for each in maps))


def score(_: SlowSettings, found: list[Slow]) -> list[lab.Claim]:
    """Claim that only the anisotropic map shows the slow variable."""
    matches, mixed = (
        [abs(float(spearmanr(each[index], each.recorded.slow).statistic)) for each in found]
        for index in (1, 2)
    )
    what = 'rank correlation of the first coordinate with the slow variable'
    paper, mean = 'a claim of the introduction', float(np.mean(mixed))
    return [
        lab.at_least(f'anisotropic: {what}, worst draw', paper, min(matches), 0.95),
        lab.at_most(f'isotropic: {what}, mean of draws', 'not in it', mean, 0.8),
    ]


def draw(found: list[Slow]) -> list[lab.Panel]:
    """Draw what is seen, and the first coordinate of both maps against both variables."""
    recorded, panels = found[0].recorded, []
    for name in ('slow', 'fast'):
        variable = getattr(recorded, name)
        seen = lab.dots(recorded.points, variable)
        panels.append(lab.panel(f'what is seen, by the {name} variable', seen))
        for each in ('anisotropic', 'isotropic'):
            places = np.stack([variable, getattr(found[0], each)], axis=1)
            names = {'xlabel': f'{name} variable', 'ylabel': 'first coordinate'}
            panels.append(lab.panel(each, lab.dots(places, recorded.slow), **names))
    return panels


run = lab.Runner(SlowSettings(), SlowSettings(200, points=3, trials=1), fit, score, draw)
