# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The states of a filter the long way: each from all that was seen before it."""

from collections.abc import Sequence
import math

from two_manifold_ros.filtering.status import EllipseLimits, Status, TickDiagnostics

ORDER = [
    Status.TRACKING, Status.UNSURE, Status.LOCALISING, Status.LOST, Status.REFUSED, Status.FILLING,
]  # fmt: skip


def naive_statuses(history: Sequence[TickDiagnostics], limits: EllipseLimits) -> list[Status]:
    """Return the status after each tick of a stream without pauses."""
    said: list[Status] = []
    wanted: list[Status] = []
    for now in range(len(history)):
        wanted.append(naive_judgement(history[: now + 1], said, limits))
        said.append(naive_choice(wanted, said))
    return said


def naive_choice(wanted: Sequence[Status], said: Sequence[Status]) -> Status:
    """Return what is said where something is wanted: better after ten better ones in a row."""
    before = said[-1] if said else Status.FILLING
    if before is Status.FILLING or ORDER.index(wanted[-1]) >= ORDER.index(before):
        return wanted[-1]
    lasted = 0
    while lasted < len(said) and said[-1 - lasted] is before:
        lasted += 1
    # The tick that brought the present status shows nothing better.
    last_ten = wanted[max(len(wanted) - 10, len(said) - lasted + 1) :]
    if len(last_ten) == 10 and all(ORDER.index(each) < ORDER.index(before) for each in last_ten):
        return max(last_ten, key=ORDER.index)
    return before


def naive_judgement(
    history: Sequence[TickDiagnostics], said: Sequence[Status], limits: EllipseLimits
) -> Status:
    """Return what the newest tick would say for itself."""
    signs, before = history[-1], said[-1] if said else Status.FILLING
    usable = before in {Status.TRACKING, Status.UNSURE}
    nowhere = Status.LOST if knew(said) else Status.LOCALISING
    unknown = math.isnan(signs.novelty) or signs.novelty > 1.68
    novel = signs.window_full and unknown
    # A vehicle that stands contradicts nothing, and confirms nothing.
    moving = [each.accepted for each in history if not each.standing]
    rejected = moving[::-1].index(True) if True in moving else len(moving)
    refilling = signs.recovering and before is not Status.FILLING
    cured = before is Status.REFUSED and not signs.finding
    rules = [
        (not signs.window_full and not refilling, Status.FILLING),
        (signs.finding and (signs.finding.refuses or novel), Status.REFUSED),
        (math.isnan(signs.ellipse_m), nowhere),
        (novel or rejected >= 10 or signs.off_route > 0.5, Status.LOST),
        (signs.ellipse_m > limits.error_m, nowhere),
        (refilling and not signs.window_full and cured, nowhere),
        (not signs.window_full and not usable, before),
        (signs.finding or not signs.window_full or signs.restarted, Status.UNSURE),
        (rejected >= 3 or signs.ellipse_m > limits.warn_m, Status.UNSURE),
        (signs.off_route > 0.1 or signs.unlike > 0.5, Status.UNSURE),
        (signs.novelty > 1.41, Status.UNSURE),
        (True, Status.TRACKING),
    ]
    return next(status for holds, status in rules if holds)


def knew(said: Sequence[Status]) -> bool:
    """Return whether it was anywhere, or lost, since its window last started to fill."""
    fillings = [i for i, each in enumerate(said) if each is Status.FILLING]
    since = said[fillings[-1] + 1 :] if fillings else said
    return any(each in {Status.TRACKING, Status.UNSURE, Status.LOST} for each in since)
