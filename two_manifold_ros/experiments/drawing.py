# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What the pictures of all experiments share: colours, and how they are saved.

A picture is a `matplotlib.figure.Figure`, made without pyplot and given to `save` at the end.
"""

from __future__ import annotations

from typing import Any, TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

BLUE, VERMILION, GREEN, PURPLE = '#0072B2', '#D55E00', '#009E73', '#CC79A7'
ORANGE, SKY, GREY = '#E69F00', '#56B4E9', '#a6a6a6'
"""Okabe and Ito's colours, which colour-blind people tell apart, and a grey for what is given."""

Axes: TypeAlias = Any
"""Axes of a figure, which matplotlib hands out as anything."""

_DOTS_PER_INCH = 110


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG; the same figure gives the same bytes."""
    figure.savefig(path, dpi=_DOTS_PER_INCH, metadata={'Software': None})
