# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiment ``swiss-rolls``: one manifold learned alone, and two with each other's help."""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

from two_manifold_ros.experiments.claim import at_least, at_most
from two_manifold_ros.experiments.swiss_rolls_figure import draw
from two_manifold_ros.experiments.swiss_rolls_trial import embed, Size

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.experiments.claim import Claim
    from two_manifold_ros.experiments.experiment import Progress

CLASSIC, WIDE = 21.0, 50.0
"""Widths of the rolls: the usual one, and one that an eigenmap unrolls if there is no noise."""

SLACK = 0.1
"""By what the limits of the quick form are looser."""


class Case(NamedTuple):
    """A width of the rolls, a noise, a coupling or none, and what is claimed."""

    name: str
    width: float
    noise: float
    coupling: str
    paper: str
    limit: float


CASES = (
    Case('noise 1: one manifold', CLASSIC, 1.0, '', 'Fig. 2A, fails', 0.65),
    Case('noise 1: two, Algorithm 1', CLASSIC, 1.0, 'gram-product', 'Fig. 2B', 0.95),
    Case('noise 1: two, canonical', CLASSIC, 1.0, 'canonical', 'footnote 2', 0.95),
    Case('noise 2: two, canonical', CLASSIC, 2.0, 'canonical', 'footnote 2', 0.8),
    Case('wide, no noise: one manifold', WIDE, 0.0, '', 'section 3', 0.95),
    Case('wide, noise 1: one manifold', WIDE, 1.0, '', 'section 3, fails', 0.85),
    Case('wide, noise 1: two, Algorithm 1', WIDE, 1.0, 'gram-product', 'section 4', 0.95),
)

QUICK = Size(points=1_200, new_points=200, neighbours=12, dimension=20)


def run(folder: Path, progress: Progress, *, quick: bool) -> list[Claim]:
    """Run the experiment, see `two_manifold_ros.experiments.experiment.Run`."""
    size = QUICK if quick else Size()
    found = []
    for index, case in enumerate(CASES):
        progress(case.name, index / len(CASES))
        found.append(embed(size, case.width, case.noise, case.coupling, seed=0))
    scores = {case.name: each.score for case, each in zip(CASES, found, strict=True)}
    draw(found[0], found[1], scores, folder / 'swiss-rolls.png')
    return [_claim(case, scores[case.name], SLACK if quick else 0.0) for case in CASES]


def _claim(case: Case, score: float, slack: float) -> Claim:
    what = f'{case.name}: R2 on new pairs'
    if case.paper.endswith('fails'):
        return at_most(what, case.paper, score, case.limit + slack)
    return at_least(what, case.paper, score, case.limit - slack)
