# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Draw the track and the speed of the simulated slot car: docs/images/simulator.png."""

from __future__ import annotations

from pathlib import Path
import sys
from typing import TYPE_CHECKING

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate
from two_manifold_ros.simulation.track import Track

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LAPS = 12
DEFAULT = Path(__file__).resolve().parents[1] / 'docs' / 'images' / 'simulator.png'
PLACES = 400
BRIDGE_HEIGHT_M = 0.12


def draw_track(axes: Axes, track: Track, middle: np.ndarray) -> None:
    """Draw the track from above, coloured by the middle speed; what is higher covers the rest."""
    places = np.linspace(0.0, track.length, PLACES)
    line = track.position(places)
    order = np.argsort(line[:, 2])
    axes.plot(*line[:, :2].T, color='0.85', linewidth=11, zorder=0)
    bridge = line[line[:, 2] > BRIDGE_HEIGHT_M]
    axes.plot(
        *bridge[:, :2].T,
        color='0.55',
        linewidth=11,
        zorder=1,
        label=f'more than {100 * BRIDGE_HEIGHT_M:.0f} cm high',
    )
    dots = axes.scatter(
        line[order, 0], line[order, 1], c=middle[order], s=12, cmap='viridis', zorder=2
    )
    axes.figure.colorbar(dots, ax=axes, label='median speed (m/s)', pad=0.01)
    for metres in range(2, int(track.length), 2):
        frame, spot = track.frame(float(metres)), track.position(float(metres))
        x, y = spot[:2] - 0.22 * frame[:2, 1]
        axes.annotate(f'{metres} m', (x, y), ha='center', va='center', fontsize=8)
    arrow = {'arrowstyle': '->', 'lw': 2}
    axes.annotate('', (0.8, 0.0), (0.4, 0.0), arrowprops=arrow)
    axes.set(xlabel='x (m)', ylabel='y (m)', aspect='equal', title='Track from above')
    axes.set_ylim(line[:, 1].min() - 0.45, line[:, 1].max() + 0.45)
    axes.legend(loc='lower right')


def draw_speed(axes: Axes, speeds: np.ndarray, places: np.ndarray) -> None:
    """Draw the speed of every lap along the track."""
    for number, lap in enumerate(speeds):
        axes.plot(places, lap, color='C0', alpha=0.35, label='' if number else 'one lap')
    axes.plot(places, np.median(speeds, axis=0), color='black', label=f'median of {LAPS} laps')
    axes.set(xlabel='distance along the track (m)', ylabel='speed (m/s)', title='Speed')
    axes.set_ylim(bottom=speeds.min() - 0.25)
    axes.legend(loc='lower right', ncols=2)


def draw_shape(axes: Axes, track: Track, places: np.ndarray) -> None:
    """Draw height and bank along the track."""
    height = axes.plot(places, 100.0 * track.position(places)[:, 2], color='C1', label='height')
    axes.set(xlabel='distance along the track (m)', ylabel='height (cm)', title='Height and bank')
    right = axes.twinx()
    bank = right.plot(
        places, np.degrees(track.bank(places)), color='C2', linestyle='--', label='bank'
    )
    right.set_ylabel('bank (degrees, left side up)')
    axes.set_ylim(top=22.0)
    axes.legend(handles=height + bank, loc='upper left', ncols=2)


def main(path: Path) -> None:
    """Write the picture."""
    mpl.use('Agg')
    track = Track()
    run = simulate(SlotCarSettings(), laps=LAPS + 1)
    places = np.linspace(0.0, track.length, PLACES)
    first = np.ceil(run.distances[0] / track.length)
    laps = [(first + lap) * track.length + places for lap in range(LAPS)]
    speeds = np.array([np.interp(lap, run.distances, run.speeds) for lap in laps])
    figure, panels = plt.subplot_mosaic(
        [['track', 'track'], ['speed', 'shape']],
        figsize=(11, 8),
        height_ratios=[1.5, 1.0],
        layout='constrained',
    )
    draw_track(panels['track'], track, np.median(speeds, axis=0))
    draw_speed(panels['speed'], speeds, places)
    draw_shape(panels['shape'], track, places)
    figure.savefig(path, dpi=100)
    print(f'{path}: {path.stat().st_size / 1000:.0f} kB')


if __name__ == '__main__':
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT)
