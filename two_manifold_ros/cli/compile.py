# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Compile every loop that trains and filters, so that later commands and nodes start at once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from two_manifold_ros.cli.options import add_json, print_wrapped
from two_manifold_ros.compilation import STORE
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.names import METHODS
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

HELP = (
    'Compile the loops of every method and keep them, as an installation does: run it once on a '
    'robot, as the user that starts the nodes, and nodes start at once. They are kept in '
    '~/.cache/two_manifold_ros/compiled (or $TWO_MANIFOLD_CACHE/compiled), for these sources, '
    'libraries and this processor.'
)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_json(parser)


def run(args: Namespace) -> int:
    """Train each method on a few simulated laps and filter them; return 1 if nothing is kept."""
    # Where nothing can be kept there is nothing to compile for.
    if STORE.folder is not None:
        if not args.json:
            print('Compiling, which takes some ten seconds the first time', flush=True)
        laps = simulate(SlotCarSettings(rate_hz=20.0), laps=3)
        recording = run_to_recording(laps)
        for method in METHODS:
            settings = TrainingSettings(method=method, max_step_load=0.0)
            filtering = Filter(train_model([recording], settings))
            filtering.warm_up()
            for stamp_ns, sample in zip(laps.stamps_ns.tolist(), laps.imu, strict=True):
                filtering.push(stamp_ns, sample)
    # A disk may be full by now.
    kept = STORE.folder
    if args.json:
        folder = None if kept is None else str(kept)
        print(json.dumps({'folder': folder, 'trouble': STORE.trouble}, indent=2))
    elif kept is None:
        print_wrapped(f'Nothing is kept: {STORE.trouble}.')
    else:
        print_wrapped(f'Compiled code is in {kept}.')
    return 0 if kept is not None else 1
