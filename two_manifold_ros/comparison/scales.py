# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Time scales that methods are compared at: ticks per second and ticks in a window.

Every method gets the same candidates, `candidates`, and is judged on the same held-out drives,
`hold_recordings_out`. Predictions at any rate are put on common stamps by `on_stamps`.
"""

from __future__ import annotations

from dataclasses import replace
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.comparison.method import Predictions, TrainSplit
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.held_out import hold_out, set_apart
from two_manifold_ros.training.train import FEW, MANY, slower_rate, WINDOWS_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.typing import Bools, Ints


class Scale(NamedTuple):
    """Ticks per second, and ticks in a window."""

    rate_hz: float
    window: int

    @property
    def window_s(self) -> float:
        """Length of a window in seconds."""
        return self.window / self.rate_hz


SLOWEST_HZ = 1.0
"""Fewer ticks per second are too few for predictions in steps of a fraction of a second."""


def candidates(dataset: Dataset, lengths: Sequence[int]) -> tuple[Scale, ...]:
    """
    Return the candidates beside the usual rate and window, with few ticks in a window.

    Windows and ticks are those that ``train --method spectral`` tries, as far as the recordings
    are long enough.

    Parameters
    ----------
    dataset
        The training part at the usual scale.
    lengths
        Ticks of each segment that is followed, at the same scale. As many windows have to fit into
        the longest as into a block that is held out.

    """
    usual_s, found = dataset.window / dataset.rate_hz, []
    for window_s in WINDOWS_S:
        ticks = math.ceil(window_s * dataset.rate_hz)
        possible = all(hold_out(dataset.segments, ticks)) and max(lengths) >= 2.5 * ticks
        if possible and window_s > usual_s:
            found.append(_scale(window_s, FEW, dataset.rate_hz))
    return tuple(found)


def finer(scale: Scale, usual_hz: float) -> Scale:
    """Return the scale with many ticks in a window, or itself if it has as many as can be."""
    return _scale(scale.window_s, MANY, usual_hz) if scale.window < MANY else scale


def _scale(window_s: float, ticks: int, usual_hz: float) -> Scale:
    rate_hz = slower_rate(max(ticks / window_s, SLOWEST_HZ), usual_hz)
    return Scale(rate_hz, round(window_s * rate_hz))


def hold_recordings_out(
    train: TrainSplit, longest_s: float
) -> tuple[list[Recording], list[Recording]]:
    """
    Cut the training recordings into parts to fit and parts to follow, as `hold_out` does.

    Blocks are long enough for the longest window that will be tried. No sample or position of a
    part to follow is in a part to fit. Parts of different recordings share no stamp.
    """
    recordings = set_apart(train.recordings)
    dataset = build_dataset(recordings, train.settings)
    fit, held = hold_out(dataset.segments, math.ceil(longest_s * dataset.rate_hz))
    return (
        [_part(recordings, each, dataset.period_ns) for each in fit],
        [_part(recordings, each, dataset.period_ns) for each in held],
    )


def _part(recordings: Sequence[Recording], segment: Segment, period_ns: int) -> Recording:
    """Return the samples and positions of a segment, from the recording that it is of."""
    begin, end = int(segment.stamps[0]) - period_ns, int(segment.stamps[-1])

    def inside(stamps: Ints) -> Bools:
        return np.asarray((stamps > begin) & (stamps <= end))

    for recording in recordings:
        imu = recording.imu.select(inside(recording.imu.stamps))
        if len(imu.stamps):
            break
    positions = recording.positions
    if positions is not None:
        positions = positions.select(inside(positions.stamps))
    return replace(recording, imu=imu, positions=positions)


def at_scale(train: TrainSplit, scale: Scale) -> TrainSplit:
    """
    Return the training part at another scale, with horizons that `on_stamps` can read.

    Raises
    ------
    InputError
        If the recordings are too short for the window.

    """
    ratio = scale.rate_hz * train.period_s
    # The position asked for may be up to a tick later than the horizon.
    ahead = {math.floor(ratio * each) + more for each in train.horizons for more in (0, 1, 2)}
    settings = replace(
        train.settings,
        rate_hz=scale.rate_hz,
        window=scale.window,
        horizons=tuple(sorted({0} | ahead)),
    )
    return replace(train, settings=settings, dataset=build_dataset(train.recordings, settings))


def on_stamps(
    predicted: Predictions, stamps: Ints, own: TrainSplit, wanted: Ints, train: TrainSplit
) -> Predictions:
    """
    Put predictions that were made at some stamps on others, those of the comparison.

    At each stamp the last prediction made by then counts. The position there and at each horizon
    after it is interpolated linearly between the horizons of that prediction, so that nothing
    later is used. State and validity are those of that prediction.

    Parameters
    ----------
    predicted, stamps : (T,), own
        At which ticks, ns, and the training part of that scale.
    wanted : (W,), train
        Stamps, ns, and the training part whose horizons are wanted.

    Returns
    -------
    Predictions
        (W, H, 2), NaN where the last prediction is more than a tick old.

    """
    last = np.searchsorted(stamps, wanted, side='right') - 1
    age = wanted - stamps[last]
    known = (last >= 0) & (age >= 0) & (age <= own.dataset.period_ns)
    seconds = 1e-9 * age[:, None] + train.period_s * np.array(train.horizons)
    ticks = seconds / own.period_s
    ahead = np.array(own.horizons)
    # A prediction for almost exactly a tick is that of the tick.
    before = np.searchsorted(ahead, ticks + 1e-6, side='right') - 1
    share = np.clip(ticks - ahead[before], 0.0, 1.0)[..., None]
    after = np.minimum(before + 1, len(ahead) - 1)
    rows = last[:, None]
    low, high = predicted.positions[rows, before], predicted.positions[rows, after]
    positions = np.where(share > 1e-6, (1.0 - share) * low + share * high, low)
    positions[~known] = np.nan
    states, valid = predicted.states, predicted.valid
    return Predictions(
        positions,
        None if states is None else np.where(known[:, None], states[last], np.nan),
        None if valid is None else known & valid[last],
    )
