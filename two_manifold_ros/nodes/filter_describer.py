# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a filter node has to tell about itself."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu

from two_manifold_ros.nodes.imu_check import imu_complaints
from two_manifold_ros.nodes.input_rate import InputRate
from two_manifold_ros.nodes.rejections import all_rejected, input_causes
from two_manifold_ros.outputs.judging import Facts, judge, Judgement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.nodes.filter_lifecycle import FilterNode


class FilterDescriber:
    """
    The `Describer` of a filter node.

    Parameters
    ----------
    node
        The node told about.

    """

    def __init__(self, node: FilterNode) -> None:
        self._node = node
        self._rate = InputRate()
        self._facts = Facts()

    @property
    def hardware(self) -> str:
        """The frame of the IMU in training."""
        session = self._node.session
        return session.model.imu_frame_id if session else ''

    def counts(self) -> Counter[str]:
        """Return the counters of the session."""
        session = self._node.session
        return session.counts() if session else Counter()

    def judge(self, fresh: Counter[str]) -> Judgement:
        """Return how it is."""
        node, session, imu = self._node, self._node.session, self._node.imu
        timeout_s = node.settings['input_timeout_s']
        quiet = imu.silence_s > timeout_s or not fresh['received']
        newest_ns = session.newest_ns if session else 0
        self._facts = Facts(
            trouble=node.trouble,
            managed=node.settings['managed'],
            active=node.active,
            enabled=node.enabled,
            topic=imu.name,
            silence_s=imu.silence_s,
            timeout_s=timeout_s,
            received=imu.received,
            publishers=imu.publisher_types() if quiet else (),
            incompatible=imu.incompatible,
            imu_rate_hz=self._rate.look(fresh['used'], imu.received_s, newest_ns),
            model_rate_hz=session.model.rate_hz if session else 0.0,
            all_rejected=all_rejected(fresh),
            filter_why=session.filter.why if session else '',
            latest=session.latest if session else None,
        )
        return judge(self._facts)

    def causes(self, fresh: Counter[str]) -> dict[str, str]:
        """Return what happened to the messages, and what is odd about them."""
        return {**input_causes(fresh, 'IMU', self._node.imu.name), **self._complaints()}

    def values(self, counts: Counter[str], rates: Mapping[str, float]) -> dict[str, float | str]:
        """Return model, rates, the newest estimate, counters and times."""
        session, swap = self._node.session, self._node.swap
        if session is None or swap is None:
            return {'model': self._node.settings['model']}
        values: dict[str, float | str] = {'model': swap.path, 'swaps': swap.swaps}
        values['swap'] = swap.state
        if swap.trouble:
            values['swap_trouble'] = swap.trouble
        latest = self._facts.present
        values['imu_rate_hz'] = rates.get('received', 0.0)
        values['estimate_rate_hz'] = rates.get('published', 0.0)
        values['valid'] = str(latest is not None and latest.valid).lower()
        values['evidence'] = latest.evidence if latest else float('nan')
        values['familiarity'] = latest.familiarity if latest else float('nan')
        values.update(counts)
        for name, value in session.durations.microseconds().items():
            values[f'processing_{name}_us'] = value
        values['callback_errors'] = self._node.guard.count
        return values

    def _complaints(self) -> dict[str, str]:
        session = self._node.session
        if session is None or not session.last_raw:
            return {}
        try:
            message = deserialize_message(session.last_raw, Imu)
        # Already counted as malformed.
        except Exception:  # noqa: BLE001 - the middleware raises its own types
            return {}
        return imu_complaints(message, session.model, self._node.imu.name)
