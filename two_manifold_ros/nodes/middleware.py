# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Start the middleware on whatever machine this is."""

from __future__ import annotations

import sys

import rclpy
from rclpy.logging import get_logger
from rclpy.signals import SignalHandlerOptions

from two_manifold_ros.errors import InputError
from two_manifold_ros.nodes.log_folder import log_trouble
from two_manifold_ros.nodes.network import network_trouble


def begin(args: list[str] | None) -> None:
    """
    Start the middleware, without a log file where there is no place for one.

    What is wrong with the machine is logged as warnings. Signals are left to the caller.

    Parameters
    ----------
    args
        Command line, by default the process's own.

    Raises
    ------
    InputError
        If the command line or a file of parameters that it names is wrong.

    """
    given = list(sys.argv if args is None else args)
    trouble = log_trouble()
    if trouble:
        given += ['--ros-args', '--disable-external-lib-logs']
    try:
        rclpy.init(args=given, signal_handler_options=SignalHandlerOptions.NO)
    # Wrong arguments and files of parameters; rclpy has no common class for them but this.
    except RuntimeError as error:
        msg = f'ROS 2 cannot be started: {error}'
        raise InputError(msg) from error
    for each in filter(None, (trouble, network_trouble())):
        get_logger('two_manifold_ros').warning(each)
