# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Choose and score many bags; learn what robots kept, and put models of routes into one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
import math
from pathlib import Path
from typing import Any, TYPE_CHECKING

from two_manifold_ros.cli import options
from two_manifold_ros.cli.looking import shown_routes
from two_manifold_ros.cli.verdict import of_fleet
from two_manifold_ros.errors import InputError, NO_USE
from two_manifold_ros.fleet import ItemJournal
from two_manifold_ros.inspection.coverage import (
    BAGS_SUFFIX,
    Choice,
    choose,
    FEWEST_BAGS,
    recorded_s,
    survey_bags,
    survey_recording,
)
from two_manifold_ros.model.model import atlas_of, AtlasModel, ModelHead
from two_manifold_ros.model.model_file import load_model, save_model
from two_manifold_ros.progress import on_stderr, Progress, warn
from two_manifold_ros.recordings.reading import open_bag, read_recording, ReadingOptions
from two_manifold_ros.recordings.recording import check_one_plane, Recording
from two_manifold_ros.recordings.satellite_fixes import in_plane
from two_manifold_ros.sources import expand, identity, is_remote, public
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model
from two_manifold_ros.typing import Table

if TYPE_CHECKING:
    from two_manifold_ros.evaluation.drives import Fleet


MERGE_HELP = (
    'Learn one model of one route from several robots: from the checkpoints of their updater '
    'nodes, which hold the drives that each robot learned from, and from bags. A robot may have '
    'seen a part of the route. Models of `train` hold no drives and cannot be merged.'
)


@contextmanager
def chosen_bags(
    args: Namespace, names: list[str]
) -> Iterator[tuple[list[str], Callable[[ModelHead], dict[str, Any]] | None]]:
    """
    Leave in ``args.bags`` those to train on, where all last longer than ``args.most_minutes``.

    Yielded are the names of the routes of these bags, and `try_on_others` if there are others.
    """
    names = _drop_duplicates(args, names)
    most_s, paths = 60.0 * args.most_minutes, list(args.bags)
    # Of bags without positions all are needed to find the laps.
    few = len(paths) < 2 or args.marks
    for path in [] if few else paths:
        # It is rather mistyped than a bag that cannot be read.
        if not (is_remote(path) or Path(path).exists()):
            with open_bag(path):
                pass
    if few or recorded_s(paths, most_s, args.until) <= most_s:
        yield names, None
        return
    journal = ItemJournal(Path(f'{args.output}{BAGS_SUFFIX}'))
    # Routes that are named are wanted, however few drive them.
    choice = _chosen(args, journal, 1 if names else FEWEST_BAGS)
    args.bags = [paths[each] for each in choice.trained]
    names = [names[each] for each in choice.trained] if names else names
    yield names, partial(try_on_others, args, choice=choice, paths=paths)


def _drop_duplicates(args: Namespace, names: Sequence[str]) -> list[str]:
    """Leave in ``args.bags`` each bag once, in the order of their places; return their names."""
    first: dict[str, int] = {}
    for number, path in enumerate(args.bags):
        earlier = first.setdefault(identity(path), number)
        if earlier != number:
            warn(f'{public(path)} is given again: it counts once, as it was named first')
    kept = [first[each] for each in sorted(first)]
    args.bags = [args.bags[number] for number in kept]
    return [names[number] for number in kept] if names else []


def _chosen(args: Namespace, journal: ItemJournal, fewest: int) -> Choice:
    """Survey bags, choose those of routes that at least so many of them drive, and say which."""
    reading = options.reading_options(args)
    with Progress('surveying') as progress:
        done = partial(progress, 'surveying')
        surveys = survey_bags(args.bags, reading, args.until, journal, args.client, done)
    choice = choose(surveys, 60.0 * args.most_minutes, fewest)
    every = (*choice.trained, *choice.tried, *choice.rest)
    of_minutes, minutes = (
        sum(surveys[each].lasts_s for each in some) / 60.0 for some in (every, choice.trained)
    )
    tried = f'; on {len(choice.tried)} others the model will be tried' * bool(choice.tried)
    on_stderr(
        f'two-manifold: note: {len(choice.trained)} of {len(every)} bags are trained on, '
        f'{minutes:.0f} of {of_minutes:.0f} min: {choice.times} at each place, or as many as '
        f'drove there (--most-minutes {args.most_minutes:g}){tried}'
    )
    warn(*choice.troubles.values())
    return choice


def try_on_others(
    args: Namespace, model: ModelHead, choice: Choice, paths: Sequence[str]
) -> dict[str, Any]:
    """Follow the bags that a choice keeps for that; return what the summary has of all bags."""
    from two_manifold_ros.evaluation.drives import score_drives, total_of  # noqa: PLC0415

    tried, reading = [paths[each] for each in choice.tried], options.reading_options(args)
    with Progress('trying the model') as progress:
        done = partial(progress, 'trying the model')
        scores = score_drives(model, tried, reading, args.client, done, until_s=args.until)
    warn(*(each.trouble for each in scores if each.trouble))
    good = [each for each in scores if each.ticks]
    return {
        'bags': len(paths),
        'trained': len(choice.trained),
        'times': choice.times,
        'not_used': len(choice.troubles),
        'tried': asdict(total_of(good)) if good else None,
    }


def run_fleet(args: Namespace) -> int:
    """Score each bag where it is read and report; return 0, or ``NO_USE`` as ``run`` does."""
    from two_manifold_ros.evaluation.drives import (  # noqa: PLC0415 - training does without
        fleets_of,
        score_drives,
    )

    model = load_model(args.model)
    options.name_sensors(args, model)
    _drop_duplicates(args, [])
    with options.fleet_of(args) as client, Progress('evaluating') as progress:
        scores = score_drives(
            model,
            args.bags,
            options.reading_options(args),
            client,
            partial(progress, 'evaluating'),
            position_lag=args.position_lag or '',
            sensors=args.trained_sensors,
        )
    fleets = fleets_of(scores)
    troubles = [each.trouble for each in scores if each.trouble]
    warn(*troubles)
    kept = ('path', 'trouble', 'vehicle', 'route', 'ticks', 'published')
    drives = [
        {name: getattr(each, name) for name in kept}
        | {'day': each.day or None, 'mean_m': each.mean_m if each.ticks else None}
        for each in scores
    ]
    routes = {name: asdict(each) for name, each in fleets.items()}
    shown = [each for name, fleet in fleets.items() for each in _shown(fleet, name)]
    shown += [f'bags without a score: {len(troubles)}'] if troubles else []
    verdict = of_fleet({name: each.all for name, each in fleets.items()}, args, model)
    content = {'model': args.model, 'routes': routes, 'drives': drives}
    options.answer(args, content, shown, verdict)
    return 0 if any(each.published for each in scores) else NO_USE


def _shown(fleet: Fleet, route: str) -> Iterator[str | Table]:
    """Yield tables of the scores by vehicle and by day."""
    named = f'route {route}, ' if route else ''
    for what, totals in (('vehicle', fleet.vehicles), ('day', fleet.days)):
        rows = [
            [
                name,
                str(total.drives),
                str(total.ticks),
                options.percent(total.published_share),
                options.metres(total.mean_m),
                options.metres(total.published_mean_m),
                options.metres(total.worst_m),
                Path(total.worst).name,
            ]
            for name, total in (totals | ({'all': fleet.all} if len(totals) > 1 else {})).items()
        ]
        header = [
            what, 'drives', 'ticks', 'published', 'mean, m', 'published:\nmean', 'worst, m',
            'worst drive',
        ]  # fmt: skip
        title = f'{named}mean position error by {what}, at all ticks after the first window'
        yield Table(title, header, rows)


def add_merge(parser: ArgumentParser) -> None:
    """Add the arguments of merge."""
    parser.add_argument(
        'bags',
        nargs='+',
        metavar='MODEL',
        help='checkpoint of an updater node, or its checkpoint_folder for the newest one of each '
        'robot, or a bag with IMU and positions',
    )
    parser.add_argument('-o', '--output', required=True, metavar='MODEL', help='file to write')
    parser.add_argument(
        '--force', action='store_true', help='write the model even if it is of no use, and warn'
    )
    options.add_topics(parser)
    options.add(parser, '--json')


def run_merge(args: Namespace) -> int:
    """Train on the drives of all robots, save the model, and return 0 or ``NO_USE``."""
    from two_manifold_ros.adapting.checkpoints import newest_in  # noqa: PLC0415 - as above

    paths = [each for given in args.bags for each in newest_in(given, warn) or expand([given])]
    of, drives = drives_of(paths, options.reading_options(args))
    surveys = [survey_recording(each) for each in drives]
    # Parts of a route that robots saw need not meet, and all are wanted.
    choice = choose(surveys, math.inf, fewest=1)
    warn(*filter(None, choice.troubles.values()))
    with Progress('training') as progress:
        model = train_model(
            [drives[each] for each in choice.trained], TrainingSettings(), progress
        )
    refusal = model.summary['refusal']
    status = NO_USE if refusal and not args.force else 0
    if status:
        on_stderr(f'two-manifold: error: {refusal["sentence"]} (not written; see --force)')
    else:
        warn(*([refusal['sentence']] if refusal else []))
        save_model(model, args.output)
    minutes = dict.fromkeys(paths, 0.0)
    for each in choice.trained:
        minutes[of[each]] += surveys[each].lasts_s / 60.0
    rows = [[path, f'{lasting:.1f}'] for path, lasting in minutes.items()]
    table = Table(f'merged into {args.output}', ['of', 'minutes trained on'], rows)
    content = {'model': None if status else args.output, 'minutes': minutes, **model.summary}
    options.answer(
        args, content, [] if status else [table, f'see two-manifold info {args.output}']
    )
    return status


def drives_of(paths: Sequence[str], reading: ReadingOptions) -> tuple[list[str], list[Recording]]:
    """Return the path of each drive of checkpoints and of bags, and the drives, in one plane."""
    from two_manifold_ros.adapting.checkpoints import drives_in  # noqa: PLC0415 - as above

    of, drives = [], []
    for path in paths:
        found = drives_in(path) if path.endswith('.npz') else [read_recording(path, reading)]
        of += [path] * len(found)
        drives += found
    streams = [each.positions for each in drives if each.positions is not None]
    origin = next((each.origin for each in streams if each.origin is not None), None)
    if origin is not None:
        drives = [
            replace(each, positions=in_plane(each.positions, origin)) if each.positions else each
            for each in drives
        ]
    check_one_plane(drives)
    return of, drives


ATLAS_HELP = (
    'Put models of routes into one model, which finds out on which route the vehicle drives, or '
    'take routes out of it. `info` lists them.'
)


def add_atlas(parser: ArgumentParser) -> None:
    """Add the arguments of atlas."""
    actions = parser.add_subparsers(dest='action', metavar='ACTION', required=True)
    add = actions.add_parser('add', help='put the routes of models into one model')
    add.add_argument(
        'models',
        nargs='+',
        metavar='MODEL|NAME=MODEL',
        help='maps of routes, each named after its file or as given, or models of several',
    )
    add.add_argument(
        '-o',
        '--output',
        required=True,
        metavar='ATLAS',
        help='file to write; if it is a model of several routes already, these are kept, and one '
        'of the name of a new one is replaced',
    )
    remove = actions.add_parser('remove', help='take routes out of a model')
    remove.add_argument('model', metavar='ATLAS', help='model of several routes')
    remove.add_argument('names', nargs='+', metavar='NAME', help='of routes to take out')
    remove.add_argument(
        '-o', '--output', metavar='ATLAS', help='file to write (default: the same)'
    )
    for each in (add, remove):
        options.add(each, '--json')


def run_atlas(args: Namespace) -> int:
    """Write the model, list its routes, and return 0."""
    if args.action == 'add':
        model, path = joined(args.models, args.output), args.output
    else:
        model, path = without(load_model(args.model), args.names), args.output or args.model
    save_model(model, path)
    content = {'model': path, 'routes': list(model.names)}
    options.answer(args, content, [f'written to {path}', *shown_routes(model)])
    return 0


def joined(models: Sequence[str], output: str) -> AtlasModel:
    """Return the atlas of ``MODEL`` or ``NAME=MODEL``, and of the other routes in ``output``."""
    known: dict[str, ModelHead] = {}
    for given in models:
        # A path may have an equals sign in it.
        name, _, path = ('', '', given) if Path(given).exists() else given.rpartition('=')
        routes = load_model(path).routes
        if name and len(routes) > 1:
            msg = f'{given}: the model knows {len(routes)} routes with names: leave {name}= out'
            raise InputError(msg)
        for own, each in routes.items():
            lines = each.route_names
            chosen = name or own or (lines[0] if len(lines) == 1 else Path(path).stem)
            if chosen in known:
                msg = f'{path}: there are two routes of the name {chosen}: write NAME={path}'
                raise InputError(msg)
            known[chosen] = each
    there = load_model(output) if Path(output).exists() else None
    before = there.routes if there is not None and there.is_atlas else {}
    # A model that is there and given again replaces nothing.
    if replaced := sorted(known.keys() & before.keys()) if output not in models else []:
        on_stderr(f'two-manifold: note: replaced in {output}: {", ".join(replaced)}')
    # The rate of an atlas is that of the routes that it keeps.
    kept = {name: each for name, each in before.items() if name not in known}
    return atlas_of({**kept, **known})


def without(model: ModelHead, names: Sequence[str]) -> AtlasModel:
    """Return an atlas without some routes; ``InputError`` if it lacks one, or has no other."""
    missing = [name for name in names if not name or name not in model.routes]
    if missing:
        known = ', '.join(filter(None, model.routes)) or 'one, without a name'
        msg = f'there is no route {missing[0]}: the model knows {known}'
        if missing[0] in model.route_names:
            msg = f'{missing[0]} is a line on one map with others: train that without its bags'
        raise InputError(msg)
    left = {name: each for name, each in model.routes.items() if name not in names}
    if not left:
        raise InputError('these are all the routes of the model: remove its file instead')
    return atlas_of(left)
