# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: RUF009 - parameter() is dataclasses.field
"""
The parameters of all nodes: one dataclass per node, a field per parameter.

A field has type, default and description of the parameter. Nodes declare their parameters from
these classes and read them into instances of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, make_dataclass
from enum import Enum
import re
from typing import Any, ClassVar, TYPE_CHECKING, TypeAlias

from two_manifold_ros.errors import did_you_mean
from two_manifold_ros.interface.messages import BASE_FRAME
from two_manifold_ros.names import DRIVERS, HORIZONS, LEARNERS, POSITION_TYPES
from two_manifold_ros.training.settings import FIELDS, Offered

Value: TypeAlias = bool | int | float | str | list[int] | list[str]


class Settable(Enum):
    """Period in which a parameter can be changed."""

    NEVER = 'at start only'
    UNCONFIGURED = 'while unconfigured'
    BEFORE_TRAINING = 'until training starts'
    ALWAYS = 'at any time'


@dataclass(frozen=True)
class Parameter:
    """A parameter of a node, as it is declared and documented."""

    name: str
    # Also gives the type. Empty arrays of strings hold an empty string, or have no type.
    default: Value
    description: str
    settable: Settable = Settable.NEVER
    # Of the value, or of each entry; and the inclusive range of a number.
    units: str = ''
    low: float | None = None
    high: float | None = None
    # All words that are allowed; none means any.
    choices: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The type as ROS calls it, such as ``double`` or ``string_array``."""
        if isinstance(self.default, list):
            return 'integer_array' if isinstance(self.default[0], int) else 'string_array'
        return {bool: 'bool', int: 'integer', float: 'double', str: 'string'}[type(self.default)]

    @property
    def constraint(self) -> str:
        """Sentence on the values allowed; empty if any is."""
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


def parameter(
    description: str, default: Value | tuple[float, float, float, str] = '', **about: object
) -> Any:  # noqa: ANN401 - stands for a value of any type, as dataclasses.field does
    """
    Return a dataclass field ``about`` a `Parameter`; its class says when it is settable.

    Of a number the default comes with the lowest and the highest allowed, and its units.
    """
    known = {'description': description, **about}
    if isinstance(default, tuple):
        default, low, high, units = default
        known |= {'low': low, 'high': high, 'units': units}
    if isinstance(default, list):
        return field(default_factory=default.copy, metadata=known)
    return field(default=default, metadata=known)


@dataclass(frozen=True)
class NodeParameters:
    """Base of the parameters of a node; ``settable`` is the period of those without their own."""

    settable: ClassVar[Settable] = Settable.NEVER

    @classmethod
    def table(cls) -> tuple[Parameter, ...]:
        """Return all parameters, inherited ones last."""
        defaults = vars(cls())
        return tuple(
            Parameter(
                each.name,
                [''] if defaults[each.name] == [] else defaults[each.name],
                **{'settable': cls.settable, **each.metadata},
            )
            for each in sorted(fields(cls), key=lambda each: each.name not in cls.__annotations__)
        )


_USE_RECEIVE_TIME = parameter('Stamp messages on arrival: for drivers with zero stamps.', False)
_POSITION_LAG = parameter(
    "Delay of the position stamps in seconds, in quotes ('0.2'). 'auto' measures the delay.",
    'auto',
)


@dataclass(frozen=True)
class FilteringParameters(NodeParameters):
    """Parameters that every node with a filter has."""

    use_receive_time: bool = _USE_RECEIVE_TIME
    input_timeout_s: float = parameter(
        'Silence of the sensor after which the state is no data.', (1.0, 0.05, 60.0, 's')
    )
    reorder_s: float = parameter(
        'Delay by which all output waits for late messages. 0 rejects them.', (0.0, 0.0, 0.4, 's')
    )
    ellipse_warn_m: float = parameter(
        'Half the long axis of the 95 % ellipse above which the node is unsure. 0 fits the model.',
        (0.0, 0.0, 1e6, 'm'),
    )
    ellipse_error_m: float = parameter(
        'The same above which it is lost, or localising, and publishes none. 0 fits the model.',
        (0.0, 0.0, 1e6, 'm'),
    )
    status_rate_hz: float = parameter(
        'Rate of the topic status.', (10.0, 1.0, 100.0, 'Hz'), settable=Settable.NEVER
    )
    child_frame: str = parameter(
        'Child frame of odometry and transform, x along the course. Empty means base_link.',
        BASE_FRAME,
    )
    publish_tf: bool = parameter(
        'Also publish the transform from track frame to child frame (needs tf2_msgs).', False
    )


@dataclass(frozen=True)
class FilterParameters(FilteringParameters):
    """Parameters of ``filter_node``."""

    settable: ClassVar[Settable] = Settable.UNCONFIGURED

    model: str = parameter(
        'Path of the model file that "two-manifold train" or trainer_node wrote.'
    )
    next_model: str = parameter(
        'Path of the model file that the service swap_model loads next.', settable=Settable.ALWAYS
    )
    vehicle: str = parameter(
        'Path of a file of "two-manifold vehicle" that corrects the IMU. Empty means none.'
    )
    sensor_topics: list[str] = parameter(
        'Topics of the sensors beside the IMU, in the order of the model. Empty: of the training.',
        [''],
    )
    managed: bool = parameter(
        'Wait for a lifecycle manager instead of configuring and activating itself.',
        False,
        settable=Settable.NEVER,
    )
    track_frame: str = parameter(
        'Frame of the published positions. Empty means the frame of the training, or map.'
    )
    odometry_topic: str = parameter(
        'Topic of a nav_msgs/Odometry to whose frame publish_tf transforms. Empty means none.'
    )
    start_line: str = parameter(
        'Start line of the laps: X,Y in metres, or a share of a lap in quotes, after the default '
        'line. Empty means the place where timing is most accurate.'
    )
    sectors: str = parameter(
        'Beginnings of the sectors after the first, separated by blanks. Each is X,Y in metres or '
        'a share of a lap after the start line. Empty means thirds of a lap.'
    )
    mark_topic: str = parameter(
        'Topic with a message at each passage of the start line, of any type. Empty means none.'
    )
    fix_topic: str = parameter(
        'Topic of positions that the filter takes as fixes, or that place laps. Empty means none.'
    )
    particles_rate_hz: float = parameter(
        'Largest rate of the topic particles, the places where the vehicle may be. 0 means never.',
        (5.0, 0.0, 1000.0, 'Hz'),
    )


@dataclass(frozen=True)
class UpdaterParameters(FilteringParameters):
    """Parameters of ``updater_node``."""

    reference_type: str = parameter(
        'Type of the topic reference. Empty means the published type.',
        choices=('', *POSITION_TYPES),
    )
    learner: str = parameter(
        'Kind of model: a map, as of train --method route, a tpsr, as of train --method tpsr, or '
        'an hse_hmm, which is a tpsr of coordinates on an eigenmap.',
        'map',
        choices=tuple(LEARNERS),
    )
    model: str = parameter(
        'Path of a model file that runs until a learned one has smaller errors. Empty means none.'
    )
    position_lag: str = _POSITION_LAG
    horizons: list[int] = parameter(
        'Ticks ahead to predict, increasing from 0.', list(HORIZONS), units='ticks'
    )
    checkpoint_folder: str = parameter(
        'Folder of the checkpoints. Empty means that the node writes none.'
    )
    checkpoint_name: str = parameter(
        'Start of the names of checkpoints: letters, digits, _, -. Empty: NAMESPACE_updater.'
    )
    checkpoint_s: float = parameter('Time between checkpoints.', (60.0, 1.0, 3600.0, 's'))
    filter_node: str = parameter(
        'Name of the filter node that gets better models. Empty means none.'
    )
    track_frame: str = parameter(
        'Frame of the published positions. Empty means the frame of the given model, or map.'
    )


def _of_setting(offered: Offered) -> Any:  # noqa: ANN401 - a field, as of parameter()
    """Return the parameter of a setting; its default stands for a choice of the training."""
    about, default = offered.about, offered.default
    what = f'Of {offered.of_methods}: {about.what}'
    if default is None or offered.settled:
        usual = [each for each in (default or about.usual, offered.settled) if each]
        default = about.kind()
        what += f'. {"Empty" if default == "" else 0} means: {", ".join(usual)}'
    choices = ('',) * (default == '') + about.choices if about.choices else ()
    if isinstance(default, tuple):
        default = list(default)
    if not isinstance(default, str | list):
        default = default, min(about.low, default), about.high, about.units
    return parameter(f'{what}.', default, units=about.units, choices=choices)


if TYPE_CHECKING:
    _SettingParameters = NodeParameters
else:
    _SettingParameters = make_dataclass(
        '_SettingParameters',
        [(name, Any, _of_setting(each)) for name, each in FIELDS.items()],
        bases=(NodeParameters,),
        frozen=True,
    )


@dataclass(frozen=True)
class TrainerParameters(_SettingParameters):
    """Parameters of ``trainer_node``: its own, and all settings of a training."""

    settable: ClassVar[Settable] = Settable.BEFORE_TRAINING

    model: str = parameter('Path of the model file to write. An existing file is replaced.', '')
    bags: list[str] = parameter(
        'Bags to train from. None means that the node records live topics.',
        [],
        settable=Settable.NEVER,
    )
    imu_topic: str = parameter(
        'IMU topic in the bags. Empty means the only one.', '', settable=Settable.NEVER
    )
    position_topic: str = parameter(
        'Position topic in the bags. Empty means the only one of a fitting type.',
        settable=Settable.NEVER,
    )
    reference_type: str = parameter(
        'Type of the live topic reference. Empty means the published type.',
        choices=('', *POSITION_TYPES),
        settable=Settable.NEVER,
    )
    record_seconds: float = parameter(
        'Time to record before training. 0 means until the service finish is called.',
        (0.0, 0.0, 86400.0, 's'),
        settable=Settable.NEVER,
    )
    use_receive_time: bool = _USE_RECEIVE_TIME
    position_lag: str = _POSITION_LAG
    force: bool = parameter('Write the model even if it is of no use on held-out parts.', False)
    exit_when_done: bool = parameter(
        'Exit after training: status 0, 1 if it failed, 3 if the model would be of no use, or 128 '
        'and the number of a signal that came before.',
        True,
        settable=Settable.NEVER,
    )


@dataclass(frozen=True)
class SlotCarParameters(NodeParameters):
    """Parameters of ``slot_car_node``."""

    seed: int = parameter(
        'Seed of driving and noise. The same seed drives the same laps.', (0, 0, 2**31 - 1, '')
    )
    imu_rate_hz: float = parameter(
        'IMU messages per second of the simulated car.', (100.0, 1.0, 1000.0, 'Hz')
    )
    reference_rate_hz: float = parameter(
        'Reference poses per second, at most the IMU rate.', (20.0, 1.0, 1000.0, 'Hz')
    )
    noise: float = parameter(
        'Scale of the errors of IMU and reference. 0 means none.', (1.0, 0.0, 100.0, '')
    )
    speed_wander: float = parameter(
        'Scale of the difference in speed from lap to lap. 0 means none.', (1.0, 0.0, 5.0, '')
    )
    driver: str = parameter(
        'Driver: steady, or choosing a throttle by the bend ahead (timid, bold) or at random.',
        'steady',
        choices=DRIVERS,
    )
    speed: float = parameter(
        'Speed of the simulation against the clock: above 1 stamps run ahead.',
        (1.0, 0.1, 20.0, ''),
    )


_OF_ROS = re.compile(r'use_sim_time|start_type_description_service|qos_overrides\..*')
"""Parameters that ROS itself declares, some of them only in newer distributions."""


def unknown_parameters(given: Iterable[str], known: Iterable[str], node: str) -> str:
    """Return one sentence on given parameters that a node does not have; empty if it has them."""
    known = sorted(known)
    unknown = sorted(name for name in set(given) - {*known} if not _OF_ROS.fullmatch(name))
    if not unknown:
        return ''
    names = ', '.join(name + did_you_mean(name, known) for name in unknown)
    return f'{node} has no parameter {names}: what was given has no effect'


PARAMETERS: dict[str, type[NodeParameters]] = {
    'filter_node': FilterParameters,
    'updater_node': UpdaterParameters,
    'trainer_node': TrainerParameters,
    'slot_car_node': SlotCarParameters,
}
"""Parameters by name of the node and of its executable."""
