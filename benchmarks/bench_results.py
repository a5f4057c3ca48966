# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Measure sections of docs/results.md again and write them into the page.

Run `./run bench results SECTION...`; a section that is not named stays as it is. Real recordings
are read from `shared/recordings` beside the checkout and left out if they are absent. The machine
should be idle: `load` measures time.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from inspect import getdoc
from pathlib import Path
import re
import subprocess
import sys
from typing import Any

from adaptation_trials import learn_live
from bench_adaptation import ADAPTATION, adaptation_row
import bench_few_positions
import bench_laps
from gauntlet_drives import case_names, is_absent, make_case, REAL, RECORDINGS
from gauntlet_networks import any_case
from gauntlet_scores import run_case
from tables import metres, percent, table
from worlds.drive import drive
from worlds.table import world_named

from two_manifold_ros.comparison.comparing import compare, Plan, plan_bags, plan_share
from two_manifold_ros.comparison.rivals import methods_named, NAMES
from two_manifold_ros.names import LEARNERS
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.training.settings import TrainingSettings

CHECKOUT = Path(__file__).resolve().parents[1]
PAGE = CHECKOUT / 'docs' / 'results.md'

WORLDS = [name for name in case_names() if name not in REAL]
NETWORKS = ('tram_network', 'yard', 'both_ways')
LEARNED = ('f1tenth_ipz20', 'f1tenth_ipz8', 'f1tenth_ipz19', 'ridge_car', *WORLDS)
"""Cases of adaptation: with laps enough to learn from while driving."""

TIMED = ('f1tenth_ipz10', 'f1tenth_ipz20', 'ridge_car', *WORLDS)
"""Cases of lap times: driven as in training."""

AHEAD_S = 2.0
"""Of the errors ahead: the horizon that is nearest to it."""


def present(names: Iterable[str]) -> list[str]:
    return [name for name in names if not is_absent(name)]


def accuracy_rows(cases: Mapping[str, dict[str, Any]]) -> list[list[str]]:
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
    answering the mean training position. *Elsewhere*: most published on a drive off the route.
    """
    found = {}
    for name in [*present((*REAL, *WORLDS)), *NETWORKS]:
        print(name, flush=True)
        found[name] = run_case(any_case(name), 'route', ('accuracy', 'elsewhere'))
    return table(ACCURACY, accuracy_rows(found), aligned=False)


def adaptation() -> str:
    """
    The learners of `updater_node`, map / TPSR / HSE-HMM, on the training part of each case.

    *RMSE* and *published*: afterwards, with the IMU alone. *Offline*: the same part trained by
    `train`, for the last two by the spectral method. *Lap 3* and *last two laps*: error while
    learning, as a share of the error of the mean position.
    """
    rows = []
    for name in present(LEARNED):
        print(name, flush=True)
        found = [adaptation_row(learn_live(make_case(name), learner)) for learner in LEARNERS]
        # The laps are the same, and the ellipses have no column.
        laps, *cells, _ = zip(*found, strict=True)
        rows.append([f'`{name}`', laps[0], *map(' / '.join, cells)])
    return table(f'case, {ADAPTATION}', rows, aligned=False)


def laps() -> str:
    return bench_laps.section(present(TIMED))


laps.__doc__ = bench_laps.section.__doc__


def few_positions() -> str:
    return bench_few_positions.section(present(bench_few_positions.USUAL))


few_positions.__doc__ = bench_few_positions.section.__doc__


def plans() -> Iterator[tuple[str, Plan]]:
    """Yield what is compared: the last 30 % of one bag, the last of seven bags, laps of a kart."""
    if RECORDINGS.is_dir():
        whole = read_recording(RECORDINGS / 'f1tenth_ipz10')
        yield 'f1tenth_ipz10', plan_share(whole, TrainingSettings())
        runs = [read_recording(RECORDINGS / f'f1tenth_ipz20/run_{run}') for run in range(1, 8)]
        ahead = TrainingSettings(horizons=(0, 25, 50))
        yield 'f1tenth_ipz20', plan_bags(runs[:6], runs[6:], ahead)
    kart = replace(world_named('kart'), rate_hz=10.0)
    yield 'kart', plan_share(drive(kart, laps=22).recording, TrainingSettings())


def rivals() -> str:
    """
    Methods of `two-manifold compare`: RMSE in metres, now / at the middle horizon.

    Every method learns from the same recordings. `previous` and `imu-only` get true positions.
    """
    titles, names = list[str](), defaultdict[str, list[str]](list)
    for title, plan in plans():
        titles.append(title)
        shown = [0, len(plan.train.horizons) // 2]
        for each in compare(plan, methods_named(NAMES)).results:
            cells = [metres(each.scores[at].all.rmse_m) for at in shown] if each.scores else ['-']
            names[each.name].append(' / '.join(cells))
    head = ', '.join(['method', *titles])
    return table(head, [[f'`{name}`', *cells] for name, cells in names.items()], aligned=False)


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


SECTIONS: dict[str, tuple[str, Callable[[], str]]] = {
    'accuracy': ('Accuracy', accuracy),
    'rivals': ('Other methods', rivals),
    'few-positions': ('Few positions', few_positions),
    'adaptation': ('Learning on the robot', adaptation),
    'laps': ('Lap times', laps),
    'load': ('Load of the node, and start', load),
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
