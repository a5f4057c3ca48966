# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiment ``slot-car``: a manifold HSE-HMM and its rivals (Boots & Gordon 2012, Fig. 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

# The HMM needs it; without this import the experiment would stop half done.
import hmmlearn.hmm  # type: ignore[import-untyped]  # noqa: F401
import numpy as np

from two_manifold_ros.comparison.comparing import (
    compare,
    Comparison,
    Method,
    Plan,
    plan_bags,
    plan_parts,
)
from two_manifold_ros.comparison.rivals import methods_named, own
from two_manifold_ros.errors import InputError
from two_manifold_ros.experiments import experiment as lab
from two_manifold_ros.recordings.recording import median_interval_ns, Recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.settings import RouteSettings
from two_manifold_ros.typing import Floats

METHODS = ('mean', 'previous', 'kalman', 'hmm', 'gaussian', 'manifold')
"""The six methods of the paper's Fig. 3(C)."""

_AS_PRINTED = {'method': 'spectral', 'readout': 'ridge', 'clock': 'time'}
READ_LINEARLY = {
    kernel: own(*(f'{e}, linear read-out' for e in (kernel, title)), kernel=kernel, **_AS_PRINTED)
    for kernel, title in (('gaussian', 'HSE-HMM'), ('laplacian-eigenmap', 'manifold HSE-HMM'))
}
"""The two HSE-HMMs once more as the paper reads them: by linear regression on the state."""

HZ = 10.0
"""Ticks in a second."""


class SlotCarRuns(NamedTuple):
    """How cars are learned and followed, by default as in the paper."""

    trials: int = 5  # simulated cars, each with a seed of its own
    slack: float = 1.0  # factor by which an error that should be the smaller may be larger
    names: tuple[str, ...] = METHODS
    settings: RouteSettings = RouteSettings(
        rate_hz=HZ, window=150, states=20, neighbours=50, horizons=tuple(range(101))
    )
    learned_ticks: int = 2_000
    followed_ticks: int = 500  # at the end of all
    all_ticks: int = 3_000
    extents: tuple[int, int] = (100, 350)  # fewest and most ticks filtered before a prediction
    recordings: tuple[Recording, ...] = ()  # in place of simulated cars

    def on(self, recordings: Sequence[Recording]) -> SlotCarRuns:
        """
        Return the settings for recordings, of which the last of several is followed.

        Windows, horizons and the like shrink with recordings of fewer ticks than in the paper, and
        a tick lasts as long as a sample if that is longer. Of more ticks more are learned from.
        """
        intervals = [median_interval_ns(each.imu.stamps) for each in recordings]
        # An IMU without an interval is refused later, with its name.
        hz = min([HZ, *(round(1e9 / each) for each in intervals if each)])
        *before, last = (hz * each.imu.span_ns * 1e-9 for each in recordings)
        followed = last / (self.followed_ticks if before else self.all_ticks)
        share = min(1.0, followed, sum(before) / self.learned_ticks if before else 1.0)
        ticks = self.settings.window, self.settings.neighbours, self.settings.horizons[-1]
        window, neighbours, furthest = (max(2, round(share * each)) for each in ticks if each)
        shrunk = replace(self.settings, rate_hz=hz, window=window, neighbours=neighbours)
        settings = replace(shrunk, horizons=tuple(range(furthest + 1)))
        extents = round(share * self.extents[0]), round(followed * self.extents[1])
        given = tuple(recordings)
        return self._replace(trials=1, settings=settings, extents=extents, recordings=given)

    def plan(self, *recordings: Recording) -> Plan:
        """Return what is learned from and followed; raise ``InputError`` if it is too short."""
        *learned, followed = recordings
        laid_out = plan_bags if learned else plan_parts
        if not learned:
            all_s = followed.imu.span_ns * 1e-9
            learned_s, followed_s = (
                all_s * each / self.all_ticks for each in (self.learned_ticks, self.followed_ticks)
            )
            learned = [followed.between(None, learned_s)]
            followed = followed.between(all_s - followed_s, all_s)
        plan, (fewest, most) = laid_out(learned, [followed], self.settings), self.extents
        tests = []
        for test in plan.tests:
            filtered = np.arange(1, len(test) + 1)
            tests.append(replace(test, scored=(filtered >= fewest) & (filtered <= most)))
        return plan._replace(tests=tuple(tests))

    def methods(self) -> list[Method]:
        """Return the methods; opponents have as many states as the others."""
        states, window = self.settings.states, self.settings.window
        settled: dict[str, dict[str, Any]] = {
            'kalman': {'states': states, 'block_rows': window},
            'hmm': {'states': (states,)},
        }
        return [
            each._replace(fit=partial(each.fit, **settled.get(each.name, {})))
            for each in methods_named(self.names)
        ]


SMALL = SlotCarRuns(
    trials=1,
    slack=1.5,
    settings=replace(SlotCarRuns().settings, window=40, neighbours=30, horizons=tuple(range(21))),
    learned_ticks=700,
    followed_ticks=200,
    all_ticks=900,
    extents=(60, 170),
)
"""The quick form."""


def fit(settings: SlotCarRuns, car: int, report: lab.Progress) -> Comparison:
    """Drive a car, or take the recordings, and run all methods; InputError if one fails."""
    methods = [*settings.methods(), *READ_LINEARLY.values()]
    recordings, what = settings.recordings, 'the recordings'
    if not recordings:
        driven = simulate(SlotCarSettings(car, HZ), samples=settings.all_ticks + 1)
        recordings, what = (run_to_recording(driven),), f'slot car {car}'
    comparison = compare(settings.plan(*recordings), methods, report)
    for result in comparison.results:
        if result.failure is not None:
            raise InputError(f'{result.title} failed on {what}: {result.failure}')
    return comparison


def score(settings: SlotCarRuns, comparisons: Sequence[Comparison]) -> list[lab.Claim]:
    """Claim the order of the paper; what holds on most sets of cars only has no limit."""
    # On recordings the order is found, not claimed.
    slack = None if settings.recordings else settings.slack
    curves = {
        result.name: np.array([_rmse_m(each, index) for each in comparisons])
        for index, result in enumerate(comparisons[0].results)
    }
    # Means over the horizons by cars, or of one comparison the horizons themselves.
    axis, over = (0, 'horizons') if settings.recordings else (1, 'cars')
    errors = {name: curve.mean(axis=axis) for name, curve in curves.items()}
    errors['blind'] = np.minimum(errors['mean'], errors['previous'])
    paper = 'Fig. 3(C): below 1'
    gaussian, manifold = (each.name for each in READ_LINEARLY.values())
    rivals = [
        (f'manifold HSE-HMM / {each.title}', 'manifold', each.name, None)
        for each in comparisons[0].results
        if settings.recordings and each.name in METHODS[:-1]
    ]
    claims = [
        _smaller(f'error of the {what}', errors[better], errors[worse], limit, paper, over)
        for what, better, worse, limit in (
            ('Kalman filter / least of mean and previous', 'kalman', 'blind', slack),
            ('HMM / least of mean and previous', 'hmm', 'blind', slack),
            ('HSE-HMM / Kalman filter', 'gaussian', 'kalman', slack),
            ('HSE-HMM / HMM', 'gaussian', 'hmm', None),
            ('manifold HSE-HMM / HSE-HMM, both read linearly', manifold, gaussian, slack),
            *rivals,
        )
    ]
    means = {name: curves[name].mean(axis=0) for name in METHODS}
    # The paper compares learned models. The previous position is right once more as a lap ends.
    others = np.minimum.reduce([means[name] for name in ('kalman', 'hmm', 'gaussian')])
    largest = float(np.max(means['manifold'] / others))
    what = f'the manifold HSE-HMM / least other model, largest of {len(others)} horizons'
    claims.append(lab.at_most(f'error of {what}', paper, largest, None))
    for where in ('on the training data', 'where followed'):
        followed = where == 'where followed'
        # RMSE of linear readings of each car, metres.
        linear, gauss, eigen = (
            np.array(
                [
                    each.reading_rmse_m(result) if followed else result.learned_m
                    for each in comparisons
                    for result in each.results
                    if result.name == name
                ],
                dtype=np.float64,
            )
            for name in ('kalman', gaussian, manifold)
        )
        claims += [
            _smaller(
                f'read from states {where}: {what}', better, worse, most, 'Fig. 3(B): below 1'
            )
            for what, better, worse, most in (
                ('Gaussian RBF / linear', gauss, linear, slack if followed else None),
                ('Laplacian eigenmap / Gaussian RBF', eigen, gauss, slack),
            )
        ]
    return claims


def _rmse_m(comparison: Comparison, index: int) -> Floats:
    """Return the RMSE of a method at the horizons from 1 on, metres."""
    scores = comparison.results[index].scores or ()
    return np.array([score.all.rmse_m for score in scores[1:]], dtype=np.float64)


def _smaller(
    what: str, errors: Floats, others: Floats, limit: float | None, paper: str, over: str = 'cars'
) -> lab.Claim:
    """Claim that one mean is smaller than another, and say for how many of the averaged."""
    error_m, other_m = float(errors.mean()), float(others.mean())
    note = f' ({error_m:.3g} m / {other_m:.3g} m)'
    if len(errors) > 1:
        note += f', smaller for {np.count_nonzero(errors < others)} of {len(errors)} {over}'
    return lab.at_most(what, paper, error_m / other_m, limit, note)


def draw(found: list[Comparison]) -> list[lab.Panel]:
    """Draw the readings of the first car, and the mean errors."""
    first, panels = found[0], []
    gaussian, manifold = (each.name for each in READ_LINEARLY.values())
    track = np.concatenate(first.tracks)
    true = lab.layer('plot', *track.T, '.', ms=2, label='true position')
    # The track is in sight, the outliers of a method are not.
    x, y = np.stack([np.nanmin(track, axis=0) - 0.3, np.nanmax(track, axis=0) + 0.3], axis=1)
    for result in first.results:
        if result.name in {'kalman', gaussian, manifold}:
            places = np.concatenate(result.linear or ()).T
            read = lab.layer('plot', *places, '.', ms=2, label='linear reading of the state')
            title = f'{result.title}: RMSE {first.reading_rmse_m(result):.2f} m'
            panels.append(lab.panel(title, true, read, aspect='equal', xlim=x, ylim=y))
    seconds = np.array(first.horizons[1:]) / first.rate_hz
    curves = []
    for index, result in enumerate(first.results):
        if result.name in METHODS:
            errors = np.mean([_rmse_m(each, index) for each in found], axis=0)
            curves.append(lab.layer('plot', seconds, errors, label=result.title))
    title = 'RMSE of predictions (m)' + (f', mean of {len(found)} cars' if found[1:] else '')
    return [*panels, lab.panel(title, *curves, xlabel='seconds ahead')]


run = lab.Runner(SlotCarRuns(), SMALL, fit, score, draw, SlotCarRuns.on)
