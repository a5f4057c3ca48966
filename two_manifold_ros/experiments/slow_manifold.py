# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiment ``slow-manifold``: the slow variable of a system that also moves fast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
import numpy as np
from scipy.stats import spearmanr

from two_manifold_ros.experiments.experiment import at_least, at_most, Axes, save
from two_manifold_ros.manifold.anisotropic_diffusion import AnisotropicDiffusion
from two_manifold_ros.manifold.diffusion_map import DiffusionMap
from two_manifold_ros.manifold.learner import PointSet
from two_manifold_ros.manifold.local_metric import GivenCovariances, local_covariances

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.experiments.experiment import Claim, Progress
    from two_manifold_ros.typing import Floats


FAST_TIME = 0.02
"""Of the fast variable's return to its mean; the slow one takes ten times as long."""

SPREAD = 0.4
"""Of the fast variable, around a mean that moves as far with the slow one."""

STEP = 5e-6
"""In time, between the samples of a recording."""

SKIP = 2e-4
"""In time, between the states computed on the way from one point to the next."""

HALF = 20
"""Steps of a recording before a point, and after it, that tell how it moves there."""


@dataclass(frozen=True)
class Recorded:
    """
    Points of recordings.

    Parameters
    ----------
    slow, fast : (n,)
        The variables, which nobody sees.
    stretches : (n, 2 HALF + 1, 2)
        What is seen around each point.

    """

    slow: Floats
    fast: Floats
    stretches: Floats

    @property
    def points(self) -> Floats:
        """What is seen at each point: (n, 2)."""
        return self.stretches[:, HALF]


def observe(slow: Floats, fast: Floats) -> Floats:
    """Return what is seen: (..., 2), the slow variable as a radius and the fast as an angle."""
    radius, angle = 1.0 + slow, fast
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)


def record(recordings: int, points: int, way: int, rng: np.random.Generator) -> Recorded:
    r"""
    Record the system several times, and take points from the recordings.

    .. math:: ds = \tfrac12 f\,dt + dw_1 \text{ (reflected at 0 and 1)}, \qquad
              df = (a \sin 2 \pi s - f)\,dt/\tau + a \sqrt{2/\tau}\,dw_2

    Parameters
    ----------
    recordings
        How many.
    points
        From each.
    way
        Longer steps from one point to the next.
    rng
        What moves the system.

    """
    states = np.stack([rng.random(recordings), SPREAD * rng.standard_normal(recordings)])
    kept = np.empty((points, 2 * HALF + 1, 2, recordings))
    for place in range(points):
        for _ in range(way):
            states = _move(states, SKIP, rng)
        for step in range(2 * HALF + 1):
            kept[place, step] = states = _move(states, STEP, rng)
    slow, fast = kept.transpose(2, 3, 0, 1).reshape(2, recordings * points, -1)
    return Recorded(slow[:, HALF], fast[:, HALF], observe(slow, fast))


def _move(states: Floats, step: float, rng: np.random.Generator) -> Floats:
    slow, fast = states
    noise = rng.standard_normal(states.shape) * np.sqrt(step)
    pull = (SPREAD * np.sin(2.0 * np.pi * slow) - fast) / FAST_TIME
    moved = slow + 0.5 * fast * step + noise[0]
    return np.stack(
        [
            1.0 - np.abs(np.mod(moved, 2.0) - 1.0),
            fast + pull * step + SPREAD * np.sqrt(2.0 / FAST_TIME) * noise[1],
        ]
    )


@dataclass(frozen=True)
class Shown:
    """
    What was found in one set of recordings.

    Parameters
    ----------
    recorded
        The points.
    coordinates, isotropic : (n, 2)
        Of the two maps.

    """

    recorded: Recorded
    coordinates: Floats
    isotropic: Floats


def draw(shown: Shown, path: Path) -> None:
    """Write what is seen, and the first coordinate of both maps against both variables."""
    figure = Figure(figsize=(12.0, 7.0), layout='constrained')
    axes = figure.subplots(2, 3)
    recorded = shown.recorded
    variables = {'slow variable': recorded.slow, 'fast variable': recorded.fast}
    maps = {'anisotropic': shown.coordinates, 'isotropic': shown.isotropic}
    for row, (name, variable) in enumerate(variables.items()):
        _scatter(axes[row, 0], recorded.points.T, variable, ('$y_1$', '$y_2$'))
        axes[row, 0].set_title(f'what is seen, coloured by the {name}')
    for row, (name, coordinates) in enumerate(maps.items()):
        for column, (other, variable) in enumerate(variables.items(), start=1):
            places = (variable, coordinates[:, 0])
            _scatter(axes[row, column], places, recorded.slow, (other, r'$\phi_1$'))
            axes[row, column].set_title(f'{name}: first coordinate')
    save(figure, path)


def _scatter(
    axes: Axes, places: tuple[Floats, Floats], colours: Floats, names: tuple[str, str]
) -> None:
    axes.scatter(*places, c=colours, s=5.0, cmap='viridis', linewidths=0)
    axes.set(xlabel=names[0], ylabel=names[1])


WHAT = 'rank correlation of the first coordinate with the slow variable'

NEIGHBOURS = 100
"""Of both maps."""


@dataclass(frozen=True)
class Size:
    """
    How much is run, and how strictly it is judged.

    Parameters
    ----------
    recordings
        Of the system.
    points
        Taken from each.
    way
        Longer steps between them.
    draws
        Sets of recordings, with seeds from 0 on.
    match
        The least rank correlation with the slow variable.
    mixed
        The largest of the isotropic map, in the mean over the draws.

    """

    recordings: int = 100
    points: int = 20
    way: int = 100
    draws: int = 5
    match: float = 0.95
    mixed: float = 0.8


QUICK = Size(recordings=200, points=3, way=100, draws=1)


def run(folder: Path, progress: Progress, *, quick: bool) -> list[Claim]:
    """Run the experiment, see `two_manifold_ros.experiments.experiment.Run`."""
    size = QUICK if quick else Size()
    draws = []
    for seed in range(size.draws):
        progress(f'draw {seed + 1} of {size.draws}', seed / size.draws)
        draws.append(_look(seed, size))
    draw(draws[0], folder / 'slow-manifold.png')
    return [
        at_least(
            f'anisotropic: {WHAT}, worst draw',
            'a claim of section 1',
            min(_match(each.coordinates, each.recorded.slow) for each in draws),
            size.match,
        ),
        at_most(
            f'isotropic: {WHAT}, mean of draws',
            'not in it',
            float(np.mean([_match(each.isotropic, each.recorded.slow) for each in draws])),
            size.mixed,
        ),
    ]


def _look(seed: int, size: Size) -> Shown:
    rng = np.random.default_rng(seed)
    recorded = record(size.recordings, size.points, size.way, rng)
    # The one path through each point is what there is of a burst.
    covariances = local_covariances(recorded.stretches[:, None], 2 * HALF * STEP)
    source = GivenCovariances(covariances, rank=2)
    points = PointSet(recorded.points)
    embedding = AnisotropicDiffusion(2, NEIGHBOURS, source, density=0.5, power=0.0).fit(points)
    isotropic = DiffusionMap(2, NEIGHBOURS).fit(points)
    return Shown(recorded, embedding.coordinates, isotropic.coordinates)


def _match(coordinates: Floats, variable: Floats) -> float:
    return abs(float(spearmanr(coordinates[:, 0], variable).statistic))
