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
from two_manifold_ros.inspection.coverage import MOST_TRAINED_S
from two_manifold_ros.inspection.shared_places import check_names
from two_manifold_ros.training.settings import FIELDS

if TYPE_CHECKING:
    from argparse import _ArgumentGroup, ArgumentParser, Namespace

HELP = (
    'Learn a model from recordings with IMU and positions. `train` tests settings on parts of the '
    'recordings that it held out, and chooses those that you do not give. If the error on these '
    'parts is more than half of the error of always answering the mean position, `train` writes '
    f'no model, prints the likely reason first, and exits with status {NO_USE}.'
)

_LISTED_WIDTH = 40
"""Columns of names behind an option in the help, which has 80; more names follow in its words."""


def check_options(args: Namespace) -> None:
    """Refuse options that would be passed over."""
    if args.routes is not None and (args.method not in {None, 'route'} or args.marks):
        msg = '--routes names maps: leave it out, or use --method route with positions'
        raise InputError(msg)
    if not args.most_minutes > 0.0:
        msg = f'--most-minutes {args.most_minutes:g} must be above 0'
        raise InputError(msg)


def add_settings(group: _ArgumentGroup | ArgumentParser, *names: str) -> None:
    """Add options of settings of a training; one that is not given leaves ``None``."""
    for name in names:
        about, default = FIELDS[name].about, FIELDS[name].default
        if isinstance(default, tuple):
            default = ','.join(map(str, default))
        listed = len(','.join(about.choices)) > _LISTED_WIDTH
        names_too = f': {", ".join(about.choices)}' if listed else ''
        usual = about.usual if default is None else default
        group.add_argument(
            f'--{about.option}',
            dest=name,
            type=str if name == 'horizons' else about.kind,
            choices=about.choices or None,
            metavar='NAME' if listed else None if about.choices else about.letter,
            help=f'{about.what}{names_too} (default: {usual})',
        )


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of ``train``: first those that everyone needs, then groups."""
    add_bags(parser)
    parser.add_argument('-o', '--output', required=True, metavar='MODEL', help='file to write')
    parser.add_argument(
        '--until', type=seconds, metavar='S', help='use only the first S seconds of each bag'
    )
    recordings = add_topics(parser)
    add_settings(parser, 'rate_hz', 'method')
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
        '--routes',
        metavar='NAME,...',
        help='name of the route or line of each bag, in the order of the bags, with --method '
        'route; bags that share places or a name go onto one map, and MAP/NAME keeps maps apart '
        '(default: the names of the bags, if there are several routes)',
    )
    recordings.add_argument(
        '--marks',
        metavar='TOPIC|FILE|none',
        help='learn laps without positions from a topic with a message at each passage of the '
        'line, or from a file with these times; none: find the lap from the IMU, where the drive '
        'repeats itself; with --position-topic and five positions or more, the model knows '
        'positions as well',
    )
    add_fleet(parser)
    groups: dict[str, list[str]] = {}
    for name, offered in FIELDS.items():
        if offered.about.option and name not in {'rate_hz', 'method'}:
            groups.setdefault(offered.of_methods, []).append(name)
    for title, names in groups.items():
        add_settings(parser.add_argument_group(title), *names)


def given_settings(args: Namespace) -> dict[str, Any]:
    """Return the settings that were given, by their names in ``TrainingSettings``."""
    given = {name: getattr(args, name, None) for name in FIELDS}
    if given['horizons'] is not None:
        given['horizons'] = parse_horizons(given['horizons'])
    return {name: value for name, value in given.items() if value is not None}


def route_names(args: Namespace, bags: int) -> list[str]:
    """Return the names in ``args.routes`` of the routes of so many bags; none if not given."""
    if args.routes is None:
        return []
    names = [each.strip() for each in args.routes.split(',')]
    check_names(names, bags)
    return names


def parse_horizons(text: str) -> tuple[int, ...]:
    """Parse ticks, which are whole numbers."""
    try:
        return tuple(int(part) for part in text.split(','))
    except ValueError as error:
        msg = f'--horizons {text!r} must be whole numbers of ticks such as 0,10,50'
        raise InputError(msg) from error
