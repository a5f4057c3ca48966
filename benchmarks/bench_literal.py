# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Why the HSE-HMM of the paper errs as it does on the simulated slot car: one thing varied at a time.

The filter is the one of `train --method paper`, in the arithmetic of the paper: no evidence is
rejected, nothing is mixed, nothing restarts. Three kernels of windows are run on the same cars by
the paper's protocol: the normalised Laplacian eigenmap (manifold HSE-HMM), the Gaussian RBF
(HSE-HMM) and the linear one. An error is the RMSE averaged over the 100 horizons, metres; that of
a filter whose numbers overflow is the one of the mean position.

`python benchmarks/bench_literal.py` prints the tables of docs/literal.json, from which
docs/write_pages.py writes those of docs/reproduce/slot-car.md. `--measure letter --cars 0 1` first
measures what that file does not have yet.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from functools import lru_cache
import json
from pathlib import Path
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.comparison.comparing import compare
from two_manifold_ros.comparison.own_filters import methods_named
from two_manifold_ros.comparison.protocol import plan_slot_car, SLOT_CAR
from two_manifold_ros.errors import InputError
from two_manifold_ros.experiments import slot_car
from two_manifold_ros.hse_hmm.belief import SMALLEST_EVIDENCE
from two_manifold_ros.hse_hmm.readout import fit_ridge, training_targets
from two_manifold_ros.hse_hmm.tables import build_tables, gaussian_kernel, RidgeKernel, transition
from two_manifold_ros.hse_hmm.two_manifold import couple, shared_directions, SMALLEST_RATIO
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap, NearModes
from two_manifold_ros.manifold.selection import make_learner
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.simulation.track import CONTROL_POINTS, Track
from two_manifold_ros.ticks.windows import find_training_ticks, lay_end_to_end
from two_manifold_ros.training.cross_validation import Candidate, make_operator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from two_manifold_ros.comparison.protocol import Plan
    from two_manifold_ros.ticks.windows import TrainingTicks, WindowSet
    from two_manifold_ros.typing import Floats

FILE = Path(__file__).resolve().parents[1] / 'docs' / 'literal.json'

KERNELS = {'manifold': 'laplacian-eigenmap', 'gaussian': 'gaussian', 'linear': 'linear'}
"""Kernels of windows by their columns."""

RIVALS = ('mean', 'kalman', 'hmm')


@dataclass(frozen=True)
class Case:
    """Everything that a row of a table may change; the defaults are the paper's, to the letter."""

    track: str = 'usual'
    noise: float = 1.0
    rate_hz: float = 10.0
    speed_wander: float = 1.0
    learned_ticks: int = 2_000
    window: int = 150
    neighbours: int = 50
    graph: str = 'laplacian-eigenmap'  # that the manifold's kernel is made of
    dimension: int = 100  # of each embedding
    coupling: str = 'gram-product'
    directions: int = 20
    bandwidth: float = 1.0  # of the observations, in medians
    ridge: float | None = 1e-4  # None: the kernel itself
    gate: bool = False  # reject observations of little evidence
    stable: bool = False  # shrink the growing modes of the transition
    cut: bool = False  # leave out directions below a thousandth of the first
    ahead: str = 'regression'  # or 'transition': positions ahead through the moved state


LITERAL = Case()
STEADY = replace(LITERAL, ridge=1.0, gate=True, stable=True)
"""A filter that does not break down, so that what else is varied shows."""


def bumpy() -> Floats:
    """Return the usual track with a bump of 3 cm at every seventh point."""
    bumps = np.zeros_like(CONTROL_POINTS)
    bumps[3::7, 2] = 0.03
    return np.asarray(CONTROL_POINTS + bumps)


def oval() -> Floats:
    """Return a level loop of 10 m that never repeats a bend: an egg."""
    angle = np.linspace(0.0, 2.0 * np.pi, 40, endpoint=False)
    x = 1.9 * np.cos(angle)
    y = (1.2 + 0.35 * np.cos(angle)) * np.sin(angle)
    return np.column_stack([x, y, np.zeros((40, 2))])


TRACKS: dict[str, Callable[[], Floats]] = {
    'usual': lambda: CONTROL_POINTS,
    'without bank': lambda: CONTROL_POINTS * [1.0, 1.0, 1.0, 0.0],
    'level, without bank and bridge': lambda: CONTROL_POINTS * [1.0, 1.0, 0.0, 0.0],
    'one and a half times the height': lambda: CONTROL_POINTS * [1.0, 1.0, 1.5, 1.0],
    'bumps of 3 cm': bumpy,
    'egg of 10 m, level': oval,
}


@lru_cache(2)
def plan_of(
    car: int, track: str, noise: float, rate_hz: float, speed_wander: float, learned_ticks: int
) -> Plan:
    settings = SlotCarSettings(car, rate_hz, noise, speed_wander)
    protocol = replace(
        SLOT_CAR,
        rate_hz=rate_hz,
        learned_ticks=learned_ticks,
        all_ticks=max(SLOT_CAR.all_ticks, learned_ticks + 1_000),
    )
    run = simulate(settings, samples=protocol.all_ticks + 1, track=Track(TRACKS[track]()))
    return plan_slot_car(run_to_recording(run), protocol)


def plan_for(car: int, case: Case) -> Plan:
    data = (case.track, case.noise, case.rate_hz, case.speed_wander, case.learned_ticks)
    return plan_of(car, *data)


def embed(windows: WindowSet, kernel: str, case: Case) -> Floats:
    """Return centred coordinates (n, m) of windows."""
    if kernel != 'laplacian-eigenmap':
        return make_learner(kernel, case.dimension, case.neighbours).fit(windows).coordinates
    if case.graph != 'random-walk':
        learner = make_learner(case.graph, case.dimension, case.neighbours)
        return learner.fit(windows).coordinates
    # Without the root of the degrees, by which a symmetric mode exceeds that of the random walk.
    found = LaplacianEigenmap(case.dimension, case.neighbours).fit(windows).extension
    if not isinstance(found.response, NearModes):
        raise TypeError
    coordinates: Floats = found.response.modes @ found.table
    centred: Floats = coordinates - coordinates.mean(axis=0)
    return centred


@lru_cache(12)
def embedded(car: int, kernel: str, case: Case) -> tuple[Floats, Floats, Floats]:
    """Return coordinates of past, future and shifted windows; the case has but what they need."""
    training, _, _ = ticks_of(car, case)
    past, both = (embed(each, kernel, case) for each in (training.pasts, training.futures))
    own = both[training.own]
    return past, own - own.mean(axis=0), both[training.shifted] - own.mean(axis=0)


def ticks_of(car: int, case: Case) -> tuple[TrainingTicks, Floats, list[Floats]]:
    """Return training ticks, the series (N, d) and the tracks of the segments."""
    train = plan_for(car, case).train
    series, begins = lay_end_to_end(train.observations)
    ticks = find_training_ticks(series, begins, case.window)
    tracks = [segment.positions for segment in train.dataset.segments]
    return ticks, np.ascontiguousarray(series.T), tracks


FILTER = ('coupling', 'directions', 'bandwidth', 'ridge', 'gate', 'stable', 'cut', 'ahead')
"""What no embedding depends on."""

GRAPH = ('neighbours', 'graph', 'dimension')


def usual(case: Case, *names: str) -> Case:
    """Return a case with some of its fields as in the paper."""
    return replace(case, **{name: getattr(LITERAL, name) for name in names})


@lru_cache(3)
def factors_of(car: int, case: Case) -> tuple[Floats, int]:
    """Return the factors (T, n) of learned, then of followed ticks, and how many are learned."""
    plan = plan_for(car, case)
    training, series, _ = ticks_of(car, case)
    candidate = Candidate(case.directions + 1, case.bandwidth, case.ridge)
    operator = make_operator(series[training.ticks], candidate, exact=True)
    followed = plan.train.dataset.channels.standardise(plan.tests[0].segment.values)
    every = np.concatenate([series, followed])
    factors = gaussian_kernel(every, operator.kernel_points, operator.bandwidth)
    if isinstance(operator, RidgeKernel):
        factors = factors @ operator.responses @ operator.features.T
    return factors, len(series)


def follow(
    weights: Floats, states: Floats, factors: Floats, case: Case, begins: Iterable[int]
) -> Floats:
    """
    Return the states (T, k) after each of the (T, n) factors of observations.

    A belief that is not finite starts again, as it does at the ``begins``.
    """
    cold = np.eye(weights.shape[1])[0]
    move = transition(weights, states)
    found = np.empty((len(factors), len(cold)))
    state, fresh = cold, set(begins)
    for tick, row in enumerate(factors):
        if tick in fresh:
            state = cold
        products = row * (weights @ state)
        total = products.sum()
        if case.gate and not total > SMALLEST_EVIDENCE * np.abs(products).sum():
            state = move @ state
        else:
            state = states.T @ (products / total)
            state = state / state[0]
        if not np.isfinite(state).all():
            state = cold
        found[tick] = state
    return found


def run(car: int, kernel: str, case: Case) -> tuple[Floats, float]:
    """Return the RMSE at each horizon and that of positions read on the training ticks, metres."""
    plan = plan_for(car, case)
    (test,) = plan.tests
    training, _, tracks = ticks_of(car, case)
    graph = () if kernel == KERNELS['manifold'] else ('neighbours', 'graph')
    past, own, shifted = embedded(car, kernel, usual(case, *FILTER, *graph))
    wanted = case.directions
    if case.cut:
        values = couple(own, past, case.coupling).singular_values
        wanted = min(wanted, int(np.count_nonzero(values > SMALLEST_RATIO * values[0])))
    directions = shared_directions(own, past, wanted, case.coupling)
    tables = build_tables(past, shifted, directions, stable=case.stable)
    others = (name for name in (*FILTER, *GRAPH) if name not in {'bandwidth', 'ridge'})
    factors, count = factors_of(car, usual(case, *others))
    lengths = [len(segment) for segment in plan.train.dataset.segments]
    begins = np.cumsum([0, *lengths]).tolist()
    with np.errstate(all='ignore'):
        states = follow(tables.weights, tables.states, factors, case, begins)
    learned = states[:count][training.ticks]
    horizons, period_s = plan.train.horizons, plan.train.dataset.period_s
    targets = training_targets(tracks, training.ticks, horizons, period_s)
    readout = fit_ridge(learned, targets)
    coefficients = readout.coefficients[:-1]
    ahead = states[count:]
    if case.ahead == 'transition':
        powers = [np.eye(tables.states.shape[1])]
        move = transition(tables.weights, tables.states)
        for _ in horizons[1:]:
            powers.append(move @ powers[-1])
        coefficients = np.array([coefficients[0] @ power for power in powers])
    read = np.einsum('hck,tk->thc', coefficients, ahead)[test.scored]
    truth = test.truth[test.scored]
    mean = plan.train.mean_position()
    read = np.where(np.isfinite(read).all(axis=2)[..., None], read, mean)
    errors = np.sqrt(np.nanmean(np.square(read - truth).sum(axis=2), axis=0))
    known = np.isfinite(targets[:, 0]).all(axis=1)
    away = learned[known] @ coefficients[0].T - targets[known, 0]
    return errors, float(np.sqrt(np.square(away).sum(axis=1).mean()))


def measured(car: int, case: Case, *, rivals: bool) -> dict[str, float | None]:
    """Return the mean error over the horizons by kernel and rival, and the readings, metres."""
    found: dict[str, float] = {}
    for column, kernel in KERNELS.items():
        try:
            errors, read_m = run(car, kernel, case)
        except (InputError, np.linalg.LinAlgError):
            continue
        found[column] = float(errors[1:].mean())
        found[f'{column} read'] = read_m
    if rivals:
        for result in compare(plan_for(car, case), methods_named(RIVALS, SLOT_CAR)).results:
            if result.scores is not None:
                scores = [score.all.rmse_m for score in result.scores[1:]]
                found[result.name] = float(np.mean([each for each in scores if each is not None]))
    return {name: round(value, 6) for name, value in found.items()}


def compared(car: int) -> dict[str, Any]:
    """
    Return what `reproduce slot-car` finds on a car, by method.

    The mean error over the horizons, that at every tenth, and the RMSE of positions read linearly
    from the states where the car is followed and on the training ticks, metres.
    """
    found: dict[str, Any] = {}
    comparison = slot_car.compare_on(car, SLOT_CAR, lambda *_: None)
    for result in comparison.results:
        rmse_m = [score.all.rmse_m or np.nan for score in (result.scores or ())[1:]]
        each: dict[str, Any] = {'error': np.mean(rmse_m), 'at': [rmse_m[0], *rmse_m[9::10]]}
        if result.linear is not None and result.learned_m is not None:
            each |= {'followed': comparison.reading_rmse_m(result), 'learned': result.learned_m}
        found[result.name] = {key: np.round(value, 5).tolist() for key, value in each.items()}
    return found


def changed(base: Case, **changes: tuple[Any, ...]) -> dict[str, Case]:
    """Return a case for each value of each changed field, by name and value."""
    return {
        f'{name.replace("_", " ")} {value}': replace(base, **{name: value})
        for name, values in changes.items()
        for value in values
    }


CONDITIONS: dict[str, tuple[Any, ...]] = {
    'track': tuple(TRACKS)[1:],
    'noise': (0.0, 3.0),
    'rate_hz': (5.0, 20.0),
    'speed_wander': (0.0, 2.0),
    'learned_ticks': (1_000, 4_000),
}

CARS, SETS = 20, 3
"""Cars of a set, and sets: cars 0 to 19 are set 0."""

SLOT_CAR_ROW = 'reproduce slot-car'

GROUPS: dict[str, dict[str, Case]] = {
    # Rows of each table.
    'letter': {
        'to the letter': LITERAL,
        'evidence rejected': replace(LITERAL, gate=True),
        'growing modes shrunk': replace(LITERAL, stable=True),
        'evidence rejected, weak directions left out': replace(LITERAL, gate=True, cut=True),
        'ridge .01': replace(LITERAL, ridge=0.01),
        'ridge .1': replace(LITERAL, ridge=0.1),
        'ridge 1': replace(LITERAL, ridge=1.0),
        'ridge 1, evidence rejected': STEADY,
        'ridge 1, evidence rejected, weak directions left out': replace(STEADY, cut=True),
        'kernel itself for the ridge operator': replace(LITERAL, ridge=None),
    },
    'settings': {
        'steady': STEADY,
        **changed(
            STEADY,
            window=(30, 75, 250),
            neighbours=(10, 100, 200),
            graph=(
                'laplacian-eigenmap-plain',
                'laplacian-eigenmap-binary',
                'laplacian-eigenmap-unscaled',
                'random-walk',
            ),
            dimension=(20, 300),
            directions=(5, 10, 40),
            coupling=('cross-covariance', 'canonical', 'reduced-rank'),
            ridge=(1e-4, 0.01, 0.1, 10.0, None),
            bandwidth=(0.5, 2.0),
            gate=(False,),
            cut=(True,),
            ahead=('transition',),
        ),
    },
    'conditions': {'steady': STEADY, **changed(STEADY, **CONDITIONS)},
}


def read() -> dict[str, Any]:
    """Return what is kept: by group, row and car the errors by method."""
    content: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return content


def measure(name: str, cars: Iterable[int]) -> Iterator[tuple[str, int]]:
    """Measure what a group does not have yet, car after car, and keep it; yield row and car."""
    rivals, rows = name == 'conditions', GROUPS.get(name, {SLOT_CAR_ROW: LITERAL})
    for car in cars:
        for row, case in rows.items():
            kept = read()
            place = kept.setdefault(name, {}).setdefault(row, {})
            if str(car) not in place:
                found = compared(car) if name == 'cars' else measured(car, case, rivals=rivals)
                place[str(car)] = found
                FILE.write_text(json.dumps(kept, indent=1) + '\n')
                yield row, car


def spread(values: Floats, *, broad: bool) -> str:
    """Return mean and standard deviation, or median and quartiles where errors are broad."""
    if not len(values):
        return '-'
    if broad:
        low, middle, high = (_short(each) for each in np.quantile(values, (0.25, 0.5, 0.75)))
        return f'{middle} ({low} to {high})'
    return f'{_short(float(values.mean()))} ± {_short(float(values.std(ddof=1)))}'


def _short(number: float) -> str:
    return f'{number:.3f}'.replace('0.', '.', 1) if number < 1.0 else f'{number:.2f}'


def table(name: str) -> str:
    """Return a group as a table: errors by kernel, and on how many cars they have an order."""
    rows = read().get(name, {})
    broad = 'letter' in name
    columns = (*KERNELS, *(RIVALS[1:] if name == 'conditions' else ()))
    lines = [
        f'| changed | {" | ".join(columns)} | manifold < gaussian | and gaussian < linear |',
        f'| --- |{" --- |" * (len(columns) + 2)}',
    ]
    for row in GROUPS[name]:
        cars = rows.get(row, {}).values()
        every = [each for each in cars if all(kernel in each for kernel in KERNELS)]
        manifold, gaussian, linear = (
            np.array([each[kernel] for each in every]) for kernel in KERNELS
        )
        cells = [
            spread(np.array([each[column] for each in cars if column in each]), broad=broad)
            for column in columns
        ]
        before = manifold < gaussian
        order = f'{before.sum()} of {len(every)}', f'{(before & (gaussian < linear)).sum()}'
        lines.append(f'| {row} | {" | ".join(cells)} | {" | ".join(order)} |')
    return '\n'.join(lines)


def sets() -> list[list[dict[str, Any]]]:
    """Return what is known of the cars of each set."""
    cars = read().get('cars', {}).get(SLOT_CAR_ROW, {})
    numbers = [range(first, first + CARS) for first in range(0, SETS * CARS, CARS)]
    return [[cars[str(car)] for car in each if str(car) in cars] for each in numbers]


def ratios() -> str:
    """Return ratios of errors on each set of cars, and on how many cars they are below 1."""
    gaussian, manifold = (each.name for each in slot_car.READ_LINEARLY.values())
    lines = [f'| ratio |{"".join(f" set {number} |" for number in range(SETS))}']
    lines.append(f'| --- |{" --- |" * SETS}')
    for what, field, better, worse in (
        ('error: HSE-HMM / Kalman filter', 'error', 'gaussian', 'kalman'),
        ('error: HSE-HMM / HMM', 'error', 'gaussian', 'hmm'),
        ('error: manifold HSE-HMM / HMM', 'error', 'manifold', 'hmm'),
        ('error: manifold HSE-HMM / HSE-HMM, sharpened', 'error', 'manifold', 'gaussian'),
        ('error: manifold HSE-HMM / HSE-HMM, both read linearly', 'error', manifold, gaussian),
        ('training data: Gaussian RBF / linear', 'learned', gaussian, 'kalman'),
        ('training data: Laplacian eigenmap / Gaussian RBF', 'learned', manifold, gaussian),
        ('followed: Gaussian RBF / linear', 'followed', gaussian, 'kalman'),
        ('followed: Laplacian eigenmap / Gaussian RBF', 'followed', manifold, gaussian),
    ):
        cells = []
        for cars in filter(None, sets()):
            one, other = (np.array([car[who][field] for car in cars]) for who in (better, worse))
            below = f'{np.count_nonzero(one < other)} of {len(cars)}'
            cells.append(f'{_short(float(one.mean() / other.mean()))}, {below}')
        lines.append(f'| {what} | {" | ".join(cells)} |')
    for what, own, others in (
        ('manifold HSE-HMM / least other model', 'manifold', ('kalman', 'hmm', 'gaussian')),
        ('the same, both HSE-HMMs read linearly', manifold, ('kalman', 'hmm', gaussian)),
        ('manifold HSE-HMM / HSE-HMM, both read linearly', manifold, (gaussian,)),
    ):
        cells = []
        for cars in filter(None, sets()):
            curves = [np.mean([car[who]['at'] for car in cars], axis=0) for who in (own, *others)]
            cells.append(_short(float(np.max(curves[0] / np.minimum.reduce(curves[1:])))))
        lines.append(f'| {what}, largest of 11 horizons | {" | ".join(cells)} |')
    return '\n'.join(lines)


def errors() -> str:
    """Return the mean error of each method on each set of cars, with the spread over cars."""
    found = list(filter(None, sets()))
    lines = [f'| error (m) |{"".join(f" set {number} |" for number in range(SETS))}']
    lines.append(f'| --- |{" --- |" * SETS}')
    for name in found[0][0] if found else ():
        cells = (np.array([car[name]['error'] for car in cars]) for cars in found)
        lines.append(f'| {name} | {" | ".join(spread(each, broad=False) for each in cells)} |')
    return '\n'.join(lines)


def blocks() -> dict[str, str]:
    """Return the tables of docs/reproduce/slot-car.md by the name in their marks."""
    return {
        **{name: table(name) for name in GROUPS},
        'cars': ratios(),
        'errors': errors(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--measure', choices=(*GROUPS, 'cars'), help='measure what is missing')
    parser.add_argument('--cars', type=int, nargs='+', default=range(5), help='seeds of the cars')
    args = parser.parse_args()
    if args.measure:
        for row, car in measure(args.measure, args.cars):
            print(f'{args.measure}, car {car}: {row}', flush=True)
        return
    for name, block in blocks().items():
        print(f'{name}\n\n{block}\n')


if __name__ == '__main__':
    main()
