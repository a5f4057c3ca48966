# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The start line and the sectors of a model's circuit, as a user names them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.laps.timing import LapTimer, THIRDS
from two_manifold_ros.model.model import RouteModel
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.ticks.standing import stretches_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.model.circuit import Circuit
    from two_manifold_ros.model.head import ModelHead

NO_LAPS = (
    'the drives of the training never come back to where they were, or are errands on a network '
    'of roads, so there are no laps to time; train on whole laps'
)


def live_timer(model: ModelHead, start_line: str = '', sectors: str = '') -> LapTimer | None:
    """
    Return a timer of estimates as they come; None if no lap is known and no line is named.

    A map of the route holds its lap; looking for the lap of another model takes a second, in which
    nothing would be published, so a line that is named is refused there, see `make_timer`.
    """
    named = start_line.strip() or sectors.strip()
    if isinstance(model, RouteModel):
        return make_timer(model, start_line, sectors) if named or model.circuit else None
    if named:
        msg = (
            'start_line and sectors are of laps, which live only a map of the route has: leave '
            'them out, or use a model of --method route'
        )
        raise InputError(msg)
    return None


def make_timer(model: ModelHead, start_line: str = '', sectors: str = '') -> LapTimer:
    """
    Return a timer of the laps of a model; an ``InputError`` says that a line is no place on it.

    The ``start_line`` is ``X,Y`` in metres or a share of a lap after the usual start line, where
    timing is surest. ``sectors`` after the first begin at such places, apart by blanks or
    semicolons; their shares count from the start line. Without them there are thirds.
    """
    circuit = circuit_of(model)
    if model.frame_id == LAP_FRAME and ',' in start_line + sectors:
        msg = (
            f'{(start_line + " " + sectors).strip()!r} has a place, and the model knows laps and '
            'no positions: write shares of a lap from 0 to 1, such as 0.25'
        )
        raise InputError(msg)
    if start_line.strip():
        circuit = circuit.starting_at(_metres(circuit, start_line.strip(), 'start line'))
    return LapTimer(circuit, _shares(circuit, sectors) if sectors.strip() else THIRDS)


def lines_in_words(timer: LapTimer, frame: str) -> str:
    """Return the lines that a timer has, of a model whose positions are in a frame."""
    circuit = timer.circuit
    x, y = circuit.points[0].tolist()
    if frame == LAP_FRAME:
        share = math.atan2(y, x) / (2.0 * math.pi) % 1.0
        where = f'{share:.3f} of a lap after the start of the laps of the training'
    else:
        where = f'({x:.2f}, {y:.2f}) m, {circuit.length_m:.2f} m around'
    sectors = ', '.join(f'{each:.3f}' for each in timer.sectors)
    return (
        f'Times laps of usually {circuit.lap_s:.3f} s: start line at {where}; sectors end at '
        f'{sectors} and 1 of a lap'
    )


def circuit_of(model: ModelHead) -> Circuit:
    """Return the lap of a model: of its route or its track; an ``InputError`` if there is none."""
    if isinstance(model, RouteModel):
        if model.circuit is None:
            raise InputError(NO_LAPS)
        return model.circuit
    # It takes SciPy, which a node of a route does without.
    from two_manifold_ros.model.circuit_learning import learn_circuit  # noqa: PLC0415
    from two_manifold_ros.route.merging import merge_passes  # noqa: PLC0415

    known = np.asarray(np.isfinite(model.track).all(axis=1))
    tracks = [model.track[begin:end] for begin, end in stretches_of(known) if end - begin > 2]
    period_s = 1.0 / model.rate_hz
    places = merge_passes(tracks, period_s) if tracks else None
    circuit = (
        None if places is None else learn_circuit(places, tracks, period_s, (), at_mark=False)
    )
    if circuit is None:
        raise InputError(NO_LAPS)
    return circuit


def _shares(circuit: Circuit, sectors: str) -> Sequence[float]:
    words = sectors.replace(';', ' ').split()
    shares = [_metres(circuit, each, 'sector') / circuit.length_m for each in words]
    if sorted({0.0, *shares, 1.0}) != [0.0, *shares, 1.0] or not shares:
        msg = (
            f'sectors {sectors!r}: name where each sector after the first begins, in the order '
            'driven, apart by blanks and none on the start line, such as 0.33 0.66'
        )
        raise InputError(msg)
    return shares


def _metres(circuit: Circuit, text: str, what: str) -> float:
    """Return how far after the start line a named line is."""
    try:
        numbers = [float(each) for each in text.split(',')]
    except ValueError:
        numbers = []
    if not all(map(math.isfinite, numbers)) or len(numbers) not in {1, 2}:
        msg = (
            f'{what} {text!r}: write X,Y in metres, or a share of a lap from 0 to 1 such as 0.25; '
            'several are apart by blanks'
        )
        raise InputError(msg)
    if len(numbers) == 1:
        if not 0.0 <= numbers[0] < 1.0:
            msg = f'{what} {text!r}: a share of a lap is at least 0 and below 1'
            raise InputError(msg)
        return numbers[0] * circuit.length_m
    spot = circuit.locate(np.array(numbers), np.zeros(2))
    if math.isnan(spot.metres):
        msg = (
            f'{what} {text!r} is {spot.aside_m:.2f} m beside the route; name a place on it, in '
            'the coordinates of the training positions'
        )
        raise InputError(msg)
    return spot.metres
