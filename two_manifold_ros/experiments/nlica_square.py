# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiment ``nlica-square``: a square found again behind a non-linear map of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
import numpy as np

from two_manifold_ros.experiments.experiment import (
    at_least,
    at_most,
    Axes,
    BLUE,
    GREY,
    save,
    VERMILION,
)
from two_manifold_ros.experiments.nlica_trial import (
    agreement,
    best_mixture,
    Bursts,
    covariances_of_ends,
    EXPECTED,
    lines_by,
    mushroom,
    ordinary_map,
    place_error,
    run_trial,
    Scale,
    SMALL,
    worst_line,
)

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.experiments.experiment import Claim, Progress
    from two_manifold_ros.experiments.nlica_trial import Trial
    from two_manifold_ros.typing import Floats


MOST = 1_200
"""Points of which a picture is not too large."""


def draw(
    first: Trial,
    isotropic: Floats,
    beltrami: Floats,
    lines: Floats,
    as_published: Floats,
    path: Path,
) -> None:
    """Write the points, the spectrum, and for three maps eigenfunctions and embedding."""
    figure = Figure(figsize=(13.0, 9.0), layout='constrained')
    axes = figure.subplots(3, 4)
    seen = mushroom(first.x)
    _scatter(axes[0, 0], first.x, first.x[:, 0], 'the variables, by $x_1$', ('$x_1$', '$x_2$'))
    _scatter(axes[1, 0], seen, first.x[:, 0], 'what is seen, by $x_1$', ('$y_1$', '$y_2$'))
    _draw_spectrum(axes[2, 0], lines, as_published)
    maps = {'anisotropic': first.coordinates, 'isotropic': isotropic, 'Beltrami': beltrami}
    for column, (name, functions) in enumerate(maps.items(), start=1):
        for row in range(2):
            title = rf'{name}: $\phi_{1 + row}$ in the square'
            draw_function(axes[row, column], first.x, functions[:, row], title)
        draw_embedding(axes[2, column], functions, first.x[:, 0], f'{name}: embedding, by $x_1$')
    save(figure, path)


def draw_function(axes: Axes, x: Floats, values: Floats, title: str) -> None:
    """Draw a function on the square."""
    _scatter(axes, x, values, title, ('$x_1$', '$x_2$'))


def draw_embedding(axes: Axes, functions: Floats, colours: Floats, title: str) -> None:
    """Draw two eigenfunctions against each other, without a scale."""
    _scatter(axes, functions, colours, title, (r'$\phi_1$', r'$\phi_2$'))
    axes.set(xticks=[], yticks=[])


def _scatter(
    axes: Axes, places: Floats, colours: Floats, title: str, names: tuple[str, str]
) -> None:
    axes.scatter(*places[:MOST, :2].T, c=colours[:MOST], s=6.0, cmap='viridis', linewidths=0)
    axes.set(title=title, xlabel=names[0], ylabel=names[1])


def _draw_spectrum(axes: Axes, lines: Floats, as_published: Floats) -> None:
    numbers = 1 + np.arange(len(EXPECTED))
    # Wide enough to see the band of a line, which is low for the first ones.
    for number, line in zip(numbers, EXPECTED, strict=True):
        axes.fill_between([number - 0.45, number + 0.45], 0.9 * line, 1.1 * line, color='0.85')
        axes.plot([number - 0.45, number + 0.45], [line, line], color=GREY)
    shifts = np.linspace(-0.2, 0.2, len(lines)) if len(lines) > 1 else np.zeros(1)
    for place, (shift, row) in enumerate(zip(shifts, lines, strict=True)):
        label = f'{len(lines)} draws' if place == 0 else None
        axes.plot(numbers + shift, row[: len(numbers)], 'o', color=BLUE, ms=3, label=label)
    axes.plot(numbers, as_published[: len(numbers)], 'x', color=VERMILION, label='as in the paper')
    axes.set(
        title='spectrum, and 10 % around it',
        xlabel='eigenvalue',
        ylabel=r'$-2\,\log(\lambda)\,/\,(\pi^2\varepsilon)$',
    )
    axes.set_xticks(numbers)
    axes.legend(fontsize='small')


BURSTS = Bursts(paths=200, steps=10, duration=0.01)
"""The paper's, looked at ten times on the way."""

FULL = Scale(points=3_000)


@dataclass(frozen=True)
class Size:
    """
    How much is run, and how strictly it is judged.

    Parameters
    ----------
    scale
        How much.
    spectrum
        By how much a line may differ from where it should be.
    match
        The least correlation of a coordinate with the cosine of a variable.
    place
        The largest RMS distance of a place in the square.
    mixed
        The largest one of a map that fails, for the worse of the two variables.

    """

    scale: Scale = FULL
    spectrum: float = 0.1
    match: float = 0.98
    place: float = 0.08
    mixed: float = 0.95


QUICK = Size(SMALL, spectrum=0.3, match=0.95, place=0.15)


def run(folder: Path, progress: Progress, *, quick: bool) -> list[Claim]:
    """Run the experiment, see `two_manifold_ros.experiments.experiment.Run`."""
    size = QUICK if quick else Size()
    scale = size.scale
    draws = []
    for seed in range(scale.draws):
        progress(f'draw {seed + 1} of {scale.draws}', seed / (scale.draws + 1))
        draws.append(run_trial(seed, scale, BURSTS, mushroom))
    progress('maps that know no covariances', scale.draws / (scale.draws + 1))
    first = draws[0]
    ordinary = {density: ordinary_map(mushroom(first.x), density) for density in (0.0, 1.0)}
    as_published = lines_by(0, scale, BURSTS, mushroom, covariances_of_ends)
    lines = np.stack([each.lines for each in draws])
    draw(first, ordinary[0.0], ordinary[1.0], lines, as_published, folder / 'nlica-square.png')
    return _claims(draws, ordinary, size)


def _claims(draws: list[Trial], ordinary: dict[float, Floats], size: Size) -> list[Claim]:
    return [
        at_most(
            f'spectrum: worst of 7 lines in {len(draws)} draws, relative',
            'Fig. 2, identified',
            max(worst_line(each.lines) for each in draws),
            size.spectrum,
        ),
        at_least(
            f'anisotropic: worst correlation with cos(pi x) in {len(draws)} draws',
            'Figs. 3 and 4, left',
            min(agreement(each.coordinates, each.x) for each in draws),
            size.match,
        ),
        at_most(
            f'anisotropic: RMS distance of places from the true ones, worst of {len(draws)} draws',
            'Fig. 4, a square',
            max(place_error(each.coordinates, each.x) for each in draws),
            size.place,
        ),
        at_most(
            'isotropic: correlation with cos(pi x) after the best linear map',
            'centre, mixed',
            best_mixture(ordinary[0.0], draws[0].x),
            size.mixed,
        ),
        at_most(
            'Beltrami: correlation with cos(pi x) after the best linear map',
            'right, mixed',
            best_mixture(ordinary[1.0], draws[0].x),
            size.mixed,
        ),
    ]
