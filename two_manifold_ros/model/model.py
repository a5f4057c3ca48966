# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Models of the spectral filter, of a TPSR and of the route.

They hold everything that a filter needs, and nothing of the bags; a `RouteModel` is the default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError, refuse
from two_manifold_ros.hse_hmm.hmm import ObservationOperator, spectral_radius, Tables, transition
from two_manifold_ros.hse_hmm.readout import Readout, RidgeReadout, SharpenedReadout
from two_manifold_ros.manifold.selection import check_extension
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.route.route import HYPOTHESES, JUMPED, PLACED, Route, RouteLikelihood
from two_manifold_ros.rules import (
    BOUNDS,
    check_covariances,
    check_fields,
    check_invertible,
    check_range,
    check_size,
    Rules,
    trouble_with,
)
from two_manifold_ros.ticks.rest import longest_runs, RestRule
from two_manifold_ros.typing import Floats, Ints

if TYPE_CHECKING:
    from two_manifold_ros.manifold.learner import Extension
    from two_manifold_ros.model.circuit import Circuit
    from two_manifold_ros.network.belief import Network
    from two_manifold_ros.recordings.recording import GeodeticOrigin
    from two_manifold_ros.route.belief import Sensor
    from two_manifold_ros.ticks.segments import Channels
    from two_manifold_ros.ticks.sliding import NoveltyAnchors
    from two_manifold_ros.tpsr.parameters import Tpsr


FAST = 1e3
"""Of speeds and accelerations: far beyond those of any vehicle."""


POSITIVE, SHARE = (BOUNDS.least,), (0.0, 1.0)


def check_channels(channels: Channels, where: str = 'channels.') -> None:
    """Refuse channels of which one has no name, or no scale."""
    check_fields(channels, {'mean scale limit live': ('c',)}, {'c': len(channels.names)}, where)
    check_range(f'{where}scale', channels.scale[channels.live], BOUNDS.least)


@dataclass(frozen=True, kw_only=True)
class ModelHead(ABC):
    """
    The part of a model that nodes, outputs and scores need.

    It ticks ``rate_hz`` times a second; a step above ``max_gap_ns`` is a gap, a ``window`` has so
    many ticks, and ``horizons`` are ticks ahead, 0 first. Positions are in ``frame_id``, about an
    ``origin`` if they were geodetic. ``channels`` name, scale and bound the values of a sample.
    ``track`` (T, 2) holds positions of the training in order, metres, with NaN rows between
    segments; a route keeps some laps. The ``summary`` says how the model was trained and what it
    reached, in JSON values.
    """

    rate_hz: float
    period_ns: int
    max_gap_ns: int
    window: int
    horizons: tuple[int, ...]
    imu_topic: str
    imu_frame_id: str
    position_topic: str
    frame_id: str
    origin: GeodeticOrigin | None
    channels: Channels
    track: Floats
    mean_position: Floats
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    @abstractmethod
    def states(self) -> int:
        """Dimension of the state, k."""

    @property
    def sensors(self) -> tuple[Sensor, ...]:
        """Further sensors, in the order of their channels behind a sample."""
        return ()

    @property
    def further_names(self) -> tuple[str, ...]:
        """Names of the channels of further sensors (m,)."""
        return tuple(name for sensor in self.sensors for name in sensor.names)

    @property
    def routes(self) -> dict[str, ModelHead]:
        """The model of each known route by name; a model of one route is that without a name."""
        return {'': self}

    @property
    def route_names(self) -> tuple[str, ...]:
        """Names of all routes and lines that are known, in the order of their chances."""
        return ()

    @property
    def is_atlas(self) -> bool:
        """True for a model of routes that each have a name."""
        return '' not in self.routes

    @property
    def route_model(self) -> RouteModel | None:
        """The model itself if it is the map of one route, with places; ``None`` for others."""
        return self if isinstance(self, RouteModel) else None

    @property
    def trained_model(self) -> TrainedModel | None:
        """The model itself if it holds windows of one training; ``None`` for others."""
        return self if isinstance(self, TrainedModel) else None

    @property
    def input_model(self) -> TrainedModel | None:
        """What its input is compared with, if there are windows of training."""
        return self.trained_model

    @property
    def circuit(self) -> Circuit | None:
        """One lap of a map whose drives repeat one."""
        return None

    @property
    def lines(self) -> NetworkLines | None:
        """The named lines of a map."""
        return None

    @property
    def network(self) -> Network | None:
        """The turns and speeds of a map that is followed as a network."""
        return None

    @property
    def window_ns(self) -> int:
        """Length of the longest window of its routes, ns."""
        return max(each.window * each.period_ns for each in self.routes.values())

    @property
    def live_channels(self) -> tuple[str, ...]:
        """Names of the channels used."""
        return self.channels.live_names

    def validate(self) -> None:
        """Check clock, horizons and channels; an ``UnfitError`` names the first that is wrong."""
        rules: Rules = {
            'rate_hz': ('', *POSITIVE), 'period_ns': ('', 1, BOUNDS.tick_ns),
            'max_gap_ns window': ('', 1), 'mean_position': ('2',), 'track': ('t2',),
        }  # fmt: skip
        check_fields(self, rules)
        if self.period_ns != round(1e9 / self.rate_hz):
            refuse('its rate and the length of its tick disagree')
        if self.horizons[:1] != (0,) or list(self.horizons) != sorted(set(self.horizons)):
            refuse('its horizons do not start with 0 and increase')
        if self.horizons[-1] * self.period_ns > BOUNDS.horizon_ns:
            refuse('its last horizon is more than a day ahead')
        check_size('max_gap_ns', self.max_gap_ns // self.period_ns + 2, len(self.channels.names))
        check_size('window', 2 * self.window, len(self.channels.names))
        check_channels(self.channels)


@dataclass(frozen=True, kw_only=True)
class TrainedModel(ModelHead):
    """
    A model with windows of the training to compare the input with.

    ``kernel`` names the manifold learner, ``series`` (d, N) holds standardised observations of the
    training or a part of it, ``starts`` (n,) the first tick of each window in them.
    """

    kernel: str
    series: Floats
    starts: Ints

    @property
    def live(self) -> int:
        """Number of live channels, d."""
        return int(np.count_nonzero(self.channels.live))

    @property
    @abstractmethod
    def stillness(self) -> tuple[Ints, int]:
        """Most ticks in a row in which no live channel changed: each (d,), and all."""

    def validate(self) -> None:
        """Check also that there are windows of training, and that they lie in the series."""
        super().validate()
        ticks = self.series.shape[-1]
        check_fields(self, {'series': ('dt',), 'starts': ('n',)}, {'d': self.live})
        check_size('window', self.series.size, self.window, most=BOUNDS.work)
        if not self.starts.size:
            refuse('it has no windows')
        check_range('starts', self.starts, 0, ticks - self.window)


@dataclass(frozen=True, kw_only=True)
class WindowModel(TrainedModel):
    """
    A model whose filter compares the newest window with those of the training.

    ``novelty`` is what is typical for unseen windows; ``rest`` says when the clock stands.
    """

    novelty: NoveltyAnchors
    rest: RestRule | None = None

    @property
    def stillness(self) -> tuple[Ints, int]:
        """See `TrainedModel`."""
        return longest_runs(self.series), self.novelty.still

    def validate(self) -> None:
        """Check also what the newest window is compared with."""
        super().validate()
        _check_parts(self, 'novelty rest', {})
        if self.rest is not None:
            check_size('rest.ticks', self.rest.ticks, self.live)


@dataclass(frozen=True, kw_only=True)
class Model(WindowModel):
    """
    A model of the spectral filter: tables, operator and read-out of the HMM, see ``hse_hmm``.

    ``warm_start`` leads from a past window to the state without its constant, whose largest norm
    is ``state_bound`` if the filter is ``guarded``, mathematics, section 6.5.
    """

    tables: Tables
    operator: ObservationOperator
    readout: Readout
    warm_start: Extension
    state_bound: float
    guarded: bool = True

    @property
    def states(self) -> int:
        """Dimension of the state, k."""
        return int(self.tables.weights.shape[1])

    def validate(self) -> None:
        """Check numbers, shapes and the transition's stability too (mathematics, section 12)."""
        super().validate()
        check_range('state_bound', self.state_bound, BOUNDS.least)
        tables, (count, states) = self.tables, self.tables.weights.shape
        if not states <= min(count, BOUNDS.states):
            refuse(f'it has {states} states of {count} windows: more than those, or too many')
        sizes = {'n': len(self.starts), 'd': self.live, 'c': len(self.horizons) + 1, 'k': states}
        _check_parts(self, 'tables operator readout', sizes)
        check_fields(self.warm_start, {'offset': ('s',)}, {'s': states - 1}, 'warm_start.')
        try:
            check_extension(self.warm_start, len(self.starts))
        except ValueError as error:
            refuse(f'its warm start does not fit: {error}')
        matrix = transition(tables.weights, tables.states)
        constant = np.allclose(tables.states[:, 0], 1.0, rtol=0.0, atol=1e-9)
        if not (constant and np.allclose(matrix[0], np.eye(len(matrix))[0], atol=1e-9)):
            refuse('its tables do not keep the sum of the weights')
        if self.guarded and not spectral_radius(matrix) <= 1.0 + 1e-6:
            refuse('its transition grows without bound')


@dataclass(frozen=True, kw_only=True)
class TpsrModel(WindowModel):
    """
    A model of a TPSR: its parameters, and the ticks that positions are read from, see ``tpsr``.

    ``frequencies`` (d, p) and ``phases`` (p,) are of the random features of observations; the
    remembered ticks have ``weights`` (n, k), ``features`` (n, p) and the ``readout``.
    """

    tpsr: Tpsr
    frequencies: Floats
    phases: Floats
    weights: Floats
    features: Floats
    readout: SharpenedReadout

    @property
    def states(self) -> int:
        """Dimension of the state, k."""
        return self.tpsr.states

    def validate(self) -> None:
        """Check numbers, shapes and the transition's stability too (mathematics, section 12)."""
        super().validate()
        count, states = len(self.weights), self.states
        if not 1 <= states <= BOUNDS.states or not count:
            refuse(f'it has {states} states and {count} remembered ticks')
        sizes = {'d': self.live, 'k': states, 'n': count, 'c': len(self.horizons) + 1}
        rules: Rules = {
            'phases': ('p',), 'frequencies': ('dp',), 'weights': ('nk',), 'features': ('np',),
        }  # fmt: skip
        check_fields(self, rules, sizes)
        _check_parts(self, 'tpsr readout', sizes)
        if not np.isclose(self.tpsr.normaliser @ self.tpsr.start, 1.0, rtol=0.0, atol=1e-6):
            refuse('its start is not normalised')
        if not np.abs(np.linalg.eigvals(self.tpsr.transition)).max() <= 1.0 + 1e-6:
            refuse('its transition grows without bound')


@dataclass(frozen=True)
class NetworkLines:
    """
    The L lines that drives on one map of P places were named after, in alphabetical order.

    For ``kept_s``, the mean length of the drives, one line is driven before another one may be.
    ``passes`` (P, L) says how far each place is one of each line, 0 to 1. From ``forks`` (F,),
    places in order, lines lead to different positions within the horizons: ``ahead`` (F, L, H, 2),
    metres, those of all lines where a line never came. From ``apart_m`` on two positions are on
    different roads.
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

    Its windows of training are at most ``training.train.MOST_TICKS`` ticks long together.
    ``lowest`` and ``highest`` (d,) are means of training windows of each live channel,
    standardised; ``still`` (d,) most ticks in a row in which it did not change, and ``most_still``
    those in which none did. One lap is the ``circuit``, ``None`` where the drives repeat none;
    ``lines`` are the named ones of a network, and a ``network`` is there if the map is followed by
    turns. ``least_evidence`` is the least of a tick on parts left out of the training; 0 where
    unknown.
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
    def stillness(self) -> tuple[Ints, int]:
        """See `TrainedModel`; the series is but a part of the training."""
        return self.still, self.most_still

    @property
    def route_names(self) -> tuple[str, ...]:
        """Names of the lines on the map."""
        return () if self.lines is None else self.lines.names

    def validate(self) -> None:
        """Check also shapes, ranges, indices and chances of the route."""
        super().validate()
        rules: Rules = {
            'lowest highest': ('d',), 'still': ('d', 0, BOUNDS.count),
            'most_still': ('', 0, BOUNDS.count), 'least_evidence': ('', 0.0, 1.0),
        }  # fmt: skip
        check_fields(self, rules, {'d': self.live})
        _check_route(self.route, self.live, len(self.horizons) + 1)
        circuit, lines, network = self.circuit, self.lines, self.network
        sizes = {'p': self.route.places, 'd': self.live, 'h': len(self.horizons)}
        if circuit is not None:
            check_size('circuit.points', circuit.points.size)
        if network is not None:
            check_size('network.shakes', network.turns.size, network.speeds.size, self.live)
        if lines is not None:
            if not lines.names or list(lines.names) != sorted(set(lines.names)):
                refuse('the names of its lines are not in order, or there are none')
            if trouble := next(filter(None, map(trouble_with, lines.names)), ''):
                refuse(trouble)
            sizes['l'] = len(lines.names)
            check_size('lines.ahead', sizes['p'], sizes['l'], 2 * sizes['h'])
        _check_parts(self, 'circuit lines network', sizes)
        self._check_order()

    def _check_order(self) -> None:
        """Check what ascends in the ranges, a circuit, lines and a network."""
        circuit, lines, network = self.circuit, self.lines, self.network
        if not (self.lowest <= self.highest).all():
            refuse('its windows have means whose least is above the largest')
        if circuit is not None:
            if circuit.seconds[0] != 0.0 or (np.diff(circuit.seconds) < 0.0).any():
                refuse('the times along its circuit do not increase from 0')
            check_range('the time of a lap', circuit.lap_s, BOUNDS.least)
        if lines is not None and (np.diff(lines.forks) <= 0).any():
            refuse('lines.forks are not in order')
        if network is not None:
            steps = np.diff(network.turns)
            if not (steps >= BOUNDS.least).all() or not (np.diff(network.speeds) > 0.0).all():
                refuse('the turns or speeds of its network do not ascend')
            if not np.allclose(steps, steps[0], rtol=1e-6, atol=0.0):
                refuse('the turns of its network are no even steps')


@dataclass(frozen=True, kw_only=True)
class SensedRouteModel(RouteModel):
    """A route model that also takes sensors, in the order of their channels behind a sample."""

    sensors: tuple[Sensor, ...] = ()

    def validate(self) -> None:
        """Check also what the sensors read."""
        super().validate()
        if not self.sensors or len(set(self.further_names)) != len(self.further_names):
            refuse('it has no sensors, or two of the same name')
        if self.network is not None:
            refuse('it has sensors and a network, which are not followed together')
        for number, sensor in enumerate(self.sensors):
            where = f'sensors.{number}.'
            check_channels(sensor.channels, f'{where}channels.')
            check_range(f'{where}most_still', sensor.most_still, 0, BOUNDS.count)
            live = int(np.count_nonzero(sensor.channels.live))
            _check_likelihood(sensor.likelihood, live, self.route.places, f'{where}likelihood.')


LEVEL = (-1e6, 1e6)
"""Differences of a few thousand in the logarithm of a density decide everything."""

_RULES: dict[str, Rules] = {
    # The formula of a contrast gives none below -10.
    'NoveltyAnchors': {
        'squared': ('', *POSITIVE), 'still': ('', 0, BOUNDS.count), 'own other': ('', -100.0, 0.0),
    },
    # In standard deviations of the training: within more, anything is rest.
    'RestRule': {'ticks': ('', 2, BOUNDS.count), 'limit': ('', BOUNDS.least, 1e3)},
    'Tables': {'weights states': ('nk',)},
    'RawKernel': {'bandwidth': ('', *POSITIVE), 'observations': ('nd',)},
    'RidgeKernel': {
        'bandwidth': ('', *POSITIVE), 'landmarks': ('ld',), 'features': ('nf',),
        'responses': ('lf',),
    },
    'SharpenedReadout': {'targets': ('nc2',), 'added': ('c', 0.0), 'factors': ('c', *POSITIVE)},
    'RidgeReadout': {'coefficients': ('c2k',), 'covariances': ('c22',)},
    'Tpsr': {
        'start normaliser': ('k',), 'operators': ('pkk',), 'inverse': ('pp',),
        'transition': ('kk',), 'bound': ('', *POSITIVE),
    },
    'Circuit': {
        'points headings': ('N2',), 'seconds spreads': ('n+', 0.0), 'deviations': ('n', 0.0),
        'repeated': ('', *SHARE), 'length_m reach_m sureness': ('', *POSITIVE),
    },
    'NetworkLines': {
        'passes': ('pl', *SHARE), 'forks': ('f', 0, 'p'), 'ahead': ('flh2',),
        'kept_s apart_m': ('', *POSITIVE),
    },
    'Network': {
        'courses': ('p', -FAST, FAST), 'usual_mps': ('p', 0.0, FAST),
        'turning': ('d', -FAST, FAST), 'turning_offset': ('', -FAST, FAST),
        'turns': ('T+', -FAST, FAST), 'chances': ('t+', *POSITIVE), 'speeds': ('S', 0.0, FAST),
        'shakes': ('sd', -FAST, FAST), 'scales': ('sd', *POSITIVE),
        'turning_spread largest_misfit': ('', *POSITIVE),
    },
    'RouteMotion': {
        'moves': ('R+S',), 'moves_a_row ratio_spread ratio_noise': ('', *POSITIVE),
        'ratio_kept trust': ('', *SHARE), 'usual_change': ('', 0.0, FAST),
        'forward_offset': ('', -FAST, FAST), 'rates': ('p', BOUNDS.least, FAST),
        'tick_lengths pulls': ('p', -FAST, FAST), 'forward': ('d', -FAST, FAST),
        'fastest': ('p', 1.0, FAST),
    },
    # Sums of shares exceed one by rounding.
    'RouteGeometry': {
        'begins': ('p+',), 'targets_of': ('L', 0, 'p'), 'steps_of': ('l', 0, 's'),
        'shares_of': ('l', 0.0, 1.0 + 1e-9),
    },
    'RouteSwitching': {
        'exchanges': ('yy',), 'jumps': ('yj',), 'beginnings stops': ('2p',),
        'halts rolls finds': ('', *SHARE), 'mistakable': ('', 0.0, FAST),
    },
    'RouteReadout': {
        'targets drifts': ('pt2',), 'covariances': ('pt22',), 'factors': ('t', *POSITIVE),
        'states': ('pk',),
    },
    'RouteLikelihood': {
        'gains': ('M', BOUNDS.least, 1.0), 'whitening': ('ff',), 'means slopes': ('pf',),
        'new_whitening': ('dd',), 'new_means new_slopes': ('pd',), 'new_level': ('', *LEVEL),
        'noise': ('p', *POSITIVE), 'sharpness persistence tail': ('', *POSITIVE),
        'shifts': ('d', 0.0, FAST), 'exponents': ('d', 0.0, 2.0),
    },
}  # fmt: skip
"""
Of each part of a model, one letter for each axis: (d) channels, (n) windows, (k) states, (c, t)
targets, (m) memories, (h) hidden channels, the slow means, or horizons, (f) features or forks, (p)
places, (l) ways or lines, (r, s) rows and steps of a move, (y, j) hypotheses and jumps.
"""

_DENSITIES = {
    'rest other slow': ('d', 'h'), 'rest_alone': ('d', '0'), 'rest_means other_means': ('h', '0'),
}  # fmt: skip
"""Of each density, its axis and that of what it is given."""


def _check_parts(owner: object, names: str, sizes: dict[str, int], where: str = '') -> None:
    """Check the fields of parts of a model that are there, by the rules of their class."""
    for name in names.split():
        part = getattr(owner, name)
        if part is not None:
            check_fields(part, _RULES[type(part).__name__], sizes, f'{where}{name}.')
        if isinstance(part, RidgeReadout):
            check_covariances(f'{where}{name}.covariances', part.covariances)
        if isinstance(part, SharpenedReadout):
            unknown = np.isnan(part.targets[:, :-1]).any(axis=2)
            if unknown.all(axis=0).any():
                refuse('readout.targets are nowhere known at one of its horizons')


def _check_likelihood(likelihood: RouteLikelihood, d: int, places: int, where: str) -> None:
    """Check every array and number of a likelihood of d channels."""
    memories = max(likelihood.gains.size, 1)
    features = d * (1 + memories)
    if not d or not features <= BOUNDS.features:
        refuse(f'{where[:-1]} has {features} features')
    check_size(f'{where}means', places, 3 * len(PLACED) + features, most=BOUNDS.step)
    sizes = {'d': d, 'h': d * memories, 'f': features, 'p': places}
    check_fields(likelihood, _RULES['RouteLikelihood'], sizes, where)
    for names, (own, given) in _DENSITIES.items():
        rules: Rules = {
            'slopes': (own + given,), 'offset': (own,), 'root': (own + own,),
            'level': ('', *LEVEL), 'tail': ('', *POSITIVE),
        }  # fmt: skip
        for name in names.split():
            check_fields(getattr(likelihood, name), rules, sizes, f'{where}{name}.')
    check_invertible(f'{where}new_whitening', likelihood.new_whitening)
    check_invertible(f'{where}rest_alone.root', likelihood.rest_alone.root)


def _check_route(route: Route, channels: int, columns: int) -> None:
    """Check every array and number of a route with d live channels and H + 1 targets."""
    places, states = max(len(route.motion.rates), 1), route.readout.states.shape[-1]
    if not 1 <= states <= BOUNDS.states:
        refuse(f'its route has {states} states')
    ways = route.geometry.targets_of.size
    check_size('route.geometry.targets_of', len(PLACED), ways, most=BOUNDS.step)
    sizes = {
        'd': channels, 'p': places, 'y': len(HYPOTHESES), 'j': len(JUMPED), 't': columns,
        'k': states,
    }  # fmt: skip
    _check_parts(route, 'motion geometry switching readout', sizes, 'route.')
    _check_likelihood(route.likelihood, channels, places, 'route.likelihood.')
    check_covariances('route.readout.covariances', route.readout.covariances)
    # Places lead to no more than every drive.
    onward = route.geometry
    counts = np.diff(onward.begins)
    if onward.begins[0] != 0 or onward.begins[-1] != len(onward.targets_of) or counts.min() < 1:
        refuse('route.geometry.begins does not count the ways of each place')
    taken = np.repeat(np.arange(places), counts) * sizes['s'] + onward.steps_of
    if (np.bincount(taken, onward.shares_of) > 1.0 + 1e-9).any():
        refuse('route.geometry.shares_of lead more than everything on from a place')
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


@dataclass(frozen=True, kw_only=True)
class AtlasModel(ModelHead):
    """
    A model of many known routes by name, with one head; `atlas_of` makes it.

    All tick at its rate. Its window and gap are the longest of theirs, and its channels take
    what those of any route take.
    """

    names: tuple[str, ...]
    members: tuple[RouteModel, ...]

    @property
    def routes(self) -> dict[str, ModelHead]:
        """The model of each known route by name."""
        return dict(zip(self.names, self.members, strict=True))

    @property
    def route_names(self) -> tuple[str, ...]:
        """Names of the routes, and of the lines in place of a route that has some."""
        named = zip(self.names, self.members, strict=True)
        return tuple(each for name, model in named for each in model.route_names or (name,))

    @property
    def states(self) -> int:
        """Dimension of the state of the first route."""
        return self.members[0].states

    @property
    def sensors(self) -> tuple[Sensor, ...]:
        """Further sensors, of whose channels all routes have the same."""
        return self.members[0].sensors

    @property
    def input_model(self) -> RouteModel:
        """The first route with the windows of training of all."""
        shared, live = self.channels, self.channels.live
        series, starts, still, before = [], [], [], 0
        for each in self.members:
            channels, own = each.channels, live[each.channels.live]
            values = each.series[own] * channels.scale[live, None] + channels.mean[live, None]
            series.append((values - shared.mean[live, None]) / shared.scale[live, None])
            starts.append(before + each.starts)
            still.append(each.still[own])
            before += each.series.shape[1]
        return replace(
            self.members[0],
            window=min(each.window for each in self.members),
            max_gap_ns=self.max_gap_ns,
            channels=self.channels,
            series=np.concatenate(series, axis=1),
            starts=np.concatenate(starts),
            still=np.max(still, axis=0),
            most_still=max(each.most_still for each in self.members),
            # None of a network can be driven the other way round by mistake.
            network=next((each.network for each in self.members if each.network), None),
        )


def _shared_channels(members: Sequence[RouteModel]) -> Channels:
    """Return channels that take the usual input of each of some maps; live are those of all."""
    own = [each.channels for each in members]
    lives = np.array([each.live for each in own])
    means, scales, limits = (
        np.array([getattr(each, name) for each in own]) for name in ('mean', 'scale', 'limit')
    )
    mean = means.mean(axis=0)
    # A value is in range if it is in the range of a map that uses the channel.
    reach = np.where(lives, limits + np.abs(means - mean), 0.0).max(axis=0)
    return replace(
        own[0],
        mean=mean,
        scale=scales.max(axis=0),
        limit=np.where(lives.any(axis=0), reach, limits[0]),
        live=np.logical_and.reduce(lives),
    )


def _unlike(model: RouteModel, name: str, first: RouteModel) -> str:
    """Return why a map does not fit the first of an atlas, and a cure; empty if it does."""
    if (model.rate_hz, model.horizons) != (first.rate_hz, first.horizons):
        own, given = (','.join(map(str, each.horizons)) for each in (model, first))
        return (
            f'it ticks at {model.rate_hz:g} Hz and predicts {own} ticks ahead, but {name}, and so '
            f'the atlas, ticks at {first.rate_hz:g} Hz and predicts {given}: train it again with '
            f'--rate {first.rate_hz:g} --horizons {given}'
        )
    unlike = {
        'takes other channels': model.channels.names != first.channels.names,
        'takes other sensors': model.further_names != first.further_names,
        'knows laps alone, or positions, otherwise': (
            (model.frame_id == LAP_FRAME) != (first.frame_id == LAP_FRAME)
        ),
    }
    words = next(filter(unlike.get, unlike), '')
    return f'it {words} than {name}: train both on the same topics' if words else ''


def atlas_of(routes: Mapping[str, ModelHead]) -> AtlasModel:
    """
    Return the atlas of routes by name, in which those of an atlas have names of their own.

    A map of one line is that of a route, and has its name alone. An ``InputError`` says which name
    is none or there twice, which model is no map of a route, and which one takes other channels,
    or ticks at another rate, than the first that is given.
    """
    known: dict[str, RouteModel] = {}
    trouble = '' if routes else 'an atlas needs at least one route'
    for given, model in routes.items():
        for own, each in model.routes.items():
            name, route = own or given, each.route_model
            trouble = trouble or trouble_with(name)
            if name in known:
                trouble = f'there are two routes of the name {name}: give one of them another name'
            if route is None:
                trouble = trouble or (
                    f'{name}: an atlas holds maps of routes, and this is a model of another '
                    'method: train it with --method route'
                )
            else:
                known[name] = replace(route, lines=None) if len(route.route_names) == 1 else route
    if trouble:
        raise InputError(trouble)
    names = tuple(sorted(known))
    members = tuple(known[name] for name in names)
    lines = Counter(line for name, each in known.items() for line in {name, *each.route_names})
    twice = next((name for name, count in lines.items() if count > 1), '')
    if twice:
        owners = [name for name, each in known.items() if twice in {name, *each.route_names}]
        raise InputError(
            f'there are two routes or lines of the name {twice}, on the maps '
            f'{" and ".join(sorted(owners))}: give one of them another name (a line gets its name '
            'in training), or take one of the maps out'
        )
    first = next(iter(known.items()))
    for name, each in known.items():
        if trouble := _unlike(each, *first):
            raise InputError(f'{name}: {trouble}')
    head = {each.name: getattr(members[0], each.name) for each in fields(ModelHead)}
    for longest in ('window', 'max_gap_ns'):
        head[longest] = max(getattr(each, longest) for each in members)
    head['channels'] = _shared_channels(members)
    seam = np.full((1, 2), np.nan)
    tracks = [part for each in members for part in (each.track, seam)]
    head['track'] = np.concatenate(tracks[:-1])
    head['summary'] = {'method': 'atlas', 'routes': list(names)}
    return AtlasModel(**head, names=names, members=members)
