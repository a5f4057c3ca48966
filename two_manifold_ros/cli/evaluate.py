# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Score a model, or learners along a stream, over recordings."""

from __future__ import annotations

from argparse import ArgumentTypeError
import json
import math
import re
from typing import TYPE_CHECKING

from two_manifold_ros.cli.fleet import run_fleet
from two_manifold_ros.cli.options import (
    add_bags,
    add_fleet,
    add_json,
    add_part,
    add_position_lag,
    add_report,
    add_sensor_topics,
    add_topics,
    check_report,
    fleet_of,
    in_step,
    metres,
    name_sensors,
    on_stderr,
    part_of,
    percent,
    print_table,
    print_verdict,
    print_wrapped,
    print_written,
    recordings_in_planes,
    recordings_of,
)
from two_manifold_ros.cli.verdict import of_curve, of_evaluation, of_routes, trained_on
from two_manifold_ros.errors import InputError, NO_USE
from two_manifold_ros.evaluation.drives import trained_lag
from two_manifold_ros.evaluation.evaluate import ELSEWHERE, evaluate, UNUSABLE
from two_manifold_ros.evaluation.online import AFTERWARDS, learning_curve, MEAN, OFFLINE
from two_manifold_ros.evaluation.routes import recordings_by_route
from two_manifold_ros.evaluation.vehicles import correction_from
from two_manifold_ros.inspection.lag import estimate_lag, late_sentences
from two_manifold_ros.inspection.positions import left_out_sentence
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.names import LEARNERS
from two_manifold_ros.progress import Progress
from two_manifold_ros.recordings.recording import check_one_plane
from two_manifold_ros.sources import expand
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Mapping, Sequence

    from two_manifold_ros.cli.verdict import Verdict
    from two_manifold_ros.evaluation.evaluate import Evaluation
    from two_manifold_ros.evaluation.online import LearningCurve
    from two_manifold_ros.evaluation.scores import Score
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.recordings.recording import Recording


MOST_INSPECTED = 2
"""Recordings whose inspection is in a report, each some hundred kilobytes of the 2 MB."""


def seconds_or_share(text: str) -> tuple[float, bool]:
    """
    Parse ``120`` or ``70%`` for argparse: a number, and whether it is a share.

    Raises
    ------
    ArgumentTypeError
        If it is neither.

    """
    number, unit = re.fullmatch(r'(.*?)\s*(%?)', text.strip(), re.DOTALL).groups()  # type: ignore[union-attr]
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    most = 100.0 if unit else math.inf
    if not 0.0 < value <= most or not math.isfinite(value):
        msg = f'{text!r} is neither a number of seconds above 0 nor a share such as 70%'
        raise ArgumentTypeError(msg)
    return (value / 100.0, True) if unit else (value, False)


def some_learners(text: str) -> tuple[str, ...]:
    """
    Parse names of learners, separated by commas, for argparse.

    Raises
    ------
    ArgumentTypeError
        If there is none of a name.

    """
    names = tuple(dict.fromkeys(each.strip() for each in text.split(',')))
    for name in names:
        if name not in LEARNERS:
            msg = f'there is no learner named {name!r}; choose among {", ".join(LEARNERS)}'
            raise ArgumentTypeError(msg)
    return names


def run_online(args: Namespace) -> int:
    """Feed learners with the bags, report, and return 0."""
    # All of training with it, which the other form of the command does without.
    from two_manifold_ros.adapting.stream_learner import make_learner  # noqa: PLC0415

    if args.report:
        msg = '--report shows what a model does; leave it out with --online'
        raise InputError(msg)
    if args.workers is not None:
        msg = '--online goes from one lap to the next: leave out --workers'
        raise InputError(msg)
    if args.sensor_topic:
        msg = '--sensor-topic is for models; leave it out, learners with --online take no sensor'
        raise InputError(msg)
    whole = recordings_of(args)
    recordings = in_step([part_of(each, args.start, args.until) for each in whole], args)
    _check(recordings)
    seconds = sum(each.imu.span_ns * 1e-9 for each in recordings)
    known_s = math.inf
    if args.positions_until is not None:
        number, is_share = args.positions_until
        known_s = number * seconds if is_share else number
        if known_s > seconds:
            msg = f'--positions-until {number:g}: the drive ends after {seconds:.0f} s; give less'
            raise InputError(msg)
    learners = {name: make_learner(name) for name in args.learners or LEARNERS}
    with Progress('evaluating online') as progress:
        curve = learning_curve(
            recordings, learners, TrainingSettings().at_one_rate(), known_s, progress
        )
    verdict = of_curve(curve)
    if args.json:
        content = {'bags': args.bags, 'verdict': verdict._asdict(), **curve.to_json()}
        print(json.dumps(content, indent=2, allow_nan=False))
    else:
        print_verdict(verdict)
        print_curve(curve)
    return 0


def _check(recordings: Sequence[Recording]) -> None:
    for recording in recordings:
        if len(recording.imu.stamps) < 2:
            msg = (
                f'{recording.name}: topic {recording.imu.topic} has no two IMU samples in the '
                'part asked for; check --from and --until'
            )
            raise InputError(msg)
    check_one_plane(recordings)


def print_curve(curve: LearningCurve) -> None:
    """Print errors by lap as a table."""
    found = {(row.lap, row.name): row for row in curve.rows}
    laps = list(dict.fromkeys(row.lap for row in curve.rows))
    header = ['lap' if curve.laps else 'tenth', 'from, s']
    for name in curve.names:
        header += [f'{name}:\nRMSE', f'{name}:\npublished'] if name != MEAN else [f'{MEAN}:\nRMSE']
    rows = []
    for lap in laps:
        first = next(row for row in curve.rows if row.lap == lap)
        cells = ['IMU alone' if lap == AFTERWARDS else str(lap), f'{first.seconds:.0f}']
        for name in curve.names:
            row = found.get((lap, name))
            cells.append('-' if row is None else f'{row.rmse_m:.3f}')
            if name != MEAN:
                cells.append('-' if row is None else f'{100 * row.published:.0f} %')
        rows.append(cells)
    print_table(
        'position error in metres over all ticks, published or not, before the position is given',
        header,
        rows,
    )
    print_wrapped(
        f'{OFFLINE}: the default, trained on all that came before the lap, where that is 1, 2, 3, '
        f'5, 8, ... laps; {MEAN}: always the mean of the positions so far'
    )


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
    parser.add_argument(
        'model',
        metavar='MODEL',
        help='file written by two-manifold train; with --online there is none',
    )
    add_bags(parser, '*')
    add_part(parser)
    recordings = add_topics(parser)
    add_report(parser, 'the track, when the filter was unsure and why, and the recording')
    add_json(parser)
    add_sensor_topics(recordings)
    add_position_lag(recordings, 'as in the training of the model; with --online none')
    recordings.add_argument(
        '--vehicle', metavar='FILE', help='correct the IMU by the file of two-manifold vehicle'
    )
    online = parser.add_argument_group('learning while driving, without a model')
    online.add_argument(
        '--online',
        action='store_true',
        help='learn while driving: errors of each learner by lap, beside models trained on the '
        'same laps',
    )
    online.add_argument(
        '--learners',
        type=some_learners,
        metavar='NAMES',
        help=f'some of {",".join(LEARNERS)} (default: all)',
    )
    online.add_argument(
        '--positions-until',
        type=seconds_or_share,
        metavar='S',
        help='give the learners no positions after S seconds, or after a share such as 70%%; from '
        'then on they have the IMU alone (default: give all)',
    )
    add_fleet(parser).add_argument(
        '--fleet',
        action='store_true',
        help='score each bag where it is read; report by vehicle (the folder of a bag), by day '
        'and by place; a bag that cannot be read is named and left out',
    )


def run(args: Namespace) -> int:
    """Evaluate and report; return 0, or ``NO_USE`` if nothing would have been published."""
    _check_vehicle(args)
    if args.online:
        args.bags = [*expand([args.model]), *args.bags]
        return run_online(args)
    if args.positions_until is not None or args.learners is not None:
        option = '--learners' if args.positions_until is None else '--positions-until'
        msg = f'{option} is about learning while driving: add --online in place of the model'
        raise InputError(msg)
    if not args.bags:
        msg = 'Name the bags to evaluate on after the model, or --online to learn from them.'
        raise InputError(msg)
    check_report(args)
    if args.fleet:
        return run_fleet(args)
    model = load_model(args.model)
    name_sensors(args, model)
    whole = recordings_in_planes(args, model)
    # A part may be too short to say by itself which route it is of.
    by_route = {
        name: [part_of(one, args.start, args.until) for one in each]
        for name, each in recordings_by_route(model, whole).items()
    }
    _check_one_route(args, by_route)
    # Each as in the training of its route.
    by_route = {
        name: in_step(each, args, trained_lag(model.routes[name]))
        for name, each in by_route.items()
    }
    correct = correction_from(args.vehicle, model)
    with fleet_of(args) as client, Progress('evaluating') as progress:
        found = {
            name: evaluate(model, [correct(one) for one in each], progress, name, client)
            for name, each in by_route.items()
        }
    if len(found) > 1:
        return _report_routes(args, model, by_route, found)
    ((route, evaluation),) = found.items()
    model, recordings = model.routes[route], by_route[route]
    verdict = of_evaluation(args, model, evaluation)
    if args.report:
        _write_report(args, evaluation, recordings, model, verdict)
    of_route = {'route': route} if route else {}
    content = {'model': args.model, 'bags': args.bags, **of_route, **evaluation.to_json()}
    content['verdict'] = verdict._asdict()
    for doubt in _doubts(args, model, recordings):
        on_stderr(f'two-manifold: warning: {doubt}')
    if args.json:
        print(json.dumps(content, indent=2, allow_nan=False))
    else:
        print_verdict(verdict)
        print_scores(evaluation, model)
        _print_naming(evaluation, model, route)
        print_unusable(content['samples'])
        print_written(args)
    return 0 if evaluation.published else NO_USE


def _check_vehicle(args: Namespace) -> None:
    if args.vehicle and (args.online or args.fleet):
        msg = '--vehicle is about one model and one vehicle: leave out --online and --fleet'
        raise InputError(msg)


def _check_one_route(args: Namespace, by_route: Mapping[str, Sequence[Recording]]) -> None:
    """Refuse what is about one route with recordings of several."""
    if len(by_route) > 1 and args.report:
        msg = (
            f'--report is about one route, and the recordings are of {len(by_route)} '
            f'({", ".join(by_route)}): evaluate each route by itself'
        )
        raise InputError(msg)


def _report_routes(
    args: Namespace,
    model: ModelHead,
    by_route: Mapping[str, list[Recording]],
    found: Mapping[str, Evaluation],
) -> int:
    """Report on recordings of several routes; return the exit status."""
    status = 0 if any(each.published for each in found.values()) else NO_USE
    verdicts = {}
    for name, each in found.items():
        own, recordings = model.routes[name], by_route[name]
        verdicts[name] = of_evaluation(args, own, each)
        for doubt in _doubts(args, own, recordings):
            on_stderr(f'two-manifold: warning: {name}: {doubt}')
    verdict = of_routes(verdicts)
    if args.json:
        routes = {name: each.to_json() for name, each in found.items()}
        content = {'model': args.model, 'bags': args.bags, 'routes': routes}
        content['verdict'] = verdict._asdict()
        print(json.dumps(content, indent=2, allow_nan=False))
        return status
    print_verdict(verdict)
    rows = []
    for name, each in found.items():
        now = each.scores[0]
        rows.append(
            [
                name,
                str(each.ticks),
                *_naming(each),
                percent(now.model.published_share),
                metres(now.model.all.rmse_m),
                metres(now.model.rmse_m),
                metres(now.mean.all.rmse_m),
            ]
        )
    header = [
        'route', 'ticks', 'named\nright', 'wrong,\npublished', 'published', 'RMSE, m',
        'published:\nRMSE', 'mean:\nRMSE',
    ]  # fmt: skip
    print_table('position error by route, at all ticks after the first window', header, rows)
    print_wrapped(
        'named right: after one and a half windows; wrong, published: published positions that '
        'are on another route'
    )
    for name, each in found.items():
        print_unusable(each.to_json()['samples'], f'{name}: ')
    return status


def _print_naming(evaluation: Evaluation, model: ModelHead, route: str) -> None:
    """Print how well the route, or lines on its map, were named, if a name could be wrong."""
    if evaluation.naming is None or not evaluation.naming.ticks:
        return
    lines = bool(model.route_names)
    if not (route or lines):
        return
    right, wrong = _naming(evaluation)
    of_another = (
        'none of them are published'
        if wrong == '-'
        else f'{wrong} of the positions that are published then are of another one'
    )
    subject = f'the route {route} is' if route else 'a line that passes there is'
    if route and lines:
        subject = f'the route {route}, and a line that passes there, are'
    print_wrapped(
        f'{subject} named at {right} of the ticks after one and a half windows; {of_another}'
    )


def _naming(evaluation: Evaluation) -> list[str]:
    """Return how well the route was named, as cells."""
    naming = evaluation.naming
    if naming is None:
        return ['-', '-']
    return [
        '-' if math.isnan(each) else f'{100.0 * each:.1f} %'
        for each in (naming.right, naming.wrong_published)
    ]


def _write_report(
    args: Namespace,
    evaluation: Evaluation,
    recordings: Sequence[Recording],
    model: ModelHead,
    verdict: Verdict,
) -> None:
    from two_manifold_ros.inspection.inspecting import inspect_recording  # noqa: PLC0415 - as below
    from two_manifold_ros.pages.recording_sections import (  # noqa: PLC0415 - an extra
        inspection_sections,
    )
    from two_manifold_ros.pages.report import Report, title_of  # noqa: PLC0415 - an extra
    from two_manifold_ros.pages.run_sections import run_sections  # noqa: PLC0415 - an extra

    part = f', from {args.start:g} s on; times count from there' if args.start else ''
    report = Report(
        title_of(args.bags, 'evaluation'), f'{args.model} on {", ".join(args.bags)}{part}'
    )
    report.say(*verdict.lines)
    drawn = run_sections(report, evaluation, recordings, model, score_tables(evaluation, model))
    shown = [recordings[number] for number in drawn[:MOST_INSPECTED]]
    if len(shown) < len(recordings):
        report.say(f'{len(shown)} of these are inspected below.')
    inspection_sections(report, [inspect_recording(each) for each in shown], shown)
    report.write(args.report)


def print_scores(evaluation: Evaluation, model: ModelHead) -> None:
    """Print the errors of the model and of the baselines as tables, and what was withheld."""
    for table in score_tables(evaluation, model):
        print_table(*table)
    if evaluation.published and evaluation.withheld:
        print_wrapped(evaluation.describe_withheld())


def score_tables(
    evaluation: Evaluation, model: ModelHead
) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Yield title, header and rows of the errors at all ticks, and of those published."""
    ahead = [
        f'{each.horizon} ({round(each.horizon / model.rate_hz, 2):g} s)'
        for each in evaluation.scores
    ]
    rows = [
        [
            name,
            str(each.model.all.n),
            metres(each.model.all.rmse_m),
            metres(each.model.all.median_m),
            metres(each.model.all.p95_m),
            metres(each.model.along_rmse_m),
            metres(each.model.cross_rmse_m),
            metres(each.mean.all.rmse_m),
            metres(each.previous.all.rmse_m),
        ]
        for name, each in zip(ahead, evaluation.scores, strict=True)
    ]
    header = [
        'ticks ahead', 'n', 'RMSE', 'median', '95 %', 'along', 'cross', 'mean:\nRMSE',
        'previous:\nRMSE',
    ]  # fmt: skip
    yield 'position error in metres at all ticks after the first window', header, rows
    published = [
        [
            name,
            percent(each.model.published_share),
            metres(each.model.rmse_m),
            _ellipses(each.model),
        ]
        for name, each in zip(ahead, evaluation.scores, strict=True)
    ]
    header = ['ticks ahead', 'published', 'RMSE', 'in the ellipse of 68/95 %']
    yield 'the same, only where the filter publishes', header, published


def print_unusable(counters: Mapping[str, int], whose: str = '') -> None:
    """Print for which estimates the mean position stands, if for any."""
    count, elsewhere = counters.get(UNUSABLE, 0), counters.get(ELSEWHERE, 0)
    if not count:
        return
    those = 'all' if elsewhere == count else str(elsewhere)
    because = f', {those} of them because they are of another route' if elsewhere else ''
    print_wrapped(
        f'{whose}{count} estimates had no usable position at one horizon or more{because}: the '
        'mean position stands for it there'
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


def _ellipses(score: Score) -> str:
    if score.coverage68 is None or score.coverage95 is None:
        return '-'
    return f'{100 * score.coverage68:.0f}/{100 * score.coverage95:.0f}'
