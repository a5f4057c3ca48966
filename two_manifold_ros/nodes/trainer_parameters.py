# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the trainer node."""

from two_manifold_ros.kernels.selection import KERNELS
from two_manifold_ros.nodes.parameter import Parameter, Settable
from two_manifold_ros.readout.reading import READOUTS
from two_manifold_ros.recordings.topic_choice import POSITION
from two_manifold_ros.training.settings import METHODS, TrainingSettings

_USUAL = TrainingSettings()

TRAINER = (
    Parameter(
        name='model',
        default='',
        description='Path of the model file to write; a file that is there is replaced.',
        settable=Settable.BEFORE_TRAINING,
    ),
    Parameter(
        name='bags',
        default=[''],
        description='Bags to train from; none means to record from live topics.',
    ),
    Parameter(
        name='imu_topic',
        default='',
        description='IMU topic in the bags; empty means the only one of that type.',
    ),
    Parameter(
        name='position_topic',
        default='',
        description='Position topic in the bags; empty means the only one of a fitting type.',
    ),
    Parameter(
        name='reference_type',
        default='',
        description='Type of the live topic reference; empty means the type it is published with.',
        choices=('', *POSITION.msgtypes),
    ),
    Parameter(
        name='record_seconds',
        default=0.0,
        description='Seconds to record before training, by the computer; 0 means until '
        'finish is called.',
        units='s',
        low=0.0,
        high=86400.0,
    ),
    Parameter(
        name='use_receive_time',
        default=False,
        description='Take the times of arrival as stamps, for drivers that leave theirs zero.',
        settable=Settable.BEFORE_TRAINING,
    ),
    Parameter(
        name='position_lag',
        default='',
        description="Seconds in quotes, such as '0.2', to make positions earlier by, or auto for "
        'as much as gyroscope and accelerometer tell; empty leaves them, and says if they are '
        'late.',
        settable=Settable.BEFORE_TRAINING,
    ),
    Parameter(
        name='exit_when_done',
        default=True,
        description='Exit after training (status 0, or 1 if it failed) instead of staying up.',
    ),
    Parameter(
        name='rate_hz',
        default=0.0,
        description='Ticks per second of the model; 0 means chosen from the recording.',
        settable=Settable.BEFORE_TRAINING,
        units='Hz',
        low=0.0,
        high=1000.0,
    ),
    Parameter(
        name='window',
        default=0,
        description='Length of a window; 0 means chosen from the recording.',
        settable=Settable.BEFORE_TRAINING,
        units='ticks',
        low=0,
        high=100_000,
    ),
    Parameter(
        name='states',
        default=0,
        description='Dimension of the latent state; 0 means chosen from the recording.',
        settable=Settable.BEFORE_TRAINING,
        low=0,
        high=1000,
    ),
    Parameter(
        name='method',
        default=_USUAL.method,
        description='What filters: a belief over the places of the route, the spectral filter, or '
        'a tpsr.',
        settable=Settable.BEFORE_TRAINING,
        choices=METHODS,
    ),
    Parameter(
        name='sharpness',
        default=0.0,
        description='Exponent of the likelihood of an observation, of method route; 0 means '
        'fitted.',
        settable=Settable.BEFORE_TRAINING,
        low=0.0,
        high=100.0,
    ),
    Parameter(
        name='persistence',
        default=0.0,
        description='Weight of what lasts in that likelihood, of method route; 0 means fitted.',
        settable=Settable.BEFORE_TRAINING,
        low=0.0,
        high=100.0,
    ),
    Parameter(
        name='kernel',
        default=_USUAL.kernel,
        description='Manifold learner that makes coordinates of windows.',
        settable=Settable.BEFORE_TRAINING,
        choices=tuple(KERNELS),
    ),
    Parameter(
        name='readout',
        default=_USUAL.readout,
        description='How positions are read: mkdr estimates those of ticks that have none, where '
        'the vehicle is seen now and then; ridge is for the spectral filter only.',
        settable=Settable.BEFORE_TRAINING,
        choices=tuple(READOUTS),
    ),
    Parameter(
        name='horizons',
        default=list(_USUAL.horizons),
        description='How far ahead to predict, increasing from 0.',
        settable=Settable.BEFORE_TRAINING,
        units='ticks',
    ),
)
