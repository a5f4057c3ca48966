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
    'Learn a model from recordings with IMU and positions. `train` tests settings on parts of the '
    'recordings that it held out, and chooses those that you do not give. If the error on these '
    'parts is more than half of the error of always answering the mean position, `train` writes '
    f'no model, prints the likely reason first, and exits with status {NO_USE}.'
)

_DEFAULTS = TrainingSettings()
_SETTINGS: dict[str, dict[str, tuple[Any, ...]]] = {
    'every method': {
        'window': (
            int, 'TICKS',
            'ticks in a window (default: three seconds; longer if held-out errors are less)',
        ),
        'states': (
            int, 'K',
            ('dimension of the state (default: chosen); 0, with --method route, leaves the state '
            'out and saves a tenth of the time'),
        ),
    },
    'method route': {
        'sharpness': (
            float, 'X',
            ('exponent of the likelihood of an observation (default: '
            f'{RouteTuning.sharpness:g} at 20 Hz, the same weight a second at other rates)'),
        ),
        'persistence': (
            float, 'X',
            ('weight of lasting deviations in the likelihood (default: one over the ticks in the '
            'memory of the observations)'),
        ),
        'max_step_load': (
            float, 'SHARE',
            ('try a faster rate only if its ticks take less than this share of a core of a small '
            'robot; 0 tries none; without effect if --rate, --window, --sharpness or '
            f'--persistence is given (default: {_DEFAULTS.max_step_load:g})'),
        ),
    },
    'method route or spectral': {
        'kernel': (KERNELS, 'manifold learner that turns windows into coordinates'),
        'coupling': (COUPLINGS, 'how past and future are coupled'),
        'neighbours': (
            int, 'N',
            'neighbours of a window, for kernels with a graph of neighbours (default: chosen)',
        ),
        'dimension': (
            int, 'M', f'coordinates of each embedding (default: {_DEFAULTS.dimension})'
        ),
    },
    'method spectral': {
        'observation': (OBSERVATIONS, 'observation operator'),
        'readout': (
            READOUTS,
            ('how a state becomes a position; mkdr also estimates the missing positions of the '
            'training, with --method route too'),
        ),
        'guards': (GUARDS, 'off: take every observation and never start again, as in the papers'),
    },
    'method spectral or tpsr': {
        'clock': (
            CLOCKS, 'driving: the state stands while the vehicle stands; time: it does not'
        ),
        'bandwidth': (
            float, 'X',
            ('bandwidth of the kernel of observations, in median distances between observations '
            '(default: chosen)'),
        ),
        'ridge': (
            float, 'X',
            ('ridge of --observation ridge and of method tpsr, for features of mean square one '
            '(default: chosen, with tpsr 1)'),
        ),
    },
    'method tpsr': {
        'features': (
            int, 'D',
            ('random features of a window; training time grows with D '
            f'(default: {_DEFAULTS.features})'),
        ),
        'feature_seed': (
            int, 'N', f'seed of the random features (default: {_DEFAULTS.feature_seed})'
        ),
    },
}  # fmt: skip
"""
Settings of a training by the heading of their group, which names the methods that take them.

Each has a type, a placeholder and help, or words to choose from and help; paper is spectral.
"""

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


def add_settings(group: _ArgumentGroup, *names: str) -> None:
    """Add settings of ``TrainingSettings``."""
    for name in names:
        kind, *placed, what = next(own[name] for own in _SETTINGS.values() if name in own)
        option = f'--{name.replace("_", "-")}'
        if placed:
            group.add_argument(option, type=kind, metavar=placed[0], help=what)
            continue
        usual = getattr(_DEFAULTS, name) or 'mkdr if few ticks have a position, else sharpened'
        listed = len(','.join(kind)) > _LISTED_WIDTH
        names_too = f': {", ".join(kind)}' if listed else ''
        group.add_argument(
            option,
            choices=kind,
            metavar='NAME' if listed else None,
            help=f'{what}{names_too} (default: {usual})',
        )


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of ``train``: first those that everyone needs, then groups."""
    add_bags(parser)
    parser.add_argument('-o', '--output', required=True, metavar='MODEL', help='file to write')
    parser.add_argument(
        '--until', type=seconds, metavar='S', help='use only the first S seconds of each bag'
    )
    recordings = add_topics(parser)
    parser.add_argument(
        '--rate',
        type=float,
        metavar='HZ',
        help='ticks per second (default: 20 or the IMU rate, whichever is less; `train` tests '
        'other rates and takes one if its held-out error is less)',
    )
    parser.add_argument(
        '--method',
        choices=(*METHODS, 'paper'),
        default=_DEFAULTS.method,
        help='route: probabilities of the places on the route; spectral: spectral filter of the '
        'papers, with guards; tpsr: incremental SVD of random features (paper of 2011); paper: '
        'spectral as printed in the paper of 2012 (default: %(default)s)',
    )
    parser.add_argument(
        '--force',
        action='store_true',
        help='write the model even if `train` rejects it; --method paper always does',
    )
    add_report(parser, 'the model, its map, and its recordings')
    add_json(parser)
    add_sensor_topics(recordings, 'none')
    add_position_lag(recordings)
    recordings.add_argument(
        '--most-minutes',
        type=float,
        default=MOST_TRAINED_S / 60.0,
        metavar='M',
        help='use at most M minutes of the bags, spread so that each place is covered three times '
        'or more; the other bags test the model (default: %(default)g)',
    )
    recordings.add_argument(
        '--no-resume',
        action='store_true',
        help=f'read all bags again: forget what an interrupted run wrote into MODEL{BAGS_SUFFIX}',
    )
    recordings.add_argument(
        '--routes',
        metavar='NAME,...',
        help='name of the route or line of each bag, in the order of the bags, with --method '
        'route; bags that share places or a name go onto one map, and MAP/NAME keeps maps apart '
        '(default: the names of the bags, if there are several routes)',
    )
    laps = parser.add_argument_group('laps without positions').add_mutually_exclusive_group()
    laps.add_argument(
        '--marks',
        metavar='TOPIC|FILE',
        help='learn laps from a topic with a message at each passage of the line, or from a file '
        'with these times',
    )
    laps.add_argument(
        '--imu-alone',
        action='store_true',
        help='find the lap from the IMU, where the drive repeats itself; with --position-topic '
        'and five positions or more, the model knows positions as well',
    )
    add_fleet(parser)
    for title, settings in _SETTINGS.items():
        group = parser.add_argument_group(title)
        if title == 'every method':
            group.add_argument(
                '--horizons',
                default=','.join(map(str, _DEFAULTS.horizons)),
                metavar='TICKS,...',
                help='ticks ahead to predict, 0 first; if `train` chooses a faster rate, the '
                'horizons stay the same in seconds (default: %(default)s)',
            )
        add_settings(group, *settings)
        if title == 'every method':
            group.add_argument(
                '--verbose',
                action='store_true',
                help='show also how the filter works inside, and the settings that were tried',
            )


def settings_of(args: Namespace) -> TrainingSettings:
    """Return the settings of a training; an ``InputError`` if the method has no such choice."""
    _check_method(args)
    return TrainingSettings(
        rate_hz=args.rate,
        window=args.window,
        horizons=parse_horizons(args.horizons),
        method=args.method if args.method in METHODS else _DEFAULTS.method,
        **given_settings(args),
    )


def given_settings(args: Namespace) -> dict[str, Any]:
    """Return the given settings of the filter by their names in ``TrainingSettings``."""
    names = {name: name for own in _SETTINGS.values() for name in own if name != 'window'}
    names['bandwidth_factor'] = names.pop('bandwidth')
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
    method = 'spectral' if args.method == 'paper' else args.method
    # The route reads missing positions of its training out as well.
    imputing = args.method == 'route' and args.readout in {'mkdr', 'sharpened'}
    given = {
        name: methods.removeprefix('method ')
        for methods, names in _SETTINGS.items()
        if methods != 'every method' and method not in methods
        for name in names
        if getattr(args, name) is not None and not (imputing and name == 'readout')
    }
    if given:
        options = ', '.join(f'--{name.replace("_", "-")}' for name in given)
        other = next(iter(given.values()))
        msg = (
            f'--method {args.method} has no such choice: leave out {options}, or use --method '
            f'{other}'
        )
        raise InputError(msg)
    observation = args.observation or ('ridge' if args.method == 'paper' else 'raw')
    if args.ridge is not None and observation != 'ridge' and args.method != 'tpsr':
        msg = f'--ridge {args.ridge:g} is of --observation ridge: add that, or leave it out'
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
