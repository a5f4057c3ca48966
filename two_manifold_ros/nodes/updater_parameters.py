# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the updater node."""

from two_manifold_ros.adapting.contest_settings import ContestSettings
from two_manifold_ros.nodes.parameter import Parameter, Settable
from two_manifold_ros.nodes.watching_parameters import watching_parameters
from two_manifold_ros.outputs.frames import USUAL_TRACK
from two_manifold_ros.recordings.topic_choice import POSITION
from two_manifold_ros.training.settings import TrainingSettings

_USUAL = TrainingSettings()

_INPUT = (
    Parameter(
        name='input',
        default='imu',
        description='What is learned from: the topic imu, or the pictures on the topic image.',
        choices=('imu', 'image'),
    ),
    Parameter(
        name='image_width',
        default=16,
        description='Columns of the grid that images are averaged over.',
        low=1,
        high=640,
    ),
    Parameter(
        name='image_height',
        default=12,
        description='Rows of that grid.',
        low=1,
        high=480,
    ),
    Parameter(
        name='reference_type',
        default='',
        description='Type of the topic reference; empty means the type it is published with.',
        choices=('', *POSITION.msgtypes),
    ),
    Parameter(
        name='use_receive_time',
        default=False,
        description='Stamp messages on arrival, for drivers that leave their stamps zero.',
    ),
)

_LEARNING = (
    Parameter(
        name='learner',
        default='',
        description='What is learned: the map of the route or a tpsr, as train does with --method '
        'route and --method tpsr; empty means the map of an IMU, and tpsr of images.',
        choices=('', 'map', 'tpsr'),
    ),
    Parameter(
        name='model',
        default='',
        description='Path of a model file that runs until what is learned here errs less; empty '
        'means to begin with nothing.',
    ),
    Parameter(
        name='position_lag',
        default='',
        description="Seconds in quotes, such as '0.2', by which the stamps of positions are late, "
        'or auto for as much as gyroscope and accelerometer tell; empty leaves them.',
    ),
    Parameter(
        name='horizons',
        default=list(_USUAL.horizons),
        description='How far ahead to predict, increasing from 0.',
        units='ticks',
    ),
)

_KEEPING = (
    Parameter(
        name='checkpoint_folder',
        default='',
        description='Folder of the checkpoints; empty means that nothing outlives the process.',
    ),
    Parameter(
        name='checkpoint_name',
        default='updater',
        description='Beginning of their file names: letters, digits, _ and -.',
    ),
    Parameter(
        name='checkpoint_s',
        default=60.0,
        description='Time between two checkpoints.',
        units='s',
        low=1.0,
        high=3600.0,
    ),
    Parameter(
        name='checkpoints_kept',
        default=3,
        description='How many of them are kept.',
        low=1,
        high=100,
    ),
)

_HANDING_OVER = (
    Parameter(
        name='filter_node',
        default='',
        description='Name of the filter node that is given better models; empty means none.',
    ),
    Parameter(
        name='hand_over_margin',
        default=ContestSettings().margin,
        description='A model is better if it errs less than this share of the one in use.',
        low=0.1,
        high=1.0,
    ),
    Parameter(
        name='hand_over_folder',
        default='',
        description='Folder of these models; empty means that of the checkpoints.',
    ),
)

_FRAMES = (
    Parameter(
        name='track_frame',
        default=USUAL_TRACK,
        description='Frame of the published positions; empty means that of the given model, or '
        'map.',
    ),
    Parameter(
        name='child_frame',
        default='',
        description='Child frame of odometry and of the transform; empty means that of the given '
        'model, or base_link.',
    ),
    Parameter(
        name='publish_tf',
        default=False,
        description='Also publish the transform from track frame to child frame (needs tf2_msgs).',
    ),
)

UPDATER = (
    *_INPUT,
    *watching_parameters(Settable.NEVER),
    *_LEARNING,
    *_KEEPING,
    *_HANDING_OVER,
    *_FRAMES,
)
