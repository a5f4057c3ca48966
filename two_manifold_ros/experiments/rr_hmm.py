# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiment ``rr-hmm``: learned eigenvalues of a reduced-rank HMM against samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.experiments.claim import at_most
from two_manifold_ros.experiments.rr_hmm_chain import sample_symbols
from two_manifold_ros.experiments.rr_hmm_figure import Curve, draw
from two_manifold_ros.experiments.rr_hmm_trial import learn_in_batch, learn_online

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.experiments.claim import Claim
    from two_manifold_ros.experiments.experiment import Progress

PAPER = 'Fig. 1B, falls steadily'

REFERENCE = {1_000: 0.107, 10_000: 0.029, 100_000: 0.0081, 1_000_000: 0.0021}
"""Errors of an earlier batch learner by samples, which the paper's picture is taken to show."""

RATIO = 1.2
"""By what an online learner's error may exceed that of the batch learner on the same data."""

SLOPE = -0.4
"""Of the error against samples on logarithmic axes, at most; -0.5 is that of a mean."""


@dataclass(frozen=True)
class Size:
    """
    How much is run, and how strictly it is judged.

    Parameters
    ----------
    samples
        Symbols of a sequence, after which eigenvalues are looked at.
    single
        The first of these, up to which samples are also learned one at a time, which is slow.
    trials
        Sequences.
    slack
        By what the online learner's error may exceed the reference.

    """

    samples: tuple[int, ...] = tuple(REFERENCE)
    single: tuple[int, ...] = (1_000, 10_000)
    trials: int = 10
    slack: float = 1.2


QUICK = Size(samples=(1_000, 10_000), single=(1_000,), trials=2, slack=2.0)


def run(folder: Path, progress: Progress, *, quick: bool) -> list[Claim]:
    """Run the experiment, see `two_manifold_ros.experiments.experiment.Run`."""
    size = QUICK if quick else Size()
    batch, online, single = _learn(size, progress)
    draw([batch, online, single], REFERENCE, folder / 'rr-hmm.png')
    errors = online.mean_errors
    claims = [
        at_most(
            f'online: RMS error of eigenvalues, {samples:,} samples',
            PAPER,
            error,
            size.slack * REFERENCE[samples],
        )
        for samples, error in zip(size.samples, errors.tolist(), strict=True)
    ]
    slope = float(np.polyfit(np.log(size.samples), np.log(errors), 1)[0])
    claims.append(at_most('online: slope of this error in a log-log plot', PAPER, slope, SLOPE))
    for curve in (online, single):
        worst = (curve.mean_errors / batch.mean_errors[: len(curve.samples)]).max()
        what = f'{curve.name}: largest ratio to the error in batch'
        claims.append(at_most(what, PAPER, float(worst), RATIO))
    return claims


def _learn(size: Size, progress: Progress) -> tuple[Curve, Curve, Curve]:
    batch, online, single = [], [], []
    for trial in range(size.trials):
        progress(f'learning from sequence {trial + 1} of {size.trials}', trial / size.trials)
        symbols = sample_symbols(size.samples[-1], seed=trial)
        batch.append(learn_in_batch(symbols, size.samples))
        online.append(learn_online(symbols, size.samples))
        single.append(learn_online(symbols, size.single, one_by_one=True))
    return (
        Curve('batch', size.samples, np.array(batch)),
        Curve('online', size.samples, np.array(online)),
        Curve('one by one', size.single, np.array(single)),
    )
