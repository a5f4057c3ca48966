# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Write the filter node's topics for a bag into another bag."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from two_manifold_ros.cli.options import (
    add_further_topics,
    add_json,
    add_topics,
    name_channels,
    on_stderr,
    print_table,
    recordings_of,
)
from two_manifold_ros.evaluation.evaluate import replay
from two_manifold_ros.interface.messages import PUBLISHED, Topics
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.progress import Progress
from two_manifold_ros.recordings.bag_writer import BagWriter

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


HELP = (
    'Run the filter over the IMU of a bag and write what the filter node would publish into a '
    'rosbag2 that "ros2 bag play", rviz and Foxglove open.'
)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument('model', metavar='MODEL', help='file written by two-manifold train')
    parser.add_argument('bags', nargs=1, metavar='BAG', help='recording with an IMU topic')
    parser.add_argument('-o', '--output', required=True, metavar='BAG2', help='folder to write')
    add_topics(parser)
    add_further_topics(parser, 'that of the training', 'those of the training')
    add_json(parser)


def run(args: Namespace) -> int:
    """Write the bag and report; return 0."""
    model = load_model(args.model)
    name_channels(args, model)
    (recording,) = recordings_of(args, need_positions=False, find_positions=False)
    latched = tuple(f'/{topic.name}' for topic in PUBLISHED.values() if topic.latched)
    with BagWriter(args.output, latched=latched) as bag, Progress('filtering') as progress:
        written = replay(model, recording.with_commands_held(), bag, progress)
    if Topics.POSITION.name not in written:
        on_stderr(
            f'two-manifold: warning: no position would have been published; /diagnostics in '
            f'{args.output} has state, cause and cure of each second'
        )
    if args.json:
        print(json.dumps({'bag': args.output, 'messages': written}, indent=2))
        return 0
    rows = [[f'/{name}', PUBLISHED[name].msgtype, str(count)] for name, count in written.items()]
    print_table(f'written to {args.output}', ['topic', 'type', 'messages'], rows)
    return 0
