# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What an hour of recording costs a fleet, and for how many vehicles a night is enough.

Run `./run bench fleet`. A bag of two minutes of the simulated slot car is surveyed and followed;
items that do nothing take the time of the scheduler alone. Measured costs are carried on to larger
fleets, see docs/fleets.md.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
import json
from pathlib import Path
import pickle
from tempfile import TemporaryDirectory
import time

from two_manifold_ros.evaluation.drives import score_drive
from two_manifold_ros.fleet import client_of, spread
from two_manifold_ros.inspection.coverage import choose, survey_bag
from two_manifold_ros.recordings.reading import read_recording, ReadingOptions
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run
from two_manifold_ros.training.settings import RouteSettings
from two_manifold_ros.training.train import train_model

BAG_S = 120.0
ITEMS = 10_000


def nothing(number: int) -> int:
    """Return a number."""
    return number


def make_bag(folder: Path) -> str:
    """Write a bag of the simulated slot car, and return its path."""
    settings = SlotCarSettings(rate_hz=100.0)
    write_run(simulate(settings, samples=round(BAG_S * settings.rate_hz)), folder / 'bag')
    return str(folder / 'bag')


def scheduler_s() -> float:
    """Return what the scheduler takes for an item, s."""
    with client_of(workers=2) as client:
        spread(nothing, range(100), client)
        began = time.perf_counter()
        spread(nothing, range(ITEMS), client)
        return (time.perf_counter() - began) / ITEMS


NETWORK_BYTES_S = 1.25e8
"""One gigabit a second, through which all bags come: a disk server, or an uplink to a store."""

NIGHT_H, DAY_BAGS = 8.0, 8
"""Hours in which the bags of a day are to be trained on, and bags of an hour a vehicle and day."""


def report_nights(folder: Path) -> None:
    """Print what an hour of recording costs, and for how many vehicles a night is enough."""
    path = make_bag(folder)
    options, hour = ReadingOptions(), 3600.0 / BAG_S
    model = train_model([read_recording(path, options)], RouteSettings(max_step_load=0.0))
    survey = survey_bag(options, None, path)
    score = score_drive(model, options, path)
    times = []
    for work in (partial(survey_bag, options, None), partial(score_drive, model, options)):
        began = time.process_time()
        work(path)
        times.append((time.process_time() - began) * hour)
    many = [replace(survey, digest=f'{number}') for number in range(1000)]
    began = time.process_time()
    choose(many)
    draw_s = (time.process_time() - began) / len(many)
    size = sum(each.stat().st_size for each in Path(path).iterdir()) * hour
    print(
        f'an hour of recording: {times[0]:.1f} s of a processor to survey it, {times[1]:.0f} s to '
        f'follow it, {size / 1e6:.0f} MB to send; of each bag the command gets a survey of '
        f'{len(json.dumps(survey.to_json())) / 1e3:.1f} kB and a score of '
        f'{len(pickle.dumps(score)) / 1e3:.1f} kB, and draws from it in {1e3 * draw_s:.2f} ms'
    )
    # Each bag is sent twice: to be surveyed, and to be followed.
    busy_s = {
        'a worker': sum(times), 'the network': 2.0 * size / NETWORK_BYTES_S, 'the command': draw_s,
        'the scheduler': 2.0 * scheduler_s(),
    }  # fmt: skip
    print(
        f'vehicles that record {DAY_BAGS} bags of an hour a day, and are trained on in '
        f'{NIGHT_H:g} hours of a network of {NETWORK_BYTES_S * 8e-9:g} Gbit/s, at most by: '
        + ', '.join(
            f'{name} {3600 * NIGHT_H / DAY_BAGS / each:.0f}' for name, each in busy_s.items()
        )
    )


if __name__ == '__main__':
    with TemporaryDirectory() as temporary:
        report_nights(Path(temporary))
