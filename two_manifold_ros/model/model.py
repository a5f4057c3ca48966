# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Models of the spectral filter, of a TPSR and of the route.

They hold everything that a filter needs, and nothing of the bags; a `RouteModel` is the default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import refuse
from two_manifold_ros.hse_hmm.readout import SharpenedReadout
from two_manifold_ros.hse_hmm.tables import RawKernel, spectral_radius, transition
from two_manifold_ros.manifold.selection import check_extension
from two_manifold_ros.model.circuit import check_circuit
from two_manifold_ros.model.head import (
    BOUNDS,
    check_covariances,
    check_invertible,
    check_range,
    check_shapes,
    check_size,
    TrainedModel,
    trouble_with,
)
from two_manifold_ros.route.route import HYPOTHESES, JUMPED, PLACED

if TYPE_CHECKING:
    from two_manifold_ros.hse_hmm.readout import Readout
    from two_manifold_ros.hse_hmm.tables import ObservationOperator, Tables
    from two_manifold_ros.manifold.learner import Extension
    from two_manifold_ros.model.circuit import Circuit
    from two_manifold_ros.network.network import Network
    from two_manifold_ros.route.route import Route, RouteLikelihood
    from two_manifold_ros.route.sensors import Sensor
    from two_manifold_ros.ticks.novelty import NoveltyAnchors
    from two_manifold_ros.ticks.rest import RestRule
    from two_manifold_ros.tpsr.parameters import Tpsr
    from two_manifold_ros.typing import Floats, Ints

FAST = 1e3
"""Of speeds and accelerations: far beyond those of any vehicle."""


@dataclass(frozen=True, kw_only=True)
class Model(TrainedModel):
    """
    A model of the spectral filter: tables, operator and read-out of the HMM, see ``hse_hmm``.

    Parameters
    ----------
    novelty
        What is typical for unseen windows of the route.
    warm_start
        From a past window to the state without its constant.
    state_bound
        Largest believable norm of the state without its constant, if guarded.
    guarded
        Whether the filter rejects and mixes and starts again, mathematics, section 6.5, and its
        transition is stable; files before version 14 are of such models.
    rest
        When the clock of the filter stands, because the vehicle does; ``None`` for never.

    """

    tables: Tables
    operator: ObservationOperator
    readout: Readout
    novelty: NoveltyAnchors
    warm_start: Extension
    state_bound: float
    guarded: bool = True
    rest: RestRule | None = None

    @property
    def states(self) -> int:
        """Dimension of the state, k."""
        return int(self.tables.weights.shape[1])

    def validate(self) -> None:
        """Check numbers, shapes and the transition's stability too (mathematics, section 12)."""
        super().validate()
        _check_windows(self)
        check_range('state_bound', self.state_bound, BOUNDS.least)
        self._validate_operator()
        self._validate_readout()
        check_shapes(self.warm_start, {'offset': (self.states - 1,)}, 'warm_start.')
        try:
            check_extension(self.warm_start, len(self.starts))
        except ValueError as error:
            refuse(f'its warm start does not fit: {error}')
        matrix = transition(self.tables.weights, self.tables.states)
        constant = np.allclose(self.tables.states[:, 0], 1.0, rtol=0.0, atol=1e-9)
        if not (constant and np.allclose(matrix[0], np.eye(len(matrix))[0], atol=1e-9)):
            refuse('its tables do not keep the sum of the weights')
        if self.guarded and not spectral_radius(matrix) <= 1.0 + 1e-6:
            refuse('its transition grows without bound')

    def _validate_operator(self) -> None:
        operator, (count, states) = self.operator, self.tables.weights.shape
        if not states <= min(count, BOUNDS.states):
            refuse(f'it has {states} states of {count} windows: more than those, or too many')
        check_shapes(self.tables, {'states': (count, states)}, 'tables.')
        check_shapes(self, {'starts': (count,)})
        check_range('operator.bandwidth', operator.bandwidth, BOUNDS.least)
        if isinstance(operator, RawKernel):
            shapes: dict[str, tuple[int, ...]] = {'observations': (count, self.live)}
        else:
            landmarks, features = len(operator.landmarks), operator.features.shape[-1]
            shapes = {
                'landmarks': (landmarks, self.live),
                'features': (count, features),
                'responses': (landmarks, features),
            }
        check_shapes(operator, shapes, 'operator.')

    def _validate_readout(self) -> None:
        readout, columns = self.readout, len(self.horizons) + 1
        if isinstance(readout, SharpenedReadout):
            _check_sharpened(readout, len(self.starts), columns)
        else:
            shapes: dict[str, tuple[int, ...]] = {
                'coefficients': (columns, 2, self.states),
                'covariances': (columns, 2, 2),
            }
            check_shapes(readout, shapes, 'readout.')
            check_covariances('readout.covariances', vars(readout)['covariances'])


@dataclass(frozen=True, kw_only=True)
class TpsrModel(TrainedModel):
    """
    A model of a TPSR: its parameters, and the ticks that positions are read from, see ``tpsr``.

    Parameters
    ----------
    tpsr
        The parameters.
    frequencies : (d, p), phases : (p,)
        Of the random features of observations, see `FourierFeatures`.
    weights : (n, k), features : (n, p)
        Of the remembered ticks, see `RememberingBelief`.
    readout
        Positions of the remembered ticks.
    novelty, rest
        See `Model`.

    """

    tpsr: Tpsr
    frequencies: Floats
    phases: Floats
    weights: Floats
    features: Floats
    readout: SharpenedReadout
    novelty: NoveltyAnchors
    rest: RestRule | None = None

    @property
    def states(self) -> int:
        """Dimension of the state, k."""
        return self.tpsr.states

    def validate(self) -> None:
        """Check numbers, shapes and the transition's stability too (mathematics, section 12)."""
        super().validate()
        _check_windows(self)
        count, features, states = len(self.weights), self.phases.size, self.states
        if not 1 <= states <= BOUNDS.states or not count:
            refuse(f'it has {states} states and {count} remembered ticks')
        check_shapes(
            self,
            {
                'frequencies': (self.live, features),
                'phases': (features,),
                'weights': (count, states),
                'features': (count, features),
            },
        )
        check_shapes(
            self.tpsr,
            {
                'start': (states,),
                'normaliser': (states,),
                'operators': (features, states, states),
                'inverse': (features, features),
                'transition': (states, states),
            },
            'tpsr.',
        )
        check_range('tpsr.bound', self.tpsr.bound, BOUNDS.least)
        _check_sharpened(self.readout, count, len(self.horizons) + 1)
        if not np.isclose(self.tpsr.normaliser @ self.tpsr.start, 1.0, rtol=0.0, atol=1e-6):
            refuse('its start is not normalised')
        if not np.abs(np.linalg.eigvals(self.tpsr.transition)).max() <= 1.0 + 1e-6:
            refuse('its transition grows without bound')


def _check_windows(model: Model | TpsrModel) -> None:
    """Check what is compared with the newest window."""
    novelty, rest = model.novelty, model.rest
    check_range('novelty.squared', novelty.squared, BOUNDS.least)
    check_range('novelty.still', novelty.still, 0, BOUNDS.count)
    # The formula of a contrast gives none below -10.
    check_range('novelty.own', novelty.own, -100.0, 0.0)
    check_range('novelty.other', novelty.other, -100.0, 0.0)
    if rest is not None:
        check_range('rest.ticks', rest.ticks, 2, BOUNDS.count)
        check_size('rest.ticks', rest.ticks, model.live)
        # In standard deviations of the training: within more, anything is rest.
        check_range('rest.limit', rest.limit, BOUNDS.least, 1e3)


def _check_sharpened(readout: SharpenedReadout, count: int, columns: int) -> None:
    """Check a read-out of ``count`` ticks."""
    each = (columns,)
    shapes = {'targets': (count, columns, 2), 'added': each, 'factors': each}
    check_shapes(readout, shapes, 'readout.')
    check_range('readout.added', readout.added, 0.0)
    check_range('readout.factors', readout.factors, BOUNDS.least)
    if np.isnan(readout.targets[:, :-1]).any(axis=2).all(axis=0).any():
        refuse('readout.targets are nowhere known at one of its horizons')


@dataclass(frozen=True)
class NetworkLines:
    """
    The L lines that drives on one map of P places were named after.

    Parameters
    ----------
    names
        In alphabetical order.
    kept_s
        Seconds for which one line is driven before another one may be: the mean length of the
        drives of the training, which gaps end.
    passes : (P, L)
        How far each place is one of each line, 0 to 1.
    forks : (F,) int64
        Places from which lines lead to different positions within the horizons, in order.
    ahead : (F, L, H, 2)
        Positions at the horizons, on each line, of a vehicle there, metres; those of all lines
        where a line never came.
    apart_m
        Distance from which on two positions are on different roads.

    """

    names: tuple[str, ...]
    kept_s: float
    passes: Floats
    forks: Ints
    ahead: Floats
    apart_m: float


@dataclass(frozen=True, kw_only=True)
class RouteModel(TrainedModel):
    """
    A model of the belief about the place on a route.

    Its windows of training are at most ``training.train.MOST_TICKS`` ticks long together, however
    long the recordings: the input is compared with them, see ``filtering``.

    Parameters
    ----------
    lowest, highest : (d,)
        Least and largest mean of a training window, of each live channel, standardised.
    still : (d,) int64
        Most ticks in a row of training in which each live channel did not change.
    most_still
        Most ticks in a row of training in which no channel changed at all.
    circuit
        One lap, for lap times; ``None`` where the drives repeat none, and in files before
        version 18.
    lines
        Of a network, by name; ``None`` where none is named, and in files before version 19.
    network
        Headings of the roads, where these are followed by turns; ``None`` else, and in files
        before version 22.
    least_evidence
        Least evidence of a tick on parts left out of the training, while the vehicle drove as in
        the rest of it; 0 where unknown, and in files before version 23.

    """

    route: Route
    lowest: Floats
    highest: Floats
    still: Ints
    most_still: int
    circuit: Circuit | None = None
    lines: NetworkLines | None = None
    network: Network | None = None
    least_evidence: float = 0.0

    @property
    def states(self) -> int:
        """Dimension of the state, k."""
        return int(self.route.readout.states.shape[-1])

    @property
    def route_names(self) -> tuple[str, ...]:
        """Names of the lines on the map."""
        return () if self.lines is None else self.lines.names

    def validate(self) -> None:
        """Check also shapes, ranges, indices and chances of the route."""
        super().validate()
        check_range('most_still', self.most_still, 0, BOUNDS.count)
        check_range('least_evidence', self.least_evidence, 0.0, 1.0)
        check_shapes(self, dict.fromkeys(('lowest', 'highest', 'still'), (self.live,)))
        check_range('still', self.still, 0, BOUNDS.count)
        if not (self.lowest <= self.highest).all():
            refuse('its windows have means whose least is above the largest')
        _check_shapes(self.route, self.live, len(self.horizons) + 1)
        _check_ranges(self.route)
        _check_ways(self.route)
        _check_chances(self.route)
        check_covariances('route.readout.covariances', self.route.readout.covariances)
        if self.circuit is not None:
            check_circuit(self.circuit)
        if self.lines is not None:
            _check_lines(self.lines, self.route.places, len(self.horizons))
        if self.network is not None:
            _check_network(self.network, self.live, self.route.places)


def _check_network(network: Network, channels: int, places: int) -> None:
    """Check shapes and ranges, and that tables ascend."""
    turns, speeds = max(network.turns.size, 2), max(network.speeds.size, 1)
    check_size('network.shakes', turns, speeds, channels)
    shapes = {
        'courses': (places,), 'usual_mps': (places,), 'turning': (channels,), 'turns': (turns,),
        'chances': (turns,), 'speeds': (speeds,), 'shakes': (speeds, channels),
        'scales': (speeds, channels),
    }  # fmt: skip
    check_shapes(network, shapes, 'network.')
    for name in ('turning_spread', 'chances', 'scales', 'largest_misfit'):
        check_range(f'network.{name}', getattr(network, name), BOUNDS.least)
    for name in ('courses', 'turning', 'turning_offset', 'turns', 'shakes'):
        check_range(f'network.{name}', getattr(network, name), -FAST, FAST)
    for name in ('usual_mps', 'speeds'):
        check_range(f'network.{name}', getattr(network, name), 0.0, FAST)
    steps = np.diff(network.turns)
    if not (steps >= BOUNDS.least).all() or not (np.diff(network.speeds) > 0.0).all():
        refuse('the turns or speeds of its network do not ascend')
    if not np.allclose(steps, steps[0], rtol=1e-6, atol=0.0):
        refuse('the turns of its network are no even steps')


def _check_lines(lines: NetworkLines, places: int, horizons: int) -> None:
    """Check shapes, shares, and places in order."""
    count, forks = len(lines.names), lines.forks.size
    if not count or list(lines.names) != sorted(set(lines.names)):
        refuse('the names of its lines are not in order, or there are none')
    for trouble in map(trouble_with, lines.names):
        if trouble:
            refuse(trouble)
    check_size('lines.passes', places, count)
    check_size('lines.ahead', places, count, 2 * horizons)
    shapes = {'passes': (places, count), 'forks': (forks,), 'ahead': (forks, count, horizons, 2)}
    check_shapes(lines, shapes, 'lines.')
    check_range('lines.kept_s', lines.kept_s, BOUNDS.least)
    check_range('lines.apart_m', lines.apart_m, BOUNDS.least)
    check_range('lines.passes', lines.passes, 0.0, 1.0)
    check_range('lines.forks', lines.forks, 0, places - 1)
    if (np.diff(lines.forks) <= 0).any():
        refuse('lines.forks are not in order')


@dataclass(frozen=True, kw_only=True)
class SensedRouteModel(RouteModel):
    """
    A route model that also takes sensors beside the IMU.

    Parameters
    ----------
    sensors
        In the order in which their channels follow those of a sample.

    """

    sensors: tuple[Sensor, ...]

    @property
    def further_names(self) -> tuple[str, ...]:
        """Names of the channels of the sensors."""
        return tuple(name for sensor in self.sensors for name in sensor.names)

    @property
    def further_means(self) -> Floats:
        """Means of the channels of the sensors."""
        return np.concatenate([np.zeros(0), *(each.channels.mean for each in self.sensors)])

    def validate(self) -> None:
        """Check also what the sensors read."""
        super().validate()
        if not self.sensors or len(set(self.further_names)) != len(self.further_names):
            refuse('it has no sensors, or two of the same name')
        if self.network is not None:
            refuse('it has sensors and a network, which are not followed together')
        for number, sensor in enumerate(self.sensors):
            where = f'sensors.{number}.'
            channels, count = sensor.channels, len(sensor.channels.names)
            names = ('mean', 'scale', 'limit', 'live')
            check_shapes(channels, dict.fromkeys(names, (count,)), f'{where}channels.')
            check_range(f'{where}channels.scale', channels.scale[channels.live], BOUNDS.least)
            check_range(f'{where}most_still', sensor.most_still, 0, BOUNDS.count)
            live = int(np.count_nonzero(channels.live))
            _check_likelihood(sensor.likelihood, live, self.route.places, f'{where}likelihood.')


def _check_likelihood(likelihood: RouteLikelihood, d: int, places: int, where: str) -> None:
    """Check every array and number of a likelihood of d channels, see `_check_shapes`."""
    memories = max(likelihood.gains.size, 1)
    features = d * (1 + memories)
    if not d or not features <= BOUNDS.features:
        refuse(f'{where[:-1]} has {features} features')
    check_size(f'{where}means', places, 3 * len(PLACED) + features, most=BOUNDS.step)
    sizes = {'d': d, 'm': memories, 'h': d * memories, 'f': features, 'p': places, '0': 0}
    axes = {
        'gains': 'm', 'whitening': 'ff', 'means': 'pf', 'slopes': 'pf', 'new_whitening': 'dd',
        'new_means': 'pd', 'new_slopes': 'pd', 'noise': 'p', 'shifts': 'd', 'exponents': 'd',
    }  # fmt: skip
    shapes = {name: tuple(sizes[axis] for axis in axes[name]) for name in axes}
    check_shapes(likelihood, shapes, where)
    # Of each density, its axis and that of what it is given.
    densities = {
        'rest': 'dh', 'rest_alone': 'd0', 'other': 'dh', 'slow': 'dh', 'rest_means': 'h0',
        'other_means': 'h0',
    }  # fmt: skip
    for name, axes_of in densities.items():
        size, given = (sizes[axis] for axis in axes_of)
        density, inner = getattr(likelihood, name), f'{where}{name}.'
        own = {'slopes': (size, given), 'offset': (size,), 'root': (size, size)}
        check_shapes(density, own, inner)
        # Differences of a few thousand in the logarithm of a density decide everything.
        check_range(f'{inner}level', density.level, -1e6, 1e6)
        check_range(f'{inner}tail', density.tail, BOUNDS.least)
    check_invertible(f'{where}new_whitening', likelihood.new_whitening)
    check_invertible(f'{where}rest_alone.root', likelihood.rest_alone.root)
    for name in ('sharpness', 'persistence', 'tail', 'noise'):
        check_range(f'{where}{name}', getattr(likelihood, name), BOUNDS.least)
    check_range(f'{where}new_level', likelihood.new_level, -1e6, 1e6)
    check_range(f'{where}gains', likelihood.gains, BOUNDS.least, 1.0)
    check_range(f'{where}shifts', likelihood.shifts, 0.0, FAST)
    check_range(f'{where}exponents', likelihood.exponents, 0.0, 2.0)


def _check_shapes(route: Route, channels: int, columns: int) -> None:
    """
    Check every array of a route with d live channels and H + 1 targets.

    Each is written as one letter per axis, see `Route`: (d) channels, (m) memories, (h) hidden
    channels, the slow means, (f) features, (p) places, (e) their ends, (l) ways, (r, s) rows and
    steps of a move, (y, j) hypotheses and jumps, (t) targets, (k) states.
    """
    moves, ways_of, gains = route.motion.moves, route.geometry.targets_of, route.likelihood.gains
    places = max(len(route.motion.rates), 1)
    memories, ways = max(gains.size, 1), max(ways_of.size, 1)
    states, features = route.readout.states.shape[-1], channels * (1 + memories)
    if not 1 <= states <= BOUNDS.states or not features <= BOUNDS.features:
        refuse(f'its route has {states} states and {features} features')
    check_size('route.likelihood.means', places, 3 * len(PLACED) + features, most=BOUNDS.step)
    check_size('route.geometry.targets_of', len(PLACED), ways, most=BOUNDS.step)
    sizes = {
        'd': channels, 'm': memories, 'h': channels * memories, 'f': features, 'p': places,
        'e': places + 1, 'l': ways, 'r': max(moves.shape[0], 2), 's': max(moves.shape[-1], 1),
        'y': len(HYPOTHESES), 'j': len(JUMPED), 't': columns, 'k': states, '0': 0, '2': 2,
    }  # fmt: skip
    axes = {
        'geometry': {'begins': 'e', 'targets_of': 'l', 'steps_of': 'l', 'shares_of': 'l'},
        'motion': {
            'moves': 'rs', 'rates': 'p', 'tick_lengths': 'p', 'pulls': 'p', 'forward': 'd',
            'fastest': 'p',
        },
        'switching': {'exchanges': 'yy', 'jumps': 'yj', 'beginnings': '2p', 'stops': '2p'},
        'readout': {
            'targets': 'pt2', 'drifts': 'pt2', 'covariances': 'pt22', 'factors': 't',
            'states': 'pk',
        },
    }  # fmt: skip
    for group, arrays in axes.items():
        shapes = {name: tuple(sizes[axis] for axis in arrays[name]) for name in arrays}
        check_shapes(getattr(route, group), shapes, f'route.{group}.')
    _check_likelihood(route.likelihood, channels, places, 'route.likelihood.')


def _check_ranges(route: Route) -> None:
    """Check numbers; speeds and accelerations may be far beyond those of any vehicle."""
    some, fast = BOUNDS.least, FAST
    positive, share = (some, BOUNDS.number), (0.0, 1.0)
    ranges = {
        # Sums of shares exceed one by rounding.
        'geometry': {'shares_of': (0.0, 1.0 + 1e-9)},
        'motion': {
            'moves_a_row ratio_spread ratio_noise': positive, 'ratio_kept trust': share,
            'fastest': (1.0, fast), 'rates': (some, fast), 'usual_change': (0.0, fast),
            'pulls forward forward_offset tick_lengths': (-fast, fast),
        },
        'switching': {'halts': share, 'rolls': share, 'finds': share, 'mistakable': (0.0, fast)},
        'readout': {'factors': positive},
    }  # fmt: skip
    for group, limits in ranges.items():
        for names, (least, most) in limits.items():
            for name in names.split():
                value = getattr(getattr(route, group), name)
                check_range(f'route.{group}.{name}', value, least, most)
    if not (route.readout.states[:, 0] == 1.0).all():
        refuse('the states of its route do not start with the constant')


def _check_ways(route: Route) -> None:
    """Check where places lead: indices that exist, and no more than every drive."""
    ways, steps = route.geometry, route.motion.moves.shape[1]
    counts = np.diff(ways.begins)
    if ways.begins[0] != 0 or ways.begins[-1] != len(ways.targets_of) or counts.min() < 1:
        refuse('route.geometry.begins does not count the ways of each place')
    check_range('route.geometry.targets_of', ways.targets_of, 0, len(route.motion.rates) - 1)
    check_range('route.geometry.steps_of', ways.steps_of, 0, steps - 1)
    taken = np.repeat(np.arange(len(route.motion.rates)), counts) * steps + ways.steps_of
    if (np.bincount(taken, ways.shares_of) > 1.0 + 1e-9).any():
        refuse('route.geometry.shares_of lead more than everything on from a place')


def _check_chances(route: Route) -> None:
    switching = route.switching
    if switching.exchanges[-1, :-1].any():
        refuse('route.switching.exchanges lead from elsewhere to a place, where none is')
    together = np.concatenate([switching.exchanges, switching.jumps], axis=1)
    for name, chances in (
        ('motion.moves', route.motion.moves),
        ('switching.beginnings', switching.beginnings.reshape(1, -1)),
        ('switching.exchanges and jumps', together),
    ):
        if (chances < 0.0).any() or not np.allclose(chances.sum(axis=-1), 1.0, atol=1e-9):
            refuse(f'route.{name} are no chances that sum to one')
    rows = [HYPOTHESES.index(name) for name in ('on', 'on new', 'stands')]
    most = switching.exchanges[rows, rows].min()
    check_range('route.switching.stops', switching.stops, 0.0, most)
