# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Options of a training on the command line, and the settings that they make."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from two_manifold_ros.cli.options import (
    add_bags,
    add_fleet,
    add_json,
    add_position_lag,
    add_report,
    add_sensor_topics,
    add_topics,
    seconds,
)
from two_manifold_ros.errors import InputError, NO_USE
from two_manifold_ros.inspection.coverage import BAGS_SUFFIX, MOST_TRAINED_S
from two_manifold_ros.inspection.shared_places import check_names
from two_manifold_ros.names import (
    CLOCKS,
    COUPLINGS,
    GUARDS,
    KERNELS,
    METHODS,
    OBSERVATIONS,
    READOUTS,
)
from two_manifold_ros.route.learning import Tuning as RouteTuning
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from argparse import _ArgumentGroup, ArgumentParser, Namespace

HELP = (
    'Learn a model from recordings with IMU and positions. What is not given is chosen from the '
    'data: the filter is run over blocks of the recordings that it did not see. Where it follows '
    'these with half the error of the mean position or more, the first line on standard error '
    f'names the likely reason, no model is written, and the exit status is {NO_USE}.'
)

_DEFAULTS = TrainingSettings()
_CHOICES = {
    'kernel': KERNELS,
    'coupling': COUPLINGS,
    'observation': OBSERVATIONS,
    'readout': READOUTS,
    'clock': CLOCKS,
    'guards': GUARDS,
}
_NUMBERS = ('bandwidth', 'ridge')
"""Options of the observation operator."""

_SPECTRAL = ('observation', 'readout', 'clock', 'guards', *_NUMBERS)
"""What only the spectral filter has, but for a read-out that fills gaps before training."""

_ROUTE = ('sharpness', 'persistence', 'max_step_load')
"""What only the belief about the place has."""

_DRAWN = ('features', 'feature_seed')
"""What only a TPSR has."""

_EMBEDDED = ('kernel', 'coupling', 'neighbours', 'dimension', 'observation', 'readout', 'guards')
"""What a TPSR has no use for."""

_LISTED_WIDTH = 40
"""Columns of names behind an option in the help, which has 80; more names follow in its words."""


def check_options(args: Namespace) -> None:
    """
    Refuse options that would be passed over.

    Raises
    ------
    InputError
        If they do not go together.

    """
    if args.routes is not None and (args.method != 'route' or args.marks or args.imu_alone):
        msg = '--routes names maps: leave it out, or use --method route with positions'
        raise InputError(msg)
    if not args.most_minutes > 0.0:
        msg = f'--most-minutes {args.most_minutes:g} must be above 0'
        raise InputError(msg)


def add_operator(group: _ArgumentGroup) -> None:
    """Add the numbers of the observation operator."""
    group.add_argument(
        '--bandwidth',
        type=float,
        metavar='X',
        help='bandwidth of the kernel of observations, in median distances between them, of the '
        'spectral filter and of a TPSR (default: chosen)',
    )
    group.add_argument(
        '--ridge',
        type=float,
        metavar='X',
        help='ridge of --observation ridge and of a TPSR, on the covariance of features of mean '
        'square one (default: chosen, of a TPSR 1)',
    )


def add_choices(group: _ArgumentGroup, *names: str) -> None:
    """Add settings that have a name, of ``TrainingSettings``."""
    for name in names:
        of = ' of the spectral filter' if name in _SPECTRAL else ''
        what = 'learner that makes coordinates of windows' if name == 'kernel' else f'{name}{of}'
        if name == 'readout':
            what += '; mkdr, with route too, estimates the positions of ticks without one'
        if name == 'guards':
            what += '; off takes every observation and never starts again, as in the papers'
        usual = getattr(_DEFAULTS, name) or 'mkdr where positions are far between, else sharpened'
        listed = len(','.join(_CHOICES[name])) > _LISTED_WIDTH
        if listed:
            what += f': {", ".join(_CHOICES[name])}'
        group.add_argument(
            f'--{name}',
            choices=_CHOICES[name],
            metavar='NAME' if listed else None,
            help=f'{what} (default: {usual})',
        )


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of ``train``."""
    add_bags(parser)
    parser.add_argument('-o', '--output', required=True, metavar='MODEL', help='file to write')
    parser.add_argument(
        '--force',
        action='store_true',
        help='write the model even if it is of no use, and warn, as --method paper always does',
    )
    add_topics(parser)
    add_sensor_topics(parser, 'none')
    parser.add_argument('--until', type=seconds, metavar='S', help='train on the first S seconds')
    parser.add_argument(
        '--most-minutes',
        type=float,
        default=MOST_TRAINED_S / 60.0,
        metavar='M',
        help='of bags that last longer together take so many that they last M minutes, each place '
        'as often as that allows and three times at least, and try the model on the others '
        '(default: %(default)g)',
    )
    parser.add_argument(
        '--no-resume',
        action='store_true',
        help=f'forget the surveys kept in MODEL{BAGS_SUFFIX} by a run that was stopped',
    )
    add_fleet(parser)
    add_position_lag(parser)
    laps = parser.add_mutually_exclusive_group()
    laps.add_argument(
        '--marks',
        metavar='TOPIC|FILE',
        help='learn laps from messages at the line, or a file of times',
    )
    laps.add_argument(
        '--imu-alone',
        action='store_true',
        help='learn laps from the loop that is found where the drive repeats itself; with '
        '--position-topic five fixes or more make positions of them',
    )
    number = parser.add_argument_group('numbers')
    number.add_argument(
        '--rate',
        type=float,
        metavar='HZ',
        help='ticks per second (default: 20, or the IMU rate; fewer where that suits the '
        'recordings, but with method paper; twice or four times as many where parts left out are '
        'followed better, with method route)',
    )
    number.add_argument(
        '--max-step-load',
        type=float,
        metavar='SHARE',
        help='share of a core of a small robot that ticks may take for a faster rate to be tried, '
        'with method route and no --rate, --window, --sharpness or --persistence; 0 tries none '
        f'(default: {_DEFAULTS.max_step_load:g})',
    )
    number.add_argument(
        '--window',
        type=int,
        metavar='TICKS',
        help='ticks in a window (default: three seconds; longer where that suits the recordings)',
    )
    number.add_argument(
        '--states',
        type=int,
        metavar='K',
        help='dimension of the state (default: chosen); 0, with method route, leaves it out, '
        'which saves a tenth of the time',
    )
    number.add_argument(
        '--neighbours',
        type=int,
        metavar='N',
        help='neighbours of a window, for kernels with a graph of them (default: chosen)',
    )
    number.add_argument(
        '--dimension',
        type=int,
        metavar='M',
        help=f'coordinates of each embedding (default: {_DEFAULTS.dimension})',
    )
    number.add_argument(
        '--features',
        type=int,
        metavar='D',
        help='random features of a window, for method tpsr; the time of a training grows with '
        f'them (default: {_DEFAULTS.features})',
    )
    number.add_argument(
        '--feature-seed',
        type=int,
        metavar='N',
        help=f'seed of these features (default: {_DEFAULTS.feature_seed})',
    )
    add_operator(number)
    number.add_argument(
        '--horizons',
        default=','.join(map(str, _DEFAULTS.horizons)),
        metavar='TICKS,...',
        help='ticks ahead to predict, 0 first; as long in seconds where a faster rate is chosen '
        '(default: %(default)s)',
    )
    number.add_argument(
        '--sharpness',
        type=float,
        metavar='X',
        help='exponent of the likelihood of an observation, for method route '
        f'(default: {RouteTuning.sharpness:g} at the usual rate, and as much a second at others)',
    )
    number.add_argument(
        '--persistence',
        type=float,
        metavar='X',
        help='weight of what lasts in that likelihood, for method route (default: one over the '
        'ticks in the memory of the observations)',
    )
    choice = parser.add_argument_group('methods')
    choice.add_argument(
        '--method',
        choices=(*METHODS, 'paper'),
        default=_DEFAULTS.method,
        help='route: a belief over places merged from all passes of the route; spectral: the '
        'spectral filter of the papers; paper: the same as the paper of 2012 prints it, without '
        'guards (what still deviates: docs/reproduce/slot-car.md), but for what other options '
        'ask for; tpsr: a state from an incremental SVD of random features, as in the paper of '
        '2011 '
        '(default: %(default)s)',
    )
    add_choices(choice, *_CHOICES)
    choice.add_argument(
        '--routes',
        metavar='NAME,...',
        help='name of the route or line of each bag, in their order, with method route: bags that '
        'share places, or have one name, go onto one map, and a model of several knows them all; '
        'MAP/NAME keeps maps apart (default: named after the bags, where there are several)',
    )
    add_report(parser, 'the model, its map, and the recordings that it was learned from')
    words = 'show also how the filter works inside, and the settings that were tried'
    parser.add_argument('--verbose', action='store_true', help=words)
    add_json(parser)


def settings_of(args: Namespace) -> TrainingSettings:
    """Return the settings of a training; an ``InputError`` if the method has no such choice."""
    _check_method(args)
    return TrainingSettings(
        rate_hz=args.rate,
        window=args.window,
        horizons=parse_horizons(args.horizons),
        method=args.method if args.method in METHODS else _DEFAULTS.method,
        sharpness=args.sharpness,
        max_step_load=(
            _DEFAULTS.max_step_load if args.max_step_load is None else args.max_step_load
        ),
        persistence=args.persistence,
        **given_settings(args),
    )


def given_settings(args: Namespace) -> dict[str, Any]:
    """Return the given settings of the filter by their names in ``TrainingSettings``."""
    options = (*_CHOICES, *_DRAWN, 'dimension', 'states', 'neighbours', 'ridge')
    names = {name: name for name in options}
    names['bandwidth_factor'] = 'bandwidth'
    given = {name: getattr(args, option, None) for name, option in names.items()}
    return {name: value for name, value in given.items() if value is not None}


def _check_method(args: Namespace) -> None:
    """Refuse options that the method would ignore."""
    if args.sensor_topic and args.method != 'route':
        msg = (
            f'--sensor-topic: method {args.method} takes the IMU alone; leave it out, or use '
            '--method route'
        )
        raise InputError(msg)
    settled = {
        'route': (*_SPECTRAL, *_DRAWN),
        'spectral': (*_ROUTE, *_DRAWN),
        'paper': (*_ROUTE, *_DRAWN),
        'tpsr': (*_EMBEDDED, *_ROUTE),
    }[args.method]
    given = [name for name in settled if getattr(args, name) is not None]
    if args.method == 'route' and args.readout in {'mkdr', 'sharpened'}:
        given.remove('readout')
    if not given:
        observation = args.observation or ('ridge' if args.method == 'paper' else 'raw')
        if args.ridge is not None and observation != 'ridge' and args.method != 'tpsr':
            msg = f'--ridge {args.ridge:g} is of --observation ridge: add that, or leave it out'
            raise InputError(msg)
        return
    options = ', '.join(f'--{name.replace("_", "-")}' for name in given)
    others = {'route': _ROUTE, 'tpsr': _DRAWN}
    other = next((name for name, own in others.items() if given[0] in own), 'spectral')
    msg = (
        f'--method {args.method} has no such choice: leave out {options}, or use --method {other}'
    )
    raise InputError(msg)


def route_names(args: Namespace, bags: int) -> list[str]:
    """
    Return the names in ``args.routes`` of the routes of so many bags; none if it is not given.

    Raises
    ------
    InputError
        If they are unfit, see `check_names`.

    """
    if args.routes is None:
        return []
    names = [each.strip() for each in args.routes.split(',')]
    check_names(names, bags)
    return names


def parse_horizons(text: str) -> tuple[int, ...]:
    """
    Parse ticks.

    Raises
    ------
    InputError
        If they are not whole numbers.

    """
    try:
        return tuple(int(part) for part in text.split(','))
    except ValueError as error:
        msg = f'--horizons {text!r} must be whole numbers of ticks such as 0,10,50'
        raise InputError(msg) from error
