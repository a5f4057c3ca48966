# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Choose the time scales that the settings leave open, and train a model by its method."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
import contextlib
from dataclasses import replace
import math
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.inspecting import LAP_SAMPLES
from two_manifold_ros.inspection.motion import laps_of, LONGEST_HOLE_S
from two_manifold_ros.inspection.streams import advancing
from two_manifold_ros.recordings.recording import median_interval_ns, Recording
from two_manifold_ros.route.learning import Tuning as RouteTuning
from two_manifold_ros.route.visits import LEAST_TICKS, memory_of
from two_manifold_ros.training.dataset import (
    build_dataset,
    driving_dataset,
    LEAST_WINDOW,
    RARE_STEP,
    usual_step,
)
from two_manifold_ros.training.following import memory_between_laps
from two_manifold_ros.training.held_out import hold_out, hold_out_in_turn
from two_manifold_ros.training.route import train_route
from two_manifold_ros.training.settings import (
    EmbeddedSettings,
    PaperSettings,
    RouteSettings,
    SpectralSettings,
    TpsrSettings,
    TrainingSettings,
)
from two_manifold_ros.training.spectral import Fold, train_spectral, usual_choices
from two_manifold_ros.training.summary import check_streams, measure_drives
from two_manifold_ros.training.tpsr import LearnedTpsr, train_tpsr

if TYPE_CHECKING:
    from two_manifold_ros.inspection.positions import PositionReport
    from two_manifold_ros.model.model import TrainedModel


def train_model(
    recordings: Sequence[Recording],
    settings: TrainingSettings,
    progress: Callable[[str, float], None] = lambda *_: None,
    drives: Sequence[PositionReport] | None = None,
    client: Any = None,  # noqa: ANN401 - of an extra
) -> TrainedModel:
    """
    Train a model of the method that the settings name.

    The ``recordings`` have positions, all of one track and one frame. ``progress`` gets the stage
    in words and the share done, 0 to 1. ``drives`` are reports of `measure_drives`, where
    positions were inspected before. A ``client`` of distributed has workers that follow parts of
    the drives for method ``route``. Raises ``InputError`` if the recordings cannot be trained on.
    """
    return learn_model(recordings, settings, progress, drives, client)[0]


def learn_model(
    recordings: Sequence[Recording],
    settings: TrainingSettings,
    progress: Callable[[str, float], None] = lambda *_: None,
    drives: Sequence[PositionReport] | None = None,
    client: Any = None,  # noqa: ANN401 - of an extra
) -> tuple[TrainedModel, LearnedTpsr | None]:
    """Do as `train_model`; return also what can go on learning, which a TPSR can alone."""
    check_streams(recordings)
    drives = measure_drives(recordings) if drives is None else drives
    progress('averaging samples over ticks', 0.0)
    asked = settings
    settings = with_sharpness(recordings, with_readout(recordings, settings))
    if isinstance(settings, PaperSettings):
        settings = paper_settings(settings, recordings)
    free = settings.rate_hz is None and settings.window is None
    settings = with_time_scales(recordings, settings, progress)
    if isinstance(settings, RouteSettings) and isinstance(asked, RouteSettings):
        # A given likelihood is for ticks of a known rate.
        if not free or asked.sharpness is not None or asked.persistence is not None:
            settings = settings.at_one_rate()
        return train_route(recordings, settings, progress, drives, client), None
    if isinstance(settings, TpsrSettings):
        learned = train_tpsr(recordings, settings, progress, drives)
        return learned.model, learned
    if not isinstance(settings, SpectralSettings):
        raise TypeError(settings)
    begun = TRIALS_SHARE if free else 0.0
    return train_spectral(
        recordings,
        settings,
        lambda what, share: progress(what, begun + (1.0 - begun) * share),
        drives,
    ), None


TRIALS_SHARE = 0.7
"""Share of the progress of a training that is for trials of windows, most of its time."""


def with_readout(recordings: Sequence[Recording], settings: TrainingSettings) -> TrainingSettings:
    """Return the settings with a read-out, ``mkdr`` if it is left open and positions rare."""
    if not isinstance(settings, EmbeddedSettings) or settings.readout is not None:
        return settings
    rare = usual_step(recordings) > RARE_STEP
    return replace(settings, readout='mkdr' if rare else 'sharpened')


def with_time_scales(
    recordings: Sequence[Recording],
    settings: TrainingSettings,
    progress: Callable[[str, float], None] = lambda *_: None,
) -> TrainingSettings:
    """Return the settings with a rate and a window that suit the method and the recordings."""
    if settings.rate_hz and settings.window:
        return settings
    if isinstance(settings, RouteSettings):
        return _by_memory(recordings, settings)
    if not isinstance(settings, SpectralSettings):
        return _by_laps(recordings, settings)
    free = not settings.rate_hz and not settings.window
    return _by_trial(recordings, settings, progress) if free else settings


def with_one_rate(
    routes: Collection[Sequence[Recording]], settings: TrainingSettings
) -> TrainingSettings:
    """Return settings at which the maps of all routes of an atlas tick: the fastest that suits."""
    if len(routes) < 2 or settings.rate_hz is not None:
        return settings
    rates_hz = []
    for recordings in routes:
        # Of one that cannot be trained on the training itself says why.
        with contextlib.suppress(InputError):
            rates_hz.append(with_time_scales(recordings, settings).rate_hz or 0.0)
    return replace(settings, rate_hz=max(rates_hz, default=None))


def with_sharpness(
    recordings: Sequence[Recording], settings: TrainingSettings
) -> TrainingSettings:
    """Return the settings with the sharpness that counts in a second as at the usual rate."""
    if not isinstance(settings, RouteSettings) or settings.rate_hz is None:
        return settings
    if settings.sharpness is not None:
        return settings
    # A window of so many ticks may not fit at that rate, and does not matter.
    usual = build_dataset(recordings, replace(settings, rate_hz=None, window=LEAST_WINDOW))
    usual_hz = _rate_for(memory_of(usual.observations, usual.period_s), usual.rate_hz)
    sharpness = min(RouteTuning.sharpness * usual_hz / settings.rate_hz, 1.0)
    return replace(settings, sharpness=sharpness)


def _rate_for(memory_s: float, rate_hz: float) -> float:
    """Return the rate with ten ticks in the memory, if ``rate_hz`` is more than 1.5 times it."""
    # Predictions are wanted in steps of a fraction of a second.
    slower_hz = max(10.0 / memory_s, 5.0)
    # A little slower changes nothing but that ticks are no whole samples any more.
    return float(math.ceil(slower_hz)) if slower_hz < rate_hz / 1.5 else rate_hz


def _by_laps(recordings: Sequence[Recording], settings: TrainingSettings) -> TrainingSettings:
    """Take 80 ticks and two windows in a lap, as half a lap is known from any other half."""
    laps_s = [laps.time_s for laps in map(laps_of, recordings) if laps is not None]
    if not laps_s:
        msg = 'no place of the route was met twice: drive more laps, at least three of one route'
        raise InputError(msg)
    lap_s = float(np.median(laps_s))
    native_hz = 1e9 / max(*(median_interval_ns(each.imu.stamps) for each in recordings), 1)
    # A position each second is wanted, and 20 are enough; a sensor that is slower gives the rate.
    rate_hz = settings.rate_hz or min(float(np.clip(LAP_SAMPLES / lap_s, 1.0, 20.0)), native_hz)
    driven_s = sum(map(_lasts_s, recordings))
    # Eight windows in all drives: of two laps, places are left that are met twice with whole ones.
    window_s = min(0.5 * lap_s, driven_s / 8.0)
    # On laps so short that 20 Hz give fewer than ten ticks, bends would not be seen whole.
    return replace(
        settings, rate_hz=rate_hz, window=settings.window or max(round(window_s * rate_hz), 10)
    )


def _by_memory(recordings: Sequence[Recording], settings: RouteSettings) -> RouteSettings:
    """Take ten ticks in the memory of the observations, and five memories in a window."""
    usual = build_dataset(recordings, settings)
    memory_s = memory_of(usual.observations, usual.period_s)
    rate_hz = usual.rate_hz
    if settings.rate_hz is None:
        forgets = memory_s <= LEAST_TICKS * usual.period_s
        if forgets:
            # They may hide the road under vibration.
            laps_s = memory_between_laps(usual.observations, usual.tracks, usual.period_s)
            memory_s = max(memory_s, laps_s)
        rate_hz = _rate_for(memory_s, usual.rate_hz)
        given = settings.window, settings.sharpness, settings.persistence
        open_ = settings.max_step_load > 0.0 and all(each is None for each in given)
        if forgets and open_ and rate_hz < usual.rate_hz:
            # As sharp a second as at the usual rate: `choose_by_parts` tries it, since the
            # vibration of neighbouring ticks differs.
            sharpness = min(RouteTuning.sharpness * usual.rate_hz / rate_hz, 1.0)
            settings = replace(settings, sharpness=sharpness)
    if settings.window is not None:
        return replace(settings, rate_hz=rate_hz)
    # Windows above the usual one take 2 % of the longest drive at most: laps are needed.
    longest_s = max(map(len, usual.segments)) / usual.rate_hz
    window_s = min(5.0 * memory_s, 0.02 * longest_s)
    window_s = max(window_s, usual.window / usual.rate_hz)
    return replace(settings, rate_hz=rate_hz, window=max(round(window_s * rate_hz), LEAST_WINDOW))


FEW, MANY = 60, 120
"""Ticks in a window that are tried; twice as many take four times as long."""


def _by_trial(
    recordings: Sequence[Recording],
    settings: SpectralSettings,
    progress: Callable[[str, float], None],
) -> SpectralSettings:
    """Try windows of the spectral filter from the longest to the usual one, then fewer ticks."""
    usual = build_dataset(recordings, settings)
    usual_s = usual.window / usual.rate_hz
    best: list[float] = []
    before: list[float] = []
    window_s, rate_hz = usual_s, usual.rate_hz
    # Half a lap of a circuit to some bends indoors.
    windows_s = [*(each for each in (96.0, 48.0, 24.0, 12.0, 6.0) if each > usual_s), usual_s]

    def scaled(window_s: float, rate_hz: float) -> SpectralSettings:
        return replace(settings, rate_hz=rate_hz, window=round(window_s * rate_hz))

    for number, each_s in enumerate(windows_s):
        progress(f'trying windows of {each_s:g} s', TRIALS_SHARE * number / len(windows_s))
        each_hz = slower_rate(MANY / each_s, usual.rate_hz)
        shares = errors_in_turn(recordings, scaled(each_s, each_hz))
        if before and not (shares and np.median(shares) < np.median(before)):
            break
        before = shares
        # By a quarter: long windows show other routes and wrong beliefs more surely.
        if not best or 4.0 / 3.0 * np.median(shares) <= np.median(best):
            best, window_s, rate_hz = shares, each_s, each_hz
    slower_hz = slower_rate(FEW / window_s, rate_hz)
    if 1.0 <= slower_hz < rate_hz:
        progress(f'trying windows of {window_s:g} s with fewer ticks', TRIALS_SHARE)
        shares = errors_in_turn(recordings, scaled(window_s, slower_hz))
        # By the mean: a quarter that is lost with many ticks counts for fewer.
        if shares and np.mean(shares) <= 1.05 * np.mean(best):
            best, rate_hz = shares, slower_hz
    # Where most is lost nothing is learned from a comparison.
    return settings if not best or np.median(best) > 0.7 else scaled(window_s, rate_hz)


def slower_rate(wanted_hz: float, present_hz: float) -> float:
    """Return the rate that is wanted if it is clearly slower than the present one, else this."""
    return wanted_hz if 1.5 * wanted_hz < present_hz else present_hz


def part_to_try(recordings: Sequence[Recording], most_s: float) -> list[Recording]:
    """Return whole drives that last so long together, evenly spread, the last one cut."""
    lasting_s = [_lasts_s(each) for each in recordings]
    if not sum(lasting_s) > most_s:
        return list(recordings)
    known = [number for number, each in enumerate(recordings) if each.positions is not None]
    mean_s = float(np.mean([lasting_s[number] for number in known]))
    count = min(math.ceil(most_s / mean_s), len(known))
    chosen, left_s = [], most_s
    for place in np.linspace(0, len(known) - 1, count).round().astype(int).tolist():
        if left_s > 0.0:
            chosen.append(recordings[known[place]].between(None, left_s))
            left_s -= lasting_s[known[place]]
    return chosen


def _lasts_s(recording: Recording) -> float:
    """Return the time that samples cover, without gaps and wild stamps, s."""
    stamps = recording.imu.stamps
    steps = np.diff(stamps[advancing(stamps)])
    return float(np.minimum(steps, round(1e9 * LONGEST_HOLE_S)).sum()) * 1e-9


def errors_in_turn(recordings: Sequence[Recording], settings: SpectralSettings) -> list[float]:
    """Return the mean error on each quarter held out, as a share of one that is lost."""
    present = replace(settings, horizons=(0,))
    try:
        if present.rate_hz:
            # 20 minutes at the usual rate: the shortest window takes a minute.
            recordings = part_to_try(recordings, 24_000 / present.rate_hz)
        dataset = driving_dataset(recordings, present)
    except InputError:
        return []
    # What suits one bandwidth may be chance.
    tried = [usual_choices(replace(present, bandwidth_factor=each)) for each in (1.0, 1.4)]
    shares = []
    for split in hold_out_in_turn(dataset.segments, dataset.window):
        # What is left beside one quarter may be too short to fit.
        with contextlib.suppress(InputError):
            fold = Fold(split, dataset, present)
            shares.append(float(np.mean([fold.score(each) for each in tried])) / fold.lost_m)
    return shares


def paper_settings(settings: PaperSettings, recordings: Sequence[Recording]) -> SpectralSettings:
    """Return settings of method ``spectral``, with windows of 150 ticks for long recordings."""
    if settings.window is not None:
        return settings.spectral()
    # The training reports defects of the recordings.
    with contextlib.suppress(InputError):
        wide = build_dataset(recordings, settings.spectral(window=150))
        if all(hold_out(wide.segments, wide.window)):
            return settings.spectral(window=150)
    with contextlib.suppress(InputError):
        # With a rate given nothing is chosen.
        return settings.spectral(rate_hz=build_dataset(recordings, settings.spectral()).rate_hz)
    return settings.spectral()
