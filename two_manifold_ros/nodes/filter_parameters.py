# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the filter node."""

from two_manifold_ros.nodes.parameter import Parameter, Settable
from two_manifold_ros.nodes.watching_parameters import watching_parameters
from two_manifold_ros.outputs.frames import USUAL_TRACK
from two_manifold_ros.outputs.particles import PARTICLES_HZ

FILTER = (
    Parameter(
        name='model',
        default='',
        description='Path of the model file that "two-manifold train" or trainer_node wrote.',
        settable=Settable.UNCONFIGURED,
    ),
    Parameter(
        name='next_model',
        default='',
        description='Path of the model file that the service swap_model puts in its place.',
        settable=Settable.ALWAYS,
    ),
    Parameter(
        name='managed',
        default=False,
        description='Wait for a lifecycle manager instead of configuring and activating itself.',
    ),
    Parameter(
        name='track_frame',
        default=USUAL_TRACK,
        description=(
            'Frame of the published positions; empty means the frame of the training positions, '
            'or map where they had none.'
        ),
        settable=Settable.UNCONFIGURED,
    ),
    Parameter(
        name='child_frame',
        default='',
        description=(
            'Child frame of odometry and of the transform; empty means the frame of the IMU in '
            'training, or base_link where it had none.'
        ),
        settable=Settable.UNCONFIGURED,
    ),
    *watching_parameters(Settable.UNCONFIGURED),
    Parameter(
        name='use_receive_time',
        default=False,
        description='Stamp IMU messages on arrival, for drivers that leave their stamps zero.',
        settable=Settable.UNCONFIGURED,
    ),
    Parameter(
        name='particles_rate_hz',
        default=PARTICLES_HZ,
        description=(
            'How often the topic particles tells the places where the vehicle may be; 0 for never.'
        ),
        settable=Settable.UNCONFIGURED,
        units='Hz',
        low=0.0,
        high=1000.0,
    ),
    Parameter(
        name='publish_tf',
        default=False,
        description='Also publish the transform from track frame to child frame (needs tf2_msgs).',
        settable=Settable.UNCONFIGURED,
    ),
)
