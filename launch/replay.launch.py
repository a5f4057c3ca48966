# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Play a bag on the real topics and run the filter on it, by default with rviz."""

from launch.actions import DeclareLaunchArgument, ExecuteProcess, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare

from launch import LaunchDescription

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
            description='Also start rviz2 with a layout for what is published.',
            choices=['true', 'false'],
        ),
    ]
    bag = ExecuteProcess(
        cmd=[
            'ros2',
            'bag',
            'play',
            LaunchConfiguration('bag'),
            '--clock',
            '--rate',
            LaunchConfiguration('rate'),
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
    return LaunchDescription([*arguments, onboard, bag])
