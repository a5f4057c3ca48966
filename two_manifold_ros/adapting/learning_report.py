# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an updater reports about its learning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.interface.assessment import Level
from two_manifold_ros.interface.status import capitalised

if TYPE_CHECKING:
    from collections import Counter

    from two_manifold_ros.adapting.stream_learner import StreamLearner
    from two_manifold_ros.adapting.updater_session import UpdaterSession
    from two_manifold_ros.interface.assessment import Assessment


def learning_values(learner: StreamLearner) -> dict[str, float | str]:
    """Return how much was learned, and how much the filter errs, for diagnostics."""
    score = learner.score
    values: dict[str, float | str] = {'learned_s': round(learner.known_s, 1)}
    if learner.models:
        values['learned_laps'] = round(learner.news[1] / learner.lap_s, 2)
    if len(score):
        values['error_m'], values['mean_error_m'] = score.rmse_m, score.mean_rmse_m
        values['told'], values['judged_s'] = score.told, score.seconds
    values['learning'] = _describe(learner)
    if learner.failure:
        values['learning_trouble'] = learner.failure
    return values


def learning_progress(learner: StreamLearner) -> dict[str, float]:
    """Return seconds and models learned, and the errors, where they are known, for plots."""
    score = learner.score
    numbers = {'learned_s': learner.known_s, 'models': float(learner.models)}
    if len(score):
        numbers |= {'error_m': score.rmse_m, 'mean_error_m': score.mean_rmse_m}
        numbers['told'] = score.told
    return numbers


def _describe(learner: StreamLearner) -> str:
    """Return what was learned, how good that is, and what would help, as a sentence."""
    score, useful = learner.score, 0.25
    if not learner.has_model:
        return f'no model yet, {learner.known_s:.0f} s with positions seen'
    if learner.models:
        seconds = learner.news[1]
        learned = f'model of {seconds / learner.lap_s:.1f} laps ({seconds:.0f} s of driving'
        if learner.followed_s:
            learned += f', {learner.followed_s:.0f} s of it without positions'
        learned += ')'
    else:
        learned = f'the given model, and {learner.known_s:.0f} s with positions to learn from'
        learned += learner.refused
    if len(score):
        learned += (
            f'; over the last {score.seconds:.0f} s with positions it erred by '
            f'{score.rmse_m:.2g} m, the mean position by {score.mean_rmse_m:.2g} m'
        )
    if learner.filter.withheld:
        return f'{learned}, so nothing is published: more laps with positions would help'
    if learner.schedule.ended:
        return f'{learned}; no positions come any more, it goes on with what it has learned'
    if len(score) and score.rmse_m > useful * score.mean_rmse_m:
        return f'{learned}: more laps with positions would help'
    return learned


def assess_learning(
    assessment: Assessment, learner: StreamLearner, reference_topic: str
) -> Assessment:
    """Return what a learner lacks for estimates where the filter is only said to be filling."""
    if assessment.cause != 'filling' or learner.has_model:
        return assessment
    if not learner.known_s:
        why = f'no position came on {reference_topic} yet: give positions for some laps'
        return assessment._replace(cause='no_reference', why=why)
    why = f'learning the route: {learner.known_s:.0f} s with positions seen'
    if learner.has_candidate:
        why += ', a model is being trained on them'
    elif learner.failure:
        why += f'; {learner.failure}'
    return assessment._replace(cause='learning', why=why)


def assess_checkpoints(assessment: Assessment, trouble: str) -> Assessment:
    """Return why no checkpoint can be written, where there is nothing else to warn of."""
    if assessment.level is not Level.OK or not trouble:
        return assessment
    why = f'{assessment.why}, but {trouble}'
    return assessment._replace(level=Level.WARN, cause='checkpoint', why=why)


def learning_events(fresh: Counter[str], session: UpdaterSession, topic: str) -> dict[str, str]:
    """
    Return sentences by cause about what happened to the learning since the last time.

    Parameters
    ----------
    fresh
        Increments of the counters of the session, of learning (``samples_``) and of the reference
        (``reference_``).
    session
        Session that learns; its ``fault`` is reported once.
    topic
        Full name of the reference's topic.

    """
    events = {}
    if fresh['samples_failures']:
        events['failures'] = f'No newer model was learned: {session.learner.failure}'
    if fresh['reference_jumped']:
        events['jumped'] = f'Positions on {topic} jumped and are not used'
    if fresh['reference_moved']:
        events['moved'] = f'Positions on {topic} stay where they jumped to, and are used again'
    for cause in (
        'malformed',
        'non_finite',
        'out_of_range',
        'no_fix',
        'zero_stamp',
        'out_of_order',
        'jumps_back',
    ):
        if count := fresh[f'reference_{cause}']:
            events[f'reference {cause}'] = f'Positions not used on {topic}: {cause} ({count})'
    if session.fault:
        events['fault'] = capitalised(session.fault)
        session.fault = ''
    return events
