# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Faults of the messages of a driver: the healthy drive, what is done to it, and what follows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.simulation.slot_car_run import SlotCarRun

Stretch: TypeAlias = 'list[Sample]'
Change: TypeAlias = 'Callable[[Stretch, HealthyDrive], Stretch]'

RATE_HZ = 50.0
TICK_NS = 100_000_000
FRAME = 'imu_link'

ANY, FILLING, TRACKING, UNSURE = '', 'filling the window', 'tracking', 'unsure'
LOST, REFUSED, NO_DATA = 'lost', 'input rejected', 'no data'


class Sample(NamedTuple):
    """One message of a driver."""

    at_ns: int  # when it is sent, on the clock of the drive
    # When it was taken on the drive, which shows where the car was; None if not in our car.
    taken_ns: int | None
    stamp_ns: int  # what its header says
    values: np.ndarray  # (6,), specific force in m/s^2, angular rate in rad/s
    frame: str = FRAME
    refused: str = ''  # cause under which the node has to count it; empty if it has to use it
    clock_ns: int | None = 0  # what `/clock` is ahead of its stamp; None if it stops
    source: int = 0  # which of two publishers sends it


class HealthyDrive:
    """Samples that are in no training, where the car was, and what an undisturbed filter says."""

    def __init__(self, run: SlotCarRun, estimates: list[Estimate]) -> None:
        self.run = run
        self.begin_ns = int(run.stamps_ns[0])
        self._tick_ends = np.array([each.stamp_ns for each in estimates])
        means = np.array([each.positions[0] for each in estimates])
        self._errors = np.linalg.norm(means - self.places(self._tick_ends), axis=1)
        self._errors[[not each.valid for each in estimates]] = np.nan
        self.usual_error = float(np.sqrt(np.nanmean(np.square(self._errors))))

    def between(self, begin_s: float, end_s: float) -> list[Sample]:
        """Return the samples of a part of the drive, both ends in seconds from its start."""
        begin, end = (round(each * RATE_HZ) for each in (begin_s, end_s))
        stamps = self.run.stamps_ns[begin:end].tolist()
        rows = zip(stamps, self.run.imu[begin:end], strict=True)
        return [Sample(stamp, stamp, stamp, values) for stamp, values in rows]

    def places(self, taken_ns: np.ndarray) -> np.ndarray:
        """Return the (n, 2) true positions at some times of the drive."""
        elapsed = np.asarray(taken_ns) - self.begin_ns
        known = self.run.stamps_ns - self.begin_ns
        xy = [np.interp(elapsed, known, self.run.positions[:, axis]) for axis in (0, 1)]
        return np.stack(xy, axis=1)

    def error(self, taken_ns: np.ndarray) -> float:
        """Return the undisturbed filter's root mean square error at some times, metres."""
        errors = np.interp(
            np.asarray(taken_ns) - self.begin_ns, self._tick_ends - self.begin_ns, self._errors
        )
        return float(np.sqrt(np.mean(np.square(errors))))


class Word(NamedTuple):
    """Diagnostics of the node, after how many messages."""

    received: int
    status: str
    cause: str
    why: str
    heard_s: float


def unchanged(stretch: Stretch, _: HealthyDrive) -> Stretch:
    return stretch


@dataclass(frozen=True)
class StreamFault:
    """A fault of the messages that a driver sends, and what the node has to do about it."""

    name: str  # what goes wrong
    # Status and cause that have to be reported, empty for any, and in which time; 0 for nothing.
    says: tuple[str, str] = (TRACKING, '')
    within_s: float = 0.0
    # Ticks after the end of the fault in which the node has to track again, as well as before.
    recovers: int = 1
    # Ticks in which a position may be published as sure and be wrong until the fault is noticed.
    blind: int = 0

    seconds: float = 4.0  # how long the fault lasts on the drive
    change: Change = unchanged  # makes the faulty stretch out of the healthy one
    after: Change = unchanged  # changes what follows, where that is not as usual
    # How often something has to be counted, by counter; rejected messages go without saying.
    counts: Mapping[str, int] = field(default_factory=dict)
    words: str = ''  # part of the sentence that has to be reported
    # Parameters of the node.
    timeout_s: float = 60.0
    reorder_s: float = 0.0
    simulated: bool = False
    batch: int = 1  # messages that are sent at once during the fault
    silent_s: float = 0.0  # time after it in which nothing is sent, unless it is reported sooner


FAULTS: list[StreamFault] = []


def fault(name: str, *options: Any, then: bool = False, **facts: Any) -> Callable[..., Any]:  # noqa: ANN401
    """Make a row of a change: of what is faulty, or of what follows if nothing is."""

    def register(function: Callable[..., Stretch]) -> Callable[..., Stretch]:
        def change(stretch: Stretch, drive: HealthyDrive) -> Stretch:
            return function(stretch, drive, *options)

        changes: dict[str, Any] = {'after': change, 'seconds': 0.0} if then else {'change': change}
        FAULTS.append(StreamFault(name, **changes | facts))
        return function

    return register


SECOND_NS = 1_000_000_000
GRAVITY = 9.80665

AGAIN = 40
"""Ticks: the window, and as long again until a better status is believed."""

AFTER_LOOKS = 60
"""Ticks until an input that is right again is believed: two windows, and two more looks at it."""

STEPPED: dict[str, Any] = {'within_s': 0.5, 'recovers': AGAIN, 'then': True}
NAMED: dict[str, Any] = {'within_s': 10.0, 'recovers': AFTER_LOOKS, 'seconds': 10.0}


@fault(
    'clock set ahead by 0.1 s', 0.1,
    then=True, says=(UNSURE, 'unlikely'), within_s=1.0, recovers=20, blind=3,
)  # fmt: skip
@fault(
    'clock set ahead by 30 s (NTP)', 30.0, **STEPPED, says=(FILLING, 'stepped_ahead'),
    words='the stamps stepped ahead', counts={'gaps': 1, 'resets': 1},
)  # fmt: skip
@fault(
    'clock set back by 30 s (NTP)', -30.0,
    **STEPPED, says=(FILLING, 'stepped_back'), counts={'resets': 1},
)  # fmt: skip
@fault(
    '/clock and stamps go back by 30 s (use_sim_time)', -30.0,
    **STEPPED, says=(FILLING, 'stepped_back'), counts={'resets': 1}, simulated=True,
)  # fmt: skip
def later(stretch: Stretch, _: HealthyDrive, seconds: float) -> Stretch:
    """Let the clock be ahead, or behind where negative."""
    shift = round(seconds * SECOND_NS)
    return [each._replace(stamp_ns=each.stamp_ns + shift) for each in stretch]


@fault(
    'clock set back by 0.3 s', 0.3,
    **STEPPED, says=(UNSURE, 'stepped_back'), counts={'gaps': 1, 'resets': 0},
)  # fmt: skip
def set_back(stretch: Stretch, _: HealthyDrive, seconds: float) -> Stretch:
    """Let the clock be behind by less than a jump; until it has caught up nothing is used."""
    newest = stretch[0].stamp_ns - round(SECOND_NS / RATE_HZ)
    sent = []
    for each in stretch:
        stamp = each.stamp_ns - round(seconds * SECOND_NS)
        repeats = {newest: 'duplicate_stamp'}.get(stamp, '')
        refused = 'out_of_order' if stamp < newest else repeats
        sent.append(each._replace(stamp_ns=stamp, refused=refused))
    return sent


@fault(
    'zero stamps',
    says=(REFUSED, 'zero_stamp'), words='use_receive_time', within_s=1.0, recovers=AGAIN,
)  # fmt: skip
def unstamped(stretch: Stretch, _: HealthyDrive) -> Stretch:
    return [each._replace(stamp_ns=0, refused='zero_stamp') for each in stretch]


@fault(
    'disorder within 50 ms', 0.05, 'out_of_order',
    says=(TRACKING, 'out_of_order'), words='reorder_s', within_s=6.0, seconds=6.0,
)  # fmt: skip
@fault('disorder within 50 ms, with reorder_s', 0.05, reorder_s=0.06)
def disordered(stretch: Stretch, _: HealthyDrive, within_s: float, refused: str = '') -> Stretch:
    """Let messages overtake each other that are less than a span apart."""
    delays = np.random.default_rng(3).uniform(0.0, within_s * SECOND_NS, len(stretch))
    arrived = [each.at_ns + delay for each, delay in zip(stretch, delays, strict=True)]
    sent, newest = [], 0
    for index in np.argsort(arrived, kind='stable').tolist():
        late = stretch[index].stamp_ns < newest
        sent.append(stretch[index]._replace(refused=refused if late else ''))
        newest = max(newest, stretch[index].stamp_ns)
    return sent


DEAD: dict[str, Any] = {
    'timeout_s': 1.0, 'says': (NO_DATA, 'silent'), 'within_s': 2.0, 'silent_s': 5.0,
    'seconds': 1.0, 'recovers': AGAIN,
}  # fmt: skip


@fault('driver dies and comes back after 1 s', **DEAD, counts={'gaps': 1, 'resets': 0})
@fault(
    'driver dies and comes back after 1 h',
    **DEAD, counts={'gaps': 1, 'resets': 1}, after=partial(later, seconds=3599.0),
)  # fmt: skip
def nothing(_: Stretch, __: HealthyDrive) -> Stretch:
    return []


fault('batches of 50 messages at once', batch=50)(unchanged)


@fault(
    '/clock stops (use_sim_time)', None,
    says=(TRACKING, 'clock_stands'), within_s=6.0, seconds=6.0, simulated=True,
)  # fmt: skip
@fault('/clock goes back by 30 s, stamps go on (use_sim_time)', -30 * SECOND_NS, simulated=True)
def clock_set(stretch: Stretch, _: HealthyDrive, ahead_ns: int | None) -> Stretch:
    return [each._replace(clock_ns=ahead_ns) for each in stretch]


@fault(
    'two publishers on the topic', says=(UNSURE, 'several_publishers'),
    words='stop all but one', within_s=4.0, recovers=AGAIN, blind=5,
)  # fmt: skip
def from_two(stretch: Stretch, _: HealthyDrive) -> Stretch:
    """Let a second driver, of an IMU that lies on a table, publish in between."""
    half = (stretch[1].stamp_ns - stretch[0].stamp_ns) // 2
    still = {'values': np.array([0.0, 0.0, 9.81, 0.0, 0.0, 0.0]), 'taken_ns': None, 'source': 1}
    pairs = ((each, each._replace(stamp_ns=each.stamp_ns + half, **still)) for each in stretch)
    return [each for pair in pairs for each in pair]


@fault(
    'acceleration in g', [1.0 / GRAVITY] * 3 + [1.0] * 3,
    says=(REFUSED, 'accelerations_in_g'), words='g, not m/s^2', **NAMED,
)  # fmt: skip
def scaled(stretch: Stretch, _: HealthyDrive, factors: list[float]) -> Stretch:
    return [each._replace(values=each.values * factors) for each in stretch]


@fault(
    'wrong frame_id', 'gps', says=(UNSURE, 'frame_changed'), words="'gps'", within_s=2.0,
    recovers=20,
)  # fmt: skip
def framed(stretch: Stretch, _: HealthyDrive, name: str) -> Stretch:
    return [each._replace(frame=name) for each in stretch]


WINDOW_S = 2.0


@fault(
    'kidnapped: put down elsewhere in an instant', 5.0,
    then=True, says=(LOST, ANY), within_s=WINDOW_S, recovers=AGAIN, blind=3,
)  # fmt: skip
def elsewhere(stretch: Stretch, drive: HealthyDrive, seconds: float) -> Stretch:
    """Lift the car off and put it down where it would have been later, driving."""
    begin_s = (stretch[0].taken_ns - drive.begin_ns) / 1e9 + seconds
    there = drive.between(begin_s, begin_s + len(stretch) / RATE_HZ)
    return [
        here._replace(taken_ns=other.taken_ns, values=other.values)
        for here, other in zip(stretch, there, strict=True)
    ]


@fault(
    'driven the wrong way round', says=(REFUSED, 'wrong_way'), within_s=10.0,
    recovers=AFTER_LOOKS, blind=5, seconds=12.0, after=partial(elsewhere, seconds=-24.0),
)  # fmt: skip
def backwards(stretch: Stretch, drive: HealthyDrive) -> Stretch:
    """
    Turn the car round and let it drive back the way it came, as quickly.

    Turned round in time forces stay and rates turn; turned round in space x and y turn.
    """
    end = (stretch[0].taken_ns - drive.begin_ns) / 1e9
    before = drive.between(end - len(stretch) / RATE_HZ, end)[::-1]
    signs = np.array([-1.0, -1.0, 1.0, 1.0, 1.0, -1.0])
    return [
        here._replace(taken_ns=there.taken_ns, values=there.values * signs)
        for here, there in zip(stretch, before, strict=True)
    ]
