# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of ``mkdr-images``, as Figs. 6 and 7 of the paper."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from matplotlib.figure import Figure
import numpy as np

from two_manifold_ros.experiments.drawing import Axes, BLUE, save
from two_manifold_ros.experiments.mkdr_torus_figure import draw_embedding

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.experiments.mkdr_images_snowman import Poses
    from two_manifold_ros.experiments.mkdr_projection import Projection
    from two_manifold_ros.typing import Floats

SAMPLES = 8
"""Pictures that are shown, from the least to the greatest turn."""


def draw(
    pictures: Floats, poses: Poses, eigenvectors: Floats, found: Projection, path: Path
) -> None:
    """Write some pictures, the projection, and two embeddings coloured by the turn."""
    figure = Figure(figsize=(12.0, 6.4), layout='constrained')
    parts: Any = figure.subfigures(2, 1, height_ratios=(2.0, 3.0))
    above, below = parts
    order = np.argsort(poses.turn)[np.linspace(0, len(pictures) - 1, SAMPLES).astype(int)]
    for axes, index in zip(above.subplots(1, SAMPLES), order, strict=True):
        axes.imshow(pictures[index], cmap='gray', vmin=0.0, vmax=1.0)
        axes.set(xticks=[], yticks=[])
        turn, lean = poses.turn[index], poses.lean[index]
        axes.set_title(f'turn {turn:.0f}\nlean {lean:.0f}', fontsize='small')
    _draw_projection(below.add_subplot(1, 3, 1), poses, found)
    best = found.found.predictive_eigenvectors(3)
    axes = below.add_subplot(1, 3, 2, projection='3d')
    draw_embedding(axes, eigenvectors, best, poses.turn)
    axes.set_title('the three that predict best')
    axes = below.add_subplot(1, 3, 3, projection='3d')
    colours = draw_embedding(axes, eigenvectors, np.arange(3), poses.turn)
    axes.set_title('the bottom three')
    below.colorbar(colours, ax=axes, label='turn (degrees)', shrink=0.7)
    save(figure, path)


def _draw_projection(axes: Axes, poses: Poses, found: Projection) -> None:
    axes.plot(found.values / found.values.std(), poses.turn, '.', color=BLUE, ms=3)
    axes.set(xlabel='first direction / its deviation', ylabel='turn (degrees)')
    axes.set_title(f'correlation {found.correlation:.3f}')
    axes.grid(alpha=0.3)
