# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiment ``mkdr-images``: which way a snowman is turned, from its pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TYPE_CHECKING

from matplotlib.figure import Figure
import numpy as np

from two_manifold_ros.experiments.experiment import at_least, at_most, Axes, BLUE, save
from two_manifold_ros.experiments.mkdr_projection import multiple_correlation_of, project
from two_manifold_ros.experiments.mkdr_torus import draw_embedding
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.manifold.learner import PointSet

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.experiments.experiment import Claim, Progress
    from two_manifold_ros.experiments.mkdr_projection import Projection
    from two_manifold_ros.typing import Floats


HEIGHT, WIDTH = 110, 80

FINER = 2
"""A pixel is the mean of as many rows and columns of rays, which makes edges soft."""

LIGHT = np.array([-0.35, 0.55, 0.75])
"""Towards the light, seen as the pictures are: right, up, towards the camera."""

DARKEST, BACKGROUND = 0.35, 0.15

#  Centre and half-axes in pixels above where it stands (right, up, ahead), and brightness.
PARTS: tuple[tuple[tuple[float, ...], tuple[float, ...], float], ...] = (
    ((0, 17, 0), (21, 17, 21), 1.0),  # belly
    ((0, 44, 0), (16, 14, 16), 1.0),  # chest
    ((0, 65, 0), (12, 11, 12), 1.0),  # head
    ((0, 78, 0), (9, 7, 9), 0.05),  # hat
    ((0, 73, 0), (15, 2, 15), 0.05),  # its brim
    ((0, 65, 18), (2.5, 2.5, 12), 0.5),  # nose
    ((-4.5, 69, 10.5), (1.8, 1.8, 1.8), 0.0),  # eyes
    ((4.5, 69, 10.5), (1.8, 1.8, 1.8), 0.0),
    ((0, 50, 15), (2, 2, 2), 0.0),  # buttons
    ((0, 43, 16), (2, 2, 2), 0.0),
    ((-22, 48, 8), (11, 1.8, 1.8), 0.3),  # arms
    ((22, 48, 8), (11, 1.8, 1.8), 0.3),
    ((29, 40, 14), (1.8, 34, 1.8), 0.4),  # broom
    ((29, 10, 14), (4.5, 8, 4.5), 0.7),  # its brush
)


@dataclass(frozen=True)
class Poses:
    """
    How a snowman stands in every picture.

    Parameters
    ----------
    turn : (n,)
        About its axis, in degrees; to the right of the picture is positive.
    lean : (n,)
        To the side, in degrees.
    shift : (n, 2)
        To the right and up, in pixels.

    """

    turn: Floats
    lean: Floats
    shift: Floats


def sample_poses(count: int, seed: int) -> Poses:
    """Draw turns up to 45 degrees, leans up to 10 and shifts up to 5 pixels, all even."""
    rng = np.random.default_rng(seed)
    return Poses(
        rng.uniform(-45.0, 45.0, count),
        rng.uniform(-10.0, 10.0, count),
        rng.uniform(-5.0, 5.0, (count, 2)),
    )


def render(poses: Poses) -> Floats:
    """Return the pictures, 0 black to 1 white, top row first: (n, HEIGHT, WIDTH)."""
    pictures = np.empty((len(poses.turn), HEIGHT, WIDTH))
    for index, shift in enumerate(poses.shift):
        stance = _lean(poses.lean[index]) @ _turn(poses.turn[index])
        fine = _cast(stance, shift)
        pictures[index] = fine.reshape(HEIGHT, FINER, WIDTH, FINER).mean(axis=(1, 3))
    return pictures


def _turn(degrees: float) -> Floats:
    cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[cosine, 0.0, sine], [0.0, 1.0, 0.0], [-sine, 0.0, cosine]])


def _lean(degrees: float) -> Floats:
    cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[cosine, sine, 0.0], [-sine, cosine, 0.0], [0.0, 0.0, 1.0]])


def _cast(stance: Floats, shift: Floats) -> Floats:
    """Return the picture in rays: what is nearest to the camera at each of them."""
    fine = np.full((FINER * HEIGHT, FINER * WIDTH), BACKGROUND)
    depth = np.full(fine.shape, -np.inf)
    foot = np.array([WIDTH / 2.0 + shift[0], 14.0 + shift[1], 0.0])
    for centre, axes, brightness in PARTS:
        shape = (stance * np.square(axes)) @ stance.T
        _add(fine, depth, foot + stance @ centre, shape, brightness)
    return fine


def _add(fine: Floats, depth: Floats, centre: Floats, shape: Floats, brightness: float) -> None:
    """Draw the ellipsoid of the points with ``(x - centre)' inv(shape) (x - centre) = 1``."""
    rows, columns = _seen(centre, shape)
    right = (np.arange(columns.start, columns.stop) + 0.5) / FINER - centre[0]
    up = HEIGHT - (np.arange(rows.start, rows.stop) + 0.5) / FINER - centre[1]
    right, up = np.meshgrid(right, up)
    inverse = np.linalg.inv(shape)
    linear = (inverse[0, 2] * right + inverse[1, 2] * up) / inverse[2, 2]
    rest = inverse[0, 0] * right**2 + 2.0 * inverse[0, 1] * right * up + inverse[1, 1] * up**2
    inside = linear**2 - (rest - 1.0) / inverse[2, 2]
    ahead = np.sqrt(np.maximum(inside, 0.0)) - linear
    visible = (inside > 0.0) & (centre[2] + ahead > depth[rows, columns])
    normal = np.tensordot(inverse, np.stack([right, up, ahead]), 1)
    normal /= np.linalg.norm(normal, axis=0)
    lit = np.maximum(np.tensordot(LIGHT / np.linalg.norm(LIGHT), normal, 1), 0.0)
    shade = brightness * (DARKEST + (1.0 - DARKEST) * lit)
    fine[rows, columns] = np.where(visible, shade, fine[rows, columns])
    depth[rows, columns] = np.where(visible, centre[2] + ahead, depth[rows, columns])


def _seen(centre: Floats, shape: Floats) -> tuple[slice, slice]:
    """Return the rows and columns of the box around an ellipsoid, as far as in the picture."""
    half = np.sqrt(np.diag(shape)[:2])
    left, right = centre[0] - half[0], centre[0] + half[0]
    top, bottom = HEIGHT - centre[1] - half[1], HEIGHT - centre[1] + half[1]
    return _span(top, bottom, HEIGHT), _span(left, right, WIDTH)


def _span(first: float, last: float, size: int) -> slice:
    inside = np.clip([np.floor(FINER * first), np.ceil(FINER * last)], 0, FINER * size)
    return slice(int(inside[0]), int(inside[1]))


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


SEED = 0

NEIGHBOURS = 5

KEPT = 0.999
"""Share of the variance that pictures keep before their distances are taken, to be fast."""


@dataclass(frozen=True)
class Size:
    """
    How much is run, and how strictly it is judged.

    Parameters
    ----------
    pictures
        Of the snowman.
    eigenvectors
        How many the turn is found in.
    told, hidden
        The least correlation with turns that were told and with those that were not.

    """

    pictures: int = 1_000
    eigenvectors: int = 100
    told: float = 0.85
    hidden: float = 0.8


QUICK = Size(pictures=150, eigenvectors=30, told=0.65, hidden=0.4)

UNSEEN = 0.5
"""What the correlation of the turn with the bottom eigenvectors is to be at most."""


def run(folder: Path, progress: Progress, *, quick: bool) -> list[Claim]:
    """Run the experiment, see `two_manifold_ros.experiments.experiment.Run`."""
    size = QUICK if quick else Size()
    progress('pictures of a snowman', 0.0)
    poses = sample_poses(size.pictures, SEED)
    pictures = render(poses)
    progress('what shows its turn', 0.6)
    learner = LaplacianEigenmap(size.eigenvectors, NEIGHBOURS, scaled=False)
    points = principal_coordinates(pictures.reshape(size.pictures, -1))
    eigenvectors = learner.fit(PointSet(points)).coordinates
    found = project(eigenvectors, poses.turn, SEED)
    draw(pictures, poses, eigenvectors, found, folder / 'mkdr-images.png')
    bottom = multiple_correlation_of(eigenvectors[:, :3], poses.turn)
    what = 'correlation of the first direction with the turn'
    return [
        at_least(what, 'Fig. 6b, fairly well', found.correlation, size.told),
        at_least(f'{what}, where hidden', 'not in it', found.hidden_correlation, size.hidden),
        at_most(
            'correlation of the bottom three eigenvectors, together, with the turn',
            'Fig. 7b, no structure',
            bottom,
            UNSEEN,
        ),
    ]


def principal_coordinates(rows: Floats) -> Floats:
    """Return (n, k) coordinates between which (n, D) rows are as far apart as they are."""
    centred = rows - rows.mean(axis=0)
    values, vectors = np.linalg.eigh(centred @ centred.T)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    kept = 1 + int(np.searchsorted(np.cumsum(values), KEPT * values.sum()))
    coordinates: Floats = vectors[:, :kept] * np.sqrt(values[:kept])
    return coordinates
