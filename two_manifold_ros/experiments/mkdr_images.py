# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The experiment ``mkdr-images``: which way a snowman is turned, from its pictures.

Nilsson, Sha & Jordan (2007), Figs. 6 and 7, on shaded ellipsoids seen from far away.
"""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.experiments import experiment as lab
from two_manifold_ros.experiments.mkdr import (
    eigenvectors_of,
    multiple_correlation,
    project,
    projection_panels,
)

if TYPE_CHECKING:
    from two_manifold_ros.experiments.mkdr import Projection
    from two_manifold_ros.typing import Floats

    Ellipsoid = tuple[tuple[float, ...], tuple[float, ...], float]


class Poses(NamedTuple):
    """The pose of the snowman in every picture."""

    turn: Floats  # (n,), degrees about its axis; to the right of the picture is positive
    lean: Floats  # (n,), degrees to the side
    shift: Floats  # (n, 2), pixels to the right and up


def sample_poses(count: int, seed: int) -> Poses:
    """Draw turns up to 45 degrees, leans up to 10 and shifts up to 5 pixels, all even."""
    rng = np.random.default_rng(seed)
    return Poses(
        rng.uniform(-45.0, 45.0, count),
        rng.uniform(-10.0, 10.0, count),
        rng.uniform(-5.0, 5.0, (count, 2)),
    )


class Snowman(NamedTuple):
    """Ellipsoids before a grey background, and the camera that sees them."""

    height: int = 110  # pixels
    width: int = 80
    finer: int = 2  # a pixel is the mean of as many rows and columns of rays: edges are soft
    light: tuple[float, ...] = (-0.35, 0.55, 0.75)  # direction: right, up, towards the camera
    darkest: float = 0.35  # share of the brightness in the shade
    background: float = 0.15
    # Centre and half-axes in pixels above where it stands (right, up, ahead), and brightness.
    parts: tuple[Ellipsoid, ...] = (
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

    def render(self, poses: Poses) -> Floats:
        """Return the pictures, 0 black to 1 white, top row first: (n, height, width)."""
        pictures = np.empty((len(poses.turn), self.height, self.width))
        for picture, turn, lean, shift in zip(
            pictures, poses.turn, poses.lean, poses.shift, strict=True
        ):
            cosine, sine = np.cos(np.radians(lean)), np.sin(np.radians(lean))
            leaning = np.array([[cosine, sine, 0.0], [-sine, cosine, 0.0], [0.0, 0.0, 1.0]])
            cosine, sine = np.cos(np.radians(turn)), np.sin(np.radians(turn))
            turning = np.array([[cosine, 0.0, sine], [0.0, 1.0, 0.0], [-sine, 0.0, cosine]])
            rays = self._cast(leaning @ turning, shift)
            blocks = rays.reshape(self.height, self.finer, self.width, self.finer)
            picture[:] = blocks.mean(axis=(1, 3))
        return pictures

    def _cast(self, stance: Floats, shift: Floats) -> Floats:
        """Return the picture in rays: what is nearest to the camera at each of them."""
        rays = np.full((self.finer * self.height, self.finer * self.width), self.background)
        depth = np.full(rays.shape, -np.inf)
        foot = np.array([self.width / 2.0 + shift[0], 14.0 + shift[1], 0.0])
        for centre, axes, brightness in self.parts:
            shape = (stance * np.square(axes)) @ stance.T
            self._add(rays, depth, foot + stance @ centre, shape, brightness)
        return rays

    def _add(
        self, rays: Floats, depth: Floats, centre: Floats, shape: Floats, brightness: float
    ) -> None:
        """Draw the ellipsoid of the points with ``(x - centre)' inv(shape) (x - centre) = 1``."""
        half = np.sqrt(np.diag(shape)[:2])
        middle = self.height - centre[1]
        rows = self._span(middle - half[1], middle + half[1], self.height)
        columns = self._span(centre[0] - half[0], centre[0] + half[0], self.width)
        right = (np.arange(columns.start, columns.stop) + 0.5) / self.finer - centre[0]
        up = self.height - (np.arange(rows.start, rows.stop) + 0.5) / self.finer - centre[1]
        right, up = np.meshgrid(right, up)
        inverse = np.linalg.inv(shape)
        linear = (inverse[0, 2] * right + inverse[1, 2] * up) / inverse[2, 2]
        rest = inverse[0, 0] * right**2 + 2.0 * inverse[0, 1] * right * up + inverse[1, 1] * up**2
        inside = linear**2 - (rest - 1.0) / inverse[2, 2]
        ahead = np.sqrt(np.maximum(inside, 0.0)) - linear
        visible = (inside > 0.0) & (centre[2] + ahead > depth[rows, columns])
        normal = np.tensordot(inverse, np.stack([right, up, ahead]), 1)
        normal /= np.linalg.norm(normal, axis=0)
        light = np.array(self.light)
        lit = np.maximum(np.tensordot(light / np.linalg.norm(light), normal, 1), 0.0)
        shade = brightness * (self.darkest + (1.0 - self.darkest) * lit)
        rays[rows, columns] = np.where(visible, shade, rays[rows, columns])
        depth[rows, columns] = np.where(visible, centre[2] + ahead, depth[rows, columns])

    def _span(self, first: float, last: float, size: int) -> slice:
        """Return the rays from one pixel to another, as far as they are in the picture."""
        ends = np.clip(
            [np.floor(self.finer * first), np.ceil(self.finer * last)], 0, self.finer * size
        )
        return slice(int(ends[0]), int(ends[1]))


def principal_coordinates(rows: Floats, kept: float = 0.999) -> Floats:
    """Return (n, k) coordinates with a share of the variance, hence the distances, of (n, D)."""
    centred = rows - rows.mean(axis=0)
    values, vectors = np.linalg.eigh(centred @ centred.T)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    count = 1 + int(np.searchsorted(np.cumsum(values), kept * values.sum()))
    coordinates: Floats = vectors[:, :count] * np.sqrt(values[:count])
    return coordinates


class ImageSettings(NamedTuple):
    """Settings of the experiment, and limits that it is judged by."""

    pictures: int = 1_000
    eigenvectors: int = 100  # in which the turn is found
    known: float = 0.85  # least correlation with turns that the direction was found from
    hidden: float = 0.8  # and with others
    trials: int = 1


class Turned(NamedTuple):
    """Pictures, how the snowman is turned in each, and the direction that shows it."""

    pictures: Floats
    poses: Poses
    projection: Projection


def fit(settings: ImageSettings, seed: int, report: lab.Progress) -> Turned:
    """Find the turn of a snowman among all that changes in its pictures."""
    poses = sample_poses(settings.pictures, seed)
    pictures = Snowman().render(poses)
    report('what shows its turn', 0.6)
    points = principal_coordinates(pictures.reshape(settings.pictures, -1))
    eigenvectors = eigenvectors_of(points, settings.eigenvectors, neighbours=5)
    return Turned(pictures, poses, project(eigenvectors, poses.turn, seed))


def score(settings: ImageSettings, found: list[Turned]) -> list[lab.Claim]:
    """Claim that one direction shows the turn, and the bottom eigenvectors do not."""
    _, poses, projection = found[0]
    bottom = multiple_correlation(projection.eigenvectors[:, :3], poses.turn)
    what = 'correlation of the first direction with the turn'
    together = 'correlation of the bottom three eigenvectors, together, with the turn'
    hidden = projection.hidden_correlation
    return [
        lab.at_least(what, 'Fig. 6b, fairly well', projection.correlation, settings.known),
        lab.at_least(f'{what}, where hidden', 'not in it', hidden, settings.hidden),
        lab.at_most(together, 'Fig. 7b, no structure', bottom, 0.5),
    ]


def draw(found: list[Turned]) -> list[lab.Panel]:
    """Draw some pictures, from the least to the greatest turn, and the projection."""
    pictures, poses, projection = found[0]
    order = np.argsort(poses.turn)[np.linspace(0, len(pictures) - 1, 3).astype(int)]
    shown = [
        lab.panel(f'turn {poses.turn[each]:.0f}', lab.layer('imshow', pictures[each], cmap='gray'))
        for each in order
    ]
    return shown + projection_panels(projection, 'turn (degrees)')


run = lab.Runner(ImageSettings(), ImageSettings(150, 30, known=0.65, hidden=0.4), fit, score, draw)
