# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Play a bag on the real topics and run the filter on it, by default with rviz."""

from ament_index_python.packages import get_package_prefix
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
)
from launch.event_handlers import OnProcessExit
from launch.events.process import ProcessExited
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare

from launch import LaunchContext, LaunchDescription

SHARE = FindPackageShare('two_manifold_ros')


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument('bag', description='The rosbag2 to play.'),
        DeclareLaunchArgument('model', description='Path of the trained model file.'),
        DeclareLaunchArgument(
            'imu', default_value='imu', description='Topic of the IMU in the bag.'
        ),
        DeclareLaunchArgument(
            'rate', default_value='1.0', description='How many times faster than recorded to play.'
        ),
        DeclareLaunchArgument(
            'params_file',
            default_value=PathJoinSubstitution([SHARE, 'config', 'filter_node.yaml']),
            description='Parameters of filter_node.',
        ),
        DeclareLaunchArgument(
            'rviz',
            default_value='true',
            description='Also start rviz2, and stay after the end of the bag.',
            choices=['true', 'false'],
        ),
    ]
    # What is played before the node takes samples is lost, and starting takes it some seconds.
    active = ExecuteProcess(
        cmd=[
            *('ros2', 'run', 'two_manifold_ros', 'two-manifold', 'status'),
            *('--until', 'active', '--seconds', '60'),
        ],
        output='log',
    )
    bag = ExecuteProcess(
        cmd=[
            *('ros2', 'bag', 'play', LaunchConfiguration('bag')),
            *('--clock', '--rate', LaunchConfiguration('rate')),
        ],
        output='screen',
    )
    onboard = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(
            PathJoinSubstitution([SHARE, 'launch', 'onboard.launch.py'])
        ),
        launch_arguments={
            'model': LaunchConfiguration('model'),
            'imu': LaunchConfiguration('imu'),
            'params_file': LaunchConfiguration('params_file'),
            'use_sim_time': 'true',
            'rviz': LaunchConfiguration('rviz'),
        }.items(),
    )

    def play(event: ProcessExited, context: LaunchContext) -> list:
        if context.is_shutdown:
            return []
        if event.returncode != 0:
            # Raised, it makes the launch itself fail.
            msg = 'the filter did not become active, so the bag was not played'
            raise RuntimeError(msg)
        return [bag]

    def end(event: ProcessExited, context: LaunchContext) -> list:
        if event.returncode != 0 and not context.is_shutdown:
            msg = 'the bag could not be played'
            raise RuntimeError(msg)
        shown = context.launch_configurations['rviz'] == 'true'
        return [] if shown else [Shutdown(reason='the bag has ended')]

    return LaunchDescription(
        [
            *arguments,
            OpaqueFunction(function=check_player),
            RegisterEventHandler(OnProcessExit(target_action=active, on_exit=play)),
            RegisterEventHandler(OnProcessExit(target_action=bag, on_exit=end)),
            onboard,
            active,
        ]
    )


def check_player(_: LaunchContext) -> None:
    """Fail before anything is started where no bag can be played."""
    try:
        get_package_prefix('ros2bag')
    except LookupError as error:
        msg = 'no bag can be played: install ros-$ROS_DISTRO-rosbag2'
        raise RuntimeError(msg) from error
