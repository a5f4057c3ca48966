# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The option ``--tune`` of ``train``, and how its table is shown."""

from __future__ import annotations

from pathlib import Path
import sys
from typing import Any, TYPE_CHECKING

from two_manifold_ros.cli.progress import Progress
from two_manifold_ros.errors import InputError
from two_manifold_ros.tuning.journal import Journal, key_of
from two_manifold_ros.tuning.tune import tune, USUAL_TRIALS

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping, Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.tuning.tune import Tuning

SUFFIX = '.tuning.json'
MOST_ROWS = 10


def add_tuning(parser: ArgumentParser) -> None:
    """Add ``--tune`` and what belongs to it."""
    group = parser.add_argument_group('tuning')
    group.add_argument(
        '--tune',
        action='store_true',
        help='choose all settings that are not given by trials on held-out laps; without --rate '
        'the rate too, where window and horizons stay as long in seconds',
    )
    group.add_argument(
        '--trials',
        type=int,
        metavar='N',
        help=f'settings to try, those without tuning included (default: {USUAL_TRIALS})',
    )
    group.add_argument(
        '--no-resume',
        action='store_true',
        help=f'forget the trials kept in MODEL{SUFFIX} by a run that was stopped',
    )


def check_tuning(args: Namespace) -> None:
    """
    Refuse options that would be passed over.

    Raises
    ------
    InputError
        If they do not go together.

    """
    if not args.tune and (args.trials is not None or args.no_resume):
        option = '--no-resume' if args.trials is None else '--trials'
        msg = f'{option} is about tuning: add --tune, or leave it out'
        raise InputError(msg)
    if args.tune and args.method == 'paper':
        msg = '--method paper settles everything itself: leave out --tune'
        raise InputError(msg)
    if args.trials is not None and args.trials < 1:
        msg = f'--trials {args.trials} must be at least 1'
        raise InputError(msg)


def tuned(
    args: Namespace,
    recordings: Sequence[Recording],
    settings: TrainingSettings,
    given: frozenset[str],
) -> Tuning:
    """Tune with a journal beside the model; when interrupted say what is kept."""
    path = Path(f'{args.output}{SUFFIX}')
    key = key_of(recordings, settings, given)
    journal = Journal(path, key, resume=not args.no_resume)
    try:
        with Progress('tuning') as progress:
            trials = USUAL_TRIALS if args.trials is None else args.trials
            return tune(recordings, settings, given, trials, journal, progress)
    except KeyboardInterrupt:
        if len(journal):
            print(
                f'two-manifold: stopped: {len(journal)} trials are kept in {path}, from which '
                'the same command goes on',
                file=sys.stderr,
            )
        raise


def print_tuning(summary: Mapping[str, Any]) -> None:
    """Print the best trials, and what was changed."""
    from two_manifold_ros.cli.tables import print_table  # noqa: PLC0415 - JSON needs no rich

    if summary['note'] is not None:
        print(f'note: nothing was tuned: {summary["note"]}')
        return
    scored = [row for row in summary['trials'] if row['score_m'] is not None]
    best = sorted(scored, key=lambda row: row['score_m'])[:MOST_ROWS]
    title = f'best of {len(summary["trials"])} trials over {summary["laps"]:.1f} held-out laps'
    rows = [_row(row, summary) for row in best]
    print_table(title, ['', 'changed', 'laps won', 'mean error (m)'], rows)
    for row in summary['trials']:
        if row['score_m'] is None:
            print(f'failed: {_changes(row["changed"])}: {row["failed"]}')
    print(in_a_sentence(summary))


def in_a_sentence(summary: Mapping[str, Any]) -> str:
    """Return what a tuning changed and by how much the error fell."""
    if not summary['changed']:
        return 'tuning: nothing is better by more than chance than the settings without it'
    changes = ', '.join(
        f'{name} {_value(summary["untuned"][name])} -> {_value(value)}'
        for name, value in summary['changed'].items()
    )
    untuned_m, tuned_m = summary['untuned_m'], summary['tuned_m']
    less = 100.0 * (1.0 - tuned_m / untuned_m)
    return (
        f'tuning: {changes}: held-out error {untuned_m:.3f} -> {tuned_m:.3f} m ({less:.0f} % less)'
    )


def _row(row: Mapping[str, Any], summary: Mapping[str, Any]) -> list[str]:
    won = '' if row['laps_won'] is None else f'{row["laps_won"][0]} of {row["laps_won"][1]}'
    chosen = '-> ' if row['changed'] == summary['changed'] else ''
    return [chosen, _changes(row['changed']) or '(untuned)', won, f'{row["score_m"]:.3f}']


def _changes(changed: Mapping[str, Any]) -> str:
    return ', '.join(f'{name} {_value(value)}' for name, value in changed.items())


def _value(value: Any) -> str:  # noqa: ANN401 - any JSON value
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    if isinstance(value, list):
        return ','.join(map(_value, value))
    return f'{value:g}' if isinstance(value, int | float) else str(value)
