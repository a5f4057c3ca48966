# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an updater node has to tell about itself."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from two_manifold_ros.nodes.input_rate import InputRate
from two_manifold_ros.nodes.rejections import all_rejected, input_causes
from two_manifold_ros.nodes.updater_words import judge_keeping, judge_learning, learning_causes
from two_manifold_ros.outputs.judging import Facts, judge, Judgement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.nodes.updater import UpdaterNode

REFERENCE_GONE_S = 5.0
"""Seconds without a position to use after which that is worth a word."""


class UpdaterDescriber:
    """
    The `Describer` of an updater node.

    Parameters
    ----------
    node
        The node told about.

    """

    def __init__(self, node: UpdaterNode) -> None:
        self._node = node
        self._rate = InputRate()
        self._facts = Facts()

    @property
    def hardware(self) -> str:
        """The frame of the sensor."""
        return self._node.session.head.imu_frame_id

    def counts(self) -> Counter[str]:
        """Return the counters of the session, of the positions and of the learning."""
        node = self._node
        positions = {f'reference_{key}': each for key, each in node.positions.counts().items()}
        learned = {f'samples_{key}': each for key, each in node.session.learned().items()}
        return Counter({**node.session.counts(), **positions, **learned})

    def judge(self, fresh: Counter[str]) -> Judgement:
        """Return how it is."""
        node, session, input_ = self._node, self._node.session, self._node.input
        timeout_s = node.chosen['input_timeout_s']
        quiet = input_.silence_s > timeout_s or not fresh['received']
        self._facts = Facts(
            sensor=input_.sensor,
            msgtype=input_.msgtype,
            topic=input_.name,
            silence_s=input_.silence_s,
            timeout_s=timeout_s,
            received=input_.received,
            publishers=input_.publisher_types() if quiet else (),
            incompatible=input_.incompatible,
            imu_rate_hz=self._rate.look(fresh['used'], input_.received_s, session.newest_ns),
            model_rate_hz=session.head.rate_hz,
            all_rejected=all_rejected(fresh),
            filter_why=session.adaptive.filter.why,
            latest=session.latest,
        )
        judgement = judge_learning(judge(self._facts), session, node.reference.topic)
        return judge_keeping(judgement, node.resuming.trouble if node.resuming else '')

    def causes(self, fresh: Counter[str]) -> dict[str, str]:
        """Return what happened to messages, learning, positions, checkpoints and handovers."""
        node = self._node
        causes = input_causes(fresh, node.input.sensor, node.input.name)
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
        return causes

    def values(self, counts: Counter[str], rates: Mapping[str, float]) -> dict[str, float | str]:
        """Return rates, the newest estimate, counters, times, checkpoints and handovers."""
        node, session = self._node, self._node.session
        tracker, latest = session.adaptive.tracker, self._facts.present
        values: dict[str, float | str] = {
            'input_rate_hz': rates.get('received', 0.0),
            'reference_rate_hz': rates.get('reference_used', 0.0),
            'estimate_rate_hz': rates.get('published', 0.0),
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
