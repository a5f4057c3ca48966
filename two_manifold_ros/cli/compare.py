# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Run every method over the same recordings and set them side by side."""

from __future__ import annotations

from argparse import Namespace
from contextlib import redirect_stdout
from io import StringIO
import json
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.cli.options import (
    add_bags,
    add_json,
    add_position_lag,
    add_report,
    add_topics,
    Bags,
    check_report,
    in_step,
    metres,
    on_stderr,
    percent,
    print_table,
    print_verdict,
    print_wrapped,
    print_written,
    recordings_of,
)
from two_manifold_ros.cli.training_options import add_settings, given_settings
from two_manifold_ros.cli.verdict import of_comparison
from two_manifold_ros.comparison.comparing import compare
from two_manifold_ros.comparison.protocol import (
    plan_bags,
    plan_share,
    plan_slot_car,
    SHARE,
    SLOT_CAR,
)
from two_manifold_ros.comparison.rivals import methods_named, NAMES
from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.inspecting import inspect_recording, training_warnings
from two_manifold_ros.inspection.shared_places import sort_by_route
from two_manifold_ros.progress import Progress
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Iterator, Sequence

    from two_manifold_ros.comparison.comparing import Comparison, Result
    from two_manifold_ros.comparison.protocol import Plan
    from two_manifold_ros.evaluation.scores import Score

MOST_COLUMNS = 4
"""Horizons in the table; of more, so many evenly spread ones are shown."""

MOST_NAMED = 2
"""Recordings that are named; the JSON names all."""


def print_comparison(comparison: Comparison) -> None:
    """Print the tables, with notes on how to read them."""
    shown = _shown(len(comparison.horizons))
    ticks = [comparison.horizons[column] for column in shown]
    headings = [f'{each} ({each / comparison.rate_hz:g} s)' for each in ticks]
    withholding = any(_share(result) is not None for result in comparison.results)
    for title, cell in _TABLES.items():
        shares = withholding and title == next(iter(_TABLES))
        rows = [
            [
                result.title,
                *([percent(_share(result))] if shares else []),
                *(cell(result.scores[column]) if result.scores else 'failed' for column in shown),
            ]
            for result in comparison.results
        ]
        print_table(title, ['method', *(['published'] if shares else []), *headings], rows)
    for line in (*_legend(comparison), *comparison.notes, *_details(comparison)):
        print_wrapped(line, '    ')


def _pair(first: float | None, second: float | None) -> str:
    return '-' if first is None else f'{metres(first)} / {metres(second)}'


_TABLES: dict[str, Callable[[Score], str]] = {
    'RMSE in metres so many ticks ahead, at all ticks': lambda each: metres(each.all.rmse_m),
    'Median of the error in metres / its 95th percentile, at all ticks': lambda each: _pair(
        each.all.median_m, each.all.p95_m
    ),
    'RMSE in metres along the true direction of travel / across it, at all ticks': (
        lambda each: _pair(each.along_rmse_m, each.cross_rmse_m)
    ),
}
"""Cells of the tables by their titles, the first beside the share that is published."""


def _shown(count: int) -> list[int]:
    """Return which of so many horizons have a column."""
    columns: list[int] = (
        np.linspace(0, count - 1, min(count, MOST_COLUMNS)).round().astype(int).tolist()
    )
    return columns


def _share(result: Result) -> float | None:
    """Return the share of the present positions that a method would have published."""
    return None if not result.scores else result.scores[0].published_share


def _legend(comparison: Comparison) -> Iterator[str]:
    yield f'learned from {_named(comparison.learned)}, followed {_named(comparison.followed)}'
    window_s = comparison.window / comparison.rate_hz
    yield f'every method at {comparison.rate_hz:.3g} Hz, windows of {window_s:.3g} s'
    shown = _shown(len(comparison.scored))
    counts = [comparison.scored[column] for column in shown]
    yield (
        f'every method is scored on the same {", ".join(map(str, counts))} predictions, published '
        'or not'
    )
    for result in comparison.results:
        yield from _withheld(result, shown)
    seeing = [result.title for result in comparison.results if result.sees_positions]
    if seeing:
        yield f'given true positions on the way: {", ".join(seeing)}'


def _withheld(result: Result, shown: Sequence[int]) -> Iterator[str]:
    """Yield how much a method would not have published, and its errors without that."""
    share = _share(result)
    scores = result.scores or ()
    if share is None or all(each.published_share in {1.0, None} for each in scores):
        return
    left = ', '.join(metres(scores[column].rmse_m) for column in shown)
    yield (
        f'{result.title} would withhold {100 * (1.0 - share):.1f} % of the present positions; '
        f'RMSE of what it would publish: {left}'
    )


def _details(comparison: Comparison) -> Iterator[str]:
    yield 'names of the methods, as for --methods; --json has their settings:'
    for each in comparison.results:
        failed = f', failed: {each.failure}' if each.failure is not None else ''
        yield f'  {each.name}: {each.title}{failed}'


def _named(recordings: Sequence[tuple[str, float]]) -> str:
    names = [name for name, _ in recordings]
    shown = ' and '.join(names) if len(names) <= MOST_NAMED else f'{len(names)} recordings'
    return f'{sum(seconds for _, seconds in recordings):.1f} s of {shown}'


HELP = (
    'Train every method on the same part of the recordings, run each as a causal filter over the '
    'rest, and print tables of errors. Errors are at all ticks, including ticks that a method '
    'would withhold, and along and across the direction of travel. The test part is the last 30 % '
    'of a single bag, the last of several bags, or the bags of --test. All bags are of one route.'
)
_PROTOCOLS = ('slot-car',)
_FIXED = ('test', 'share', 'rate_hz', 'window', 'horizons')
"""Options that a protocol settles."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_bags(parser)
    parser.add_argument(
        '--test', nargs='+', action=Bags, metavar='BAG', help='bags to test on, of the same route'
    )
    parser.add_argument(
        '--share',
        type=float,
        metavar='X',
        help=f'share of a single bag to test on, at its end (default: {SHARE:g})',
    )
    parser.add_argument(
        '--methods',
        default=','.join(NAMES),
        metavar='NAME,...',
        help=f'some of the methods {", ".join(NAMES)} (default: all); a kernel of train --kernel '
        'stands for the spectral filter with it, kernels for each kernel in turn, paper-gaussian '
        'for paper with that kernel, tpsr for train --method tpsr',
    )
    add_position_lag(add_topics(parser))
    add_report(parser, 'errors and readings of all methods; a click shows or hides each')
    add_json(parser)
    group = parser.add_argument_group('every method')
    add_settings(group, 'rate_hz', 'window', 'horizons')
    group.add_argument(
        '--protocol',
        choices=_PROTOCOLS,
        help='slot-car, as in the paper: at 10 Hz, learn from the first 2,000 ticks of one bag; '
        'of ticks 2,501 to 3,000 filter the first 100 to 350 and predict 1 to 100 ticks further; '
        'windows of 150 ticks, 20 states, 50 neighbours, an HMM of 20 states',
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
    check_report(args)
    plan = _plan(args)
    _warn(plan)
    with Progress('comparing') as progress:
        found = compare(plan, methods, progress)
    _check_any(found)
    _report(args, found)
    return 0


def _plan(args: Namespace) -> Plan:
    if args.protocol:
        named = [name for name in _FIXED if getattr(args, name) is not None]
        given = [f'--{name.removesuffix("_hz")}' for name in named]
        if given or len(args.bags) > 1:
            wrong = ', '.join(given) or 'more than one bag'
            msg = f'--protocol {args.protocol} settles everything on one bag; leave out {wrong}'
            raise InputError(msg)
        return plan_slot_car(in_step(recordings_of(args), args)[0])
    settings = TrainingSettings(**given_settings(args))
    followed = args.test or []
    alone = len(args.bags) == 1 and not followed
    if args.share is not None and not alone:
        msg = '--share cuts a single bag in two; leave it out, or leave out the other bags'
        raise InputError(msg)
    # Read in one go, so that positions of satellites share one plane.
    every = Namespace(**{**vars(args), 'bags': [*args.bags, *followed]})
    recordings = in_step(recordings_of(every), args)
    routes = sort_by_route(recordings)
    if len(routes) > 1:
        listed = '; '.join(', '.join(each.name for each in group) for group in routes.values())
        msg = f'the bags are of {len(routes)} routes ({listed}): compare each route by itself'
        raise InputError(msg)
    if alone:
        return plan_share(recordings[0], settings, SHARE if args.share is None else args.share)
    cut = len(recordings) - max(len(followed), 1)
    return plan_bags(recordings[:cut], recordings[cut:], settings)


def _warn(plan: Plan) -> None:
    """Print the warnings of the inspection of the training recordings before comparing."""
    dataset = plan.train.dataset
    with Progress('inspecting'):
        reports = [inspect_recording(each) for each in plan.train.recordings]
    for sentence in training_warnings(reports, dataset.rate_hz):
        on_stderr(f'two-manifold: warning: {sentence}')


def _check_any(comparison: Comparison) -> None:
    if comparison.succeeded:
        return
    names: dict[str, list[str]] = {}
    for result in comparison.results:
        names.setdefault((result.failure or '').rstrip('.'), []).append(result.name)
    reasons = '; '.join(f'{", ".join(who)}: {reason}' for reason, who in names.items())
    msg = f'no method worked, so there is nothing to compare ({reasons})'
    raise InputError(msg)


def _report(args: Namespace, found: Comparison) -> None:
    verdict = of_comparison(found, args)
    if args.report:
        from two_manifold_ros.pages.model_sections import (  # noqa: PLC0415 - an extra
            comparison_sections,
        )
        from two_manifold_ros.pages.report import Report, title_of  # noqa: PLC0415 - an extra

        page = Report(title_of(args.bags, 'methods side by side'), ', '.join(args.bags))
        page.say(*verdict.lines)
        comparison_sections(page, found)
        page.section('As printed')
        text = StringIO()
        with redirect_stdout(text):
            print_comparison(found)
        page.preformatted(text.getvalue())
        page.write(args.report)
    if args.json:
        content = {**found.to_json(), 'verdict': verdict._asdict()}
        print(json.dumps(content, indent=2, allow_nan=False))
    else:
        print_verdict(verdict)
        print_comparison(found)
        print_written(args)
