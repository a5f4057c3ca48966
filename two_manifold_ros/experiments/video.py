# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The experiment ``video``: a map of a room from nothing but the film of a camera in it.

Boots & Gordon (2011), Fig. 3: 11,000 frames of a camera that circles a table, now one way, now
the other. Which way, and where, is told only to the linear read-out by which the states are
judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
import resource
import sys
import time
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.experiments.claim import at_least, at_most
from two_manifold_ros.experiments.reading_ahead import reading_ahead
from two_manifold_ros.experiments.video_figure import draw
from two_manifold_ros.experiments.video_found import Diary, Found
from two_manifold_ros.experiments.video_learner import VideoLearner
from two_manifold_ros.experiments.video_scores import gap, read
from two_manifold_ros.experiments.video_windows import FrameWindows, WindowSizes
from two_manifold_ros.simulation.room_video import room_video

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.experiments.claim import Claim
    from two_manifold_ros.experiments.experiment import Progress
    from two_manifold_ros.typing import Floats

SEED = 2
"""Of the room and the walk; settings were chosen on 0 and 1."""

MAPS = (0.25, 0.875, 1.5)
"""Windows after whose length in steps the map is looked at: 100, 350 and 600 steps."""

OPEN, CLOSED = 0.3, 0.2
"""Gaps in the map, see `gap`, above which it is open and below which it is closed."""

LIVE = 0.1
"""By how much less a state may tell that had to do with what was known at its time."""

PAPER, MAP = 'Fig. 3B, by eye', 'Fig. 3C, by eye'

_FEATURES = 0  # seed of the random features

_AHEAD = 8  # frames that are rendered and written in features while others are learned

_TOLD_EVERY = 100  # frames


@dataclass(frozen=True)
class Scale:
    """
    How large the experiment is, and how strictly it is judged.

    Parameters
    ----------
    frames, width, height
        Of the film; sides are multiples of 8 pixels.
    states
        Of the TPSR.
    ridge
        On the covariance of single frames. The closer frames follow each other, the more of what
        each tells the last one told already, and the larger it should be.
    windows
        Sizes of the windows, which are about a circuit long.
    r2, right
        Least share of the variance of the position, and of the directions, that is told.
    late
        Steps, as a share of a window, by which the map may close later than the camera returns.

    """

    frames: int
    width: int
    height: int
    states: int
    ridge: float
    windows: WindowSizes
    r2: float
    right: float
    late: float


FULL = Scale(11_000, 160, 120, 50, 1.0, WindowSizes(400, 100_000, 400), 0.9, 0.9, 0.1)
QUICK = Scale(1_200, 40, 32, 20, 0.1, WindowSizes(60, 2_000, 100), 0.9, 0.9, 0.3)


def run(folder: Path, progress: Progress, *, quick: bool) -> list[Claim]:
    """Run the experiment, see `two_manifold_ros.experiments.experiment.Run`."""
    scale = QUICK if quick else FULL
    begun = time.process_time()
    found = _watch(scale, progress)
    seconds = (time.process_time() - begun) / scale.frames * 1000.0
    draw(found, folder / 'video.png')
    claims = _claims(found, scale)
    if not quick:
        claims += [
            at_most('seconds of CPU per 1,000 frames', '', seconds, 60.0),
            at_most('memory at its peak, GB', '', _peak_gigabytes(), 2.0),
        ]
    return claims


def _watch(scale: Scale, progress: Progress) -> Found:
    window = scale.windows.window
    learner = VideoLearner(scale.windows, scale.states, scale.ridge)
    diary = Diary(window)
    maps: dict[int, Floats] = {}
    gaps: list[float] = []
    film = room_video(SEED, scale.width, scale.height, window)
    windows = FrameWindows(scale.windows, _FEATURES)
    seen = ((frame, windows.push(frame.picture)) for frame in islice(film, scale.frames))
    for index, (frame, sample) in enumerate(reading_ahead(seen, _AHEAD)):
        if index % _TOLD_EVERY == 0:
            progress(f'frame {index:,} of {scale.frames:,}', index / scale.frames)
        diary.note(frame)
        if sample is None:
            continue
        learner.learn(sample)
        views = learner.views.rows
        for steps in range(len(gaps) + 1, min(len(views), 2 * window) + 1):
            gaps.append(gap(views[:steps], window // 2))
            if steps in [round(share * window) for share in MAPS]:
                maps[steps] = views[:steps]
    states = learner.follow()
    truth = (np.array(diary.angles[-len(states) :]), np.array(diary.directions[-len(states) :]))
    live = read(learner.beliefs.rows, *truth)
    return Found(diary, maps, np.array(gaps), states, read(states, *truth), live)


def _claims(found: Found, scale: Scale) -> list[Claim]:
    steps = [*found.maps]
    closed = int((found.gaps < CLOSED).argmax()) + 1 if (found.gaps < CLOSED).any() else np.inf
    window = scale.windows.window
    last, live = found.reading, found.live
    return [
        at_least('position from the state, R2', PAPER, last.r2, scale.r2),
        at_least('share of directions right', PAPER, last.right, scale.right),
        at_least('position live, R2', PAPER, live.r2, scale.r2 - LIVE),
        at_least('share of directions right live', PAPER, live.right, scale.right - LIVE),
        at_least(f'gap in the map after {steps[1]} steps', MAP, found.gaps[steps[1] - 1], OPEN),
        at_most(f'gap in the map after {steps[2]} steps', MAP, found.gaps[steps[2] - 1], CLOSED),
        at_most(
            f'steps between return ({found.returned}) and closing',
            MAP,
            abs(closed - found.returned),
            scale.late * window,
        ),
    ]


def _peak_gigabytes() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e9 if sys.platform == 'darwin' else 1e6)  # bytes there, kilobytes elsewhere
