# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The line that a vehicle of a simulated world takes, and when it is where along it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import gaussian_filter1d
from scipy.spatial import KDTree

from two_manifold_ros.simulation.slot_car import SpaceCurve
from two_manifold_ros.typing import Bools, Floats, Ints

if TYPE_CHECKING:
    from worlds.table import World

Course: TypeAlias = Literal['route', 'pit_lane', 'off_route', 'reverse']
"""What a drive does: lap after lap, or with a lane beside the route, another loop, backwards."""

NODES = 2000
"""Points of a lap between which everything is interpolated: a metre or two of a racing circuit."""


@dataclass(frozen=True)
class Way:
    """The whole line of a drive."""

    curve: SpaceCurve  # x, y, z and bank over metres driven
    distances: Floats  # (M,), metres driven at each node
    phases: Floats  # (M,), laps since the start, without what was driven elsewhere
    away: Bools  # (M,), whether the node is off the trained route
    lane: Bools  # (M,), whether it is in the pit lane


@dataclass(frozen=True)
class Ride:
    """Positions of a vehicle at equal steps of time."""

    way: Way
    times: Floats  # (T,), seconds
    distances: Floats  # (T,), metres along the way
    speeds: Floats  # (T,), m/s
    accelerations: Floats  # (T,), m/s^2 along the tangent

    @property
    def positions(self) -> Floats:
        """x, y and z at each time, metres: (T, 3)."""
        return self.way.curve.position(self.distances)

    @property
    def on_route(self) -> Bools:
        """Flags of the times at which the vehicle is on the trained route: (T,)."""
        node = np.searchsorted(self.way.distances, self.distances)
        return np.asarray(~self.way.away[node.clip(max=len(self.way.away) - 1)])

    def every(self, count: int) -> Ride:
        """Return every ``count``-th of the times."""
        return self._part(slice(None, None, count))

    def until(self, seconds: float) -> Ride:
        """Return the times before ``seconds``."""
        return self._part(slice(None, int(np.searchsorted(self.times, seconds))))

    def _part(self, part: slice) -> Ride:
        columns = (self.times, self.distances, self.speeds, self.accelerations)
        return Ride(self.way, *(column[part] for column in columns))


def route(world: World) -> Floats:
    """Return the (NODES, 4) centre line of the trained route: x, y, z in m and bank in radians."""
    return _dressed(world, rounded(world.corners), world.generator('hills'))


def plan(world: World, course: Course, laps: int, random: np.random.Generator) -> Way:
    """Return the line of a drive of some laps on the route, with its own line in each lap."""
    habits, lap = world.habits, route(world)
    if course == 'reverse':
        # Driven the other way round a bank leans to the other side.
        lap = lap[::-1] * [1.0, 1.0, 1.0, -1.0]
    indices = np.arange(laps * NODES + 1)
    nodes, phases = lap[indices % NODES], indices / NODES
    leaves = min(habits.leaves_after, laps // 2) * NODES
    if course == 'off_route':
        leaves += _straightest(lap)
        loop = _elsewhere(world, lap, leaves % NODES)
        nodes = np.insert(nodes, leaves, loop, axis=0)
        phases = np.insert(phases, leaves, np.full(len(loop), phases[leaves]))
    offsets = world.line_m * wander(random, len(nodes), NODES / habits.line_knots)
    lane = np.zeros(len(nodes), dtype=np.bool_)
    if course == 'pit_lane':
        count = round(habits.lane_share * NODES)
        begin, side = _lane_place(world, lap, count)
        along = np.linspace(0.0, 1.0, count)
        ramp = (np.minimum(along, 1.0 - along) / habits.ramp_share).clip(0.0, 1.0)
        shape = ramp**3 * (10.0 - 15.0 * ramp + 6.0 * ramp**2)
        offsets[leaves + begin : leaves + begin + count] += side * world.lane_m * shape
        lane[leaves + begin : leaves + begin + count] = shape > 0.5
    nodes = gaussian_filter1d(nodes, habits.joined * NODES, axis=0, mode='nearest')
    nodes[:, :2] += offsets[:, None] * left_of(nodes, closed=False)
    away = _away(world, lap, nodes, always=course == 'reverse')
    distances = np.concatenate([[0.0], np.cumsum(_steps(nodes))])
    curve = SpaceCurve(CubicSpline(distances, nodes), float(distances[-1]))
    return Way(curve, distances, phases, away, lane)


def ride(
    world: World,
    way: Way,
    step_s: float,
    random: np.random.Generator,
    *,
    grip: float | Floats = 1.0,
    halts: Sequence[tuple[float, float]] = (),
) -> Ride:
    """
    Drive along a way, with random speed, lifts and stops.

    ``grip`` scales all speeds, or those at each node, (M,); ``halts`` are further stops: laps
    since the start, and seconds.
    """
    factor = _ratio_factor(world, way, random) * grip
    limits = _speed_limits(world, way, random) * factor
    stands = _stands(world, way, random)
    for phase, seconds in ((0.0, world.habits.starts_s), *halts):
        stands[np.searchsorted(way.phases, phase).clip(max=len(stands) - 1)] += seconds
    stands = _merged(stands)
    limits[stands > 0.0] = 0.0
    speeds = _reachable(world, way, limits)
    times, distances = _timed(way, speeds, stands, step_s)
    # No vehicle brakes or accelerates at once: this takes the edges off the acceleration.
    eased = gaussian_filter1d(distances, world.ease_s / step_s, mode='nearest')
    eased = eased[: len(eased) - int(4.0 * world.ease_s / step_s) - 1]
    times = times[: len(eased)]
    motion = CubicSpline(times, eased)
    return Ride(way, times, eased, np.maximum(motion(times, 1), 0.0), motion(times, 2))


def lap_factor(world: World, way: Way, ratios: Sequence[float]) -> Floats:
    """
    Return the factor of a driver on all speeds at each node: the ratio of its lap, (M,).

    The first of ``ratios`` is that of the first lap; laps beyond them have a ratio of 1. What is
    driven elsewhere belongs to the lap in which the vehicle left the route. Between two laps the
    factor eases from one ratio to the other.
    """
    each = np.append(np.asarray(ratios, dtype=np.float64), 1.0)
    lap = np.floor(way.phases).astype(np.int64).clip(0, len(ratios))
    eased = gaussian_filter1d(each[lap], world.habits.lap_eased * NODES, mode='nearest')
    return np.asarray(eased)


def wander(random: np.random.Generator, count: int, every: float) -> Floats:
    """Return ``count`` values of a smooth process of spread 1, independent after ``every``."""
    values = random.standard_normal(int(count / every) + 5)
    # A cubic spline through independent values has less spread between them: 0.85 in all.
    spline = CubicSpline(np.arange(len(values)), values / 0.85)
    return np.asarray(spline(1.0 + np.arange(count) / every))


def rounded(
    corners: Sequence[tuple[float, float, float]] | Floats, *, closed: bool = True
) -> Floats:
    """
    Return points (M, 2) of a line with rounded corners (x, y, radius).

    A closed one has ``NODES``, from the middle of the first straight on; another one goes from
    the first corner to the last and has those of the arcs.
    """
    points, radii = np.array(corners)[:, :2], np.array(corners)[:, 2]
    into = points - np.roll(points, 1, axis=0)
    into /= np.linalg.norm(into, axis=1, keepdims=True)
    out = np.roll(into, -1, axis=0)
    turns = np.arctan2(into[:, 0] * out[:, 1] - into[:, 1] * out[:, 0], (into * out).sum(axis=1))
    cuts = radii * np.tan(np.abs(turns) / 2.0)
    outline = []
    for point, before, turn, radius, cut in zip(points, into, turns, radii, cuts, strict=True):
        left = np.array([-before[1], before[0]]) * np.sign(turn)
        angles = np.linspace(0.0, abs(turn), 60)[:, None]
        arc = radius * (np.sin(angles) * before + (1.0 - np.cos(angles)) * left)
        outline.append(point - cut * before + arc)
    if not closed:
        return np.concatenate([points[:1], *outline[1:-1], points[-1:]])
    ring = np.concatenate([*outline, outline[0][:1]])
    lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(ring, axis=0), axis=1))])
    # It starts in the middle of the first straight.
    begin = 0.5 * (lengths[len(outline[0]) - 1] + lengths[len(outline[0])])
    even = begin + np.linspace(0.0, lengths[-1], NODES, endpoint=False)
    columns = [np.interp(even, lengths, column, period=lengths[-1]) for column in ring.T]
    return np.stack(columns, axis=1)


def _dressed(world: World, flat: Floats, random: np.random.Generator) -> Floats:
    """Return (NODES, 4) with eased bends, hills and banks from (NODES, 2) points."""
    flat = gaussian_filter1d(flat, world.habits.eased * NODES, axis=0, mode='wrap')
    angles = 2.0 * np.pi * np.arange(NODES)[:, None] / NODES * np.arange(1, 6)
    waves = np.cos(angles + random.uniform(0.0, 2.0 * np.pi, 5)) / np.arange(1, 6)
    height = world.hills_m * waves @ random.uniform(0.3, 1.0, 5)
    bend = _bend(flat, closed=True)
    lean = np.tanh(2.0 * bend / np.abs(bend).max())
    bank = -world.bank * gaussian_filter1d(lean, 2.0 * world.habits.eased * NODES, mode='wrap')
    return np.column_stack([flat, height, bank])


def left_of(nodes: Floats, *, closed: bool) -> Floats:
    """Return the (M, 2) unit vectors to the left of the line through (M, 2 or more) nodes."""
    ahead = _slope(nodes[:, :2], closed=closed)
    ahead /= np.linalg.norm(ahead, axis=1, keepdims=True)
    return np.stack([-ahead[:, 1], ahead[:, 0]], axis=1)


def _slope(values: Floats, *, closed: bool) -> Floats:
    if closed:
        return np.asarray((np.roll(values, -1, axis=0) - np.roll(values, 1, axis=0)) / 2.0)
    return np.asarray(np.gradient(values, axis=0))


def _bend(nodes: Floats, *, closed: bool) -> Floats:
    """Return the (M,) curvature seen from above, 1/m, positive to the left."""
    first = _slope(nodes[:, :2], closed=closed)
    second = _slope(first, closed=closed)
    cross = first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]
    return np.asarray(cross / np.linalg.norm(first, axis=1) ** 3)


def _steps(nodes: Floats) -> Floats:
    return np.asarray(np.linalg.norm(np.diff(nodes[:, :3], axis=0), axis=1))


def _straightest(lap: Floats) -> int:
    """Return the node around which a lap bends least."""
    effort = gaussian_filter1d(np.abs(_bend(lap, closed=True)), 0.01 * NODES, mode='wrap')
    return int(effort.argmin())


def _lane_place(world: World, lap: Floats, count: int) -> tuple[int, float]:
    """Return where a lane of ``count`` nodes is bent least, and its side: 1 for left."""
    bend = np.tile(_bend(lap, closed=True) * world.lane_m, 2)
    found = [
        (float((side * bend[start : start + count]).max()), start, side)
        for start in range(0, NODES, NODES // 100)
        for side in (-1.0, 1.0)
    ]
    _, begin, side = min(found)
    return begin, side


def other_corners(world: World, length: float, random: np.random.Generator) -> Floats:
    """Return corners of a loop of a length, metres, that is made like the route of a world."""
    count = len(world.corners)
    angles = 2.0 * np.pi * (np.arange(count) + random.uniform(-0.3, 0.3, count)) / count
    reach = random.uniform(*world.habits.reach, count)
    turn = random.choice([-1.0, 1.0])
    points = np.stack([reach * np.cos(angles), turn * reach * np.sin(angles)], axis=1)
    edges = np.roll(points, -1, axis=0) - points
    sizes = np.linalg.norm(edges, axis=1)
    scale = length / sizes.sum()
    before, after = np.roll(edges, 1, axis=0), edges
    cosines = (before * after).sum(axis=1) / np.roll(sizes, 1) / sizes
    tangents = np.tan(0.5 * np.arccos(cosines.clip(-1.0, 1.0)))
    # Two bends share an edge, so each may use up to half of it.
    widest = 0.45 * scale * np.minimum(np.roll(sizes, 1), sizes) / tangents
    radii = random.permutation(np.array(world.corners)[:, 2])
    return np.column_stack([scale * points, np.minimum(radii, widest)])


def _elsewhere(world: World, lap: Floats, leaves: int) -> Floats:
    """Return some rounds of another loop that touches the route at a node, as (M, 4) nodes."""
    random = world.generator('elsewhere')
    flat = rounded(other_corners(world, float(_steps(lap).sum()), random))
    loop = _dressed(world, flat, random)
    loop = np.roll(loop, -_straightest(loop), axis=0)
    here, there = (left_of(each, closed=True)[index] for each, index in ((lap, leaves), (loop, 0)))
    cosine, sine = here @ there, there[0] * here[1] - there[1] * here[0]
    turned = (loop[:, :2] - loop[0, :2]) @ np.array([[cosine, sine], [-sine, cosine]])
    loop[:, :2] = turned + lap[leaves, :2]
    loop[:, 2] += lap[leaves, 2] - loop[0, 2]
    return np.tile(loop, (world.habits.rounds_elsewhere, 1))


def _away(world: World, lap: Floats, nodes: Floats, *, always: bool) -> Bools:
    """Return whether each node is off the route: from where it leaves to where it is back."""
    if always:
        return np.ones(len(nodes), dtype=np.bool_)
    distances = KDTree(lap[:, :2]).query(nodes[:, :2])[0]
    # Between two nodes of a lap the nearest is up to half a step away.
    outside_m = np.hypot(world.habits.off_route * world.line_m, _steps(lap).max())
    away = np.zeros(len(nodes), dtype=np.bool_)
    outside = np.flatnonzero(distances > outside_m)
    if len(outside):
        # Another loop may cross the route; that is no coming back.
        away[outside[0] : outside[-1] + 1] = True
    return away


def _ratio_factor(world: World, way: Way, random: np.random.Generator) -> Floats:
    """Return the factor of the driver on the usual speed at each node."""
    habits, count = world.habits, len(way.phases)
    share = world.speed_spread / np.sqrt(2.0)
    slow = wander(random, count, NODES) + wander(random, count, NODES / 5.0)
    factor = (1.0 + share * slow).clip(habits.slowest, habits.fastest)
    for _ in range(random.poisson(world.lifts * count / NODES)):
        middle, width = int(random.integers(count)), NODES * random.uniform(*habits.lift_share)
        depth = random.uniform(*habits.lift_depth)
        near = slice(max(0, middle - round(2.0 * width)), middle + round(2.0 * width))
        nodes = np.arange(count)[near]
        factor[near] *= 1.0 - depth * np.exp(-0.5 * ((nodes - middle) / (0.4 * width)) ** 2)
    return np.asarray(factor)


def _speed_limits(world: World, way: Way, random: np.random.Generator) -> Floats:
    """Return the speed that bends and the pit lane allow at each node, m/s."""
    habits = world.habits
    bend = np.linalg.norm(way.curve.curvature(way.distances)[:, :2], axis=1)
    bold = wander(random, len(bend), NODES / habits.bend_knots)
    bold = (1.0 + habits.bend_spread * world.speed_spread * bold).clip(
        habits.slowest, habits.fastest
    )
    limits = bold * np.sqrt(world.lateral / np.maximum(bend, 1e-9))
    limits = limits.clip(habits.creep * world.top_speed, world.top_speed)
    if way.lane.any():
        usual = way.distances[-1] / float((np.diff(way.distances) / limits[1:]).sum())
        limits[way.lane] = np.minimum(limits[way.lane], habits.lane_speed * usual)
    return np.asarray(limits)


def _stands(world: World, way: Way, random: np.random.Generator) -> Floats:
    """Return how long the vehicle stands at each node, seconds."""
    stands = np.zeros(len(way.phases))
    for station in world.stations:
        # A driver stops within a metre or so of the sign, which a node or two stand for.
        nodes = np.flatnonzero(np.diff(np.floor(way.phases - station)) > 0)
        nodes = (nodes + random.integers(-1, 2, len(nodes))).clip(1, len(stands) - 1)
        stands[nodes] += random.uniform(*world.dwell_s, len(nodes))
    for _ in range(random.poisson(world.blocked * len(stands) / NODES)):
        stands[random.integers(1, len(stands))] += random.uniform(*world.dwell_s) / 2.0
    if way.lane.any():
        inside = np.flatnonzero(way.lane)
        stands[inside[len(inside) // 2]] += random.uniform(*world.habits.lane_stop_s)
    return stands


def _merged(stands: Floats) -> Floats:
    """Merge a stop with those a node or two behind it: no driver starts just to stop again."""
    merged = np.zeros(len(stands))
    last = -3
    for node in np.flatnonzero(stands).tolist():
        if node - last > 2:
            last = node
        merged[last] += stands[node]
    return merged


def _reachable(world: World, way: Way, limits: Floats) -> Floats:
    """
    Return the greatest speed at each node that obeys all limits, m/s.

    The thrust falls with the square of the speed and ends at 1.1 times the top speed, so that
    the distance w from rest to a speed v is known in closed form. Under full thrust w grows as
    fast as the distance, so the forward pass is a running minimum of w(limit) - distance; the
    backward pass is the same with v^2 under constant braking.
    """
    end = (1.1 * world.top_speed * max(1.0, float(limits.max()) / world.top_speed)) ** 2
    scale = end / (2.0 * world.thrust)
    runs = -scale * np.log1p(-(limits**2) / end)
    runs = way.distances + np.minimum.accumulate(runs - way.distances)
    squares = -end * np.expm1(-runs / scale)
    ahead = 2.0 * world.brake * way.distances
    squares = np.minimum.accumulate((squares + ahead)[::-1])[::-1] - ahead
    return np.sqrt(np.maximum(squares, 0.0))


def _timed(way: Way, speeds: Floats, stands: Floats, step_s: float) -> tuple[Floats, Floats]:
    """Return equal steps of time, seconds, and the metres driven at each of them."""
    steps = np.diff(way.distances)
    took = 2.0 * steps / np.maximum(speeds[1:] + speeds[:-1], 1e-6)
    leave = np.concatenate([[0.0], np.cumsum(took)]) + np.cumsum(stands)
    arrive = leave - stands
    times = step_s * np.arange(int(arrive[-1] / step_s), dtype=np.float64)
    node: Ints = (np.searchsorted(arrive, times, side='right') - 1).clip(0, len(steps) - 1)
    since = np.maximum(times - leave[node], 0.0)
    # Constant acceleration between two nodes.
    push = (speeds[node + 1] ** 2 - speeds[node] ** 2) / (2.0 * steps[node])
    return times, np.asarray(way.distances[node] + speeds[node] * since + 0.5 * push * since**2)
