# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter node's word about itself, once a second."""

from __future__ import annotations

from collections import Counter
from time import monotonic
from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu

from two_manifold_ros.nodes.imu_check import imu_complaints
from two_manifold_ros.nodes.input_rate import InputRate
from two_manifold_ros.nodes.notices import Notices
from two_manifold_ros.nodes.quality import quality
from two_manifold_ros.nodes.rejections import all_rejected, input_causes
from two_manifold_ros.nodes.sentences import capitalised
from two_manifold_ros.nodes.translating import to_message
from two_manifold_ros.outputs.diagnostics import diagnostics_message, Health, Level
from two_manifold_ros.outputs.judging import Facts, judge, Judgement
from two_manifold_ros.outputs.topics import DIAGNOSTICS

if TYPE_CHECKING:
    from two_manifold_ros.nodes.filter_lifecycle import FilterNode

# Reasons that are part of every start, not worth a warning in the log.
_EXPECTED = frozenset({'tracking', 'filling', 'waiting', 'inactive', 'disabled'})


class FilterReport:
    """
    Publishes diagnostics and logs what changed.

    Parameters
    ----------
    node
        The node reported on.

    """

    def __init__(self, node: FilterNode) -> None:
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
        now_s = monotonic()
        session = self._node.session
        counts = session.counts() if session else Counter()
        # A new session counts from zero again.
        fresh = counts if counts['received'] < self._before['received'] else counts - self._before
        rates = {key: count / (now_s - self._before_s) for key, count in fresh.items()}
        self._before, self._before_s = counts, now_s
        facts = self._facts(fresh)
        judgement = judge(facts)
        self._log(judgement, fresh, now_s)
        health = Health(judgement.level, judgement.why, self._values(rates, facts))
        stamp_ns = self._node.get_clock().now().nanoseconds
        message = diagnostics_message(
            stamp_ns,
            self._node.get_fully_qualified_name().lstrip('/'),
            session.model.imu_frame_id if session else '',
            health,
        )
        self._publisher.publish(to_message(DIAGNOSTICS.msgtype, message))

    def _facts(self, fresh: Counter[str]) -> Facts:
        node, session = self._node, self._node.session
        silence_s = node.silence_s
        rate_hz = self._rate.look(
            fresh['used'], node.received_s, session.newest_ns if session else 0
        )
        quiet = silence_s > node.settings['input_timeout_s'] or not fresh['received']
        return Facts(
            trouble=node.trouble,
            managed=node.settings['managed'],
            active=node.active,
            enabled=node.enabled,
            topic=node.imu_topic,
            silence_s=silence_s,
            timeout_s=node.settings['input_timeout_s'],
            received=node.received_s > node.activated_s,
            publishers=self._publisher_types() if quiet else (),
            incompatible=node.incompatible,
            imu_rate_hz=rate_hz,
            model_rate_hz=session.model.rate_hz if session else 0.0,
            all_rejected=all_rejected(fresh),
            filter_why=session.filter.why if session else '',
            latest=session.latest if session else None,
        )

    def _publisher_types(self) -> tuple[str, ...]:
        found = self._node.get_publishers_info_by_topic(self._node.imu_topic)
        return tuple(info.topic_type for info in found)

    def _log(self, judgement: Judgement, fresh: Counter[str], now_s: float) -> None:
        causes = {}
        if judgement.level is not Level.OK and judgement.cause not in _EXPECTED:
            causes[judgement.cause] = capitalised(judgement.why)
        elif judgement.cause != self._cause:
            self._log_state(f'State: {judgement.why}')
        self._cause = judgement.cause
        topic = self._node.imu_topic
        causes.update(input_causes(fresh, 'IMU', topic))
        causes.update(self._complaints())
        self._notices.update(causes, now_s)

    def _complaints(self) -> dict[str, str]:
        session = self._node.session
        if session is None or not session.last_raw:
            return {}
        try:
            message = deserialize_message(session.last_raw, Imu)
        # Already counted as malformed.
        except Exception:  # noqa: BLE001 - the middleware raises its own types
            return {}
        return imu_complaints(message, session.model, self._node.imu_topic)

    def _values(self, rates: dict[str, float], facts: Facts) -> dict[str, float | str]:
        session = self._node.session
        swap = self._node.swap
        if session is None or swap is None:
            return {'model': self._node.settings['model']}
        values: dict[str, float | str] = {'model': swap.path, 'swaps': swap.swaps}
        values['swap'] = swap.state
        if swap.trouble:
            values['swap_trouble'] = swap.trouble
        latest = facts.present
        values['imu_rate_hz'] = rates.get('received', 0.0)
        values['estimate_rate_hz'] = rates.get('published', 0.0)
        values['valid'] = str(latest is not None and latest.valid).lower()
        values['evidence'] = latest.evidence if latest else float('nan')
        values['familiarity'] = latest.familiarity if latest else float('nan')
        values.update(session.counts())
        for name, value in session.durations.microseconds().items():
            values[f'processing_{name}_us'] = value
        values['callback_errors'] = self._node.guard.count
        return values
