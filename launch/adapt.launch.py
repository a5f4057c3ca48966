# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Run the filter, and beside it the updater that goes on learning and hands better models over."""

from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from launch import LaunchDescription

SHARE = FindPackageShare('two_manifold_ros')


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument('model', description='Path of the model file to start with.'),
        DeclareLaunchArgument(
            'imu', default_value='imu', description='Topic of the IMU driver (sensor_msgs/Imu).'
        ),
        DeclareLaunchArgument(
            'reference',
            default_value='reference',
            description='Topic of the positions, of any type that bags may have.',
        ),
        DeclareLaunchArgument(
            'folder', description='Folder for checkpoints and for the models that are handed over.'
        ),
        DeclareLaunchArgument(
            'namespace',
            default_value='',
            description='Namespace of the nodes and of all relative topics, one for each robot.',
        ),
        DeclareLaunchArgument(
            'log_level', default_value='info', description='Level of the log of the nodes.'
        ),
        DeclareLaunchArgument(
            'respawn',
            default_value='false',
            description='Start filter or updater again two seconds after it has ended.',
            choices=['true', 'false'],
        ),
        # A name of its own: an included file sees all that is set here, and onboard.launch.py has
        # a params_file for filter_node.
        DeclareLaunchArgument(
            'updater_params_file',
            default_value=PathJoinSubstitution([SHARE, 'config', 'updater_node.yaml']),
            description='Parameters of updater_node.',
        ),
        DeclareLaunchArgument(
            'use_sim_time',
            default_value='false',
            description='Take the time from /clock instead of from the computer.',
            choices=['true', 'false'],
        ),
        DeclareLaunchArgument(
            'slot_car',
            default_value='false',
            description='Also drive a simulated slot car, which takes the place of a vehicle.',
            choices=['true', 'false'],
        ),
        DeclareLaunchArgument(
            'rviz',
            default_value='false',
            description='Also start rviz2 with a layout for what is published.',
            choices=['true', 'false'],
        ),
        DeclareLaunchArgument(
            'view',
            default_value='false',
            description='Also serve a page for the browser on this computer.',
            choices=['true', 'false'],
        ),
        DeclareLaunchArgument(
            'view_port', default_value='5006', description='Port of that page; 0 for any.'
        ),
    ]
    slot_car = Node(
        package='two_manifold_ros',
        executable='slot_car_node',
        name='slot_car_node',
        namespace=LaunchConfiguration('namespace'),
        output='screen',
        parameters=[PathJoinSubstitution([SHARE, 'config', 'slot_car_node.yaml'])],
        remappings=[
            ('imu', LaunchConfiguration('imu')),
            ('reference', LaunchConfiguration('reference')),
        ],
        condition=IfCondition(LaunchConfiguration('slot_car')),
    )
    filter_node = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(
            PathJoinSubstitution([SHARE, 'launch', 'onboard.launch.py'])
        ),
        launch_arguments={
            'model': LaunchConfiguration('model'),
            'imu': LaunchConfiguration('imu'),
            'namespace': LaunchConfiguration('namespace'),
            'log_level': LaunchConfiguration('log_level'),
            'respawn': LaunchConfiguration('respawn'),
            'use_sim_time': LaunchConfiguration('use_sim_time'),
            'rviz': LaunchConfiguration('rviz'),
            'view': LaunchConfiguration('view'),
            'view_port': LaunchConfiguration('view_port'),
        }.items(),
    )
    updater = Node(
        package='two_manifold_ros',
        executable='updater_node',
        name='updater_node',
        namespace=LaunchConfiguration('namespace'),
        output='screen',
        ros_arguments=['--log-level', LaunchConfiguration('log_level')],
        respawn=LaunchConfiguration('respawn'),
        # As that of the filter, see onboard.launch.py.
        respawn_delay=2.0,
        parameters=[
            LaunchConfiguration('updater_params_file'),
            {
                'model': ParameterValue(LaunchConfiguration('model'), value_type=str),
                'checkpoint_folder': ParameterValue(LaunchConfiguration('folder'), value_type=str),
                'filter_node': ParameterValue('filter_node', value_type=str),
                'use_sim_time': ParameterValue(
                    LaunchConfiguration('use_sim_time'), value_type=bool
                ),
            },
        ],
        remappings=[
            ('imu', LaunchConfiguration('imu')),
            ('reference', LaunchConfiguration('reference')),
        ],
    )
    return LaunchDescription([*arguments, slot_car, filter_node, updater])
