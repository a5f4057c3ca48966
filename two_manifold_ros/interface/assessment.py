# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From the health snapshot to one status, one cause and one level."""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

from two_manifold_ros.filtering.status import (
    CLOCK_WORDS,
    FILLING,
    FRAME_CHANGED,
    GAP,
    INTERRUPTION_WORDS,
    SEVERAL_PUBLISHERS,
    Status,
    TOO_SLOW,
    USABLE,
)
from two_manifold_ros.interface.snapshot import (
    DUPLICATE_STAMP,
    OUT_OF_RANGE,
    REJECTIONS,
    span,
    ZERO_STAMP,
)
from two_manifold_ros.interface.status import Level

if TYPE_CHECKING:
    from two_manifold_ros.interface.snapshot import Facts


LEVELS = {
    Status.WAITING: Level.WARN,
    Status.FILLING: Level.WARN,
    Status.LOCALISING: Level.WARN,
    Status.TRACKING: Level.OK,
    Status.UNSURE: Level.WARN,
    Status.LOST: Level.ERROR,
    Status.NO_DATA: Level.ERROR,
    Status.REFUSED: Level.ERROR,
}
"""Level of a status; of ``TRACKING`` it is ``WARN`` where something is odd all the same."""

SLOWEST = 0.8
"""Share of the model's rate below which too many ticks have no sample."""

REFUSED_AFTER = 20
"""Messages in a row that were not used after which the input is refused, or sooner by time."""

MANY = 0.05
"""Share of messages not used above which that is worth a warning."""

_ROOTS = (SEVERAL_PUBLISHERS, TOO_SLOW, FRAME_CHANGED)
"""What may well be the reason for anything that the filter complains of, or has yet to notice."""


class Judgement(NamedTuple):
    """
    How a node is, and why.

    Parameters
    ----------
    level
        Whether somebody has to act.
    status
        What it is doing; ``None`` if it is unconfigured, inactive or disabled.
    cause
        The reason as one word, the same as long as the reason is; empty if all is well.
    why
        Status and reason as one sentence.

    """

    level: Level
    status: Status | None
    cause: str
    why: str


def judge(facts: Facts) -> Judgement:
    """Return how a node is, and the reason nearest to the root."""
    return (
        _judge_outside(facts)
        or judge_silence(facts)
        or _judge_rejected(facts)
        or _judge_return(facts)
        or _judge_samples(facts)
        or _judge_filter(facts)
    )


def suspects(facts: Facts) -> dict[str, str]:
    """Return sentences by cause about what is odd though messages come, the gravest first."""
    found = {}
    sensor, topic = facts.sensor, facts.topic
    senders = [each.node for each in facts.publishers if each.msgtype == facts.msgtype]
    if len(senders) > 1:
        found[SEVERAL_PUBLISHERS] = (
            f'{len(senders)} publishers are on {topic} ({", ".join(map(_name, senders))}) and '
            f'their messages are mixed: stop all but one or remap {sensor.lower()}'
        )
    unused = ''
    if facts.share_rejected > MANY:
        unused = (
            f'{facts.share_rejected:.0%} of the {sensor} messages on {topic} are not used, most '
            f'for {facts.mostly}: {REJECTIONS[facts.mostly]}'
        )
    if facts.usable_rate_hz < SLOWEST * facts.model_rate_hz:
        found[TOO_SLOW] = (
            f'usable {sensor} messages come on {topic} at only {facts.usable_rate_hz:.1f} Hz, but '
            f'the model needs {facts.model_rate_hz:g} Hz: '
            f'{unused or "set the driver to a higher rate"}'
        )
    found.update(facts.oddities)
    if unused:
        found[facts.mostly] = unused
    if facts.clock:
        found[facts.clock] = CLOCK_WORDS[facts.clock]
    return found


def _judge_outside(facts: Facts) -> Judgement | None:
    if facts.trouble:
        return Judgement(Level.ERROR, None, 'unconfigured', facts.trouble)
    if not facts.active:
        if facts.managed:
            why = 'not active: waiting for the lifecycle manager'
        else:
            why = 'not active: it was deactivated by a lifecycle transition'
        return Judgement(Level.WARN, None, 'inactive', why)
    if not facts.enabled:
        why = 'disabled by the service enable: call it again with data: true'
        return Judgement(Level.WARN, None, 'disabled', why)
    return None


def judge_silence(facts: Facts) -> Judgement | None:
    """Return why no message comes, if none does."""
    if facts.heard:
        return None
    mistake = _judge_publishers(facts)
    if mistake is None and facts.silence_s <= facts.timeout_s:
        why = f'waiting for the first {facts.sensor} message on {facts.topic}'
        return Judgement(Level.WARN, Status.WAITING, 'waiting', why)
    cause, reason = mistake or ('silent', 'its publisher is there but silent')
    if mistake is None and not facts.publishers:
        name = facts.sensor.lower()
        cause = 'no_publisher'
        reason = f'nobody publishes it; remap {name} to the topic of the driver'
        if facts.elsewhere:
            reason += f', {" or ".join(facts.elsewhere)}'
    elif mistake is None and facts.clock:
        cause, reason = facts.clock, CLOCK_WORDS[facts.clock]
    status = Status.NO_DATA if facts.received else Status.WAITING
    silent = f'no {facts.sensor} message on {facts.topic} for {facts.silence_s:.1f} s'
    return Judgement(Level.ERROR, status, cause, f'{status.value}: {silent}: {reason}')


def _judge_publishers(facts: Facts) -> tuple[str, str] | None:
    """Return cause and reason if nothing can ever come from those who publish the topic."""
    types = sorted({each.msgtype for each in facts.publishers})
    if types and facts.msgtype not in types:
        return 'wrong_type', f'it is published as {", ".join(types)}, not as {facts.msgtype}'
    if facts.incompatible:
        return 'incompatible', f'its publisher offers an incompatible {facts.incompatible}'
    return None


def _judge_rejected(facts: Facts) -> Judgement | None:
    """Return the reason if messages come but none of them is used any more."""
    count = sum(facts.rejected.values())
    if count < REFUSED_AFTER and not (count and facts.barren_s > facts.timeout_s):
        return None
    cause, words = _root_of(max(facts.rejected, key=facts.rejected.__getitem__), facts)
    counts = ', '.join(f'{each} {name}' for name, each in facts.rejected.items())
    why = (
        f'{Status.REFUSED.value}: no {facts.sensor} sample was used for {facts.barren_s:.1f} s '
        f'({counts}): {words}'
    )
    return Judgement(Level.ERROR, Status.REFUSED, cause, why)


def _root_of(rejection: str, facts: Facts) -> tuple[str, str]:
    """Return cause and words for messages that are rejected, nearer to the root if it is known."""
    if rejection == OUT_OF_RANGE and facts.finding is not None:
        return facts.finding.cause, facts.finding.words
    if rejection in {ZERO_STAMP, DUPLICATE_STAMP} and facts.clock:
        return facts.clock, CLOCK_WORDS[facts.clock]
    return rejection, REJECTIONS[rejection]


def _judge_return(facts: Facts) -> Judgement | None:
    """Return that the filter's word is old, if its input has only just come back."""
    if facts.barren_s <= facts.timeout_s or facts.status not in USABLE:
        return None
    why = (
        f'{Status.NO_DATA.value}: no {facts.sensor} message on {facts.topic} for '
        f'{facts.barren_s:.1f} s until now: it is used once the next one goes on from there'
    )
    return Judgement(LEVELS[Status.NO_DATA], Status.NO_DATA, 'silent', why)


def _judge_samples(facts: Facts) -> Judgement | None:
    """Return what is known to be wrong, where the filter is not there yet or not any more."""
    finding = facts.finding
    if finding is None or not finding.refuses or facts.status in USABLE:
        return None
    # Of a mixture of two drivers, nearly anything may be found.
    mixed = suspects(facts).get(SEVERAL_PUBLISHERS)
    why = f'{Status.REFUSED.value}: {finding.words}{f"; {mixed}" if mixed else ""}'
    return Judgement(Level.ERROR, Status.REFUSED, finding.cause, why)


def _judge_filter(facts: Facts) -> Judgement:
    own = Judgement(LEVELS[facts.status], facts.status, facts.cause, facts.why)
    if facts.interruption is not None and facts.cause in {FILLING, GAP}:
        cause, seconds = facts.interruption
        words = INTERRUPTION_WORDS[cause].format(span=span(seconds))
        own = own._replace(cause=cause, why=f'{facts.why}; {words}')
    for cause, sentence in suspects(facts).items():
        if own.level is not Level.OK:
            if cause in _ROOTS and facts.status is not Status.REFUSED:
                status = f'{facts.status.value}: '
                why = f'{status}{sentence}; {own.why.removeprefix(status)}'
                return own._replace(cause=cause, why=why)
        elif cause in _ROOTS:
            return Judgement(
                Level.WARN, Status.UNSURE, cause, f'{Status.UNSURE.value}: {sentence}'
            )
        else:
            return Judgement(Level.WARN, facts.status, cause, f'{facts.why}, but {sentence}')
    return own


def _name(node: str) -> str:
    return node or 'unnamed'
