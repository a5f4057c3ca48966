# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Train a model from bags, or from live topics until the service ~/finish is called."""

from launch.actions import DeclareLaunchArgument, Shutdown
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument('model', description='Path of the model file to write.'),
        DeclareLaunchArgument(
            'bags',
            default_value="['']",
            description=(
                "Bags to train from, such as \"['lap1', 'lap2']\"; by default live topics are "
                'recorded.'
            ),
        ),
        DeclareLaunchArgument(
            'imu', default_value='imu', description='Live topic of the IMU (sensor_msgs/Imu).'
        ),
        DeclareLaunchArgument(
            'reference',
            default_value='reference',
            description='Live topic of the positions, of any type that bags may have.',
        ),
        DeclareLaunchArgument(
            'record_seconds',
            default_value='0.0',
            description='Seconds to record live topics; 0 means until ~/finish is called.',
        ),
        DeclareLaunchArgument(
            'params_file',
            default_value=PathJoinSubstitution(
                [FindPackageShare('two_manifold_ros'), 'config', 'trainer_node.yaml']
            ),
            description='Parameters of trainer_node.',
        ),
    ]
    trainer = Node(
        package='two_manifold_ros',
        executable='trainer_node',
        name='trainer_node',
        output='screen',
        parameters=[
            LaunchConfiguration('params_file'),
            {
                'model': ParameterValue(LaunchConfiguration('model'), value_type=str),
                'bags': ParameterValue(LaunchConfiguration('bags'), value_type=list[str]),
                'record_seconds': ParameterValue(
                    LaunchConfiguration('record_seconds'), value_type=float
                ),
            },
        ],
        remappings=[
            ('imu', LaunchConfiguration('imu')),
            ('reference', LaunchConfiguration('reference')),
        ],
        on_exit=Shutdown(reason='the training has ended'),
    )
    return LaunchDescription([*arguments, trainer])
