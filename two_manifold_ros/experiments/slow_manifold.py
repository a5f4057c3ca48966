# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The experiment ``slow-manifold`` of Singer & Coifman (2008), section 1.

The slow variable of a system is found behind a fast one, from short stretches of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
import numpy as np
from scipy.stats import spearmanr

from two_manifold_ros.experiments.experiment import at_least, at_most, seeds_of_set
from two_manifold_ros.experiments.independent_components import reflect, scatter
from two_manifold_ros.manifold.anisotropic_diffusion import AnisotropicDiffusion, GivenCovariances
from two_manifold_ros.manifold.diffusion_map import DiffusionMap
from two_manifold_ros.manifold.independent_components import local_covariances
from two_manifold_ros.manifold.learner import PointSet

if TYPE_CHECKING:
    from two_manifold_ros.experiments.experiment import Findings, Progress
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class SlowSettings:
    """Settings of the runs of the slow and fast system, and limits that they are judged by."""

    recordings: int = 100
    points: int = 20  # taken from each recording
    way: int = 100  # longer steps between them
    draws: int = 5  # sets of recordings
    neighbours: int = 100  # of both maps
    match: float = 0.95  # least rank correlation with the slow variable
    mixed: float = 0.8  # most of the isotropic map, in the mean over the draws


@dataclass(frozen=True)
class SlowSystem:
    r"""
    A slow variable reflected at 0 and 1, and a fast one that it drives.

    .. math:: ds = \tfrac12 f\,dt + dw_1, \qquad
              df = (a \sin 2 \pi s - f)\,dt/\tau + a \sqrt{2/\tau}\,dw_2
    """

    fast_time: float = 0.02  # tau; the slow variable takes ten times as long
    spread: float = 0.4  # a, of the fast variable around a mean that moves as far
    step: float = 5e-6  # time between the samples of a recording
    skip: float = 2e-4  # time between the states on the way from one point to the next
    half: int = 20  # steps of a recording before a point, and after it

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


@dataclass(frozen=True)
class Recorded:
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


def run(progress: Progress, *, quick: bool, seed: int = 0) -> Findings:
    """Find the slow variable with and without the covariances of short stretches."""
    settings, system = SlowSettings(), SlowSystem()
    if quick:
        settings = SlowSettings(recordings=200, points=3, draws=1)
    draws, aware, plain = [], [], []
    for index, drawn in enumerate(seeds_of_set(seed, settings.draws)):
        progress(f'draw {index + 1} of {settings.draws}', index / settings.draws)
        recorded = system.record(settings, np.random.default_rng(drawn))
        # The one path through each point is what there is of a burst.
        duration = 2 * system.half * system.step
        covariances = local_covariances(recorded.stretches[:, None], duration)
        source, points = GivenCovariances(covariances, rank=2), PointSet(recorded.points)
        learner = AnisotropicDiffusion(4, settings.neighbours, source, density=0.5, power=0.0)
        draws.append(recorded)
        aware.append(slowest(learner.fit(points).coordinates))
        plain.append(slowest(DiffusionMap(4, settings.neighbours).fit(points).coordinates))
    matches, mixed = (
        [
            abs(float(spearmanr(each, recorded.slow).statistic))
            for each, recorded in zip(coordinates, draws, strict=True)
        ]
        for coordinates in (aware, plain)
    )
    what = 'rank correlation of the first coordinate with the slow variable'
    paper, mean = 'a claim of the introduction', float(np.mean(mixed))
    return [
        at_least(f'anisotropic: {what}, worst draw', paper, min(matches), settings.match),
        at_most(f'isotropic: {what}, mean of draws', 'not in it', mean, settings.mixed),
    ], _draw_slow(draws[0], aware[0], plain[0])


def _draw_slow(recorded: Recorded, aware: Floats, plain: Floats) -> Figure:
    """Draw what is seen, and the first coordinate of both maps against both variables."""
    figure = Figure(figsize=(12.0, 7.0), layout='constrained')
    axes = figure.subplots(2, 3)
    variables = {'slow variable': recorded.slow, 'fast variable': recorded.fast}
    draw = partial(scatter, size=5.0, most=len(plain))
    for row, (name, variable) in enumerate(variables.items()):
        title = f'what is seen, coloured by the {name}'
        draw(axes[row, 0], recorded.points, variable, title, ('$y_1$', '$y_2$'))
    for row, (name, found) in enumerate({'anisotropic': aware, 'isotropic': plain}.items()):
        for column, (other, variable) in enumerate(variables.items(), start=1):
            places, title = np.stack([variable, found], axis=1), f'{name}: first coordinate'
            names = other, r'$\phi_1$'
            draw(axes[row, column], places, recorded.slow, title, names)
    return figure
