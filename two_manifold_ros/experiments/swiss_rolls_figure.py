# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of ``swiss-rolls``, as Fig. 1 and 2 of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
import numpy as np

from two_manifold_ros.experiments.drawing import Axes, GREY, ORANGE, save, SKY
from two_manifold_ros.experiments.swiss_rolls_points import roll, spiral

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from two_manifold_ros.experiments.swiss_rolls_trial import Embeddings
    from two_manifold_ros.typing import Floats

SHOWN = 2_500
"""Points drawn, of those that were learned from."""

WIDTH = 21.0
"""Of the rolls that are drawn."""

CORNERS = (('#0033cc', '#00b050'), ('#e0007a', '#ffc000'))
"""Colours of the corners of the sheet, [first side][second side]."""


def draw(alone: Embeddings, both: Embeddings, scores: Mapping[str, float], path: Path) -> None:
    """Write the sheet, its rolls without and with noise, both kinds of embedding, and scores."""
    figure = Figure(figsize=(15.0, 6.0), layout='constrained')
    grid = figure.add_gridspec(2, 5)
    latent = alone.pairs.latent[:SHOWN]
    colours = colours_of(latent)
    sheet = figure.add_subplot(grid[0, 0])
    sheet.scatter(latent[:, 0], latent[:, 1], color=colours, s=4)
    sheet.set(title='the sheet', xlabel='first side', ylabel='second side')
    _draw_scores(figure.add_subplot(grid[1, 0]), scores)
    for row, name in enumerate('xy'):
        whole = figure.add_subplot(grid[row, 1], projection='3d')
        _draw_roll(whole, roll(latent, row, WIDTH), colours)
        whole.set_title(f'{name}: rolled along its {("first", "second")[row]} side')
        section = figure.add_subplot(grid[row, 2])
        _draw_section(section, alone.pairs.views[row][:SHOWN], colours)
        section.set_title(f'{name}: from the side, noise 1')
        shown = ('one manifold', alone), ('two manifolds', both)
        for column, (many, found) in enumerate(shown, start=3):
            axes = figure.add_subplot(grid[row, column])
            rows = found.views[row][:SHOWN]
            axes.scatter(rows[:, 0], rows[:, 1], color=colours, s=4)
            axes.set(xlabel='coordinate 1', ylabel='coordinate 2', xticks=[], yticks=[])
            axes.set_title(f'{name}, {many}: R2 {found.scores[row]:.2f}')
    save(figure, path)


def colours_of(latent: Floats) -> Floats:
    """Return (n, 3) colours of places on the sheet (n, 2), mixed from those of its corners."""
    corners = np.array([[to_rgb(colour) for colour in pair] for pair in CORNERS])
    first, second = latent.T
    shares = np.stack([1.0 - first, first]), np.stack([1.0 - second, second])
    colours: Floats = np.einsum('an,bn,abc->nc', *shares, corners)
    return colours


def _draw_roll(axes: Axes, points: Floats, colours: Floats) -> None:
    axes.scatter(points[:, 0], points[:, 2], points[:, 1], color=colours, s=3)
    axes.view_init(elev=15.0, azim=-70.0)
    axes.tick_params(labelsize='x-small', pad=-2)


def _draw_section(axes: Axes, points: Floats, colours: Floats) -> None:
    axes.scatter(points[:, 0], points[:, 1], color=colours, s=3)
    axes.plot(*spiral(np.linspace(0.0, 1.0, 300)).T, color='black', lw=1.2)
    axes.set_aspect('equal')


def _draw_scores(axes: Axes, scores: Mapping[str, float]) -> None:
    names = list(scores)[::-1]
    colours = [ORANGE if 'one' in name.split() else SKY for name in names]
    axes.barh(names, [scores[name] for name in names], color=colours)
    for height, name in enumerate(names):
        axes.text(0.02, height, f'{scores[name]:.2f} {name}', va='center', fontsize='small')
    axes.axvline(1.0, color=GREY, lw=0.8)
    axes.set(xlim=(0.0, 1.05), yticks=[], xlabel='R2 of new pairs, mean of x and y')
