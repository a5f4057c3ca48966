# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiment ``nlica-sphere``: a mushroom on the sphere made a square again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from two_manifold_ros.experiments.experiment import at_least, at_most, save
from two_manifold_ros.experiments.nlica_square import draw_embedding, draw_function
from two_manifold_ros.experiments.nlica_trial import (
    agreement,
    best_mixture,
    Bursts,
    mushroom_on_sphere,
    ordinary_map,
    run_trial,
    Scale,
    SMALL,
)

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.experiments.experiment import Claim, Progress
    from two_manifold_ros.typing import Floats


def draw(x: Floats, seen: Floats, coordinates: Floats, isotropic: Floats, path: Path) -> None:
    """
    Write the mushroom, the coordinates found and an isotropic map beside them.

    Parameters
    ----------
    x : (n, 2)
        The variables.
    seen : (n, 3)
        On the sphere.
    coordinates, isotropic : (n, 2)
        Found with covariances, and without.
    path
        Of the picture.

    """
    figure = Figure(figsize=(12.0, 7.4), layout='constrained')
    axes = figure.add_subplot(2, 3, 1, projection='3d')
    axes.scatter(*seen.T, c=x[:, 0], s=4.0, cmap='viridis', linewidths=0)
    axes.set(title='what is seen, by $x_1$', xlabel='$y_1$', ylabel='$y_2$', zlabel='$y_3$')
    axes.set_box_aspect(None, zoom=0.85)
    for column in range(2):
        title = rf'$\phi_{1 + column}$ in the square of the variables'
        draw_function(figure.add_subplot(2, 3, 2 + column), x, coordinates[:, column], title)
        title = f'embedding, by $x_{1 + column}$'
        draw_embedding(figure.add_subplot(2, 3, 5 + column), coordinates, x[:, column], title)
    axes = figure.add_subplot(2, 3, 4)
    draw_embedding(axes, isotropic, x[:, 0], 'isotropic: embedding, by $x_1$')
    save(figure, path)


BURSTS = Bursts(paths=100, steps=10, duration=0.01)
"""As many steps of .001 as the paper has paths of one such step."""

FULL = Scale(points=2_000)


@dataclass(frozen=True)
class Size:
    """
    How much is run, and how strictly it is judged.

    Parameters
    ----------
    scale
        How much.
    match
        The least correlation of a coordinate with the cosine of a variable.
    mixed
        The largest one of a map that fails, for the worse of the two variables.

    """

    scale: Scale = FULL
    match: float = 0.97
    mixed: float = 0.95


QUICK = Size(SMALL, match=0.95)


def run(folder: Path, progress: Progress, *, quick: bool) -> list[Claim]:
    """Run the experiment, see `two_manifold_ros.experiments.experiment.Run`."""
    size = QUICK if quick else Size()
    scale = size.scale
    draws = []
    for seed in range(scale.draws):
        progress(f'draw {seed + 1} of {scale.draws}', seed / (scale.draws + 1))
        draws.append(run_trial(seed, scale, BURSTS, mushroom_on_sphere))
    progress('a map that knows no covariances', scale.draws / (scale.draws + 1))
    first = draws[0]
    seen = mushroom_on_sphere(first.x)
    isotropic = ordinary_map(seen)
    draw(first.x, seen, first.coordinates, isotropic, folder / 'nlica-sphere.png')
    return [
        at_least(
            f'anisotropic: worst correlation with cos(pi x) in {len(draws)} draws',
            'Fig. 7, a square',
            min(agreement(each.coordinates, each.x) for each in draws),
            size.match,
        ),
        at_most(
            'isotropic: correlation with cos(pi x) after the best linear map',
            'not in it',
            best_mixture(isotropic, first.x),
            size.mixed,
        ),
    ]
