# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
How large the numbers of a model may be, whoever made it.

Beyond these a filter would take memory or time that no file warrants, divide by what underflows,
or stop at a number that does not fit where it has to go. No trained model comes near them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.model.refusing import refuse

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeGuard

    from two_manifold_ros.model.head import ModelHead

LARGEST_NUMBER = 1e100
"""Of any array and of bandwidths; smaller numbers than its inverse divide by what underflows."""

LARGEST_COUNT = 2**31
"""Of ticks."""

LARGEST_BUFFER = 20_000_000
"""Numbers in an array that the filter makes for itself."""

LARGEST_WORK = 10**10
"""Products that are summed until a window was compared with all of the training: some seconds."""

LARGEST_STEP = 10**9
"""Products that are summed in a tick: about a second."""

MOST_STATES = 1000
MOST_FEATURES = 5000
MOST_HORIZONS = 1000
LONGEST_TICK_NS = 1000 * 10**9
LONGEST_HORIZON_NS = 86_400 * 10**9
LONGEST_TEXT = 1000


def check_size(name: str, *lengths: int, most: int = LARGEST_BUFFER) -> None:
    """Refuse lengths whose product is more than a filter can take."""
    product = 1
    for length in lengths:
        product *= int(length)
    if product > most:
        refuse(f'{name} would take {product} numbers, more than {most}')


def check_widths(numbers: Mapping[str, float]) -> None:
    """Refuse the first number whose square or that of its inverse is no number any more."""
    for name, value in numbers.items():
        if not 1.0 / LARGEST_NUMBER < value < LARGEST_NUMBER:
            refuse(f'{name} is {value}, too large or too small to calculate with')


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether something is a whole number, which true and false are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def check_count(name: str, value: object) -> None:
    """Refuse what is no number of ticks."""
    if not is_whole(value) or not 0 <= value < LARGEST_COUNT:
        refuse(f'{name} is {value}, not a number of ticks')


def check_text(name: str, value: object) -> None:
    """Refuse what is no text, or one that no message and no terminal should be given."""
    if not isinstance(value, str):
        refuse(f'{name} is no text')
    if len(value) > LONGEST_TEXT or not value.isprintable():
        refuse(f'{name} is too long or holds characters that cannot be printed')


def check_timing(model: ModelHead) -> None:
    """Refuse a clock that would end too many ticks at once, or look too far ahead."""
    if model.period_ns > LONGEST_TICK_NS:
        refuse(f'a tick of it lasts {model.period_ns} ns, more than {LONGEST_TICK_NS}')
    ticks = int(model.max_gap_ns) // int(model.period_ns) + 2
    channels = len(model.channels.names)
    check_size('max_gap_ns', ticks, channels)
    check_size('window', 2 * model.window, channels)
    if model.horizons[-1] * model.period_ns > LONGEST_HORIZON_NS:
        refuse('its last horizon is more than a day ahead')


def check_magnitude(name: str, array: np.ndarray) -> None:
    """Refuse an array of reals whose products would not be numbers."""
    if array.dtype.kind == 'f' and (np.abs(array) >= LARGEST_NUMBER).any():
        refuse(f'{name} holds numbers beyond {LARGEST_NUMBER:g}')
