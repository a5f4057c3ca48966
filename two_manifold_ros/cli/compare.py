# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Run every method over the same recordings and set them side by side."""

from __future__ import annotations

from argparse import Namespace
import json
from pathlib import Path
import sys
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from two_manifold_ros.cli.options import (
    add_bags,
    add_json,
    add_position_lag,
    add_topics,
    in_step,
    recordings_of,
)
from two_manifold_ros.cli.progress import Progress
from two_manifold_ros.cli.train import parse_horizons
from two_manifold_ros.comparison.cache import Cache, usual_folder
from two_manifold_ros.comparison.comparing import compare
from two_manifold_ros.comparison.methods import methods_named, NAMES
from two_manifold_ros.comparison.protocol import (
    plan_bags,
    plan_share,
    plan_slot_car,
    SHARE,
    SLOT_CAR,
)
from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.inspecting import training_warnings
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from two_manifold_ros.comparison.outcome import Comparison
    from two_manifold_ros.comparison.protocol import Plan

HELP = (
    'Train every method on the same part of the same recordings, run each as a causal filter over '
    'the rest, and write tables of errors: at all ticks, also those that a method would withhold, '
    'and along and across the direction of travel. Of one bag the last 30 % are followed and the '
    'rest is learned from; of several bags the last is followed; --test names the bags to follow. '
    'Trials are kept in ~/.cache/two_manifold_ros (or $XDG_CACHE_HOME), so that a second run '
    'computes only what changed.'
)
_DEFAULTS = TrainingSettings()
_PROTOCOLS = ('slot-car',)
_FIXED = ('test', 'share', 'rate', 'window', 'horizons')
"""Options that a protocol settles."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_bags(parser)
    parser.add_argument(
        '-o', '--output', metavar='FOLDER', help='write table.txt, comparison.json and figures'
    )
    parser.add_argument(
        '--methods',
        default=','.join(NAMES),
        metavar='NAME,...',
        help=f'only some of the methods {", ".join(NAMES)} (default: all of these); any kernel of '
        'train --kernel is the spectral filter with it, and kernels is each of them in turn',
    )
    add_topics(parser)
    add_position_lag(parser)
    _add_protocol(parser)
    parser.add_argument(
        '--jobs', type=int, default=2, metavar='N', help='methods run at a time (default: 2)'
    )
    parser.add_argument(
        '--no-cache', action='store_true', help='compute everything, and keep nothing'
    )
    add_json(parser)


def _add_protocol(parser: ArgumentParser) -> None:
    group = parser.add_argument_group('what is learned from and what is followed')
    group.add_argument(
        '--test', nargs='+', metavar='BAG', help='bags to follow, of the same route and frame'
    )
    group.add_argument(
        '--share',
        type=float,
        metavar='X',
        help=f'share of a single bag to follow, at its end (default: {SHARE:g})',
    )
    group.add_argument(
        '--rate', type=float, metavar='HZ', help='ticks per second (default: 20, or the IMU rate)'
    )
    group.add_argument(
        '--window', type=int, metavar='TICKS', help='ticks in a window (default: three seconds)'
    )
    group.add_argument(
        '--horizons',
        metavar='TICKS,...',
        help='ticks ahead to predict, 0 first '
        f'(default: {",".join(map(str, _DEFAULTS.horizons))})',
    )
    group.add_argument(
        '--protocol',
        choices=_PROTOCOLS,
        help='slot-car, as in the paper: of one bag at 10 Hz the first 2,000 ticks are learned '
        'from; of ticks 2,501 to 3,000 the first 100 to 350 are filtered, and 1 to 100 ticks '
        'further are predicted; windows of 150, 20 states, 50 neighbours, an HMM of 20 states',
    )


def run(args: Namespace) -> int:
    """
    Compare and report; return 0.

    Raises
    ------
    InputError
        If no method worked; nothing is written then.

    """
    methods = methods_named(args.methods.split(','), SLOT_CAR if args.protocol else None)
    if args.jobs < 1:
        msg = f'--jobs {args.jobs} runs nothing; give 1 or more'
        raise InputError(msg)
    folder = _make_folder(args.output)
    plan = _plan(args)
    _warn(plan)
    kept_in = None if args.no_cache else usual_folder()
    cache = Cache(kept_in) if kept_in else None
    with Progress('comparing') as progress:
        comparison = compare(plan, methods, cache, args.jobs, progress)
    _check_any(comparison)
    _report(args, comparison, folder)
    return 0


def _make_folder(output: str | None) -> Path | None:
    if output is None:
        return None
    # Before anything is computed: is there all that the figures need?
    import two_manifold_ros.comparison.figures  # noqa: F401, PLC0415 - needs matplotlib

    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        msg = f'{folder} exists and is no folder: name another one with -o'
        raise InputError(msg)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        msg = (
            f'{folder}: the comparison cannot be written ({error.strerror}); choose another folder'
        )
        raise InputError(msg) from error
    return folder


def _plan(args: Namespace) -> Plan:
    if args.protocol:
        _check_alone(args)
        return plan_slot_car(in_step(recordings_of(args), args)[0])
    settings = TrainingSettings(
        rate_hz=args.rate,
        window=args.window,
        horizons=_DEFAULTS.horizons if args.horizons is None else parse_horizons(args.horizons),
    )
    followed = args.test or []
    alone = len(args.bags) == 1 and not followed
    if args.share is not None and not alone:
        msg = '--share cuts a single bag in two; leave it out, or leave out the other bags'
        raise InputError(msg)
    # Read in one go, so that positions of satellites share one plane.
    every = Namespace(**{**vars(args), 'bags': [*args.bags, *followed]})
    recordings = in_step(recordings_of(every), args)
    if alone:
        return plan_share(recordings[0], settings, SHARE if args.share is None else args.share)
    count = len(followed) or 1
    return plan_bags(recordings[:-count], recordings[-count:], settings)


def _check_alone(args: Namespace) -> None:
    given = [f'--{name}' for name in _FIXED if getattr(args, name) is not None]
    if given or len(args.bags) > 1:
        wrong = ', '.join(given) or 'more than one bag'
        msg = f'--protocol {args.protocol} settles everything on one bag; leave out {wrong}'
        raise InputError(msg)


def _warn(plan: Plan) -> None:
    """Say before comparing what inspection warns of in what is learned from."""
    dataset = plan.lesson.dataset
    with Progress('inspecting'):
        sentences = list(training_warnings(plan.lesson.recordings, dataset.rate_hz))
    for sentence in sentences:
        print(f'two-manifold: warning: {sentence}', file=sys.stderr)


def _check_any(comparison: Comparison) -> None:
    if comparison.succeeded:
        return
    names: dict[str, list[str]] = {}
    for result in comparison.results:
        names.setdefault((result.failure or '').rstrip('.'), []).append(result.name)
    reasons = '; '.join(f'{", ".join(who)}: {reason}' for reason, who in names.items())
    msg = f'no method worked, so there is nothing to compare ({reasons})'
    raise InputError(msg)


def _report(args: Namespace, comparison: Comparison, folder: Path | None) -> None:
    from two_manifold_ros.cli import comparison_report  # noqa: PLC0415 - JSON needs no rich

    if folder is not None:
        comparison_report.write_files(folder, comparison)
    if args.json:
        print(json.dumps(comparison.to_json(), indent=2, allow_nan=False))
    else:
        comparison_report.print_comparison(comparison)
