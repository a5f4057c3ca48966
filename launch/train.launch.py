# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Train a model from bags, or from live topics until the service ~/finish is called."""

import json

from launch.actions import (
    DeclareLaunchArgument,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
)
from launch.event_handlers import OnProcessExit
from launch.events.process import ProcessExited
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution, TextSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument('model', description='Path of the model file to write.'),
        DeclareLaunchArgument(
            'bags',
            default_value='',
            description=(
                "Bag to train from, or several such as \"['lap1', 'lap2']\"; by default live "
                'topics are recorded.'
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
        DeclareLaunchArgument(
            'namespace',
            default_value='',
            description='Namespace of the node and of all relative topics.',
        ),
        DeclareLaunchArgument(
            'log_level', default_value='info', description='Level of the log of the node.'
        ),
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=start)])


def start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the node, and what makes the launch end as it does."""
    chosen = context.launch_configurations
    bags = chosen['bags']
    if not bags.startswith('['):
        # As YAML has it, which takes no pairs of surrogates.
        bags = json.dumps([bags], ensure_ascii=False)
    trainer = Node(
        package='two_manifold_ros',
        executable='trainer_node',
        name='trainer_node',
        namespace=chosen['namespace'],
        output='screen',
        parameters=[
            chosen['params_file'],
            {
                'model': ParameterValue(LaunchConfiguration('model'), value_type=str),
                'bags': ParameterValue(TextSubstitution(text=bags), value_type=list[str]),
                'record_seconds': ParameterValue(
                    LaunchConfiguration('record_seconds'), value_type=float
                ),
            },
        ],
        remappings=[('imu', chosen['imu']), ('reference', chosen['reference'])],
        ros_arguments=['--log-level', chosen['log_level']],
    )
    return [RegisterEventHandler(OnProcessExit(target_action=trainer, on_exit=end)), trainer]


def end(event: ProcessExited, context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """End the launch with the training, and let it fail with it."""
    if event.returncode != 0 and not context.is_shutdown:
        msg = 'the training failed'
        raise RuntimeError(msg)
    return [Shutdown(reason='the training has ended')]
