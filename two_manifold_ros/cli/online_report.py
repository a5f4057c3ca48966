# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold evaluate --online`: how soon learners know a route, and what they know then."""

from __future__ import annotations

from argparse import ArgumentTypeError
import json
import math
from pathlib import Path
import re
from typing import Any, TYPE_CHECKING

from two_manifold_ros.adapting.stream_learner import LEARNERS, make_learner
from two_manifold_ros.cli.options import in_step, recordings_of
from two_manifold_ros.cli.progress import Progress
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.online import AFTERWARDS, learning_curve, MEAN, OFFLINE
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from two_manifold_ros.evaluation.online import LearningCurve
    from two_manifold_ros.recordings.recording import Recording

COLORS = {'map': 'tab:blue', 'tpsr': 'tab:purple', OFFLINE: 'black', MEAN: 'tab:gray'}

FORMATS = ('.png', '.pdf', '.svg')


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
    if args.figure and Path(args.figure).suffix.lower() not in FORMATS:
        msg = f'{args.figure}: a figure cannot be drawn into this; use a name in '
        raise InputError(msg + ', '.join(FORMATS))
    if args.figure and not Path(args.figure).absolute().parent.is_dir():
        msg = f'The folder of {args.figure} does not exist: make it before drawing.'
        raise InputError(msg)
    whole = recordings_of(args)
    recordings = in_step([each.between(args.start, args.until) for each in whole], args)
    _check(recordings)
    seconds = sum((int(each.imu.stamps[-1]) - each.imu.first_stamp) * 1e-9 for each in recordings)
    known_s = math.inf
    if args.positions_until is not None:
        number, is_share = args.positions_until
        known_s = number * seconds if is_share else number
        if known_s > seconds:
            msg = f'--positions-until {number:g}: the drive ends after {seconds:.0f} s; give less'
            raise InputError(msg)
    learners = {name: make_learner(name) for name in args.learners or LEARNERS}
    with Progress('evaluating online') as progress:
        curve = learning_curve(recordings, learners, TrainingSettings(), known_s, progress)
    if args.figure:
        draw_curve(curve, args.figure)
    if args.json:
        content = {'bags': args.bags, **curve.to_json()}
        print(json.dumps(content, indent=2, allow_nan=False))
    else:
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


def print_curve(curve: LearningCurve) -> None:
    """Print errors by lap as a table."""
    from two_manifold_ros.cli.tables import print_table  # noqa: PLC0415 - JSON needs no rich

    found = {(row.lap, row.name): row for row in curve.rows}
    laps = list(dict.fromkeys(row.lap for row in curve.rows))
    header = ['lap' if curve.laps else 'tenth', 'from, s']
    for name in curve.names:
        header += [f'{name}:\nRMSE', f'{name}:\ntold'] if name != MEAN else [f'{MEAN}:\nRMSE']
    rows = []
    for lap in laps:
        first = next(row for row in curve.rows if row.lap == lap)
        cells = ['IMU alone' if lap == AFTERWARDS else str(lap), f'{first.seconds:.0f}']
        for name in curve.names:
            row = found.get((lap, name))
            cells.append('-' if row is None else f'{row.rmse_m:.3f}')
            if name != MEAN:
                cells.append('-' if row is None else f'{100 * row.told:.0f} %')
        rows.append(cells)
    print_table(
        'position error in metres over all ticks, told or not, before the position is given',
        header,
        rows,
    )
    print(
        f'{OFFLINE}: the default, trained on all that came before the lap, where that is 1, 2, 3, '
        f'5, 8, ... laps; {MEAN}: always the mean of the positions so far'
    )


def draw_curve(curve: LearningCurve, path: str) -> None:
    """
    Draw errors by lap into a PNG, PDF or SVG file.

    Raises
    ------
    ModuleNotFoundError
        Without matplotlib, which is an offline extra.

    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - an offline extra, slow to import
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    figure = Figure(figsize=(8.0, 4.5), layout='constrained')
    axes: Any = figure.subplots()
    last = max(row.lap for row in curve.rows)
    for name in curve.names:
        color = COLORS[name]
        rows = [row for row in curve.rows if row.name == name and row.lap != AFTERWARDS]
        style = {OFFLINE: 'o', MEAN: '--'}.get(name, 'o-')
        axes.semilogy(
            [row.lap for row in rows],
            [row.rmse_m for row in rows],
            style,
            color=color,
            mfc='none' if name == OFFLINE else color,
            label={
                OFFLINE: 'default, trained offline of the laps before',
                MEAN: 'mean position',
            }.get(name, f'{name}, learned live'),
        )
        for row in curve.rows:
            if row.name == name and row.lap == AFTERWARDS:
                axes.plot([last + 1.5], [row.rmse_m], style[0] if name != MEAN else '_',
                          color=color, mfc='none' if name == OFFLINE else color)  # fmt: skip
    ticks = [each for each in MaxNLocator(integer=True).tick_values(1, last) if 1 <= each <= last]
    names = [f'{each:.0f}' for each in ticks]
    if any(row.lap == AFTERWARDS for row in curve.rows):
        axes.axvline(last + 0.75, color='black', lw=0.5)
        ticks, names = [*ticks, last + 1.5], [*names, 'IMU alone']
        axes.set_xlim(right=last + 2.0)
    axes.set_xticks(ticks, names)
    axes.set_xlabel('lap' if curve.laps else 'tenth of the stream')
    axes.set_ylabel('RMSE of the position over all ticks, m')
    axes.grid(visible=True, which='major', lw=0.3)
    axes.legend()
    figure.savefig(path, dpi=120, metadata={'Software': None} if path.endswith('.png') else None)
