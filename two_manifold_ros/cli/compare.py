# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Run every method over the same recordings and set them side by side."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence

import numpy as np

from two_manifold_ros.cli import options
from two_manifold_ros.cli.verdict import of_comparison
from two_manifold_ros.comparison.comparing import (
    compare,
    Comparison,
    Plan,
    plan_bags,
    plan_share,
    SHARE,
)
from two_manifold_ros.comparison.rivals import methods_named, NAMES
from two_manifold_ros.errors import InputError
from two_manifold_ros.progress import Progress
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.typing import Table


def shown_comparison(comparison: Comparison) -> Iterator[str | Table]:
    """Yield the tables, and sentences on how to read them."""
    count, rate_hz = len(comparison.horizons), comparison.rate_hz
    # Four, evenly spread, of more horizons than these.
    shown = np.linspace(0, count - 1, min(count, 4)).round().astype(int).tolist()
    ticks = [comparison.horizons[column] for column in shown]
    rows = []
    for result in comparison.results:
        scores = result.scores
        share = options.percent(scores[0].published_share if scores else None)
        errors = [options.metres(scores[k].all.rmse_m) if scores else 'failed' for k in shown]
        rows.append([result.title, share, *errors])
    header = ['method', 'published', *(f'{each} ({each / rate_hz:g} s)' for each in ticks)]
    yield Table('RMSE in metres so many ticks ahead, at all ticks', header, rows)
    learned, followed = map(_named, (comparison.learned, comparison.followed))
    yield f'learned from {learned}, followed {followed}'
    yield f'every method at {rate_hz:.3g} Hz, windows of {comparison.window / rate_hz:.3g} s'
    scored = ', '.join(str(comparison.scored[column]) for column in shown)
    yield f'every method is scored on the same {scored} predictions, published or not'
    if seeing := [result.title for result in comparison.results if result.sees_positions]:
        yield f'given true positions on the way: {", ".join(seeing)}'
    yield from comparison.notes
    yield 'names of the methods, as for --methods; --json has their settings and all errors:'
    for result in comparison.results:
        failed = f', failed: {result.failure}' if result.failure is not None else ''
        yield f'  {result.name}: {result.title}{failed}'


def _named(recordings: Sequence[tuple[str, float]]) -> str:
    names, seconds = zip(*recordings, strict=True)
    return f'{sum(seconds):.1f} s of {" and ".join(names)}'


HELP = (
    'Train every method on the same part of the recordings, run each as a causal filter over the '
    'rest, and print a table of errors. Errors are at all ticks, including ticks that a method '
    'would withhold. The test part is the last 30 % of a single bag, the last of several bags, or '
    'the bags of --test. All bags are of one route.'
)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command."""
    options.add(parser, 'bags')
    parser.add_argument(
        '--test',
        nargs='+',
        action=options.Bags,
        metavar='BAG',
        help='bags to test on, of the same route',
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
    options.add(options.add_topics(parser), '--position-lag', usual='auto', default='auto')
    options.add(parser, '--json')
    group = parser.add_argument_group('every method')
    options.add_settings(group, 'rate_hz', 'window', 'horizons')


def run(args: Namespace) -> int:
    """Compare and report; return 0. ``InputError`` says that no method worked."""
    methods = methods_named(args.methods.split(','))
    plan = _plan(args)
    with Progress('comparing') as progress:
        found = compare(plan, methods, progress)
    if not found.succeeded:
        reasons = '; '.join(f'{each.name}: {each.failure}' for each in found.results)
        raise InputError(f'no method worked, so there is nothing to compare ({reasons})')
    options.answer(args, found.to_json(), shown_comparison(found), of_comparison(found, args))
    return 0


def _plan(args: Namespace) -> Plan:
    settings = TrainingSettings(**options.given_settings(args))
    followed = args.test or []
    alone = len(args.bags) == 1 and not followed
    if args.share is not None and not alone:
        msg = '--share cuts a single bag in two; leave it out, or leave out the other bags'
        raise InputError(msg)
    # Read in one go, so that positions of satellites share one plane.
    every = Namespace(**{**vars(args), 'bags': [*args.bags, *followed]})
    recordings = options.of_one_route(every)
    if alone:
        return plan_share(recordings[0], settings, SHARE if args.share is None else args.share)
    cut = len(recordings) - max(len(followed), 1)
    return plan_bags(recordings[:cut], recordings[cut:], settings)
