# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Run filters of several robots on one machine, each in a namespace of its own."""

import re

from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    IncludeLaunchDescription,
    OpaqueFunction,
)
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare

from launch import LaunchContext, LaunchDescription

ONBOARD = PathJoinSubstitution(
    [FindPackageShare('two_manifold_ros'), 'launch', 'onboard.launch.py']
)

CONFIG = PathJoinSubstitution([FindPackageShare('two_manifold_ros'), 'config', 'filter_node.yaml'])

# To each onboard.launch.py as they are.
PASSED = (
    'params_file',
    'managed',
    'publish_tf',
    'odometry_topic',
    'use_sim_time',
    'log_level',
    'respawn',
)


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument(
            'robots', description='Names of the robots, such as "car1 car2": their namespaces.'
        ),
        DeclareLaunchArgument(
            'model',
            description='Path of the trained model file; ROBOT in it stands for each name.',
        ),
        DeclareLaunchArgument(
            'imu',
            default_value='imu',
            description='Topic of each IMU driver, in the namespace of its robot if relative.',
        ),
        DeclareLaunchArgument(
            'params_file', default_value=CONFIG, description='Parameters of each filter_node.'
        ),
        DeclareLaunchArgument(
            'managed',
            default_value='',
            description='Wait for a lifecycle manager. By default that of params_file.',
            choices=['', 'true', 'false'],
        ),
        DeclareLaunchArgument(
            'publish_tf',
            default_value='',
            description='Also publish the transforms to the frames of the vehicles.',
            choices=['', 'true', 'false'],
        ),
        DeclareLaunchArgument(
            'odometry_topic',
            default_value='',
            description='Odometry of each robot, in its namespace if relative, to whose frame '
            'the transform is published. By default that of params_file.',
        ),
        DeclareLaunchArgument(
            'use_sim_time',
            default_value='false',
            description='Take the time from /clock instead of from the computer.',
            choices=['true', 'false'],
        ),
        DeclareLaunchArgument(
            'log_level', default_value='info', description='Level of the log of the nodes.'
        ),
        DeclareLaunchArgument(
            'respawn',
            default_value='false',
            description='Start a filter again two seconds after it has ended.',
            choices=['true', 'false'],
        ),
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=start)])


def start(context: LaunchContext) -> list[GroupAction]:
    """Return what starts the filter of each robot; its frame is named after it."""
    chosen = context.launch_configurations
    names = chosen['robots'].replace(',', ' ').split()
    robots = [name.strip('/') for name in names]
    if not all(robots) or not robots or len(set(robots)) < len(robots):
        msg = f'robots:="{chosen["robots"]}" names no robots, or one twice: such as "car1 car2"'
        raise RuntimeError(msg)
    # Before anything is started: what runs already would be left behind.
    word = '[A-Za-z](_?[A-Za-z0-9])*_?'
    odd = [each for each in robots if not re.fullmatch(f'{word}(/{word})*', each)]
    if odd:
        msg = f'{odd[0]!r} is no namespace: name robots by letters, digits and _, a letter first'
        raise RuntimeError(msg)
    return [
        GroupAction(
            [
                IncludeLaunchDescription(
                    PythonLaunchDescriptionSource(ONBOARD),
                    launch_arguments={
                        'namespace': robot,
                        'model': re.sub(r'\bROBOT\b', robot, chosen['model']),
                        'imu': chosen['imu'],
                        # One tree of transforms for all: REP-105 has one parent for each frame.
                        'child_frame': f'{robot}/base_link',
                        **{name: chosen[name] for name in PASSED},
                    }.items(),
                )
            ]
        )
        for robot in robots
    ]
