# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold reproduce`: experiments of the papers, run again."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
import json
from pathlib import Path
import sys
import time
from traceback import print_exception
from typing import Any

from two_manifold_ros.cli.options import add, answer, of_one_route
from two_manifold_ros.errors import InputError
from two_manifold_ros.experiments.experiment import (
    ALL,
    Claim,
    Experiment,
    EXPERIMENTS,
    experiments_named,
)
from two_manifold_ros.progress import print_wrapped, Progress
from two_manifold_ros.typing import Table

HELP = (
    'Run experiments of the papers again: each prints its claims beside the figures of the paper '
    'and writes a picture. The status is 0 if every claim passes, else 1. One of several that '
    'breaks off counts as failed, and the others go on.'
)


VERDICTS = {False: 'fail', True: 'pass', None: ''}
"""Of what did not pass, of what did, and of what has no limit."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        'name', nargs='?', metavar='NAME', help=f'an experiment of --list, or {ALL}'
    )
    add(
        parser,
        'bags',
        nargs='*',
        help='recordings of one route that slot-car takes in place of simulated cars: it learns '
        'from the first two thirds of a single one and follows the last sixth, or follows the '
        'last of several, with late positions put in step; no claim has a limit then',
    )
    parser.add_argument('--list', action='store_true', help='list the experiments')
    parser.add_argument(
        '-o',
        '--output',
        metavar='FOLDER',
        default='reproduced',
        help='where NAME.png is written (default: reproduced)',
    )
    parser.add_argument(
        '--quick', action='store_true', help='take seconds: less data and wider limits'
    )
    parser.add_argument(
        '--seed',
        type=int,
        default=0,
        metavar='N',
        help='number of the set of random draws (default: 0, the published set)',
    )
    add(parser, '--imu-topic', '--position-topic', '--use-receive-time')
    parser.set_defaults(position_lag='auto')
    add(parser, '--json')


def run(args: Namespace) -> int:
    """Run the experiments and report; return whether one failed."""
    if args.list:
        width = max(len(each.name) for each in EXPERIMENTS)
        content = {'experiments': [*map(_about, EXPERIMENTS)]}
        lines = (f'{each.name:{width}}  {each.shows} ({each.paper})' for each in EXPERIMENTS)
        answer(args, content, lines)
        return 0
    chosen = _chosen(args)
    args.recordings = of_one_route(args) if args.bags else []
    folder = Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    done: list[dict[str, Any]] = []
    for each in chosen:
        done.append(_run(args, each, folder, alone=len(chosen) == 1))
        if not args.json:
            answer(args, {}, _shown(done[-1]))
            sys.stdout.flush()
    if args.json:
        # A value of an experiment may be NaN.
        print(json.dumps({'experiments': done}, indent=2))
    elif len(done) == 1:
        print_wrapped(f'The picture is {folder / done[0]["picture"]}.')
    else:
        rows = []
        for entry in done:
            passed = [each['passed'] for each in entry['claims'] if each['limit'] is not None]
            score = f'{sum(passed)} of {len(passed)}' if passed else 'broke off'
            said = score, f'{entry["seconds"]:.0f}', entry['picture'] or ''
            rows.append([entry['name'], *said, VERDICTS[entry['passed']]])
        header = ['experiment', 'claims that pass', 'seconds', 'picture', '']
        answer(args, {}, [Table('', header, rows), f'The pictures are in {folder}.'])
    return int(any(each['passed'] is False for each in done))


def _chosen(args: Namespace) -> tuple[Experiment, ...]:
    """Return the experiments that are asked for; ``InputError`` says what they do not take."""
    if args.name is None:
        raise InputError('name an experiment; see two-manifold reproduce --list')
    if args.seed < 0:
        raise InputError(f'--seed counts sets of draws from 0 on, and {args.seed} is below')
    if args.seed and args.bags:
        raise InputError('--seed is of simulated draws, and recordings have none; leave it out')
    chosen = experiments_named(args.name)
    # A missing package shows before anything is computed.
    for experiment in chosen:
        runner = experiment.load()
        if args.bags and runner.on is None:
            raise InputError(f'{experiment.name} takes no recordings; leave out the bags')
    return chosen


def _run(args: Namespace, experiment: Experiment, folder: Path, *, alone: bool) -> dict[str, Any]:
    """Run an experiment, and return its entry; if it breaks off while not ``alone``, the error."""
    begun, what = time.monotonic(), f'{experiment.name}, set {args.seed}'
    claims, error = list[Claim](), None
    try:
        with Progress(what) as bar:
            claims = experiment.run(
                folder,
                lambda stage, share: bar(f'{what}, {stage}', share),
                quick=args.quick,
                seed=args.seed,
                recordings=args.recordings,
            )
    except Exception as broken:
        if alone:
            raise
        print_exception(broken)
        error = f'{type(broken).__name__}: {broken}'
    limited = [claim.passed for claim in claims if claim.passed is not None]
    return {
        **_about(experiment),
        'picture': None if error else experiment.picture,
        'passed': bool(claims) and (all(limited) if limited else None),
        'seconds': round(time.monotonic() - begun, 1),
        'claims': [vars(claim) for claim in claims],
        'error': error,
    }


def _about(experiment: Experiment) -> dict[str, str]:
    return {name: getattr(experiment, name) for name in ('name', 'shows', 'paper')}


def _shown(done: dict[str, Any]) -> Iterator[str | Table]:
    yield f'{done["name"]} ({done["paper"]})'
    yield done['shows']
    if done['error']:
        yield f'It broke off. {done["error"]}'
    rows = [
        [*(each[name] for name in ('what', 'paper', 'ours')), VERDICTS[each['passed']]]
        for each in done['claims']
    ]
    yield Table('', ['claim', 'paper', 'ours', ''], rows) if rows else ''
