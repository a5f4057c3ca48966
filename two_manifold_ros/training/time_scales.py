# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Rate and window: from how slowly observations change, or by trial.

Those of the belief about the place come from the observations alone, see ``time_scales.py``.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
import math
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.route.passes import memory_of
from two_manifold_ros.training.dataset import build_dataset, LEAST_WINDOW
from two_manifold_ros.training.driving_clock import driving_dataset
from two_manifold_ros.training.holdout import (
    any_position,
    HeldOutBench,
    hold_out,
    hold_out_in_turn,
)
from two_manifold_ros.training.validation import usual_candidate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.training.settings import TrainingSettings


TICKS_IN_MEMORY = 10.0
"""
Ticks in the memory of the observations: a slow vehicle does the same for many ticks.

Twice and half as many change the errors of the simulated cars and the tram by less than a fifth.
"""

LEAST_RATE_HZ = 5.0
"""Of a slow vehicle: predictions are wanted in steps of a fraction of a second."""

WINDOW_MEMORIES = 5.0
"""Memories of the observations in a window: some bends, which tell one place from another."""

LARGEST_WINDOW = 0.02
"""Share of the longest drive that a window above the usual one may take: laps are needed."""


def with_time_scales(
    recordings: Sequence[Recording], settings: TrainingSettings
) -> TrainingSettings:
    """Return the settings with a rate and a window that suit the memory of the observations."""
    if settings.rate_hz is not None and settings.window is not None:
        return settings
    usual = build_dataset(recordings, settings)
    observations = [usual.channels.standardise(each.values) for each in usual.segments]
    memory_s = memory_of(observations, usual.period_ns * 1e-9)
    rate_hz = usual.rate_hz
    slower_hz = max(TICKS_IN_MEMORY / memory_s, LEAST_RATE_HZ)
    # A little slower changes nothing but that ticks are no whole samples any more.
    if settings.rate_hz is None and slower_hz < rate_hz / 1.5:
        rate_hz = float(math.ceil(slower_hz))
    if settings.window is not None:
        return replace(settings, rate_hz=rate_hz)
    longest_s = max(map(len, usual.segments)) / usual.rate_hz
    window_s = min(WINDOW_MEMORIES * memory_s, LARGEST_WINDOW * longest_s)
    window_s = max(window_s, usual.window / usual.rate_hz)
    return replace(settings, rate_hz=rate_hz, window=max(round(window_s * rate_hz), LEAST_WINDOW))


Shares = list[float]

WINDOWS_S = (96.0, 48.0, 24.0, 12.0, 6.0)
"""Windows that are tried, besides the usual one of three seconds."""

MOST_TICKS, FEWEST_TICKS = 120, 60
"""
Ticks in a window that is tried, as far as the usual rate allows: many, then few.

The simulated cars indoors are followed clearly worse with few, ridge_car is clearly better; twice
as many take four times as long.
"""

LEAST_SPECTRAL_RATE_HZ = 1.0
"""A position each second is wanted at least."""

SLOWER = 1.5
"""Times slower than usual that a rate has to be to be taken."""

BANDWIDTHS = (1.0, 1.4)
"""Of the observation kernel, over which an error is averaged: what suits one may be chance."""

SHORTER = 4.0 / 3.0
"""
Times less that a shorter window has to err on the median of the quarters.

At 1.05, on a single block, the indoor car gets 3 s, and is told 79 % of the ticks instead of
96 %. With the mean over the quarters one bad quarter gives the slot car 3 s, at which it errs by
.15 m instead of .05 m; where every quarter has to be better the AGV keeps 48 s, and 6.7 m
instead of 1.1 m.
"""

CLEARLY = 1.05
"""Times more that fewer ticks may err: less is chance."""

FOLLOWED = 0.7
"""Share of the error that counts as lost above which nothing is learned from a comparison."""


def with_spectral_scales(
    recordings: Sequence[Recording], settings: TrainingSettings
) -> TrainingSettings:
    """
    Return settings of the spectral filter with rate and window chosen, if neither is given.

    Windows are tried from the longest of which a block can be held out to shorter ones, each at
    up to four times the cost of the one before, as long as errors fall on the quarters of the
    drives, held out in turn, and a shorter one is taken where they are much less than with the
    longer one: long ones tell other routes and wrong beliefs more surely. Then
    fewer ticks are taken if that is not clearly worse: where they are much shorter than what is
    observed changes, the windows nearest to one are those just before and after it on the same
    lap, and the manifold does not learn what laps have in common.

    Parameters
    ----------
    recordings
        To train on.
    settings
        What was asked for; of another method it stays as it is.

    Raises
    ------
    InputError
        If the recordings cannot be trained on with the usual window.

    """
    if settings.method != 'spectral' or settings.rate_hz or settings.window:
        return settings
    usual = build_dataset(recordings, settings)
    usual_s = usual.window / usual.rate_hz
    best: Shares = []
    before: Shares = []
    window_s, rate_hz = usual_s, usual.rate_hz
    for each_s in (*(longer for longer in WINDOWS_S if longer > usual_s), usual_s):
        each_hz = _rate(MOST_TICKS / each_s, usual.rate_hz)
        shares = _followed(recordings, _scaled(settings, each_s, each_hz))
        if before and not (shares and np.median(shares) < np.median(before)):
            break
        before = shares
        if not best or SHORTER * np.median(shares) <= np.median(best):
            best, window_s, rate_hz = shares, each_s, each_hz
    slower_hz = _rate(FEWEST_TICKS / window_s, rate_hz)
    if LEAST_SPECTRAL_RATE_HZ <= slower_hz < rate_hz:
        shares = _followed(recordings, _scaled(settings, window_s, slower_hz))
        # By the mean: a quarter that is lost with many ticks counts for fewer.
        if shares and np.mean(shares) <= CLEARLY * np.mean(best):
            best, rate_hz = shares, slower_hz
    if not best or np.median(best) > FOLLOWED:
        return settings
    return _scaled(settings, window_s, rate_hz)


def at_usual_rate(recordings: Sequence[Recording], settings: TrainingSettings) -> TrainingSettings:
    """Return the settings with the usual rate, if none is given, so that nothing is chosen."""
    try:
        return replace(settings, rate_hz=build_dataset(recordings, settings).rate_hz)
    except InputError:
        # Whatever it is, the training says it.
        return settings


def _rate(wanted_hz: float, present_hz: float) -> float:
    # A little slower changes nothing but that ticks are no whole samples any more.
    return wanted_hz if SLOWER * wanted_hz < present_hz else present_hz


def _scaled(settings: TrainingSettings, window_s: float, rate_hz: float) -> TrainingSettings:
    return replace(settings, rate_hz=rate_hz, window=round(window_s * rate_hz))


def _followed(recordings: Sequence[Recording], settings: TrainingSettings) -> Shares:
    """
    Return the mean error on each quarter of the drives when it is held out.

    In units of the error that counts as lost; none where no quarter can be held out.
    """
    present = replace(settings, horizons=(0,))
    try:
        dataset, *_ = driving_dataset(recordings, present)
    except InputError:
        return []
    shares = []
    for fit, held in hold_out_in_turn(dataset.segments, dataset.window):
        if any_position(fit) and any_position(held):
            # What is left beside one quarter may be too short to fit.
            with contextlib.suppress(InputError):
                shares.append(_share(HeldOutBench(fit, held, dataset, present), present))
    return shares


def _share(bench: HeldOutBench, settings: TrainingSettings) -> float:
    tried = [replace(settings, bandwidth_factor=each) for each in BANDWIDTHS]
    return float(np.mean([bench.score(usual_candidate(each)) for each in tried])) / bench.lost_m


PAPER: dict[str, Any] = {
    'method': 'spectral',
    'kernel': 'laplacian-eigenmap',
    'states': 20,
    'neighbours': 50,
    'coupling': 'gram-product',
    'observation': 'raw',
    'readout': 'ridge',
    'clock': 'time',
}
"""What the paper settles."""

WINDOW = 150


def paper_settings(asked: TrainingSettings, recordings: Sequence[Recording]) -> TrainingSettings:
    """
    Return what was asked for with all that the paper settles.

    Parameters
    ----------
    asked
        Its rate, horizons and dimension stay, and its window if there is one.
    recordings
        To train on: without a window asked for they get that of the paper where they are long
        enough for a training with validation, else the usual one, at the usual rate.

    """
    settings = replace(asked, **PAPER)
    if asked.window is not None:
        return settings
    wide = replace(settings, window=WINDOW)
    return wide if _long_enough(wide, recordings) else at_usual_rate(recordings, settings)


def _long_enough(settings: TrainingSettings, recordings: Sequence[Recording]) -> bool:
    try:
        dataset = build_dataset(recordings, settings)
    except InputError:
        # Whatever it is, the training says it.
        return False
    fit, held = hold_out(dataset.segments, dataset.window)
    return bool(fit and held)
