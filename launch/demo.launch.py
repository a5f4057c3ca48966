# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Try everything without hardware: a simulated slot car, a training on it, then the filter."""

from launch.actions import (
    DeclareLaunchArgument,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit
from launch.events.process import ProcessExited
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from launch import LaunchContext, LaunchDescription

SHARE = FindPackageShare('two_manifold_ros')


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument(
            'model',
            default_value='slot_car_model.npz',
            description='Path of the model file; it is written first unless train is false.',
        ),
        DeclareLaunchArgument(
            'train',
            default_value='true',
            description='Train on the simulated car before the filter is started.',
            choices=['true', 'false'],
        ),
        DeclareLaunchArgument(
            'record_seconds',
            default_value='60.0',
            description='Seconds to record for the training; a lap takes about nine.',
        ),
        DeclareLaunchArgument(
            'namespace', default_value='', description='Namespace of all nodes and topics.'
        ),
        DeclareLaunchArgument(
            'log_level', default_value='info', description='Level of the log of the nodes.'
        ),
        DeclareLaunchArgument(
            'params_file',
            default_value=PathJoinSubstitution([SHARE, 'config', 'filter_node.yaml']),
            description='Parameters of filter_node.',
        ),
        DeclareLaunchArgument('seed', default_value='0', description='Seed of the simulated car.'),
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
    return LaunchDescription([*arguments, OpaqueFunction(function=start)])


def start(context: LaunchContext) -> list:
    """Return what is started, by the arguments that are in force now, not when training ends."""
    chosen = context.launch_configurations
    common = {
        'package': 'two_manifold_ros',
        'namespace': chosen['namespace'],
        'output': 'screen',
        'ros_arguments': ['--log-level', chosen['log_level']],
    }
    slot_car = Node(
        executable='slot_car_node',
        name='slot_car_node',
        parameters=[
            PathJoinSubstitution([SHARE, 'config', 'slot_car_node.yaml']),
            {'seed': int(chosen['seed'])},
        ],
        **common,
    )
    onboard = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(
            PathJoinSubstitution([SHARE, 'launch', 'onboard.launch.py'])
        ),
        launch_arguments={
            name: chosen[name]
            for name in (
                'model',
                'params_file',
                'rviz',
                'view',
                'view_port',
                'namespace',
                'log_level',
            )
        }.items(),
    )
    if chosen['train'] != 'true':
        return [slot_car, onboard]
    trainer = Node(
        executable='trainer_node',
        name='trainer_node',
        parameters=[
            PathJoinSubstitution([SHARE, 'config', 'trainer_node.yaml']),
            {
                'model': ParameterValue(chosen['model'], value_type=str),
                'record_seconds': float(chosen['record_seconds']),
            },
        ],
        **common,
    )

    def filter_of_the_model(event: ProcessExited, context: LaunchContext) -> list:
        if event.returncode != 0 and not context.is_shutdown:
            # Raised, it makes the launch itself fail.
            msg = 'the training failed'
            raise RuntimeError(msg)
        return [] if event.returncode != 0 else [onboard]

    after_training = RegisterEventHandler(
        OnProcessExit(target_action=trainer, on_exit=filter_of_the_model)
    )
    return [slot_car, after_training, trainer]
