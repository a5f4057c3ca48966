# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The experiment ``slot-car``: a manifold HSE-HMM beside its opponents.

Boots & Gordon (2012), Fig. 3, by `two-manifold compare --protocol slot-car` on simulated cars.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TYPE_CHECKING

import hmmlearn.hmm  # type: ignore[import-untyped]  # noqa: F401
from matplotlib.figure import Figure
import numpy as np

from two_manifold_ros.comparison.comparing import compare
from two_manifold_ros.comparison.figures import (
    draw_reading,
    draw_truth,
    dress_errors,
    label_ends,
)
from two_manifold_ros.comparison.own_filters import methods_named
from two_manifold_ros.comparison.protocol import plan_slot_car, SLOT_CAR, SlotCarProtocol
from two_manifold_ros.errors import InputError
from two_manifold_ros.experiments.experiment import (
    at_most,
    Axes,
    BLUE,
    Claim,
    GREEN,
    GREY,
    PURPLE,
    save,
    VERMILION,
)
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from two_manifold_ros.comparison.outcome import Comparison
    from two_manifold_ros.experiments.experiment import Progress
    from two_manifold_ros.typing import Floats


READ = {
    'kalman': 'linear (Kalman filter)',
    'gaussian': 'Gaussian RBF (HSE-HMM)',
    'manifold': 'Laplacian eigenmap (manifold)',
}
"""The kernels whose states are compared in Fig. 3(B)."""

STYLES: dict[str, dict[str, Any]] = {
    'mean': {'color': GREY, 'ls': '-.'},
    'previous': {'color': GREY, 'ls': (0, (1, 1))},
    'kalman': {'color': GREEN, 'ls': (0, (5, 2))},
    'hmm': {'color': PURPLE},
    'gaussian': {'color': VERMILION, 'ls': (0, (5, 2))},
    'manifold': {'color': BLUE, 'lw': 2.6},
}


def draw(comparisons: Sequence[Comparison], path: Path) -> None:
    """Write the readings of the first car on the left, and the mean errors on the right."""
    figure = Figure(figsize=(11.5, 6.4), layout='constrained')
    # matplotlib's stubs take the array of them for a single one.
    parts: Any = figure.subfigures(1, 2, width_ratios=(0.34, 0.66))
    left, right = parts
    first = comparisons[0]
    panels = left.subplots(len(READ), 1, sharex=True, sharey=True)
    shown = [result for result in first.results if result.name in READ]
    for axes, result in zip(panels, shown, strict=True):
        draw_truth(axes, first)
        draw_reading(axes, first, result)
        axes.set_title(f'{READ[result.name]}: RMSE {first.reading_rmse_m(result):.2f} m', size=9)
        axes.set_ylabel('y (m)')
    panels[-1].set_xlabel('x (m)')
    left.suptitle('What the states hold: first car, where it is followed', fontsize='medium')
    left.legend(*panels[0].get_legend_handles_labels(), loc='outside lower center', fontsize=8)
    _draw_errors(right.subplots(), comparisons)
    save(figure, path)


def _draw_errors(axes: Axes, comparisons: Sequence[Comparison]) -> None:
    first = comparisons[0]
    seconds = np.array(first.horizons[1:]) / first.rate_hz
    ends = []
    for index, result in enumerate(first.results):
        curves = [each.results[index].scores or () for each in comparisons]
        errors = np.array([[score.rmse_m for score in curve[1:]] for curve in curves])
        style = STYLES[result.name]
        axes.plot(seconds, errors.mean(axis=0), **style)
        ends.append((float(errors[:, -1].mean()), result.title, style['color']))
    dress_errors(axes, first.rate_hz)
    label_ends(axes, ends)
    axes.set_title(f'Error of predictions, mean of {len(comparisons)} cars', fontsize='medium')


# Needed by name in `markov_tables`: without it the experiment would stop at its first HMM.


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
