# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Run the filter on the robot, on request with rviz."""

from ament_index_python.packages import get_package_prefix
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.conditions import IfCondition
from launch.logging import get_logger
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from launch import LaunchContext, LaunchDescription

CONFIG = PathJoinSubstitution([FindPackageShare('two_manifold_ros'), 'config'])


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument('model', description='Path of the trained model file.'),
        DeclareLaunchArgument(
            'imu', default_value='imu', description='Topic of the IMU driver (sensor_msgs/Imu).'
        ),
        DeclareLaunchArgument(
            'params_file',
            default_value=PathJoinSubstitution([CONFIG, 'filter_node.yaml']),
            description='Parameters of filter_node.',
        ),
        DeclareLaunchArgument(
            'use_sim_time',
            default_value='false',
            description='Take the time from /clock instead of from the computer.',
            choices=['true', 'false'],
        ),
        DeclareLaunchArgument(
            'rviz',
            default_value='false',
            description='Also start rviz2 with a layout for what is published.',
            choices=['true', 'false'],
        ),
        DeclareLaunchArgument(
            'fixed_frame',
            default_value='map',
            description='Fixed frame of rviz2: that of the positions, which the log names.',
        ),
    ]
    use_sim_time = ParameterValue(LaunchConfiguration('use_sim_time'), value_type=bool)
    filter_node = Node(
        package='two_manifold_ros',
        executable='filter_node',
        name='filter_node',
        output='screen',
        parameters=[
            LaunchConfiguration('params_file'),
            {
                'model': ParameterValue(LaunchConfiguration('model'), value_type=str),
                'use_sim_time': use_sim_time,
            },
        ],
        remappings=[('imu', LaunchConfiguration('imu'))],
    )
    return LaunchDescription([*arguments, filter_node, rviz(use_sim_time)])


def rviz(use_sim_time: ParameterValue) -> Node | OpaqueFunction:
    """
    Return what starts rviz2, or warns that it is missing.

    A view is no reason to end a robot's filter, and an error in the middle of launching leaves
    those nodes alone that have started already.
    """
    wanted = IfCondition(LaunchConfiguration('rviz'))
    try:
        get_package_prefix('rviz2')
    except LookupError:
        return OpaqueFunction(function=warn_of_rviz, condition=wanted)
    return Node(
        package='rviz2',
        executable='rviz2',
        name='rviz2',
        arguments=[
            '-d',
            PathJoinSubstitution([CONFIG, 'two_manifold.rviz']),
            '-f',
            LaunchConfiguration('fixed_frame'),
        ],
        parameters=[{'use_sim_time': use_sim_time}],
        condition=wanted,
    )


def warn_of_rviz(_: LaunchContext) -> None:
    get_logger('onboard.launch.py').warning(
        'rviz:=true shows nothing, because the package rviz2 is not installed; all else runs. '
        'Install ros-$ROS_DISTRO-rviz2, or start rviz2 on another machine.'
    )
