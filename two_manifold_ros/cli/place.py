# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tell a running filter where its vehicle is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.assessment import InputLimits
from two_manifold_ros.interface.messages import header, planar_covariance, pose_fields, Topics
from two_manifold_ros.progress import on_stderr

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

HELP = (
    'Tell a running filter node where its vehicle is now, as the tool 2D Pose Estimate of rviz '
    'does: one message on its topic initialpose. The status is 1 if no node listens. Needs ROS 2.'
)
_HEADING_DEG = 15.0
"""Standard deviation of a heading, as in the message of rviz."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command."""
    for name in 'xy':
        parser.add_argument(
            name, type=float, metavar=name.upper(), help='metres in the frame of the positions'
        )
    parser.add_argument(
        '--heading',
        type=float,
        metavar='DEG',
        help='where its front points, counter-clockwise from the x axis (default: not known)',
    )
    parser.add_argument(
        '--within',
        type=float,
        default=0.5,
        metavar='M',
        help='standard deviation of the position in metres (default: %(default)s, as of rviz)',
    )
    parser.add_argument(
        '--topic',
        default=Topics.INITIAL_POSE.name,
        metavar='T',
        help='topic of the node, such as car1/initialpose in a namespace (default: %(default)s)',
    )


def run(args: Namespace) -> int:
    """Publish the position when a node listens; return 1 if none does."""
    numbers = args.x, args.y, args.heading or 0.0, args.within
    if not all(map(math.isfinite, numbers)) or args.within < 0.0:
        msg = 'X, Y and --heading have to be finite numbers, and --within one of 0 or more'
        raise InputError(msg)
    try:
        from two_manifold_ros.nodes.watching import tell  # noqa: PLC0415 - only this needs ROS
    except ImportError as error:
        msg = (
            f'this command talks to a node and needs ROS 2 ({error}): source its setup file first'
        )
        raise InputError(msg) from error
    known = {} if args.heading is None else {'yaw_variance': math.radians(_HEADING_DEG) ** 2}
    pose = {
        'pose': pose_fields([args.x, args.y], math.radians(args.heading or 0.0)),
        'covariance': planar_covariance(args.within**2 * np.eye(2), **known),
    }
    # Without a stamp and a frame it is of now, and on the map of the filter.
    fields = {'header': header(0, ''), 'pose': pose}
    if tell(args.topic, Topics.INITIAL_POSE.msgtype, fields, InputLimits.discovery_s):
        print(f'{args.topic}: the filter was told {args.x:g}, {args.y:g}; see two-manifold status')
        return 0
    on_stderr(
        f'two-manifold: note: no node listens on {args.topic}: check that a filter_node with a '
        'map in metres runs, and that both terminals have the same ROS_DOMAIN_ID; for one in a '
        'namespace give --topic'
    )
    return 1
