# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Words and limits that settings of a training, options of commands and nodes share."""

from typing import Any

METHODS = ('route', 'spectral', 'tpsr', 'paper')
"""Methods of training, the default first, as all of these; paper makes a spectral filter."""

WINDOW_FEATURES = ('random', 'eigenmap')
"""Features of windows that a TPSR is learned from; with those of an eigenmap it is an HSE-HMM."""

LEARNERS: dict[str, dict[str, Any]] = {
    'map': {'method': 'route'},
    'tpsr': {'method': 'tpsr'},
    'hse_hmm': {'method': 'tpsr', 'window_features': WINDOW_FEATURES[1]},
}
"""Settings of training by the names of the learners, in the order of tables."""

KERNELS = (
    'laplacian-eigenmap',
    'gaussian',
    'linear',
    'diffusion-map',
    'anisotropic-diffusion',
)
"""Manifold learners; their variants are parameters of them, not names of their own."""

COUPLINGS = ('cross-covariance', 'gram-product', 'canonical', 'reduced-rank')
OBSERVATIONS = ('raw', 'ridge')
READOUTS = ('sharpened', 'ridge', 'mkdr')
CLOCKS = ('driving', 'time')
GUARDS = ('on', 'off')

DRIVERS = ('steady', 'timid', 'bold', 'random')
"""Drivers of the simulated slot car."""

HORIZONS = (0, 10, 50, 100)
"""Ticks ahead."""

STEP_LOAD = 0.1
"""Share of a core of a small robot that ticks may take for a faster rate to be tried."""

_POSE = ('pose.pose.position.x', 'pose.pose.position.y')
POSITION_FIELDS: dict[str, tuple[str, ...]] = {
    'geometry_msgs/msg/PoseStamped': ('pose.position.x', 'pose.position.y'),
    'geometry_msgs/msg/PoseWithCovarianceStamped': _POSE,
    'geometry_msgs/msg/PointStamped': ('point.x', 'point.y'),
    'geometry_msgs/msg/TransformStamped': ('transform.translation.x', 'transform.translation.y'),
    'nav_msgs/msg/Odometry': _POSE,
    'sensor_msgs/msg/NavSatFix': ('latitude', 'longitude', 'altitude', 'status.status'),
}
POSITION_TYPES = tuple(POSITION_FIELDS)
"""Types of messages with positions, and their fields."""

SENSOR_FIELDS: dict[str, tuple[str, ...]] = {
    'sensor_msgs/msg/MagneticField': ('magnetic_field.x', 'magnetic_field.y', 'magnetic_field.z'),
    'sensor_msgs/msg/FluidPressure': ('fluid_pressure',),
    'nav_msgs/msg/Odometry': ('twist.twist.linear.x',),
    'geometry_msgs/msg/TwistStamped': ('twist.linear.x',),
    'sensor_msgs/msg/JointState': ('velocity.0',),
    'std_msgs/msg/Float64': ('data',),
    'std_msgs/msg/Float32': ('data',),
}
"""Types of messages of sensors beside the IMU, and their usual fields."""

MARKS = 'marks'
"""Topic of positions on a ring whose first place is a mark, where laps begin."""

LAP_FRAME = 'lap'
"""Frame of positions on a ring: a lap around it is as long as a lap takes, in seconds."""

OURS = 'default'
"""The name of the filter that `two-manifold train` makes by default; all others are its rivals."""

NO_ROUTE = 'none'
"""Label of the chance that the vehicle drives on no known route."""

NOVEL_WARN: float = 2.0**0.5
NOVEL: float = 2.0**0.75
"""Novelty above which estimates are doubted, or not believed; of another route it is 2."""


def frame_name(frame_id: str) -> str:
    """Return a frame without leading slashes, which are no part of its name, as in tf2."""
    return frame_id.lstrip('/')
