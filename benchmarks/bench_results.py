# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Measure sections of docs/results.md again and write them into the page.

Run `./run bench results SECTION...`; a section that is not named stays as it is. Real recordings
are read from `shared/recordings` beside the checkout and left out if they are absent. The machine
should be idle: `load` and `training` measure time.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from datetime import datetime, timezone
from inspect import getdoc
import math
from pathlib import Path
import re
import subprocess
import sys
from typing import Any, TYPE_CHECKING

from adaptation_trials import learn_live
import bench_comparison
import bench_laps
import bench_two_manifold
from gauntlet_drives import is_absent, make_case
from gauntlet_networks import any_case
from gauntlet_scores import run_case
import numpy as np
from two_view_states import LEARNERS as STATES

from two_manifold_ros.names import LEARNERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bench_two_manifold import Rows

CHECKOUT = Path(__file__).resolve().parents[1]
PAGE = CHECKOUT / 'docs' / 'results.md'

REAL = ('f1tenth_ipz10', 'f1tenth_ipz20', 'f1tenth_ipz8', 'f1tenth_ipz19', 'f1tenth_ipz17',
        'frictionmaps_ds1', 'frictionmaps_ds2', 'ridge_car')  # fmt: skip
WORLDS = ('slot_car', 'rc_car', 'rc_car_25hz', 'kart', 'kart_25hz', 'car', 'car_5hz', 'tram',
          'agv', 'figure_eight')  # fmt: skip
NETWORKS = ('tram_network', 'yard', 'both_ways')
LEARNED = (*REAL[1:4], 'ridge_car', *WORLDS)
"""Cases of adaptation: with laps enough to learn from while driving."""

TIMED = ('f1tenth_ipz10', 'f1tenth_ipz20', 'ridge_car', *WORLDS)
"""Cases of lap times: driven as in training."""

AHEAD_S = 2.0
"""Of the errors ahead: the horizon that is nearest to it."""

Table = list[list[str]]


def markdown(head: str, rows: Table) -> str:
    """Return a table; the columns of the head are separated by commas."""
    columns = head.split(', ')
    lines = [columns, ['---'] * len(columns), *rows]
    return '\n'.join(f'| {" | ".join(each)} |' for each in lines)


def metres(value: float | None) -> str:
    """Return an error with two digits, or with all digits before the point."""
    if value is None or not math.isfinite(value):
        return '-'
    return f'{value:.{3 if value < 0.1 else 2 if value < 1.0 else 1 if value < 10.0 else 0}f}'


def percent(value: float | None) -> str:
    return '-' if value is None else f'{100.0 * value:.0f} %'


def present(names: Iterable[str]) -> list[str]:
    return [name for name in names if not is_absent(name)]


def accuracy_rows(cases: Mapping[str, dict[str, Any]]) -> Table:
    """Return a row for each case of the gauntlet from what `run_case` found."""
    rows = []
    for name, found in cases.items():
        row = found.get('accuracy', {})
        if 'rmse_m' not in row:
            rows.append([f'`{name}`', found.get('refused', 'nothing known'), *[''] * 6])
            continue
        rate = found['rate_hz']
        ahead = min(row['horizons'], key=lambda each: abs(each['ticks_ahead'] / rate - AHEAD_S))
        drives = [each for each in found.get('elsewhere', ()) if each['ticks']]
        worst = max(drives, key=lambda each: float(each['published']), default=None)
        inside = [each['in_95'] for each in row['horizons'][:1]]
        rows.append([
            f'`{name}`', metres(row['rmse_m']), metres(row['median_m']),
            f'{metres(ahead["rmse_m"])} in {ahead["ticks_ahead"] / rate:.2g} s',
            percent(row['published']), percent(inside[0]), metres(row['mean_m']),
            f'{percent(worst["published"])} ({worst["drive"]})' if worst else '-',
        ])  # fmt: skip
    return rows


ACCURACY = 'case, RMSE now, median, RMSE ahead, published, in the 95 % ellipse, mean, elsewhere'


def accuracy() -> str:
    """
    Errors of the default method, without any option.

    Recordings are cut by time or by run; worlds are trained on one day and followed on another.
    RMSE in metres over all ticks after the first window, published or not. *Mean*: error of always
    answering the mean training position. *Elsewhere*: largest share published on a drive that is
    off the route.
    """
    found = {}
    for name in [*present((*REAL, *WORLDS)), *NETWORKS]:
        print(name, flush=True)
        found[name] = run_case(any_case(name), 'route', ('accuracy', 'elsewhere'))
    return markdown(ACCURACY, accuracy_rows(found))


def rivals() -> str:
    """
    Methods of `two-manifold compare`: RMSE in metres, now / at the middle horizon.

    Every method learns from the same recordings. `previous` and `imu-only` get true positions.
    """
    plans = [*bench_comparison.real_plans(), ('kart, 22 laps', bench_comparison.kart_plan())]
    names: dict[str, list[str]] = defaultdict(list)
    for title, plan in plans:
        print(title, flush=True)
        shown = [0, len(plan.train.horizons) // 2]
        for name, errors in bench_comparison.errors_of(plan).items():
            names[name].append(' / '.join(metres(errors[each]) for each in shown))
    head = ', '.join(['method', *(title.split(',')[0] for title, _ in plans)])
    return markdown(head, [[f'`{name}`', *cells] for name, cells in names.items()])


def few_positions() -> str:
    """
    Positions that are read from a state which was learned from the IMU alone.

    RMSE as a share of the error of the mean position: mean over the cases, and the number of cases
    won. *Scattered* positions are random ticks, *contiguous* ones a stretch.
    """
    found: dict[str, Rows] = {}
    for make in bench_two_manifold.cases():
        case = make()
        print(case.name, flush=True)
        course = bench_two_manifold.Course(case)
        states = {name: bench_two_manifold.states_of(course, name) for name in STATES}
        rows: Rows = defaultdict(lambda: defaultdict(list))
        bench_two_manifold.read_with(rows, course, states)
        found[case.name] = rows
    return markdown(*shares(found))


def shares(found: dict[str, Rows]) -> tuple[str, Table]:
    """Return head and rows: mean error over cases, and the number of cases won."""
    summary = bench_two_manifold.summarised(found)
    names = list(next(iter(summary.values())))
    rows = [
        [condition, *(f'{row[name]["mean"]:.2f} ({row[name]["wins"]})' for name in names)]
        for condition, row in summary.items()
    ]
    return ', '.join(['positions', *names]), rows


ADAPTATION = (
    'case, learner, laps, RMSE, offline, published, lap 3, last two laps'  # shares of the mean
)


def adaptation_row(name: str, learner: str, after: Any, curve: Any) -> list[str]:  # noqa: ANN401
    row = after['accuracy']
    errors = [None if each is None else each / curve['mean_m'] for each in curve['rmse_m']]
    last = [each for each in errors[-2:] if each is not None]
    third = errors[2] if len(errors) > 2 else None
    return [
        f'`{name}`', learner, f'{after["laps"]:.0f}', metres(row.get('rmse_m')),
        metres(after['offline']['rmse_m']), percent(row.get('published')),
        '-' if third is None else f'{third:.2f}',
        f'{math.hypot(*last) / math.sqrt(len(last)):.2f}' if last else '-',
    ]  # fmt: skip


def adaptation() -> str:
    """
    Both learners of `updater_node` on the training part of each case.

    *RMSE* and *published*: afterwards, with the IMU alone. *Offline*: the same part trained by
    `train`, for a TPSR by the spectral method. *Lap 3* and *last two laps*: error while learning,
    as a share of the error of the mean position.
    """
    rows = []
    for name in present(LEARNED):
        for learner in LEARNERS:
            print(name, learner, flush=True)
            rows.append(adaptation_row(name, learner, *learn_live(make_case(name), learner)))
    return markdown(ADAPTATION, rows)


LAPS = 'case, trained by, lap (s), laps timed, median error (s), 95 % (s), half a lap ahead (s)'


def laps() -> str:
    """
    Lap times against the passages of the true positions.

    Models are trained by positions, by marks and by the IMU alone. *Half a lap ahead*: error of
    the predicted lap time half a lap before the line.
    """
    rows: Table = []
    for name in present(TIMED):
        print(name, flush=True)
        for kind, row in bench_laps.run_case(name).items():
            if not row.get('errors_s'):
                rows.append([f'`{name}`', kind, *['-'] * 5])
                continue
            quantiles = [np.quantile(row['errors_s'], each) for each in (0.5, 0.95)]
            ahead = np.quantile(row['predicted_s'], 0.5) if row['predicted_s'] else math.nan
            rows.append([
                f'`{name}`', kind, f'{row["lap_s"]:.1f}', f'{row["laps"]} of {row["true_laps"]}',
                *(f'{each:.3f}' for each in (*quantiles, ahead)),
            ])  # fmt: skip
    return markdown(LAPS, rows)


def printed(*names: str) -> str:
    """Return what benchmarks print, as a block."""
    said = [
        subprocess.run(
            [sys.executable, f'benchmarks/bench_{name}.py'],
            cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True,
        ).stdout.strip('\n')
        for name in names
    ]  # fmt: skip
    return '\n'.join(['```text', *said, '```'])


def load() -> str:
    """
    Filter node beside an empty relay node, over DDS on loopback; then the start of processes.

    *Cold* is without compiled code in the user's cache, *warm* every time after that.
    """
    return printed('node', 'start')


def training() -> str:
    """Time and memory of trainings by the number of ticks, and by the number of windows."""
    return printed('training')


SECTIONS: dict[str, tuple[str, Callable[[], str]]] = {
    'accuracy': ('Accuracy', accuracy),
    'rivals': ('Other methods', rivals),
    'few-positions': ('Few positions', few_positions),
    'adaptation': ('Learning on the robot', adaptation),
    'laps': ('Lap times', laps),
    'load': ('Load of the node, and start', load),
    'training': ('Training time', training),
}
"""Title and measurement of each section, by the name that the command takes; a docstring leads."""


def with_section(page: str, title: str, text: str) -> str:
    """Return the page with a section in place of the one of this title, or at its end."""
    section = f'## {title}\n\n{text}\n\n'
    pattern = rf'^## {re.escape(title)}\n.*?(?=^## |\Z)'
    page, found = re.subn(pattern, lambda _: section, page, flags=re.DOTALL | re.MULTILINE)
    return (page if found else f'{page}\n{section}').rstrip('\n') + '\n'


def text_of(name: str, body: str, commit: str, date: str) -> str:
    """Return a section: where it comes from, what it shows, and the table."""
    origin = f'*`./run bench results {name}`, commit {commit}, {date}.*'
    return f'{origin}\n\n{getdoc(SECTIONS[name][1])}\n\n{body}'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('sections', nargs='+', choices=SECTIONS, help='sections to measure')
    for name in parser.parse_args().sections:
        title, measure = SECTIONS[name]
        body = measure()
        git = ['git', 'rev-parse', '--short=8', 'HEAD']
        commit = subprocess.check_output(git, cwd=CHECKOUT, text=True).strip()
        text = text_of(name, body, commit, f'{datetime.now(timezone.utc):%Y-%m-%d}')
        PAGE.write_text(with_section(PAGE.read_text(), title, text))
        print(f'{PAGE.name}: {title} is written')


if __name__ == '__main__':
    main()
