# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sets of rows in the coordinates that a method works with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TYPE_CHECKING
import warnings

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.kernels.points import PointSet

if TYPE_CHECKING:
    from two_manifold_ros.kernels.learner import Embedding, ManifoldLearner
    from two_manifold_ros.typing import Floats

ROWS_AT_ONCE = 256
"""New rows whose distances to all training rows are held at the same time."""


class Embedded(Protocol):
    """Rows that were embedded, and how others are."""

    @property
    def coordinates(self) -> Floats:
        """Centred coordinates of the rows, shape (n, m)."""
        ...

    def transform(self, rows: Floats) -> Floats:
        """Return the coordinates (k, m) of (k, D) rows."""
        ...


@dataclass(frozen=True)
class CentredRows:
    """
    Rows as they are, less their mean.

    Parameters
    ----------
    coordinates : (n, D)
    mean : (D,)

    """

    coordinates: Floats
    mean: Floats

    @classmethod
    def of(cls, rows: Floats) -> CentredRows:
        """Centre (n, D) rows."""
        mean = rows.mean(axis=0)
        return cls(rows - mean, mean)

    def transform(self, rows: Floats) -> Floats:
        """Return (k, D) rows less the mean."""
        return rows - self.mean


@dataclass(frozen=True)
class LearnedRows:
    """
    Rows as a manifold learner embedded them.

    Parameters
    ----------
    name
        How messages call the rows.
    points
        The rows.
    embedding
        What the learner made of them.

    """

    name: str
    points: PointSet
    embedding: Embedding

    @classmethod
    def of(cls, name: str, rows: Floats, learner: ManifoldLearner) -> LearnedRows:
        """
        Embed (n, D) rows; what the learner has to say is a warning.

        Raises
        ------
        InputError
            If there is no learner, or the rows cannot be embedded.

        """
        if isinstance(learner, type) or not hasattr(learner, 'fit'):
            msg = (
                f'learner is {learner!r}, which cannot be fitted; give one of '
                'two_manifold_ros.kernels such as LaplacianEigenmap(dimension=2, neighbours=20)'
            )
            raise InputError(msg)
        points = PointSet(rows)
        embedding = learner.fit(points)
        for note in embedding.notes:
            warnings.warn(f'{name}: {note}', stacklevel=3)
        return cls(name, points, embedding)

    @property
    def coordinates(self) -> Floats:
        """Centred coordinates of the rows, shape (n, m)."""
        return self.embedding.coordinates

    def transform(self, rows: Floats) -> Floats:
        """
        Return the coordinates (k, m) of (k, D) rows out of sample.

        Raises
        ------
        InputError
            If a row resembles no training row.

        """
        embedded = np.empty((len(rows), self.coordinates.shape[1]))
        for begin in range(0, len(rows), ROWS_AT_ONCE):
            squared = self.points.distances_from(rows[begin : begin + ROWS_AT_ONCE])
            for index, column in enumerate(squared.T, start=begin):
                coordinates = self.embedding.extension.transform(column)
                if coordinates is None:
                    msg = f'row {index} of {self.name} resembles no training row; leave it out'
                    raise InputError(msg)
                embedded[index] = coordinates
        return embedded
