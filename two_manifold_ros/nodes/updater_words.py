# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an updater is doing, in words; knows nothing of ROS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.filtering.causes import FILLING
from two_manifold_ros.nodes.sentences import capitalised
from two_manifold_ros.outputs.diagnostics import Level

if TYPE_CHECKING:
    from collections import Counter

    from two_manifold_ros.nodes.updater_session import UpdaterSession
    from two_manifold_ros.outputs.judging import Judgement

_UNUSED = (
    'malformed',
    'non_finite',
    'out_of_range',
    'no_fix',
    'zero_stamp',
    'out_of_order',
    'jumps_back',
)


def judge_learning(
    judgement: Judgement, session: UpdaterSession, reference_topic: str
) -> Judgement:
    """
    Return a reason that is nearer to the root than that of a filter whose model is ready.

    Parameters
    ----------
    judgement
        That of ``judge``.
    session
        That learns.
    reference_topic
        Full name.

    """
    if judgement.cause != FILLING:
        return judgement
    lacking = session.learner.lacking(reference_topic)
    return judgement if lacking is None else judgement._replace(**lacking._asdict())


def judge_keeping(judgement: Judgement, trouble: str) -> Judgement:
    """Return why no checkpoint can be written, where there is nothing else to warn of."""
    if judgement.level is not Level.OK or not trouble:
        return judgement
    why = f'{judgement.why}, but {trouble}'
    return judgement._replace(level=Level.WARN, cause='checkpoint', why=why)


def learning_causes(fresh: Counter[str], session: UpdaterSession, topic: str) -> dict[str, str]:
    """
    Return sentences by cause about what happened lately to learning.

    Parameters
    ----------
    fresh
        Counters of the session, and those of learning and of the reference that begin with
        ``samples_`` and ``reference_``, since the last time.
    session
        That learns.
    topic
        Full name of the reference's topic.

    """
    values = session.learner.values()
    sentences = {
        'failures': f'No newer model was learned: {values.get("learning_trouble")}',
    }
    causes = {name: words for name, words in sentences.items() if fresh[f'samples_{name}']}
    if fresh['reference_jumped']:
        causes['jumped'] = f'Positions on {topic} jumped and are not used'
    if fresh['reference_moved']:
        causes['moved'] = f'Positions on {topic} stay where they jumped to, and are used again'
    for cause in _UNUSED:
        if fresh[f'reference_{cause}']:
            count = fresh[f'reference_{cause}']
            causes[f'reference {cause}'] = f'Positions not used on {topic}: {cause} ({count})'
    if session.fault:
        causes['fault'] = capitalised(session.fault)
        session.fault = ''
    return causes
