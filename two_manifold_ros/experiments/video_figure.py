# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of ``video``, as Fig. 3 of the paper."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, Rectangle
import numpy as np

from two_manifold_ros.experiments.drawing import Axes, BLUE, GREY, save, VERMILION
from two_manifold_ros.experiments.video_scores import FIRST
from two_manifold_ros.simulation.room import SIZE, TABLE
from two_manifold_ros.simulation.room_walk import FRAME_RATE_HZ

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.collections import PathCollection

    from two_manifold_ros.experiments.video_found import Found

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
