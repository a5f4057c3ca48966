# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Run the filter on the robot, on request with rviz or a page for the browser."""

from importlib.util import find_spec

from ament_index_python.packages import get_package_prefix
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction
from launch.logging import get_logger
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import ExecutableInPackage, FindPackageShare

from launch import Action, LaunchContext, LaunchDescription

CONFIG = PathJoinSubstitution([FindPackageShare('two_manifold_ros'), 'config'])
SWITCH = ['true', 'false']
FROM_FILE = ' By default that of params_file.'

# Parameters that go before those of the file, where they are given.
PARAMETERS = {
    'model': str,
    'managed': bool,
    'track_frame': str,
    'child_frame': str,
    'publish_tf': bool,
    'odometry_topic': str,
    'fix_topic': str,
    'use_sim_time': bool,
}


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument('model', description='Path of the trained model file.'),
        DeclareLaunchArgument(
            'imu', default_value='imu', description='Topic of the IMU driver (sensor_msgs/Imu).'
        ),
        DeclareLaunchArgument(
            'namespace',
            default_value='',
            description='Namespace of the nodes and of all relative topics, one for each robot.',
        ),
        DeclareLaunchArgument(
            'params_file',
            default_value=PathJoinSubstitution([CONFIG, 'filter_node.yaml']),
            description='Parameters of filter_node.',
        ),
        DeclareLaunchArgument(
            'managed',
            default_value='',
            description='Wait for a lifecycle manager.' + FROM_FILE,
            choices=['', *SWITCH],
        ),
        DeclareLaunchArgument(
            'track_frame', default_value='', description='Frame of the positions.' + FROM_FILE
        ),
        DeclareLaunchArgument(
            'child_frame', default_value='', description='Frame of the vehicle.' + FROM_FILE
        ),
        DeclareLaunchArgument(
            'publish_tf',
            default_value='',
            description='Also publish the transform to the frame of the vehicle.' + FROM_FILE,
            choices=['', *SWITCH],
        ),
        DeclareLaunchArgument(
            'odometry_topic',
            default_value='',
            description='Odometry to whose frame the transform is published.' + FROM_FILE,
        ),
        DeclareLaunchArgument(
            'fix_topic',
            default_value='',
            description='Positions that correct the filter, such as of a receiver.' + FROM_FILE,
        ),
        DeclareLaunchArgument(
            'use_sim_time',
            default_value='false',
            description='Take the time from /clock instead of from the computer.',
            choices=SWITCH,
        ),
        DeclareLaunchArgument(
            'log_level', default_value='info', description='Level of the log of the nodes.'
        ),
        DeclareLaunchArgument(
            'respawn',
            default_value='false',
            description='Start the filter again two seconds after it has ended.',
            choices=SWITCH,
        ),
        DeclareLaunchArgument(
            'rviz',
            default_value='false',
            description='Also start rviz2 with a layout for what is published.',
            choices=SWITCH,
        ),
        DeclareLaunchArgument(
            'fixed_frame',
            default_value='map',
            description='Fixed frame of rviz2: that of the positions, which the log names.',
        ),
        DeclareLaunchArgument(
            'view',
            default_value='false',
            description='Also serve a page for the browser on this computer, see docs/usage.md.',
            choices=SWITCH,
        ),
        DeclareLaunchArgument(
            'view_port', default_value='5006', description='Port of that page; 0 for any.'
        ),
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=start)])


def start(context: LaunchContext) -> list[Action]:
    """Return the nodes, by the arguments that are in force now."""
    chosen = context.launch_configurations
    given = {
        name: ParameterValue(LaunchConfiguration(name), value_type=kind)
        for name, kind in PARAMETERS.items()
        if chosen[name]
    }
    use_sim_time = {'use_sim_time': given['use_sim_time']}
    filter_node = Node(
        package='two_manifold_ros',
        executable='filter_node',
        name='filter_node',
        namespace=chosen['namespace'],
        output='screen',
        parameters=[chosen['params_file'], given],
        remappings=[('imu', chosen['imu'])],
        ros_arguments=['--log-level', chosen['log_level']],
        respawn=chosen['respawn'] == 'true',
        # One that fails at once would otherwise be started again many times a second.
        respawn_delay=2.0,
    )
    return [filter_node, *start_view(chosen), *start_rviz(chosen, use_sim_time)]


def start_view(chosen: dict[str, str]) -> list[ExecuteProcess]:
    """Return what serves the page of this filter; a view is no reason to end a robot's filter."""
    command = ExecutableInPackage(executable='two-manifold', package='two_manifold_ros')
    node = f'{chosen["namespace"].strip("/")}/filter_node'.lstrip('/')
    words = ['view', '--live', node, '--no-browser', '--port', chosen['view_port']]
    if chosen['view'] != 'true':
        return []
    if find_spec('bokeh') is None:
        get_logger('onboard.launch.py').warning(
            'view:=true shows nothing, because the Python package bokeh is not installed; all '
            'else runs. Install it with pip install bokeh, or run "two-manifold view --live" on '
            'another machine.'
        )
        return []
    return [ExecuteProcess(cmd=[command, *words], output='screen')]


def start_rviz(chosen: dict[str, str], use_sim_time: dict[str, ParameterValue]) -> list[Node]:
    """Return rviz, or nothing where it is not wanted or not there."""
    if chosen['rviz'] != 'true':
        return []
    try:
        get_package_prefix('rviz2')
    except LookupError:
        # A view is no reason to end a robot's filter, and an error in the middle of launching
        # leaves those nodes alone that have started already.
        get_logger('onboard.launch.py').warning(
            'rviz:=true shows nothing, because the package rviz2 is not installed; all else '
            'runs. Install ros-$ROS_DISTRO-rviz2, or start rviz2 on another machine.'
        )
        return []
    # It names topics relatively, so that rviz shows those of its namespace.
    layout = PathJoinSubstitution([CONFIG, 'two_manifold.rviz'])
    rviz = Node(
        package='rviz2',
        executable='rviz2',
        name='rviz2',
        namespace=chosen['namespace'],
        arguments=['-d', layout, '-f', chosen['fixed_frame']],
        parameters=[use_sim_time],
    )
    return [rviz]
