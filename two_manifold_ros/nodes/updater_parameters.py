# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the updater node."""

from two_manifold_ros.adapting.contest import ContestSettings
from two_manifold_ros.adapting.settings import AdaptingSettings
from two_manifold_ros.nodes.parameter import Parameter, Settable
from two_manifold_ros.nodes.watching_parameters import watching_parameters
from two_manifold_ros.outputs.frames import USUAL_TRACK
from two_manifold_ros.recordings.topic_choice import POSITION

_USUAL = AdaptingSettings()

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
        description='What is learned: the map of the route, as train does, or the tpsr of Boots '
        'and Gordon (2011); empty means the map of an IMU, and tpsr of images.',
        choices=('', 'map', 'tpsr'),
    ),
    Parameter(
        name='model',
        default='',
        description='Path of a model file to begin with: a map goes on from it, a tpsr takes '
        'scales and frames of the IMU from it; empty means to begin with nothing.',
    ),
    Parameter(
        name='position_lag',
        default='',
        description="Seconds in quotes, such as '0.2', by which the stamps of positions are late, "
        'or auto for as much as gyroscope and accelerometer tell; empty leaves them. Of a map.',
    ),
    Parameter(
        name='rate_hz',
        default=_USUAL.rate_hz,
        description='Ticks per second of a tpsr, as all that follows up to learning_share but the '
        'horizons; those of a map are chosen from the stream.',
        units='Hz',
        low=0.1,
        high=1000.0,
    ),
    Parameter(
        name='window_s',
        default=_USUAL.window_s,
        description='Length of a window.',
        units='s',
        low=0.01,
        high=600.0,
    ),
    Parameter(
        name='horizons',
        default=list(_USUAL.horizons),
        description='How far ahead to predict, increasing from 0.',
        units='ticks',
    ),
    Parameter(
        name='features',
        default=_USUAL.features,
        description='Random features of a window.',
        low=10,
        high=100_000,
    ),
    Parameter(
        name='observation_features',
        default=_USUAL.observation_features,
        description='Random features of an observation.',
        low=2,
        high=10_000,
    ),
    Parameter(
        name='states',
        default=_USUAL.states,
        description='Dimension of the state.',
        low=2,
        high=1000,
    ),
    Parameter(
        name='rank',
        default=_USUAL.rank,
        description='Directions that are kept, at least the states.',
        low=2,
        high=1000,
    ),
    Parameter(
        name='ridge',
        default=_USUAL.ridge,
        description='Ridge on the covariance of the observation features, per tick.',
        low=1e-9,
        high=1e3,
    ),
    Parameter(
        name='memory_s',
        default=_USUAL.memory_s,
        description='Driving after which an old tick counts only 1/e for the dynamics.',
        units='s',
        low=1.0,
        high=1e7,
    ),
    Parameter(
        name='reference_memory_s',
        default=_USUAL.reference_memory_s,
        description='The same for the read-out of positions.',
        units='s',
        low=1.0,
        high=1e7,
    ),
    Parameter(
        name='fold_every',
        default=_USUAL.fold_every,
        description='How many ticks share one update of the bases.',
        units='ticks',
        low=1,
        high=1000,
    ),
    Parameter(
        name='quarantine_s',
        default=_USUAL.quarantine_s,
        description='How long something unfamiliar has to last before it is learned.',
        units='s',
        low=0.1,
        high=3600.0,
    ),
    Parameter(
        name='warm_up_s',
        default=_USUAL.warm_up_s,
        description='Driving from which scales and bandwidths are taken.',
        units='s',
        low=0.1,
        high=3600.0,
    ),
    Parameter(
        name='seed',
        default=_USUAL.seed,
        description='Seed of the random features.',
        low=0,
        high=2**31 - 1,
    ),
    Parameter(
        name='learning_share',
        default=0.25,
        description='Share of a core that learning may take; what goes beyond is dropped evenly.',
        low=0.01,
        high=1.0,
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
