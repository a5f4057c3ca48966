# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Say of a result in one sentence how good it is, and what to do next."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
import math
import os
import shlex
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.status import CAUSES
from two_manifold_ros.hse_hmm.readout import LEVELS
from two_manifold_ros.inspection.inspecting import folded_warnings, LEAST_PUBLISHED, Report, USEFUL
from two_manifold_ros.inspection.positions import FEWEST_LAPS, LEAST_DRIVES, WANTED_LAPS
from two_manifold_ros.names import LAP_FRAME, OURS
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from two_manifold_ros.comparison.comparing import Comparison
    from two_manifold_ros.evaluation.drives import Total
    from two_manifold_ros.evaluation.evaluate import Evaluation
    from two_manifold_ros.evaluation.online import LearningCurve
    from two_manifold_ros.model.model import ModelHead

GOOD, FAIR, POOR, UNKNOWN, NO_USE = WORDS = ('good', 'fair', 'poor', 'unknown', 'no use')
"""All words, the best first."""

LIMITS = ((GOOD, USEFUL / 4.0), (FAIR, USEFUL / 2.0), (POOR, 1.0))
"""Shares of the error of the mean position a model stays below: each better word halves it."""

OF_LAPS = ('no_laps', 'few_laps')
"""Findings with which ``train`` has too little to hold out."""

GRADES = (
    # With these `train` refuses a recording, or learns no place of it.
    (NO_USE, ('no_positions', 'clocks_differ', 'positions_scaled', 'frame_unprintable',
              'position_frame_unprintable')),
    # With these it stops and asks.
    (POOR, ('offset_ambiguous', *OF_LAPS)),
    # These are about all samples; all others are about some, which are left out.
    (FAIR, ('gyroscope_in_degrees', 'acceleration_in_g', 'gyroscope_scale', 'gyroscope_too_fast',
            'dead_channels', 'acceleration_unclear', 'gravity_removed', 'positions_missing',
            'time_offset')),
)  # fmt: skip
"""Words for recordings, each with the findings that deserve it, the most serious first."""

METRES = ((1e3, 'km'), (1.0, 'm'), (1e-2, 'cm'), (1e-3, 'mm'))
SECONDS = ((1.0, 's'), (1e-3, 'ms'))

FEWEST_SCORED = 20
"""Predictions; the least of errors on fewer is chance."""

ENOUGH_LAPS = 10
"""Laps after which more of the same do not help: the better number of ``WANTED_LAPS``."""

MORE = f'record {WANTED_LAPS}, at the speeds of use'


class Verdict(NamedTuple):
    """One of ``WORDS``, a sentence with the numbers behind it, and what to do next."""

    word: str
    sentence: str
    next: str

    @property
    def lines(self) -> tuple[str, ...]:
        """What a page or a terminal shows: a line for each route, and one for the command."""
        return *self.sentence.splitlines(), f'Next: {self.next}'


def word_for(error: float, mean: float, published: float = 1.0) -> str:
    """
    Return the word for an error, the error of the mean position, and the share published.

    A withheld position counts as the mean position, so a model that publishes little is poor.
    """
    if published < LEAST_PUBLISHED or error >= USEFUL * mean:
        return NO_USE
    left = published * error / mean + 1.0 - published
    # An error that is NaN is below none.
    return next((word for word, most in LIMITS if left < most), UNKNOWN)


def of_routes(verdicts: Mapping[str, Verdict]) -> Verdict:
    """Return one verdict about several routes: the word and the cure of the worst."""
    worst = max(verdicts.values(), key=lambda each: WORDS.index(each.word))
    sentences = (f'{name}: {each.sentence}'.lstrip(': ') for name, each in verdicts.items())
    return worst._replace(sentence='\n'.join(sentences))


def of_inspection(reports: Sequence[Report], args: Namespace) -> Verdict:
    """Judge recordings by the most serious of their warnings, and say how many laps there are."""
    placed = [each.positions for each in reports if each.positions is not None]
    laps = [each.laps for each in placed if each.laps is not None and each.laps.resolved]
    count = sum(each.count for each in laps)
    there = f'{sum(each.imu.timing.duration_s for each in reports):.0f} s'
    if laps:
        there = f'{count:.1f} laps of {np.median([each.time_s for each in laps]):.3g} s'
    if placed:
        covered = sum(each.coverage for each in placed) / len(reports)
        there += f' with positions for {_percent(covered)} of the time'
    found = {each[1].code: each for each in folded_warnings(reports)}
    # Together bags may have laps to hold out, or be drives of a network.
    if count >= FEWEST_LAPS:
        found = {code: each for code, each in found.items() if code not in OF_LAPS}
    passed = OF_LAPS if len(reports) >= LEAST_DRIVES else ()
    train = _train(args)
    if not found:
        return Verdict(GOOD, f'{there}: {GOOD}.', train)
    graded = ((w, code) for w, codes in GRADES for code in codes if code not in passed)
    rest = ((FAIR, code) for code in found)
    word, code = next((w, code) for w, code in (*graded, *rest) if code in found)
    name, finding, times = found[code]
    where = f'{name}{f" and {times - 1} more" * (times > 1)}: ' if len(reports) > 1 else ''
    of = f' (the most serious of {len(found)} warnings)' * (len(found) > 1)
    cure = finding.cure + f'; or go on with {train}' * (word == FAIR)
    return Verdict(word, f'{there}, but {where}{finding.cause}{of}: {word}.', cure)


def of_training(model: ModelHead, args: Namespace) -> Verdict:
    """Judge a model by the parts of the drives that its training left out."""
    summary, followed = model.summary, model.summary['validation']
    if refusal := summary['refusal']:
        cause, cure, evidence = map(refusal.get, ('cause', 'cure', 'evidence'))
        return Verdict(NO_USE, f'{cause[0].upper()}{cause[1:]} ({evidence}).', cure)
    if followed is None:
        words = 'No part of the drives could be held out, so the error of the model is unknown'
        guarded = getattr(model, 'guarded', True)
        words += '.' if guarded else ', and without guards the node publishes nothing then.'
        return Verdict(UNKNOWN, words, MORE)
    error, mean, share = map(followed.get, ('followed_m', 'mean_position_m', 'published_share'))
    # The share decides only whether it is of use: a map without the held-out part knows less.
    word, on_laps = word_for(error, mean), model.frame_id == LAP_FRAME
    shown = '' if share is None else f', {_percent(share)} of the positions published'
    units = SECONDS if on_laps else METRES
    sentence = (
        f'Follows held-out {"laps" if summary["laps"] >= 1.0 else "drives"} within '
        f'{_rounded(error, units)} on average ({_always(mean, units)}){shown}: {word}.'
    )
    rest = f'{_named(args.bags)} --from {args.until:g}' if args.until else 'OTHER_BAG'
    then = f'two-manifold {"laps" if on_laps else "evaluate"} {shlex.quote(args.output)} {rest}'
    if word == POOR:
        then = _cure_of_poor(summary['laps'], then if on_laps else f'{then} --report report.html')
    return Verdict(word, sentence, then)


def of_comparison(found: Comparison, args: Namespace) -> Verdict:
    """Judge the best method by the present position, and say how the default does beside it."""
    errors = sorted(
        (each.scores[0].all.rmse_m, each.title, each.name)
        for each in found.succeeded
        if each.scores and each.scores[0].all.rmse_m is not None and not each.sees_positions
    )
    if not errors:
        return Verdict(UNKNOWN, 'No method works without positions.', f'add {OURS} to --methods')
    if found.scored[0] < FEWEST_SCORED:
        words = f'Only {found.scored[0]} predictions could be compared.'
        return Verdict(UNKNOWN, words, 'compare on a longer drive')
    best_m, title, name = errors[0]
    mean_m = math.sqrt(np.nanvar(np.concatenate(found.tracks), axis=0).sum())
    word, always = word_for(best_m, mean_m), _always(mean_m)
    place = next((k for k, each in enumerate(errors) if each[2] == OURS), None)
    beside = f', next {errors[1][1]} {_rounded(errors[1][0])}' if errors[1:] else ''
    if place:
        error_m, own, _ = errors[place]
        beside = f', {own} (the default) {_rounded(error_m)}, number {place + 1} of {len(errors)}'
    sentence = f'No other method has a smaller RMSE than {always}: {word}.'
    if name != 'mean':
        ours = ' (the default)' * (place == 0)
        sentence = f'Best: {title}{ours}, RMSE {_rounded(best_m)}{beside} ({always}): {word}.'
    then = MORE if place is not None else f'compare with --methods {OURS}'
    return Verdict(word, sentence, then if word == NO_USE else _train(args))


def of_evaluation(args: Namespace, model: ModelHead, evaluation: Evaluation) -> Verdict:
    """Judge a model by what it publishes along a drive, and say where the errors are largest."""
    runs, now = evaluation.runs, evaluation.scores[0]
    truths = np.concatenate([each[:, 0] for each in evaluation.truths])
    errors = np.linalg.norm(np.concatenate([e.positions[:, 0] for e in runs]) - truths, axis=1)
    shown = np.isfinite(errors) & np.concatenate([each.published for each in runs])
    cause, why = evaluation.most_withheld
    cure = 'record laps driven like this drive, and train on them as well'
    if not evaluation.published:
        cure = f'compare units, mounting and route with the training; if these are right, {cure}'
    if cause and (cause not in CAUSES or cause == 'not_useful'):
        # Something is wrong with input or model, and the filter knows what helps.
        cure = why.rpartition(': ')[2]
    if not evaluation.published:
        return Verdict(NO_USE, f'Nothing would have been published: {why}.', cure)
    share, p95, mean_p95 = now.model.published_share, now.model.p95_m, now.mean.p95_m
    few = np.isfinite(errors).sum() < FEWEST_SCORED
    if share is None or p95 is None or mean_p95 is None or few:
        words = f'Only {shown.sum()} published positions have a true one to compare with.'
        return Verdict(UNKNOWN, words, 'evaluate a longer recording with positions')
    mean = np.linalg.norm(truths[shown] - model.mean_position, axis=1).mean()
    left = errors[shown].mean() / mean
    word = word_for(errors[shown].mean(), mean, share)
    place, median = _worst_place(truths[shown], errors[shown])
    doubt = ''
    if (inside := now.model.coverage95) is not None and inside < LEVELS[0]:
        word = FAIR if word == GOOD else word
        doubt = f'; its 95 % ellipses are too small, {_percent(inside)} are inside'
    sentence = (
        f'Publishes {_percent(share)} of the positions; 95 % of the errors are below '
        f'{_rounded(p95)} ({_always(mean_p95)}). Worst around {place}, where half of the errors '
        f'exceed {_rounded(median)}{doubt}: {word}.'
    )
    if word != GOOD and 1.0 - share >= share * left:
        return Verdict(word, sentence, cure)
    evaluate = f'two-manifold evaluate {shlex.quote(args.model)}'
    if trained_on(args, model):
        cure = f'{evaluate} OTHER_BAG'
    elif word == GOOD:
        cure = _drive(args, model) + (f' -p vehicle:={args.vehicle}' if args.vehicle else '')
    elif word == NO_USE:
        cure = 'check that the recording is of the route and the IMU of the training'
    else:
        look = args.report or f'{evaluate} {_named(args.bags)} --report report.html'
        cure = _cure_of_poor(model.summary.get('laps', 0.0), look)
    return Verdict(word, sentence, cure)


def of_fleet(totals: Mapping[str, Total], args: Namespace, model: ModelHead) -> Verdict:
    """Judge a model by the drives of each route, beside the mean position of its training."""
    verdicts = {}
    for name, total in totals.items():
        own = model.routes[name]
        mean = (own.summary.get('validation') or {}).get('mean_position_m', math.nan)
        word = word_for(total.mean_m, mean, total.published_share)
        always = _always(mean).replace(':', ' of the training:')
        sentence = (
            f'{total.drives} {"drive has" if total.drives == 1 else "drives have"} an error of '
            f'{_rounded(total.mean_m)} on average{"" if math.isnan(mean) else f" ({always})"}, '
            f'{_percent(total.published_share)} of the positions published; the worst drive is '
            f'{total.worst} with {_rounded(total.worst_m)}: {word}.'
        )
        look = f'two-manifold evaluate {shlex.quote(args.model)} {shlex.quote(total.worst)}'
        verdicts[name] = Verdict(word, sentence, _drive(args, own) if word == GOOD else look)
    return of_routes(verdicts)


def of_curve(curve: LearningCurve) -> Verdict:
    """Judge what learns while it drives by its last lap, or by the IMU alone afterwards."""
    # Learners have half of the package behind them.
    from two_manifold_ros.evaluation.online import MEAN, OFFLINE  # noqa: PLC0415

    last = {row.name: row for row in curve.rows if row.lap == curve.rows[-1].lap}
    learned = [row for name, row in last.items() if name not in {MEAN, OFFLINE}]
    if not learned or MEAN not in last:
        return Verdict(UNKNOWN, 'No learner has a model of the last lap.', MORE)
    best, mean_m = min(learned, key=lambda row: row.rmse_m), last[MEAN].rmse_m
    word = word_for(best.rmse_m, mean_m, best.published)
    sentence = (
        f'At the end {best.name} has an RMSE of {_rounded(best.rmse_m)} ({_always(mean_m)}), '
        f'{_percent(best.published)} of the positions published: {word}.'
    )
    then = f'updater_node --ros-args -p learner:={best.name}'
    return Verdict(word, sentence, then if word in {GOOD, FAIR} else MORE)


def trained_on(args: Namespace, model: ModelHead) -> list[str]:
    """Return which bags the model was trained on, if the part that is followed begins there."""
    known = {os.path.realpath(each) for each in model.summary.get('recordings', ())}
    again = [bag for bag in args.bags if os.path.realpath(bag) in known]
    # Of each bag training took so much, but for the two ticks that its ends cut.
    taken_s = model.summary.get('seconds', 0.0) / max(len(known), 1) - 2.0 / model.rate_hz
    return again if (args.start or 0.0) < taken_s else []


def _rounded(value: float, units: Sequence[tuple[float, str]] = METRES) -> str:
    """Return a number with two digits, in the unit that needs no more."""
    value = float(f'{value:.2g}')
    size, unit = next((each for each in units if value >= each[0]), units[-1])
    return f'{float(f"{value / size:.2g}"):g} {unit}'


def _always(mean: float, units: Sequence[tuple[float, str]] = METRES) -> str:
    """Return what the error is compared with."""
    return f'always answering the mean position: {_rounded(mean, units)}'


def _percent(share: float) -> str:
    """Return a share in per cent with one decimal, rounded down: 100 % is all."""
    return f'{math.floor(1000.0 * share) / 10.0:g} %'


def _named(bags: Sequence[str]) -> str:
    """Return bags as a command names them: each, unless there are many."""
    return shlex.join(bags) if len(bags) <= 3 else 'THE_SAME_BAGS'


def _cure_of_poor(laps: float, look: str) -> str:
    """Return what to do with a model whose errors are large: more helps where there is little."""
    return MORE if laps < ENOUGH_LAPS else f'find out where and why: {look}'


def _drive(args: Namespace, model: ModelHead) -> str:
    """Return the command that drives with a model."""
    topic = f' -r imu:={model.imu_topic}' if model.imu_topic != '/imu' else ''
    return f'filter_node --ros-args -p model:={shlex.quote(args.model)}{topic}'


def _train(args: Namespace) -> str:
    """Return the command that trains on the same topics of the same bags."""
    given = []
    for name in ('imu-topic', 'position-topic'):
        if topic := getattr(args, name.replace('-', '_'), None):
            given += [f'--{name}', topic]
    return f'two-manifold train {" ".join([_named(args.bags), *given])} -o model.npz'


def _worst_place(places: Floats, errors: Floats) -> tuple[str, float]:
    """Return the part of the route with the largest median error, and this error."""
    # Of squares in which a vehicle is for half a second or more.
    side = float(np.ptp(places, axis=0).max()) / 10 or 1.0
    _, cells, counts = np.unique(
        np.floor(places / side), axis=0, return_inverse=True, return_counts=True
    )
    # The median of a corner that is cut by a tick or two is chance.
    often = np.flatnonzero(counts >= np.median(counts) / 2.0)
    inside = [cells.ravel() == each for each in often]
    median, worst = max((float(np.median(errors[e])), k) for k, e in enumerate(inside))
    digits = max(0, -math.floor(math.log10(side)))
    # A zero has no sign.
    x, y = np.round(np.median(places[inside[worst]], axis=0), digits) + 0.0
    return f'({x:.{digits}f}, {y:.{digits}f})', median
