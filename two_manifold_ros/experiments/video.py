# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The experiment ``video``: a map of a room from nothing but the film of a camera in it.

Boots & Gordon (2011), Fig. 3: 11,000 frames of a camera that circles a table, now one way, now
the other. Which way, and where, is told only to the linear read-out by which the states are
judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
import math
import resource
import sys
import time
from typing import Any, TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, Rectangle
import numpy as np

from two_manifold_ros.experiments.experiment import (
    at_least,
    at_most,
    Axes,
    BLUE,
    GREY,
    reading_ahead,
    save,
    VERMILION,
)
from two_manifold_ros.experiments.video_learning import FrameWindows, VideoLearner, WindowSizes
from two_manifold_ros.simulation.room import SIZE, TABLE
from two_manifold_ros.simulation.room_video import FRAME_RATE_HZ, room_video

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.collections import PathCollection
    from numpy.typing import NDArray

    from two_manifold_ros.experiments.experiment import Claim, Progress
    from two_manifold_ros.simulation.room_video import RoomFrame
    from two_manifold_ros.typing import Floats, Ints


FIRST, LAST = 0.1, 0.7
"""Shares of the frames between which a read-out is fitted; after the last one it is judged."""

LEADING = slice(1, 4)
"""Coordinates of a map: the first one holds the constant."""

_RIDGE = 1e-3


@dataclass(frozen=True)
class Reading:
    """
    Angle and direction read from states of which the read-out saw none.

    Parameters
    ----------
    first
        Row of the first of them.
    angles, directions : (n,)
        Radians, and +1 or -1.
    r2
        Share of the variance of the cosine and sine of the true angle that is told.
    right
        Share of right directions.

    """

    first: int
    angles: Floats
    directions: Floats
    r2: float
    right: float


def read(states: Floats, angles: Floats, directions: Ints) -> Reading:
    """Fit a linear read-out to (n, k) states in the middle, and use it on those at the end."""
    first, last = (round(share * len(states)) for share in (FIRST, LAST))
    spread = np.sqrt((states[first:last] ** 2).mean(axis=0))
    inputs = np.column_stack([states / np.where(spread > 0.0, spread, 1.0), np.ones(len(states))])
    targets = np.column_stack([np.cos(angles), np.sin(angles), directions])
    seen = inputs[first:last]
    square = seen.T @ seen + _RIDGE * len(seen) * np.eye(seen.shape[1])
    found = inputs[last:] @ np.linalg.solve(square, seen.T @ targets[first:last])
    true = targets[last:, :2]
    missed = ((found[:, :2] - true) ** 2).sum() / ((true - true.mean(axis=0)) ** 2).sum()
    way = np.where(found[:, 2] > 0.0, 1.0, -1.0)
    return Reading(
        first=last,
        angles=np.arctan2(found[:, 1], found[:, 0]) % (2 * np.pi),
        directions=way,
        r2=1.0 - float(missed),
        right=float((way == directions[last:]).mean()),
    )


def gap(views: Floats, older: int) -> float:
    """
    Return how far the newest view is from the nearest one of the circuit before.

    Parameters
    ----------
    views : (n, k)
        Coordinates, the newest ones last.
    older
        Views that are too new to be of the circuit before.

    Returns
    -------
    float
        In units of the distance between two views drawn at random (root mean square); NaN while
        all views are new.

    """
    places = views[:, LEADING]
    if len(places) <= older:
        return np.nan
    distances = np.linalg.norm(places[:-older] - places[-1], axis=1)
    return float(distances.min() / np.sqrt(2.0 * places.var(axis=0).sum()))


_SAME_PLACE = math.radians(1.0)


class Diary:
    """
    Where the camera was at each frame, and two of the pictures.

    Parameters
    ----------
    window
        Frames of a window.

    Attributes
    ----------
    angles, directions, places
        Of every frame: radians, +1 or -1, and x and y in metres.
    pictures
        The frame at the end of the first window, and the first one from the same place while the
        camera goes the other way.

    """

    def __init__(self, window: int) -> None:
        self.window = window
        self.angles: list[float] = []
        self.directions: list[int] = []
        self.places: list[tuple[float, float]] = []
        self.pictures: list[NDArray[np.uint8]] = []

    def note(self, frame: RoomFrame) -> None:
        """Write down the next frame."""
        self.angles.append(frame.angle)
        self.directions.append(frame.direction)
        self.places.append((frame.pose.x, frame.pose.y))
        if len(self.angles) == self.window:
            self.pictures = [frame.picture]
        elif len(self.pictures) == 1 and frame.direction != self.directions[self.window - 1]:
            away = math.remainder(frame.angle - self.angles[self.window - 1], 2 * math.pi)
            if abs(away) < _SAME_PLACE:
                self.pictures.append(frame.picture)


@dataclass(frozen=True)
class Found:
    """
    What was found.

    Parameters
    ----------
    diary
        The truth.
    maps
        Views, shape (steps, states), by the steps after which they were looked at; the first one
        ends with the last frame of the first window, and each one a frame later.
    gaps : (n,)
        In the map after 1, 2, ... steps.
    states : (m, states)
        Of a filter over the last m frames with the last model.
    reading, live
        What is read from the last of them, and from the states that the filter had at the time.

    """

    diary: Diary
    maps: dict[int, Floats]
    gaps: Floats
    states: Floats
    reading: Reading
    live: Reading

    @property
    def view_angles(self) -> Floats:
        """True angle, radians, at the end of each view."""
        return np.array(self.diary.angles[self.diary.window - 1 :])

    @property
    def returned(self) -> int:
        """Steps after which the newest view is a whole circuit away from the first; 0 if none."""
        angles = np.unwrap(self.view_angles)
        return int((np.abs(angles - angles[0]) >= 2 * np.pi).argmax()) + 1

    @property
    def state_directions(self) -> Ints:
        """True direction at each state."""
        return np.array(self.diary.directions[-len(self.states) :])


WAYS = {1: ('counterclockwise', VERMILION), -1: ('clockwise', BLUE)}

_DOTS: dict[str, Any] = {'marker': '.', 'ls': 'none', 'ms': 2.5}
_SHOWN_FRAMES = 1500


def draw(found: Found, path: Path) -> None:
    """Write the room, two frames, the map as it closes, the states and what is read from them."""
    figure = Figure(figsize=(12.0, 10.5), layout='constrained')
    parts: Any = figure.subfigures(3, 1, height_ratios=(1.0, 0.9, 1.0))
    top, middle, bottom = parts
    room, *frames = top.subplots(1, 3)
    _draw_room(room, found)
    for axes, picture, way in zip(frames, found.diary.pictures, (1, -1), strict=False):
        axes.imshow(picture, cmap='gray', vmin=0, vmax=255)
        axes.set(xticks=[], yticks=[])
        axes.set_title(f'A frame from there, going {WAYS[way][0]}')
    *maps, gaps = middle.subplots(1, 4)
    for axes, steps in zip(maps, found.maps, strict=True):
        dots = _draw_map(axes, found, steps)
    middle.colorbar(dots, ax=maps[-1], label='true angle (degrees)', ticks=range(0, 361, 90))
    maps[0].legend(loc='best', fontsize='x-small')
    _draw_gaps(gaps, found)
    *states, reading = bottom.subplots(1, 3)
    _draw_states(states[0], found, (2, 3))
    _draw_states(states[1], found, (4, 5))
    _draw_reading(reading, found)
    save(figure, path)


def _draw_room(axes: Axes, found: Found) -> None:
    width, depth, _ = SIZE
    axes.add_patch(Rectangle((-width / 2, -depth / 2), width, depth, fill=False, lw=2.5))
    axes.add_patch(Ellipse((0, 0), 2 * TABLE[0], 2 * TABLE[1], color='#c8b28e'))
    axes.text(0, 0, 'table', ha='center', va='center')
    places = np.array(found.diary.places)
    axes.plot(*places.T, color=GREY, lw=0.4, label='path of the camera')
    place = places[found.diary.window - 1]
    axes.plot(*place, 'k^', ms=8, label='the frames on the right')
    axes.annotate('', 0.55 * place, place, arrowprops={'arrowstyle': '->', 'lw': 1.5})
    axes.set(xlabel='x (m)', ylabel='y (m)', aspect='equal')
    axes.set_title('The room from above')
    axes.legend(loc='lower left', fontsize='x-small')


def _draw_map(axes: Axes, found: Found, steps: int) -> PathCollection:
    views = found.maps[steps]
    dots: PathCollection = axes.scatter(
        views[:, 1],
        views[:, 2],
        c=np.degrees(found.view_angles[: len(views)]),
        cmap='hsv',
        vmin=0,
        vmax=360,
        s=9,
    )
    axes.plot(views[0, 1], views[0, 2], 's', mfc='none', mec='black', ms=9, label='first view')
    axes.plot(views[-1, 1], views[-1, 2], '*', color='red', ms=13, label='newest view')
    axes.set_title(f'Map after {steps} steps')
    axes.set(xlabel='coordinate 2', ylabel='coordinate 3', xticks=[], yticks=[])
    return dots


def _draw_gaps(axes: Axes, found: Found) -> None:
    axes.plot(np.arange(1, len(found.gaps) + 1), found.gaps, color='black', lw=1.3)
    axes.axvline(found.returned, color=VERMILION, ls='--', label='the camera is back')
    for steps in found.maps:
        axes.axvline(steps, color=GREY, lw=0.8, zorder=0)
    axes.set(
        xlabel='steps',
        ylabel='newest view to the circuit before\n(typical distances)',
        ylim=(0, None),
    )
    axes.set_title('Gap in the map')
    axes.legend(fontsize='x-small')


def _draw_states(axes: Axes, found: Found, coordinates: tuple[int, int]) -> None:
    first = round(FIRST * len(found.states))
    states, ways = found.states[first:], found.state_directions[first:]
    for way, (name, colour) in WAYS.items():
        chosen = states[ways == way]
        pair = [chosen[:, number - 1] for number in coordinates]
        axes.plot(*pair, color=colour, alpha=0.35, label=name, **_DOTS)
    low, high = np.percentile(states[:, [number - 1 for number in coordinates]], [2, 98], axis=0)
    margin = 0.2 * (high - low)
    axes.set(
        xlabel=f'coordinate {coordinates[0]}',
        ylabel=f'coordinate {coordinates[1]}',
        xlim=(low[0] - margin[0], high[0] + margin[0]),
        ylim=(low[1] - margin[1], high[1] + margin[1]),
    )
    axes.set_title('States of the filter')
    axes.legend(loc='upper right', fontsize='x-small', markerscale=4)


def _draw_reading(axes: Axes, found: Found) -> None:
    reading = found.reading
    count = min(_SHOWN_FRAMES, len(reading.angles))
    seconds = np.arange(count) / FRAME_RATE_HZ
    true = np.degrees(found.diary.angles[-len(reading.angles) :][:count])
    axes.plot(seconds, true, '.', color=GREY, ms=6, label='true angle')
    for way, (name, colour) in WAYS.items():
        chosen = reading.directions[:count] == way
        angles = np.degrees(reading.angles[:count][chosen])
        axes.plot(seconds[chosen], angles, color=colour, label=f'read, {name}', **_DOTS)
    axes.set(xlabel='seconds since the read-out was fixed', ylabel='degrees', ylim=(0, 360))
    axes.set_yticks(range(0, 361, 90))
    axes.set_title('Angle and direction read from the state')
    axes.legend(loc='lower left', fontsize='x-small', markerscale=4)


SEED = 2
"""Of the room and the walk; settings were chosen on 0 and 1."""

MAPS = (0.25, 0.875, 1.5)
"""Windows after whose length in steps the map is looked at: 100, 350 and 600 steps."""

OPEN, CLOSED = 0.3, 0.2
"""Gaps in the map, see `gap`, above which it is open and below which it is closed."""

LIVE = 0.1
"""By how much less a state may tell that had to do with what was known at its time."""

PAPER, MAP = 'Fig. 3B, by eye', 'Fig. 3C, by eye'

_FEATURES = 0  # seed of the random features

_AHEAD = 8  # frames that are rendered and written in features while others are learned

_TOLD_EVERY = 100  # frames


@dataclass(frozen=True)
class Scale:
    """
    How large the experiment is, and how strictly it is judged.

    Parameters
    ----------
    frames, width, height
        Of the film; sides are multiples of 8 pixels.
    states
        Of the TPSR.
    ridge
        On the covariance of single frames. The closer frames follow each other, the more of what
        each tells the last one told already, and the larger it should be.
    windows
        Sizes of the windows, which are about a circuit long.
    r2, right
        Least share of the variance of the position, and of the directions, that is told.
    late
        Steps, as a share of a window, by which the map may close later than the camera returns.

    """

    frames: int
    width: int
    height: int
    states: int
    ridge: float
    windows: WindowSizes
    r2: float
    right: float
    late: float


FULL = Scale(11_000, 160, 120, 50, 1.0, WindowSizes(400, 100_000, 400), 0.9, 0.9, 0.1)
QUICK = Scale(1_200, 40, 32, 20, 0.1, WindowSizes(60, 2_000, 100), 0.9, 0.9, 0.3)


def run(folder: Path, progress: Progress, *, quick: bool) -> list[Claim]:
    """Run the experiment, see `two_manifold_ros.experiments.experiment.Run`."""
    scale = QUICK if quick else FULL
    begun = time.process_time()
    found = _watch(scale, progress)
    seconds = (time.process_time() - begun) / scale.frames * 1000.0
    draw(found, folder / 'video.png')
    claims = _claims(found, scale)
    if not quick:
        claims += [
            at_most('seconds of CPU per 1,000 frames', '', seconds, 60.0),
            at_most('memory at its peak, GB', '', _peak_gigabytes(), 2.0),
        ]
    return claims


def _watch(scale: Scale, progress: Progress) -> Found:
    window = scale.windows.window
    learner = VideoLearner(scale.windows, scale.states, scale.ridge)
    diary = Diary(window)
    maps: dict[int, Floats] = {}
    gaps: list[float] = []
    film = room_video(SEED, scale.width, scale.height, window)
    windows = FrameWindows(scale.windows, _FEATURES)
    seen = ((frame, windows.push(frame.picture)) for frame in islice(film, scale.frames))
    for index, (frame, sample) in enumerate(reading_ahead(seen, _AHEAD)):
        if index % _TOLD_EVERY == 0:
            progress(f'frame {index:,} of {scale.frames:,}', index / scale.frames)
        diary.note(frame)
        if sample is None:
            continue
        learner.learn(sample)
        views = learner.views.rows
        for steps in range(len(gaps) + 1, min(len(views), 2 * window) + 1):
            gaps.append(gap(views[:steps], window // 2))
            if steps in [round(share * window) for share in MAPS]:
                maps[steps] = views[:steps]
    states = learner.follow()
    truth = (np.array(diary.angles[-len(states) :]), np.array(diary.directions[-len(states) :]))
    live = read(learner.beliefs.rows, *truth)
    return Found(diary, maps, np.array(gaps), states, read(states, *truth), live)


def _claims(found: Found, scale: Scale) -> list[Claim]:
    steps = [*found.maps]
    closed = int((found.gaps < CLOSED).argmax()) + 1 if (found.gaps < CLOSED).any() else np.inf
    window = scale.windows.window
    last, live = found.reading, found.live
    return [
        at_least('position from the state, R2', PAPER, last.r2, scale.r2),
        at_least('share of directions right', PAPER, last.right, scale.right),
        at_least('position live, R2', PAPER, live.r2, scale.r2 - LIVE),
        at_least('share of directions right live', PAPER, live.right, scale.right - LIVE),
        at_least(f'gap in the map after {steps[1]} steps', MAP, found.gaps[steps[1] - 1], OPEN),
        at_most(f'gap in the map after {steps[2]} steps', MAP, found.gaps[steps[2] - 1], CLOSED),
        at_most(
            f'steps between return ({found.returned}) and closing',
            MAP,
            abs(closed - found.returned),
            scale.late * window,
        ),
    ]


def _peak_gigabytes() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e9 if sys.platform == 'darwin' else 1e6)  # bytes there, kilobytes elsewhere
