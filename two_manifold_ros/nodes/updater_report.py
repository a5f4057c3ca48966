# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The updater's word about itself, once a second."""

from __future__ import annotations

from collections import Counter
from time import monotonic
from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray

from two_manifold_ros.nodes.input_rate import InputRate
from two_manifold_ros.nodes.notices import Notices
from two_manifold_ros.nodes.quality import quality
from two_manifold_ros.nodes.rejections import all_rejected, input_causes
from two_manifold_ros.nodes.sentences import capitalised
from two_manifold_ros.nodes.translating import to_message
from two_manifold_ros.nodes.updater_words import (
    EXPECTED,
    judge_keeping,
    judge_learning,
    learning_causes,
)
from two_manifold_ros.outputs.diagnostics import diagnostics_message, Health, Level
from two_manifold_ros.outputs.judging import Facts, judge, Judgement
from two_manifold_ros.outputs.topics import DIAGNOSTICS

if TYPE_CHECKING:
    from two_manifold_ros.nodes.updater import UpdaterNode

REFERENCE_GONE_S = 5.0
"""Seconds without a position to use after which that is worth a word."""


class UpdaterReport:
    """
    Publishes diagnostics and logs what changed.

    Parameters
    ----------
    node
        The node reported on.

    """

    def __init__(self, node: UpdaterNode) -> None:
        self._node = node
        self._publisher = node.create_publisher(
            DiagnosticArray, DIAGNOSTICS.name, quality(DIAGNOSTICS)
        )
        logger = node.get_logger()
        self._notices = Notices(logger.warning, logger.info)
        self._log_state = logger.info
        self._cause = ''
        self._before: Counter[str] = Counter()
        self._before_s = monotonic()
        self._rate = InputRate()

    def publish(self) -> None:
        """Publish one diagnostics message and log reasons that are new or over."""
        node, now_s = self._node, monotonic()
        counts = self._counts()
        fresh = counts - self._before
        seconds = now_s - self._before_s
        self._before, self._before_s = counts, now_s
        facts = self._facts(fresh)
        judgement = judge_learning(judge(facts), node.session, node.reference.topic)
        if node.resuming is not None:
            judgement = judge_keeping(judgement, node.resuming.trouble)
        self._log(judgement, fresh, now_s)
        rates = {
            'input_rate_hz': fresh['received'] / seconds,
            'reference_rate_hz': fresh['reference_used'] / seconds,
            'estimate_rate_hz': fresh['published'] / seconds,
        }
        health = Health(judgement.level, judgement.why, {**rates, **self._values(facts, counts)})
        name = node.get_fully_qualified_name().lstrip('/')
        message = diagnostics_message(
            node.get_clock().now().nanoseconds, name, node.session.head.imu_frame_id, health
        )
        self._publisher.publish(to_message(DIAGNOSTICS.msgtype, message))

    def _counts(self) -> Counter[str]:
        node = self._node
        positions = {f'reference_{key}': each for key, each in node.positions.counts().items()}
        learned = {f'samples_{key}': each for key, each in node.session.learned().items()}
        return Counter({**node.session.counts(), **positions, **learned})

    def _facts(self, fresh: Counter[str]) -> Facts:
        node, session = self._node, self._node.session
        silence_s = monotonic() - node.received_s
        timeout_s = node.chosen['input_timeout_s']
        quiet = silence_s > timeout_s or not fresh['received']
        return Facts(
            sensor=node.sensor,
            msgtype=node.topic.msgtype,
            topic=node.topic_name,
            silence_s=silence_s,
            timeout_s=timeout_s,
            received=node.received_s > node.started_s,
            publishers=self._publisher_types() if quiet else (),
            incompatible=node.incompatible,
            imu_rate_hz=self._rate.look(fresh['used'], node.received_s, session.newest_ns),
            model_rate_hz=session.head.rate_hz,
            all_rejected=all_rejected(fresh),
            filter_why=session.adaptive.filter.why,
            latest=session.latest,
        )

    def _publisher_types(self) -> tuple[str, ...]:
        found = self._node.get_publishers_info_by_topic(self._node.topic_name)
        return tuple(info.topic_type for info in found)

    def _log(self, judgement: Judgement, fresh: Counter[str], now_s: float) -> None:
        node = self._node
        causes = {}
        if judgement.level is not Level.OK and judgement.cause not in EXPECTED:
            causes[judgement.cause] = capitalised(judgement.why)
        elif judgement.cause != self._cause:
            self._log_state(f'State: {judgement.why}')
        self._cause = judgement.cause
        causes.update(input_causes(fresh, node.sensor, node.topic_name))
        causes.update(learning_causes(fresh, node.session, node.reference.topic))
        if node.positions.silence_s > REFERENCE_GONE_S:
            causes['reference_gone'] = (
                f'No position to use comes on {node.reference.topic} any more: the read-out of '
                f'positions stays as it was learned'
            )
        if node.reference.problem:
            causes['reference_type'] = node.reference.problem
        if node.resuming is not None and node.resuming.trouble:
            causes['checkpoint'] = node.resuming.trouble
        if node.handing_over is not None:
            causes.update(node.handing_over.troubles())
        self._notices.update(causes, now_s)

    def _values(self, facts: Facts, counts: Counter[str]) -> dict[str, float | str]:
        node, session = self._node, self._node.session
        tracker, latest = session.adaptive.tracker, facts.present
        values: dict[str, float | str] = {
            'reference_type': node.reference.msgtype or 'unknown',
            'valid': str(latest is not None and latest.valid).lower(),
            'evidence': latest.evidence if latest else float('nan'),
            'familiarity': latest.familiarity if latest else float('nan'),
            'warm_up': round(tracker.progress, 3),
            'basis_angle': tracker.angle,
            'update_us': 1e6 * tracker.update_s,
        }
        values.update(counts)
        for name, value in session.durations.microseconds().items():
            values[f'processing_{name}_us'] = value
        if node.resuming is not None:
            values.update(node.resuming.values)
        if node.handing_over is not None:
            values.update(node.handing_over.values())
        values['callback_errors'] = node.guard.count
        return values
