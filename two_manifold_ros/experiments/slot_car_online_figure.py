# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of `slot-car-online`: squared error against horizon, as in Fig. 2B."""

from __future__ import annotations

import math
from typing import Any, TYPE_CHECKING

from matplotlib.figure import Figure
import numpy as np

from two_manifold_ros.experiments.drawing import Axes, BLUE, GREEN, save, VERMILION

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from two_manifold_ros.experiments.slot_car_online import Outcome

PANEL = (6.0, 4.4)
"""Inches."""

MOST_IN_ROW = 3

STYLES: dict[str, dict[str, Any]] = {
    'mean': {'color': '#7f7f7f', 'ls': '-.', 'label': 'mean measurement'},
    'hmm': {'color': GREEN, 'ls': (0, (1, 1)), 'label': 'HMM by EM'},
    'hse': {'color': VERMILION, 'lw': 3.5, 'alpha': 0.55, 'label': 'HSE-HMM'},
    'online': {'color': BLUE, 'lw': 1.4, 'label': 'online TPSR'},
}
"""The two that should coincide differ in width, to show both."""


def draw(outcomes: Sequence[Outcome], path: Path) -> None:
    """Write one panel for each course, as PNG."""
    columns = min(MOST_IN_ROW, len(outcomes))
    rows = math.ceil(len(outcomes) / columns)
    figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows), layout='constrained')
    for index, outcome in enumerate(outcomes):
        _draw_panel(figure.add_subplot(rows, columns, index + 1), outcome)
    save(figure, path)


def _draw_panel(axes: Axes, outcome: Outcome) -> None:
    course, protocol, rate = outcome.course, outcome.course.protocol, outcome.course.rate_hz
    seconds = np.arange(1, protocol.horizons + 1) / rate
    for name, style in STYLES.items():
        ridge = outcome.ridges.get(name)
        label = style['label'] + (f', ridge {ridge:g}' if ridge is not None else '')
        axes.plot(seconds, outcome.curves[name], **{**style, 'label': label})
    axes.set(xlabel='horizon (s)', xlim=(0.0, seconds[-1]), ylim=(0.0, None))
    channels = course.test.shape[1]
    axes.set_ylabel(f'squared error, sum of {channels} standardised channels')
    axes.set_title(
        f'{course.name}\n{rate:.3g} Hz, windows of {course.window / rate:.3g} s, after filtering '
        f'for {protocol.shortest / rate:.3g} to {protocol.longest / rate:.3g} s',
        fontsize='medium',
    )
    axes.legend(loc='best')
    axes.grid(alpha=0.3)
