# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an updater is doing, in words; knows nothing of ROS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.filtering.causes import FILLING, READOUT_UNPROVEN
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
    if judgement.cause not in {FILLING, READOUT_UNPROVEN}:
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
        'failures': f'No newer map was learned: {values.get("learning_trouble")}',
        'quarantined': 'Faulty or unfamiliar input was dropped and not learned',
        'changes': 'Something unfamiliar has lasted: it is learned as the new usual',
        'turns': (
            'The stream is as usual with other signs: from now on the signs of these channels are '
            f'taken as reversed: {values.get("turned", "none any more")}; look at the mounting of '
            'the sensor and at its driver'
        ),
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
    if session.budget is not None and session.budget.trouble:
        causes['budget'] = capitalised(session.budget.trouble)
    if session.fault:
        causes['fault'] = capitalised(session.fault)
        session.fault = ''
    return causes
