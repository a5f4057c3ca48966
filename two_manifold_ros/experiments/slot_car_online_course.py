# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What `slot-car-online` learns from and is tested on: one stretch of an IMU, cut in two."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.experiments.slot_car_online_protocol import Protocol
from two_manifold_ros.ticks.channels import fit_channels
from two_manifold_ros.ticks.segments import cut_segments, median_interval_ns
from two_manifold_ros.ticks.usable import largest_believable

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats

LEAST_TICKS = 400
"""Below this a test part is shorter than what is filtered and foretold in it."""

FASTEST_HZ = 30.0
USUAL_HZ = 20.0
"""Ticks per second for an IMU that is faster than that; a slower one has a tick per sample."""

LEAST_GAP_NS = 200_000_000

PAPER_WINDOW_S = 15.0
"""150 measurements at 10 Hz."""

WINDOW_SHARE = 0.1
"""Of the training part, at most, in one window: else there are too few to learn from."""


@dataclass(frozen=True)
class Course:
    """
    One stretch of ticks without a gap: first the training part, then the test part.

    Parameters
    ----------
    name
        For the picture and the claims.
    training : (N, d), test : (M, d)
        Live channels, standardised by the training part.
    rate_hz
        Ticks per second.
    window
        Ticks in a test and in a history.

    """

    name: str
    training: Floats
    test: Floats
    rate_hz: float
    window: int

    @property
    def protocol(self) -> Protocol:
        """How the test part is scored."""
        return Protocol.fitting(len(self.test), self.window)

    def held_out(self, share: float) -> Course:
        """Return the training part as a course of its own, to choose on."""
        fit = len(self.training) - round(share * len(self.training))
        return Course(
            self.name, self.training[:fit], self.training[fit:], self.rate_hz, self.window
        )


def make_course(recording: Recording, training_share: float) -> Course:
    """
    Take the longest stretch without a gap of a recording.

    Windows last 15 s, as in the paper, or a tenth of the training part where that is less.

    Parameters
    ----------
    recording
        Of which the IMU alone is looked at.
    training_share
        Share of the stretch that is learned from.

    Raises
    ------
    InputError
        If the stretch is too short, or nothing varies in it.

    """
    interval = median_interval_ns(recording.imu.stamps)
    period = interval if interval * FASTEST_HZ >= 1e9 else round(1e9 / USUAL_HZ)
    largest = largest_believable([recording.imu.samples])
    gap = max(LEAST_GAP_NS, 3 * interval, 2 * period)
    segments, _ = cut_segments(recording, period, gap, largest) if period else ([], None)
    longest = max(segments, key=len, default=None)
    if longest is None or len(longest) < LEAST_TICKS:
        found = len(longest) if longest is not None else 0
        msg = (
            f'{recording.name}: the longest stretch without a gap has {found} ticks, but '
            f'{LEAST_TICKS} are needed; give a longer recording'
        )
        raise InputError(msg)
    split = round(training_share * len(longest))
    channels = fit_channels([longest.part(0, split)], largest)
    observations = channels.standardise(longest.values)
    rate_hz = 1e9 / period
    window = min(round(PAPER_WINDOW_S * rate_hz), int(WINDOW_SHARE * split))
    name = Path(recording.name).name
    return Course(name, observations[:split], observations[split:], rate_hz, window)
