# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Where will a slot car be: a manifold HSE-HMM beside its opponents.

Boots & Gordon (2012), Fig. 3, by `two-manifold compare --protocol slot-car` on simulated cars.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

# Needed by name in `markov_tables`: without it the experiment would stop at its first HMM.
import hmmlearn.hmm  # type: ignore[import-untyped]  # noqa: F401
import numpy as np

from two_manifold_ros.comparison.comparing import compare
from two_manifold_ros.comparison.methods import methods_named
from two_manifold_ros.comparison.protocol import plan_slot_car, SLOT_CAR, SlotCarProtocol
from two_manifold_ros.errors import InputError
from two_manifold_ros.experiments.claim import at_most, Claim
from two_manifold_ros.experiments.slot_car_figure import draw
from two_manifold_ros.simulation.slot_car_bag import run_to_recording
from two_manifold_ros.simulation.slot_car_run import simulate
from two_manifold_ros.simulation.slot_car_settings import SlotCarSettings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from two_manifold_ros.comparison.outcome import Comparison
    from two_manifold_ros.experiments.experiment import Progress
    from two_manifold_ros.typing import Floats

METHODS = ('mean', 'previous', 'kalman', 'hmm', 'gaussian', 'manifold')
"""The six of the paper's Fig. 3(C)."""

BLIND = ('mean', 'previous')
LEARNED = ('kalman', 'hmm')
TITLES = {'kalman': 'Kalman filter', 'hmm': 'HMM'}


@dataclass(frozen=True)
class Scale:
    """
    How large the experiment is.

    Parameters
    ----------
    cars
        Seeds of the simulated cars.
    protocol
        What is learned from and followed.
    slack
        By how much an error that should be the smaller may be larger, as a factor.

    """

    cars: tuple[int, ...]
    protocol: SlotCarProtocol
    slack: float


FULL = Scale((0, 1, 2, 3, 4), SLOT_CAR, 1.0)
QUICK = Scale(
    (0,),
    replace(
        SLOT_CAR,
        window=40,
        neighbours=30,
        farthest=20,
        learned_ticks=700,
        followed_ticks=200,
        all_ticks=900,
        extents=(60, 170),
    ),
    1.5,
)


def run(folder: Path, progress: Progress, *, quick: bool) -> list[Claim]:
    """
    Run the experiment, see ``experiments.experiment.Run``.

    Raises
    ------
    InputError
        If a method failed.

    """
    scale = QUICK if quick else FULL
    comparisons = []
    for index, car in enumerate(scale.cars):
        tell = partial(_tell, progress, car, index, len(scale.cars))
        comparisons.append(compare_on(car, scale.protocol, tell))
    draw(comparisons, folder / 'slot-car.png')
    progress('done', 1.0)
    return claims_of(comparisons, scale.slack)


def _tell(
    progress: Progress, car: int, index: int, count: int, what: str, fraction: float
) -> None:
    progress(f'slot car {car}: {what}', (index + fraction) / count)


def compare_on(car: int, protocol: SlotCarProtocol, tell: Progress) -> Comparison:
    """Drive a car and run all methods on it; nothing is kept from one run to the next."""
    tell('driving', 0.0)
    settings = SlotCarSettings(car, protocol.rate_hz)
    driven = simulate(settings, samples=protocol.all_ticks + 1)
    plan = plan_slot_car(run_to_recording(driven), protocol)
    comparison = compare(plan, methods_named(METHODS, protocol), progress=tell)
    for result in comparison.results:
        if result.failure is not None:
            msg = f'{result.title} failed on slot car {car}: {result.failure}'
            raise InputError(msg)
    return comparison


def claims_of(comparisons: Sequence[Comparison], slack: float) -> list[Claim]:
    """Return the order of the paper: of errors, of their curves, and of what states hold."""
    curves = {
        result.name: np.stack([curve_of(comparison, index) for comparison in comparisons])
        for index, result in enumerate(comparisons[0].results)
    }
    errors = {name: curve.mean(axis=1) for name, curve in curves.items()}
    blind = np.minimum(*(errors[name] for name in BLIND))
    claims = [
        _smaller(
            f'error of the {TITLES[name]} / least of mean and previous', errors[name], blind, slack
        )
        for name in LEARNED
    ]
    claims += [
        _smaller(f'error of the HSE-HMM / {TITLES[name]}', errors['gaussian'], errors[name], slack)
        for name in LEARNED
    ]
    claims.append(
        _smaller(
            'error of the manifold HSE-HMM / HSE-HMM',
            errors['manifold'],
            errors['gaussian'],
            slack,
        )
    )
    return [*claims, _every_horizon(curves, slack), *_readings(comparisons, slack)]


def curve_of(comparison: Comparison, index: int) -> Floats:
    """Return the RMSE of a method at the horizons from 1 on, metres."""
    scores = comparison.results[index].scores or ()
    return np.array([score.rmse_m for score in scores[1:]], dtype=np.float64)


def _smaller(what: str, errors: Floats, others: Floats, slack: float) -> Claim:
    """Claim that one mean over the cars is smaller than another, and say on how many cars."""
    claim = at_most(what, 'Fig. 3(C): below 1', float(errors.mean() / others.mean()), slack)
    cars = f'smaller on {np.count_nonzero(errors < others)} of {len(errors)} cars'
    return replace(claim, ours=f'{claim.ours}, {cars}')


def _every_horizon(curves: dict[str, Floats], slack: float) -> Claim:
    means = {name: curve.mean(axis=0) for name, curve in curves.items()}
    others = np.minimum.reduce([means[name] for name in means if name != 'manifold'])
    largest = float(np.max(means['manifold'] / others))
    what = f'error of the manifold HSE-HMM / least other, largest of {len(others)} horizons'
    return at_most(what, 'Fig. 3(C): below 1', largest, slack)


def _readings(comparisons: Sequence[Comparison], slack: float) -> list[Claim]:
    """Claim that positions are read better from the state the better the kernel."""
    errors = {
        name: np.array([_reading(comparison, name) for comparison in comparisons])
        for name in ('kalman', 'gaussian', 'manifold')
    }
    return [
        replace(
            _smaller(f'read from states: {what}', errors[better], errors[worse], slack),
            paper='Fig. 3(B): below 1',
        )
        for what, better, worse in (
            ('Gaussian RBF / linear', 'gaussian', 'kalman'),
            ('Laplacian eigenmap / Gaussian RBF', 'manifold', 'gaussian'),
        )
    ]


def _reading(comparison: Comparison, name: str) -> float:
    (result,) = (each for each in comparison.results if each.name == name)
    return comparison.reading_rmse_m(result)
