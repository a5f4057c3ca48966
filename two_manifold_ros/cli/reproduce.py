# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold reproduce`: experiments of the papers, run again."""

from __future__ import annotations

from argparse import Namespace
import json
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TYPE_CHECKING

from two_manifold_ros.cli.progress import Progress
from two_manifold_ros.errors import InputError
from two_manifold_ros.experiments.registry import ALL, EXPERIMENTS, experiments_named

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence

    from two_manifold_ros.experiments.claim import Claim
    from two_manifold_ros.experiments.experiment import Experiment
    from two_manifold_ros.recordings.recording import Recording

HELP = (
    'Run experiments of the papers again: each prints its claims beside the figures of the paper '
    'and writes a picture. The status is 0 if every claim passes, else 1.'
)
_FAILED = 1


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        'name', nargs='?', metavar='NAME', help=f'an experiment of --list, or {ALL}'
    )
    takers = ', '.join(each.name for each in EXPERIMENTS if each.takes_recordings)
    parser.add_argument(
        'bags', nargs='*', metavar='BAG', help=f'recordings to run on as well, for {takers}'
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
        '--quick', action='store_true', help='in seconds, on less data and with wider limits'
    )
    parser.add_argument(
        '--imu-topic', metavar='T', help='of the bags (default: the only one in each)'
    )
    parser.add_argument('--json', action='store_true', help='print one JSON object instead')


def run(args: Namespace) -> int:
    """Run the experiments and report; return whether a claim failed."""
    if args.list:
        _list(as_json=args.json)
        return 0
    if args.name is None:
        msg = 'name an experiment; see two-manifold reproduce --list'
        raise InputError(msg)
    chosen = experiments_named(args.name)
    _check_bags(args, chosen)
    _load(chosen, tables=not args.json)
    folder = _make_folder(args.output)
    recordings = _recordings(args)
    done = []
    for experiment in chosen:
        with Progress(experiment.name) as progress:
            claims = experiment.run(folder, progress, quick=args.quick, recordings=recordings)
        done.append((experiment, claims))
        if not args.json:
            _print(experiment, claims)
    if args.json:
        print(json.dumps({'experiments': [_to_json(*each) for each in done]}, indent=2))
    return 0 if all(claim.passed for _, claims in done for claim in claims) else _FAILED


def _list(*, as_json: bool) -> None:
    if as_json:
        print(json.dumps({'experiments': [_to_json(each) for each in EXPERIMENTS]}, indent=2))
        return
    width = max(len(each.name) for each in EXPERIMENTS)
    for each in EXPERIMENTS:
        print(f'{each.name:{width}}  {each.shows} ({each.paper})')


def _check_bags(args: Namespace, chosen: Sequence[Experiment]) -> None:
    if args.bags and not any(each.takes_recordings for each in chosen):
        msg = f'{args.name} takes no recordings; leave out {", ".join(args.bags)}'
        raise InputError(msg)
    if args.imu_topic is not None and not args.bags:
        msg = '--imu-topic is that of bags, and none is given; name a bag or leave it out'
        raise InputError(msg)


def _load(chosen: Sequence[Experiment], *, tables: bool) -> None:
    """Import everything, so that a missing package shows before anything is computed."""
    for experiment in chosen:
        experiment.load()
    if tables:
        import two_manifold_ros.cli.tables  # noqa: F401, PLC0415 - needs rich


def _make_folder(output: str) -> Path:
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        msg = f'{folder}: no picture can be written there ({error.strerror}); choose another -o'
        raise InputError(msg) from error
    return folder


def _recordings(args: Namespace) -> list[Recording]:
    if not args.bags:
        return []
    # Slow to import, and most experiments make their own data.
    from two_manifold_ros.cli.options import recordings_of  # noqa: PLC0415

    wanted = Namespace(**vars(args), position_topic=None, use_receive_time=False)
    return recordings_of(wanted, need_positions=False, find_positions=False)


def _print(experiment: Experiment, claims: Sequence[Claim]) -> None:
    from two_manifold_ros.cli.tables import print_table  # noqa: PLC0415 - JSON needs no rich

    print(f'{experiment.name} ({experiment.paper})\n{experiment.shows}')
    print_table(
        '',
        ['claim', 'paper', 'ours', ''],
        [[claim.what, claim.paper, claim.ours, claim.verdict] for claim in claims],
    )


def _to_json(experiment: Experiment, claims: Sequence[Claim] | None = None) -> dict[str, Any]:
    content: dict[str, Any] = {
        'name': experiment.name,
        'shows': experiment.shows,
        'paper': experiment.paper,
    }
    if claims is not None:
        content['picture'] = experiment.picture
        content['claims'] = [vars(claim) for claim in claims]
    return content
