# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a tick costs where fifty tracks are known, beside a model of one.

Run `./run bench atlas`, with `--tracks N` for other numbers. Each fifth track is followed from a
cold start on a drive that was not trained on. How often the right one of many tracks is named, and
the right branch of a tram line, is in `./run bench gauntlet kart_tracks both_ways tram_network`.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple, TYPE_CHECKING

import numpy as np
from runner import spread, with_jobs
from tables import table
from worlds.drive import drive
from worlds.network import tracks

from two_manifold_ros.filtering.atlas import AtlasTracker
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.model.model import atlas_of
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model
from two_manifold_ros.typing import Floats, Ints

if TYPE_CHECKING:
    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.recordings.recording import Recording

RATE_HZ = 20.0
"""Of the ticks of all models: beliefs side by side have the same ticks."""

FIRST = 10
"""Windows of a drive that are looked at apart: the search from a cold start."""


class Costs(NamedTuple):
    """Of each tick: milliseconds of the processor, in which window it ends, routes followed."""

    ms: Floats
    windows: Ints
    awake: Ints


def trained(number: int) -> ModelHead:
    """Return a model of one track."""
    recording = drive(tracks(number + 1)[number], laps=4, seed=number).recording
    return train_model([recording], TrainingSettings(rate_hz=RATE_HZ))


def costs_ms(model: ModelHead, recording: Recording) -> Costs:
    """Follow a drive; its ticks cost what the processor takes, whatever else the machine does."""
    live = Filter(model)
    live.warm_up()
    head = next(iter(model.routes.values()))
    window_ns = head.window * head.period_ns
    rows, waiting_ns = [], 0
    for stamp, sample in zip(recording.imu.stamps.tolist(), recording.imu.samples, strict=True):
        began = time.thread_time_ns()
        found = live.push(stamp, sample)
        # Samples that end no tick belong to the next.
        waiting_ns += time.thread_time_ns() - began
        if found:
            window = (stamp - recording.imu.first_stamp) // window_ns
            awake = len(live.ticks.awake) if isinstance(live.ticks, AtlasTracker) else 1
            rows.append((1e-6 * waiting_ns, window, awake))
            waiting_ns = 0
    ms, windows, awake = np.array(rows).T
    return Costs(ms, windows.astype(np.int64), awake.astype(np.int64))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--tracks', type=int, default=50, help='known tracks (%(default)s)')
    args = with_jobs(parser)
    own = [model for _, model in spread(trained, range(args.tracks), args.jobs)]
    atlas = atlas_of({f'{number:02d}': each for number, each in enumerate(own)})
    rows = []
    for number in range(0, len(own), 5):
        later = drive(tracks(len(own))[number], day=1, laps=3, seed=100 + number).recording
        alone, ours = (costs_ms(each, later) for each in (own[number], atlas))
        early = ours.windows < FIRST
        usual = float(np.mean(alone.ms))
        times = [float(np.mean(ours.ms[chosen])) / usual for chosen in (early, ~early)]
        awake = float(np.mean(ours.awake[~early]))
        rows.append([str(number), *(f'{each:.2f}' for each in (usual, *times, awake))])
    print(table('track, own ms, times in the first ten windows, after them, followed', rows))


if __name__ == '__main__':
    main()
