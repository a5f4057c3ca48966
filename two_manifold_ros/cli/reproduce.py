# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold reproduce`: experiments of the papers, run again."""

from __future__ import annotations

from functools import partial
import json
import sys
import time
from traceback import print_exception
from typing import Any, TYPE_CHECKING

from two_manifold_ros.cli.options import (
    add_fleet,
    fleet_of,
    make_folder,
    print_table,
    print_wrapped,
)
from two_manifold_ros.errors import InputError
from two_manifold_ros.experiments.experiment import (
    ALL,
    Attempt,
    EXPERIMENTS,
    experiments_named,
    Series,
    verdict,
)
from two_manifold_ros.fleet import spread
from two_manifold_ros.progress import Progress

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from two_manifold_ros.experiments.experiment import Claim, Experiment

HELP = (
    'Run experiments of the papers again: each prints its claims beside the figures of the paper '
    'and writes a picture. The status is 0 if every claim passes, else 1. One of several that '
    'breaks off counts as failed, and the others go on.'
)
_FAILED = 1


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        'name', nargs='?', metavar='NAME', help=f'an experiment of --list, or {ALL}'
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
    parser.add_argument(
        '--sets',
        type=int,
        default=1,
        metavar='K',
        help=(
            'run K sets of draws, from --seed on, and print on how many sets each claim passes, '
            'with mean and spread; the status is 0 if each claim passes on nine sets of ten; '
            'pictures show the first set'
        ),
    )
    add_fleet(parser)
    parser.add_argument('--json', action='store_true', help='print one JSON object instead')


def run(args: Namespace) -> int:
    """Run the experiments and report; return whether one failed."""
    if args.list:
        _list(as_json=args.json)
        return 0
    if args.name is None:
        msg = 'name an experiment; see two-manifold reproduce --list'
        raise InputError(msg)
    _check_sets(args)
    chosen = experiments_named(args.name)
    # A missing package shows before anything is computed.
    for experiment in chosen:
        experiment.load()
    folder = make_folder(args.output)
    with fleet_of(args) as client:
        if client is None:
            done = _run_here(args, chosen, folder)
        else:
            done = _run_there(args, chosen, folder, client)
    if args.json:
        print(json.dumps({'experiments': [each.to_json() for each in done]}, indent=2))
    elif len(done) > 1:
        _print_summary(done, folder)
    else:
        print(f'The picture is {folder / chosen[0].picture}.')
    return 0 if all(each.passed for each in done) else _FAILED


def _run_here(
    args: Namespace, chosen: Sequence[Experiment], folder: Path
) -> list[Attempt | Series]:
    """Run experiments one after another, and print what each found at once."""
    done: list[Attempt | Series] = []
    for experiment in chosen:
        place = f' ({len(done) + 1} of {len(chosen)})' if len(chosen) > 1 else ''
        begin = partial(experiment.run, quick=args.quick)
        if args.sets > 1:
            attempts = [
                _attempt(
                    experiment,
                    # One picture, as of a single run.
                    partial(begin, folder if seed == args.seed else None, seed=seed),
                    f'{place}, set {seed}',
                )
                for seed in range(args.seed, args.seed + args.sets)
            ]
            done.append(Series(args.seed, tuple(attempts)))
        else:
            done.append(_attempt(experiment, partial(begin, folder, seed=args.seed), place))
        if not args.json:
            _print(done[-1])
    return done


def _run_there(
    args: Namespace,
    chosen: Sequence[Experiment],
    folder: Path,
    client: Any,  # noqa: ANN401 - of an extra
) -> list[Attempt | Series]:
    """Run experiments and their sets of draws on workers, and print all of it at the end."""
    parts = [
        # One picture, as of a single run.
        (each, seed, folder.absolute() if seed == args.seed else None)
        for each in chosen
        for seed in range(args.seed, args.seed + args.sets)
    ]
    run_part = partial(_attempt_there, args.quick)
    with Progress('reproducing') as bar:
        attempts = spread(run_part, parts, client, partial(bar, 'reproducing'))
    groups = [attempts[at : at + args.sets] for at in range(0, len(attempts), args.sets)]
    done: list[Attempt | Series] = [
        Series(args.seed, tuple(each)) if args.sets > 1 else each[0] for each in groups
    ]
    if not args.json:
        for each in done:
            _print(each)
    return done


def _attempt_there(
    quick: bool,
    part: tuple[Experiment, int, Path | None],
) -> Attempt:
    """Run an experiment on a worker; the others go on when it breaks off."""
    experiment, seed, folder = part
    begun = time.monotonic()
    try:
        claims = experiment.run(folder, lambda *_: None, quick=quick, seed=seed)
    except Exception as error:  # noqa: BLE001 - as in this process
        seconds = time.monotonic() - begun
        return Attempt(experiment, seconds, error=f'{type(error).__name__}: {error}')
    return Attempt(experiment, time.monotonic() - begun, tuple(claims))


def _list(*, as_json: bool) -> None:
    if as_json:
        print(json.dumps({'experiments': [each.to_json() for each in EXPERIMENTS]}, indent=2))
        return
    width = max(len(each.name) for each in EXPERIMENTS)
    for each in EXPERIMENTS:
        print_wrapped(f'{each.name:{width}}  {each.shows} ({each.paper})', ' ' * (width + 2))


def _check_sets(args: Namespace) -> None:
    if args.seed < 0:
        msg = f'--seed counts sets of draws from 0 on, and {args.seed} is below'
        raise InputError(msg)
    if args.sets < 1:
        msg = f'--sets is how many sets of draws are run, and {args.sets} is less than one'
        raise InputError(msg)


def _attempt(experiment: Experiment, begin: Callable[..., list[Claim]], place: str) -> Attempt:
    """Run an experiment; if it has a place among others, they go on when it breaks off."""
    begun = time.monotonic()
    what = f'{experiment.name}{place}'
    try:
        with Progress(what) as bar:
            claims = begin(lambda part, share: bar(f'{what}, {part}', share))
    except Exception as error:
        if not place:
            raise
        print_exception(error)
        seconds = time.monotonic() - begun
        return Attempt(experiment, seconds, error=f'{type(error).__name__}: {error}')
    return Attempt(experiment, time.monotonic() - begun, tuple(claims))


def _print(found: Attempt | Series) -> None:
    experiment = found.experiment
    print_wrapped(f'{experiment.name} ({experiment.paper})')
    print_wrapped(experiment.shows)
    if isinstance(found, Series):
        for number, error in found.errors.items():
            print_wrapped(f'It broke off on set {number}. {error}')
        header = ['claim', 'paper', 'sets that pass', 'mean', 'spread', '']
        rows = [
            [
                each.what,
                each.paper,
                each.score,
                _rounded(each.mean),
                _rounded(each.spread),
                verdict(passed=each.passed),
            ]
            for each in found.tallies
        ]
    elif found.error:
        print_wrapped(f'It broke off. {found.error}')
        print(flush=True)
        return
    else:
        header = ['claim', 'paper', 'ours', '']
        rows = [[claim.what, claim.paper, claim.ours, claim.verdict] for claim in found.claims]
    print_table('', header, rows)
    sys.stdout.flush()


def _rounded(number: float | None) -> str:
    return '' if number is None else f'{number:.3g}'


def _print_summary(done: Sequence[Attempt | Series], folder: Path) -> None:
    print_table(
        '',
        ['experiment', 'claims that pass', 'seconds', 'picture', ''],
        [
            [
                each.experiment.name,
                each.score,
                f'{each.seconds:.0f}',
                each.picture or '',
                verdict(passed=each.passed),
            ]
            for each in done
        ],
    )
    print(f'The pictures are in {folder}.')
