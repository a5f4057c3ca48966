# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of all nodes, in one table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
import json
import sys
from typing import TypeAlias

from two_manifold_ros.hse_hmm.readout import READOUTS
from two_manifold_ros.interface.estimates import PARTICLES_HZ
from two_manifold_ros.interface.topics import USUAL_TRACK
from two_manifold_ros.manifold.selection import KERNELS
from two_manifold_ros.recordings.reading import POSITION
from two_manifold_ros.training.settings import METHODS, TrainingSettings


@dataclass(frozen=True)
class ContestSettings:
    """
    When one filter is better than another.

    Parameters
    ----------
    block_s
        Seconds that count as one observation, 2 at least; errors so far apart should be unlike.
    fewest, most
        Blocks before a decision, and blocks that are remembered.
    margin
        Share of the other's error that has to be undercut.
    useful
        Share of the error of the mean position that has to be undercut to be handed over: a
        filter that rightly says nothing is better than one that knows next to nothing.
    sure
        Of the t distribution: how surely the mean gain of a block has to be above zero. As it is
        asked block after block for days, near one.

    """

    block_s: float = 5.0
    fewest: int = 8
    most: int = 48
    margin: float = 0.9
    useful: float = 0.5
    sure: float = 0.9999


Value: TypeAlias = bool | int | float | str | list[int] | list[str]


class Settable(Enum):
    """When a parameter may be changed after the node has started."""

    NEVER = 'at start only'
    UNCONFIGURED = 'while unconfigured'
    BEFORE_TRAINING = 'until training begins'
    ALWAYS = 'at any time'


@dataclass(frozen=True)
class Parameter:
    """
    A parameter of a node.

    Parameters
    ----------
    name
        In words, with the unit at the end where there is one.
    default
        Also gives the type. An array of strings holds one empty string where it is empty,
        because neither YAML files nor rclpy know the type of an array without entries.
    description
        One sentence.
    settable
        When it may be changed.
    units
        Of the value, or of each entry.
    low, high
        Inclusive range of a number.
    choices
        All words that are allowed; none means any.

    """

    name: str
    default: Value
    description: str
    settable: Settable = Settable.NEVER
    units: str = ''
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The type as ROS calls it, such as ``double`` or ``string_array``."""
        if isinstance(self.default, list):
            return 'integer_array' if isinstance(self.default[0], int) else 'string_array'
        names = {bool: 'bool', int: 'integer', float: 'double', str: 'string'}
        return names[type(self.default)]

    @property
    def constraint(self) -> str:
        """What is allowed, in words; empty if anything is."""
        if self.choices:
            return ', '.join(repr(choice) for choice in self.choices)
        if self.low is not None and self.high is not None:
            return f'{self.low:.12g} to {self.high:.12g}'
        return ''

    def refusal(self, value: Value) -> str:
        """Return why a value of the right type is refused, or an empty string."""
        if self.choices and value not in self.choices:
            return f'{self.name} is {value!r}: choose one of {self.constraint}.'
        return ''


def watching_parameters(settable: Settable) -> tuple[Parameter, ...]:
    """Return them; limits and timeout may be changed as said, the rate only at start."""
    return (
        Parameter(
            name='input_timeout_s',
            default=1.0,
            description='Silence of the sensor after which the status is no data.',
            settable=settable,
            units='s',
            low=0.05,
            high=60.0,
        ),
        Parameter(
            name='reorder_s',
            default=0.0,
            description=(
                'How late a message of the sensor may come and still be used, by its stamp; all '
                'that is published comes as much later. 0 refuses messages that are late.'
            ),
            settable=settable,
            units='s',
            low=0.0,
            high=0.4,
        ),
        Parameter(
            name='ellipse_warn_m',
            default=0.0,
            description=(
                'Half the long axis of the 95 % ellipse above which the status is unsure; 0 for '
                'what fits the model.'
            ),
            settable=settable,
            units='m',
            low=0.0,
            high=1e6,
        ),
        Parameter(
            name='ellipse_error_m',
            default=0.0,
            description=(
                'The same above which it is lost, or still localising, and nothing is published; '
                '0 for what fits the model.'
            ),
            settable=settable,
            units='m',
            low=0.0,
            high=1e6,
        ),
        Parameter(
            name='status_rate_hz',
            default=10.0,
            description='How often the topic status tells how the node is.',
            units='Hz',
            low=1.0,
            high=100.0,
        ),
    )


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


SLOT_CAR = (
    Parameter(
        name='seed',
        default=0,
        description='Seed of driving and noise; the same seed drives the same laps.',
        low=0,
        high=2**31 - 1,
    ),
    Parameter(
        name='imu_rate_hz',
        default=100.0,
        description='IMU messages per second of the simulated car.',
        units='Hz',
        low=1.0,
        high=1000.0,
    ),
    Parameter(
        name='reference_rate_hz',
        default=20.0,
        description='Reference poses per second of the simulated car; at most the IMU rate.',
        units='Hz',
        low=1.0,
        high=1000.0,
    ),
    Parameter(
        name='noise',
        default=1.0,
        description='Scales the errors of the IMU and of the reference; 0 means none.',
        low=0.0,
        high=100.0,
    ),
    Parameter(
        name='speed_wander',
        default=1.0,
        description='Scales how much the speed differs from lap to lap; 0 means not at all.',
        low=0.0,
        high=5.0,
    ),
    Parameter(
        name='speed',
        default=1.0,
        description=(
            'How many times faster than the clock the car drives; stamps run ahead of the clock '
            'accordingly.'
        ),
        low=0.1,
        high=20.0,
    ),
)


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


PARAMETERS = {
    'filter_node': FILTER,
    'updater_node': UPDATER,
    'trainer_node': TRAINER,
    'slot_car_node': SLOT_CAR,
}
"""Tables by name of the node and of its executable."""


_HEAD = """\
# Parameters

This page is written by `python -m two_manifold_ros.interface.parameters` from the tables that the
nodes declare their parameters from; a test compares the two.

*Changeable* says until when `ros2 param set` is accepted; later it is refused with the reason.
"""
_COLUMNS = ('Parameter', 'Type', 'Default', 'Allowed', 'Changeable', 'Meaning')


def parameter_page() -> str:
    """Return the whole page."""
    parts = [_HEAD]
    for node, table in PARAMETERS.items():
        rows = [_COLUMNS, tuple('---' for _ in _COLUMNS), *map(_row, table)]
        lines = [f'| {" | ".join(row)} |' for row in rows]
        parts.append(f'## {node}\n\n' + '\n'.join(lines) + '\n')
    return '\n'.join(parts)


def _row(parameter: Parameter) -> tuple[str, ...]:
    units = f' {parameter.units}' if parameter.units else ''
    allowed = parameter.constraint.replace("''", 'empty').replace("'", '`')
    return (
        f'`{parameter.name}`',
        parameter.kind,
        f'`{json.dumps(parameter.default)}`{units}',
        f'{allowed}{units}' if allowed else '',
        parameter.settable.value,
        parameter.description,
    )


if __name__ == '__main__':
    sys.stdout.write(parameter_page())
