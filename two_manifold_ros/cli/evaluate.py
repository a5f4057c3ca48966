# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Score a model over recordings."""

from __future__ import annotations

import json
from pathlib import Path
import sys
from typing import Any, TYPE_CHECKING

from two_manifold_ros.adapting.stream_learner import LEARNERS
from two_manifold_ros.cli.online_report import run_online, seconds_or_share, some_learners
from two_manifold_ros.cli.options import (
    add_json,
    add_position_lag,
    add_topics,
    in_step,
    recordings_of,
    seconds,
)
from two_manifold_ros.cli.progress import Progress
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.evaluation.filter_run import UNUSABLE
from two_manifold_ros.inspection.lag_findings import late_sentences
from two_manifold_ros.inspection.position_lag import estimate_lag
from two_manifold_ros.model.model_file import load_model

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from two_manifold_ros.evaluation.evaluate import Evaluation
    from two_manifold_ros.evaluation.scores import Score
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.recordings.recording import Recording

HELP = (
    'Run the filter of the node over recordings, each from a cold start, and compare its '
    'positions with the recorded ones, at every horizon, beside always predicting the mean '
    'training position and beside repeating the true position of the tick. Every tick after the '
    'first window counts, whether the node would have told its position or not; along and cross '
    'are the errors along and across the true direction of travel.'
)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        'model',
        metavar='MODEL',
        help='file written by two-manifold train; with --online there is none',
    )
    parser.add_argument(
        'bags',
        nargs='*',
        metavar='BAG',
        help='a rosbag2 folder, or one .mcap, .db3 or ROS 1 .bag file',
    )
    add_topics(parser)
    parser.add_argument(
        '--online',
        action='store_true',
        help='take no model, but learn while driving: errors by lap of each learner, beside '
        'models trained of the same laps',
    )
    parser.add_argument(
        '--learners',
        type=some_learners,
        metavar='NAMES',
        help=f'with --online: some of {",".join(LEARNERS)} (default: all)',
    )
    parser.add_argument(
        '--positions-until',
        type=seconds_or_share,
        metavar='S',
        help='with --online: keep positions from the learners after S seconds, or after a share '
        'such as 70%%; from then on the IMU is alone (default: give all)',
    )
    parser.add_argument(
        '--from',
        dest='start',
        type=seconds,
        metavar='S',
        help='begin S seconds after the first IMU stamp; nothing older is seen',
    )
    parser.add_argument(
        '--until', type=seconds, metavar='S', help='end S seconds after the first IMU stamp'
    )
    add_position_lag(parser)
    parser.add_argument(
        '--figure', metavar='FILE', help='draw track and errors into a PNG, PDF or SVG file'
    )
    add_json(parser)


def run(args: Namespace) -> int:
    """Evaluate and report; return 0."""
    if args.online:
        args.bags = [args.model, *args.bags]
        return run_online(args)
    if args.positions_until is not None or args.learners is not None:
        option = '--learners' if args.positions_until is None else '--positions-until'
        msg = f'{option} is about learning while driving: add --online in place of the model'
        raise InputError(msg)
    if not args.bags:
        msg = 'Name the bags to evaluate on after the model, or --online to learn from them.'
        raise InputError(msg)
    if args.figure and not Path(args.figure).absolute().parent.is_dir():
        msg = f'The folder of {args.figure} does not exist: make it before drawing.'
        raise InputError(msg)
    model = load_model(args.model)
    whole = recordings_of(args, origin=model.origin)
    recordings = in_step([each.between(args.start, args.until) for each in whole], args)
    with Progress('evaluating') as progress:
        evaluation = evaluate(model, recordings, progress)
    if args.figure:
        from two_manifold_ros.evaluation.figure import draw_evaluation  # noqa: PLC0415 - an extra

        draw_evaluation(evaluation, model, args.figure)
    content = {'model': args.model, 'bags': args.bags, **evaluation.to_json()}
    for doubt in (*_doubts(args, model, evaluation), *_late(model, recordings)):
        print(f'two-manifold: warning: {doubt}', file=sys.stderr)
    if args.json:
        print(json.dumps(content, indent=2, allow_nan=False))
    else:
        print_scores(evaluation, model)
        _print_times(content)
    return 0


def print_scores(evaluation: Evaluation, model: ModelHead) -> None:
    """Print the errors of the model and of the baselines as a table, and what was withheld."""
    from two_manifold_ros.cli.tables import print_table  # noqa: PLC0415 - JSON needs no rich

    rows = [
        [
            f'{each.horizon} ({each.horizon / model.rate_hz:g} s)',
            str(each.model.all.n),
            _metres(each.model.all.rmse_m),
            _metres(each.model.all.median_m),
            _metres(each.model.all.p95_m),
            _metres(each.model.along_rmse_m),
            _metres(each.model.cross_rmse_m),
            _metres(each.mean.all.rmse_m),
            _metres(each.previous.all.rmse_m),
            _share(each.model.told_share),
            _metres(each.model.rmse_m),
            _ellipses(each.model),
        ]
        for each in evaluation.scores
    ]
    header = [
        'ticks ahead', 'n', 'RMSE', 'median', '95 %', 'along', 'cross', 'mean:\nRMSE',
        'previous:\nRMSE', 'told', 'told:\nRMSE', 'told: in\n68/95 %',
    ]  # fmt: skip
    title = 'position error in metres at all ticks after the first window; told: only where valid'
    print_table(title, header, rows)
    if evaluation.told and evaluation.withheld:
        print(evaluation.describe_withheld())


def _print_times(content: dict[str, Any]) -> None:
    print(
        f'{content["ticks"]} ticks, {content["ticks_after_first_window"]} of them after the first '
        f'window, {content["valid_ticks"]} of these told; '
        f'{1e6 * content["seconds_per_tick_p50"]:.0f} us a tick (median), '
        f'{1e6 * content["seconds_per_tick_p99"]:.0f} us (99 %)'
    )
    if unusable := content['samples'].get(UNUSABLE):
        print(f'{unusable} estimates had no usable position: the mean position stands for it')


def _doubts(args: Namespace, model: ModelHead, evaluation: Evaluation) -> Iterator[str]:
    """Yield what speaks against taking the scores at face value."""
    trained = [bag for bag in args.bags if bag in model.summary.get('recordings', [])]
    if trained and args.start is None:
        yield (
            f'the model was trained on {", ".join(trained)}: score with --from what it has not '
            'seen, or another recording'
        )
    if not evaluation.told:
        yield f'nothing would have been published: {evaluation.describe_withheld()}'
    now, mean = evaluation.scores[0].model.all.rmse_m, evaluation.scores[0].mean.all.rmse_m
    if now is not None and mean is not None and now > mean:
        yield (
            f'the model is worse than always answering the mean position ({mean:.2f} m): it does '
            'not know this drive'
        )


def _late(model: ModelHead, recordings: list[Recording]) -> Iterator[str]:
    names = [each.name for each in recordings]
    return late_sentences(names, list(map(estimate_lag, recordings)), 0.5 / model.rate_hz)


def _metres(value: float | None) -> str:
    return '-' if value is None else f'{value:.3f}'


def _share(value: float | None) -> str:
    """Return a share in per cent; it is 100 % only if nothing is missing."""
    if value is None:
        return '-'
    return f'{100 * value:.0f} %' if value in {0.0, 1.0} else f'{100 * value:.1f} %'


def _ellipses(score: Score) -> str:
    if score.coverage68 is None or score.coverage95 is None:
        return '-'
    return f'{100 * score.coverage68:.0f}/{100 * score.coverage95:.0f}'
