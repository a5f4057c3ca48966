# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiment ``linear-iv``: the bias of PCA, and two-subspace PCA without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.decomposition import PCA

from two_manifold_ros.estimators.two_subspace_pca import TwoSubspacePCA
from two_manifold_ros.experiments.claim import at_least, at_most
from two_manifold_ros.experiments.linear_iv_figure import Curve, draw
from two_manifold_ros.experiments.linear_iv_views import draw_views, HIDDEN

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.experiments.claim import Claim
    from two_manifold_ros.experiments.experiment import Progress
    from two_manifold_ros.experiments.linear_iv_views import LinearView
    from two_manifold_ros.typing import Floats

PAPER = 'section 3.1, in words'

SLOPES = (-0.6, -0.4)
"""Of the angle against samples on logarithmic axes, between these; -0.5 is that of a mean."""

METHODS = ('PCA', 'two-subspace PCA', 'reduced-rank regression')


@dataclass(frozen=True)
class Size:
    """
    How much is run.

    Parameters
    ----------
    samples
        Of a trial.
    trials
        For every number of samples.

    """

    samples: tuple[int, ...] = (100, 320, 1_000, 3_200, 10_000, 32_000, 100_000)
    trials: int = 20


QUICK = Size(samples=(100, 1_000, 10_000), trials=10)


def run(folder: Path, progress: Progress, *, quick: bool) -> list[Claim]:
    """Run the experiment, see `two_manifold_ros.experiments.experiment.Run`."""
    size = QUICK if quick else Size()
    views = draw_views(seed=0)
    angles = np.empty((len(METHODS), size.trials, len(size.samples)))
    for trial in range(size.trials):
        progress('trials', trial / size.trials)
        for column, samples in enumerate(size.samples):
            angles[:, trial, column] = _trial(views, samples, seed=trial)
    curves = [Curve(*pair, size.samples) for pair in zip(METHODS, angles, strict=True)]
    draw(curves, views[0].bias(), folder / 'linear-iv.png')
    return _claims(curves, views[0].bias())


def _trial(views: tuple[LinearView, LinearView], samples: int, seed: int) -> list[float]:
    """Return the angles of what the methods find in the first view, in degrees."""
    rng = np.random.default_rng((seed, samples))
    hidden = rng.normal(size=(samples, HIDDEN))
    rows = [view.sample(hidden, rng) for view in views]
    plain: Floats = PCA(HIDDEN).fit(rows[0]).components_
    subspace = TwoSubspacePCA(HIDDEN).fit(*rows)
    regression = TwoSubspacePCA(HIDDEN, coupling='reduced-rank').fit(*rows)
    found = (plain, subspace.components_, regression.components_)
    return [views[0].angle(components.T) for components in found]


def _claims(curves: list[Curve], bias: float) -> list[Claim]:
    claims = []
    for curve in curves[1:]:
        what = f'{curve.name}: log-log slope of the angle'
        claims += [
            at_least(what, PAPER, curve.slope, SLOPES[0]),
            at_most(what, PAPER, curve.slope, SLOPES[1]),
        ]
    plain, subspace = curves[:2]
    last = 'PCA: angle with most samples, relative to'
    return [
        *claims,
        at_least('PCA: log-log slope of the angle', PAPER, plain.slope, -0.1),
        at_least(f'{last} its limit', PAPER, plain.last / bias, 0.95),
        at_least(f'{last} {subspace.name}', PAPER, plain.last / subspace.last, 10.0),
    ]
