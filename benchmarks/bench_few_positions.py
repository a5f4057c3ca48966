# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What each method of training makes of few positions.

Run `./run bench few_positions`, or name cases of the gauntlet after it. Most positions of the
training part are taken away; the drive is followed by the IMU alone. Errors are shares of the
error of the mean of the positions that are left. Real recordings are read from
`shared/recordings` beside the checkout and skipped if they are absent.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from gauntlet_drives import make_case
from gauntlet_scores import follow
import numpy as np
from runner import spread, with_cases
from tables import table

from two_manifold_ros.errors import InputError
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from gauntlet_drives import Case

    from two_manifold_ros.recordings.recording import Recording


METHODS = ('route', 'spectral')
USUAL = ('slot_car', 'rc_car', 'kart', 'f1tenth_ipz10', 'f1tenth_ipz19', 'f1tenth_ipz20')
LABELS = (
    'all', '20 % scattered', '5 % scattered', '1 % scattered', '20 % contiguous',
    '5 % contiguous', '1 % contiguous', 'one lap',
)  # fmt: skip

Errors = dict[str, list[float]]
"""Errors of each method by the positions that are left; NaN if a training is refused."""


def with_few(case: Case, kind: str) -> list[Recording]:
    """Return the training part with few positions: random ones, or a stretch of a drive."""
    random, few = np.random.default_rng(0), []
    for number, recording in enumerate(case.training):
        stream = recording.positions
        assert stream is not None  # noqa: S101 - all cases have positions
        count = len(stream.stamps)
        share = float(kind.split(maxsplit=1)[0]) / 100.0 if '%' in kind else 1.0
        kept = np.ones(count, dtype=np.bool_)
        if kind.endswith('scattered'):
            kept = random.random(count) < share
        elif kind != 'all':
            span_s = (stream.stamps[-1] - stream.stamps[0]) * 1e-9
            length = share * span_s * len(case.training) if '%' in kind else case.lap_s
            since_s = (stream.stamps - stream.stamps[count // 3]) * 1e-9
            kept = (since_s >= 0.0) & (since_s < length) & (number == 0)
        few.append(replace(recording, positions=stream.select(kept)))
    return few


def errors_of(name: str) -> Errors:
    case = make_case(name)
    found: Errors = {}
    for kind in LABELS:
        few = with_few(case, kind)
        places = np.concatenate([each.positions.positions for each in few if each.positions])
        found[kind] = []
        for method in METHODS:
            try:
                model = train_model(few, TrainingSettings(method=method))
            except InputError as error:
                print(f'{name}, {kind}, {method}: {error}', flush=True)
                found[kind].append(np.nan)
                continue
            following = follow(model, case.followed)
            known = following.known()
            away = np.linalg.norm(following.truths[known, 0] - places.mean(axis=0), axis=1)
            squares = [np.square(each).mean() for each in (following.errors()[known], away)]
            found[kind].append(float(np.sqrt(squares[0] / squares[1])))
    return found


def section(names: list[str], jobs: int = 1, *, aligned: bool = False) -> str:
    """
    Positions of a drive after a training with few positions.

    RMSE as a share of the error of the mean position: mean over the cases that can be trained on,
    and their number. *Scattered* positions are random ticks, *contiguous* positions a stretch.
    """
    every = [found for _, found in spread(errors_of, names, jobs)]
    rows = []
    for kind in LABELS:
        columns = np.array([each[kind] for each in every]).T
        trained = [column[np.isfinite(column)] for column in columns]
        cells = [f'{each.mean():.2f} ({len(each)})' if len(each) else '-' for each in trained]
        rows.append([kind, *cells])
    return table(', '.join(['positions', *METHODS]), rows, aligned=aligned)


if __name__ == '__main__':
    args = with_cases(argparse.ArgumentParser(description=__doc__))
    print(section(args.names, args.jobs, aligned=True))
