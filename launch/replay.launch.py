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
from launch.substitutions import PathJoinSubstitution
from launch_ros.substitutions import ExecutableInPackage, FindPackageShare

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

SHARE = FindPackageShare('two_manifold_ros')
# Compiling takes half a minute where no compiled code is kept.
STARTS_S = '60'
# Until the publishers of the player are discovered.
DISCOVERED_S = '1'

# To onboard.launch.py as they are.
PASSED = ('model', 'imu', 'namespace', 'params_file', 'rviz', 'view', 'view_port', 'log_level')


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
            'namespace', default_value='', description='Namespace of the filter.'
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
        DeclareLaunchArgument(
            'view',
            default_value='false',
            description='Also serve a page for the browser on this computer.',
            choices=['true', 'false'],
        ),
        DeclareLaunchArgument(
            'view_port', default_value='5006', description='Port of that page; 0 for any.'
        ),
        DeclareLaunchArgument(
            'log_level', default_value='info', description='Level of the log of the filter.'
        ),
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=play)])


def play(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return what plays the bag once the filter is active: what comes before is lost."""
    if not is_installed('ros2bag'):
        # Raised, it makes the launch itself fail, before anything is started.
        msg = 'no bag can be played: install ros-$ROS_DISTRO-rosbag2'
        raise RuntimeError(msg)
    chosen = context.launch_configurations
    stays = chosen['rviz'] == 'true' and is_installed('rviz2')
    name = f'{chosen["namespace"].strip("/")}/filter_node'.lstrip('/')
    command = ExecutableInPackage(executable='two-manifold', package='two_manifold_ros')
    # Here, so that launch lists none of its arguments that replay does not have: the time is
    # that of the bag, and nothing but this configures the filter.
    onboard = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(
            PathJoinSubstitution([SHARE, 'launch', 'onboard.launch.py'])
        ),
        launch_arguments={
            **{name: chosen[name] for name in PASSED},
            'managed': 'false',
            'use_sim_time': 'true',
        }.items(),
    )
    active = ExecuteProcess(
        cmd=[command, 'status', name, '--until', 'active', '--seconds', STARTS_S], output='screen'
    )
    bag = ExecuteProcess(
        cmd=[
            *('ros2', 'bag', 'play', chosen['bag'], '--clock'),
            *('--rate', chosen['rate'], '--delay', DISCOVERED_S),
        ],
        output='screen',
    )

    def begin(event: ProcessExited, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        if context.is_shutdown:
            return []
        if event.returncode != 0:
            msg = 'the filter did not become active, so the bag was not played'
            raise RuntimeError(msg)
        return [bag]

    def end(event: ProcessExited, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        if event.returncode != 0 and not context.is_shutdown:
            msg = 'the bag could not be played'
            raise RuntimeError(msg)
        return [] if stays else [Shutdown(reason='the bag has ended')]

    return [
        RegisterEventHandler(OnProcessExit(target_action=active, on_exit=begin)),
        RegisterEventHandler(OnProcessExit(target_action=bag, on_exit=end)),
        onboard,
        active,
    ]


def is_installed(package: str) -> bool:
    try:
        get_package_prefix(package)
    except LookupError:
        return False
    return True
