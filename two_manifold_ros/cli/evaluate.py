# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Score a model, or learners along a stream, over recordings."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
import math
from typing import TYPE_CHECKING

from two_manifold_ros.cli import options
from two_manifold_ros.cli.verdict import of_curve, of_evaluation, of_routes, trained_on
from two_manifold_ros.errors import InputError, NO_USE
from two_manifold_ros.evaluation.evaluate import (
    evaluate,
    Evaluation,
    recordings_by_route,
    UNUSABLE,
)
from two_manifold_ros.inspection.lag import estimate_lag, late_sentences, trained_lag
from two_manifold_ros.inspection.positions import left_out_sentence
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.model.vehicle import check_vehicle, load_vehicle
from two_manifold_ros.names import LEARNERS
from two_manifold_ros.progress import Progress, warn
from two_manifold_ros.recordings.recording import check_one_plane, Recording
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.typing import Table

if TYPE_CHECKING:
    from two_manifold_ros.model.model import ModelHead


HELP = (
    'Run the filter of the node over recordings, each from a cold start, and compare its '
    'positions with the recorded positions at every horizon. Two baselines are shown beside it: '
    'always answering the mean position of the training, and repeating the true position of the '
    'tick. Every tick after the first window counts, including ticks that the node would not '
    'publish. along and cross are the errors along and across the true direction of travel. If '
    f'the node would have published nothing, the exit status is {NO_USE}.'
)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command."""
    recordings = options.add_run(parser)
    options.add(parser, '--from', '--until')
    options.add(parser, '--report', usual='the track, and when the filter was unsure and why')
    options.add(recordings, '--fixes')
    options.add(recordings, '--position-lag', usual='as in the training of the model')
    recordings.add_argument(
        '--vehicle', metavar='FILE', help='correct the IMU by the file of two-manifold vehicle'
    )
    options.add_fleet(parser).add_argument(
        '--fleet',
        action='store_true',
        help='score each bag where it is read; report by vehicle (the folder of a bag) and by '
        'day; a bag that cannot be read is named and left out',
    )


def run(args: Namespace) -> int:
    """Evaluate and report; return 0, or ``NO_USE`` if nothing would have been published."""
    if args.fleet:
        for option in ('report', 'vehicle', 'start', 'until', 'fixes'):
            if getattr(args, option) is not None:
                name = option.replace('start', 'from')
                raise InputError(f'--{name} does not go with --fleet: leave out one of both')
        from two_manifold_ros.cli.fleet import run_fleet  # noqa: PLC0415 - many drives alone

        return run_fleet(args)
    options.check_report(args)
    model = load_model(args.model)
    options.name_sensors(args, model)
    # A part may be too short to say by itself which route it is of.
    by_route = recordings_by_route(model, options.recordings_of(args, model))
    if args.report and len(by_route) > 1:
        raise InputError(
            f'--report is about one route, and the recordings are of {len(by_route)} '
            f'({", ".join(by_route)}): evaluate each route by itself'
        )
    for name, whole in by_route.items():
        parts = [options.part_of(each, args.start, args.until) for each in whole]
        by_route[name] = options.in_step(parts, args, trained_lag(model.routes[name]))
    if args.vehicle:
        from two_manifold_ros.evaluation.vehicles import corrected  # noqa: PLC0415 - that alone

        check_vehicle(model)
        vehicle = load_vehicle(args.vehicle)
        by_route = {
            name: [corrected(one, vehicle) for one in each] for name, each in by_route.items()
        }
    with options.fleet_of(args) as client, Progress('evaluating') as progress:
        found = {
            name: evaluate(model, each, progress, name, client, args.fixes)
            for name, each in by_route.items()
        }
    _report(args, model, by_route, found)
    return 0 if any(each.published for each in found.values()) else NO_USE


def _report(
    args: Namespace,
    model: ModelHead,
    by_route: Mapping[str, list[Recording]],
    found: Mapping[str, Evaluation],
) -> None:
    """Report on recordings of a route, or of several one after the other."""
    several, verdicts = len(found) > 1, {}
    shown: list[str | Table] = []
    for name, each in found.items():
        own, recordings = model.routes[name], by_route[name]
        verdicts[name] = of_evaluation(args, own, each)
        for doubt in _doubts(args, own, recordings):
            warn(f'{name}: {doubt}' if several else doubt)
        tables = _score_tables(each, own)
        shown += [f'\n{name}:'] if several else []
        shown += [*tables, *_sentences(each, name)]
        if args.report:
            from two_manifold_ros.pages.report import title_of, write_page  # noqa: PLC0415 - an extra
            from two_manifold_ros.pages.sections import run_sections  # noqa: PLC0415 - an extra

            part = f', from {args.start:g} s on; times count from there' if args.start else ''
            made_of = f'{args.model} on {", ".join(args.bags)}{part}'
            parts = [' '.join(verdicts[name].lines), *run_sections(each, recordings, tables)]
            write_page(args.report, title_of(args.bags, 'evaluation'), made_of, parts)
    content = {'model': args.model, 'bags': args.bags}
    if several:
        content['routes'] = {name: each.to_json() for name, each in found.items()}
    else:
        ((route, evaluation),) = found.items()
        content |= ({'route': route} if route else {}) | evaluation.to_json()
    options.answer(args, content, shown, of_routes(verdicts) if several else verdicts[route])


def _score_tables(evaluation: Evaluation, model: ModelHead) -> list[Table]:
    """Return tables of the errors at all ticks, and of those published."""
    every, published = [], []
    for each in evaluation.scores:
        own = each.model
        name = f'{each.horizon} ({round(each.horizon / model.rate_hz, 2):g} s)'
        errors = (
            own.all.rmse_m, own.all.median_m, own.all.p95_m, own.along_rmse_m, own.cross_rmse_m,
            each.mean.all.rmse_m, each.previous.all.rmse_m,
        )  # fmt: skip
        every.append([name, str(own.all.n), *map(options.metres, errors)])
        inside = [each for each in (own.coverage68, own.coverage95) if each is not None]
        ellipses = '/'.join(f'{100 * each:.0f}' for each in inside) or '-'
        published.append(
            [name, options.percent(own.published_share), options.metres(own.rmse_m), ellipses]
        )
    header = [
        'ticks ahead', 'n', 'RMSE', 'median', '95 %', 'along', 'cross', 'mean:\nRMSE',
        'previous:\nRMSE',
    ]  # fmt: skip
    shares = ['ticks ahead', 'published', 'RMSE', 'in the ellipse of 68/95 %']
    return [
        Table('position error in metres at all ticks after the first window', header, every),
        Table('the same, only where the filter publishes', shares, published),
    ]


def _sentences(evaluation: Evaluation, route: str) -> Iterator[str]:
    """Yield what was withheld, how well names were known if they could be wrong, what was lost."""
    if evaluation.published and evaluation.withheld:
        yield evaluation.describe_withheld()
    naming = evaluation.naming
    if naming is not None:
        wrong = 'none of them are published'
        if naming.wrong_published is not None:
            share = 100.0 * naming.wrong_published
            wrong = f'{share:.1f} % of the positions that are published then are of another one'
        yield (
            f'the route {route} is named at {100.0 * naming.right:.1f} % of the ticks after one '
            f'and a half windows; {wrong}'
        )
    samples = evaluation.to_json()['samples']
    if fixes := samples.get('fixes_received', 0):
        wrong = samples.get('fixes_contradicting', 0)
        took = wrong + samples.get('fixes_agreeing', 0)
        yield (
            f'the filter got {fixes} position fixes, of the positions that it is compared with; '
            f'it took {took} (without a map it takes none), and {wrong} of these contradicted it'
        )
    if count := samples.get(UNUSABLE, 0):
        yield (
            f'{count} estimates had no usable position on the route at one horizon or more: '
            'the mean position stands for it there'
        )


def _doubts(args: Namespace, model: ModelHead, recordings: list[Recording]) -> Iterator[str]:
    """Yield warnings about the validity of the scores: what is no truth, was seen, or is late."""
    for stream in (each.positions for each in recordings):
        if stream is not None and stream.left_out.any():
            yield left_out_sentence(int(stream.left_out.sum()), len(stream.stamps), stream.topic)
    if trained := trained_on(args, model):
        yield (
            f'the model was trained on {", ".join(trained)}: score another recording, or with '
            '--from the part that training left out'
        )
    names = [each.name for each in recordings]
    yield from late_sentences(names, list(map(estimate_lag, recordings)), 0.5 / model.rate_hz)


LEARN_HELP = (
    'Learn while driving, as updater_node does: feed the learners with the bags, and print their '
    'errors lap by lap, beside models trained on the same laps.'
)


def add_learn(parser: ArgumentParser) -> None:
    """Add the arguments of learn."""
    options.add(parser, 'bags', '--from', '--until')
    options.add(options.add_topics(parser), '--position-lag', usual='none')
    options.add(parser, '--json')
    parser.add_argument(
        '--learner', choices=LEARNERS, help='which one learns (default: each of them)'
    )
    parser.add_argument(
        '--positions-until',
        type=options.seconds,
        metavar='S',
        help='give the learners no positions after S seconds: from then on they have the IMU '
        'alone (default: give all)',
    )


def run_learn(args: Namespace) -> int:
    """Feed learners with the bags, report, and return 0."""
    # All of training with it, which `evaluate` does without.
    from two_manifold_ros.adapting.stream_learner import make_learner  # noqa: PLC0415
    from two_manifold_ros.evaluation.online import learning_curve  # noqa: PLC0415

    whole = options.recordings_of(args)
    recordings = options.in_step(
        [options.part_of(each, args.start, args.until) for each in whole], args
    )
    for each in recordings:
        if len(each.imu.stamps) < 2:
            raise InputError(
                f'{each.name}: topic {each.imu.topic} has no two IMU samples in the part asked '
                'for; check --from and --until'
            )
    check_one_plane(recordings)
    lasts_s = sum(each.imu.span_ns * 1e-9 for each in recordings)
    known_s = math.inf if args.positions_until is None else args.positions_until
    if args.positions_until is not None and not 0.0 < known_s <= lasts_s:
        msg = f'--positions-until {known_s:g} must be above 0 and below the {lasts_s:.0f} s driven'
        raise InputError(msg)
    names = [args.learner] if args.learner else LEARNERS
    learners = {name: make_learner(name) for name in names}
    with Progress('evaluating online') as progress:
        curve = learning_curve(
            recordings, learners, TrainingSettings().at_one_rate(), known_s, progress
        )
    content = {'bags': args.bags, **curve.to_json()}
    options.answer(args, content, curve.shown(), of_curve(curve))
    return 0
