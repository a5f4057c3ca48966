# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a filter node has to tell about itself."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu

from two_manifold_ros.nodes.imu_check import imu_complaints
from two_manifold_ros.nodes.input_facts import filter_facts, InputFacts, word_of
from two_manifold_ros.nodes.rejections import input_causes
from two_manifold_ros.outputs.facts import Facts
from two_manifold_ros.outputs.judging import judge, Judgement

if TYPE_CHECKING:
    from two_manifold_ros.nodes.arrivals import Arrivals
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
        self._input = InputFacts(node, node.imu)
        self._complaints: dict[str, str] = {}

    @property
    def hardware(self) -> str:
        """The frame of the IMU in training."""
        session = self._node.session
        return session.model.imu_frame_id if session else ''

    @property
    def word(self) -> object:
        """Something else as soon as there is something new to tell."""
        session = self._node.session
        return None if session is None else word_of(session)

    def counts(self) -> Counter[str]:
        """Return the counters of the session; they may be behind by a tick."""
        session = self._node.session
        return session.counts(at_once=False) if session else Counter()

    def durations(self) -> dict[str, float]:
        """Return how long callbacks took."""
        session = self._node.session
        return session.durations.microseconds() if session else {}

    def look(self, fresh: Counter[str]) -> None:
        """Take notice of the last second."""
        self._input.look(fresh, self._arrivals)
        self._complaints = self._complain()

    def facts(self, counts: Counter[str]) -> Facts:
        """Return what the node knows now."""
        node, session = self._node, self._node.session
        known = self._input.gather(counts, self._arrivals)
        known['oddities'] |= self._complaints
        if session is not None:
            known |= filter_facts(session.filter)
            known['model_rate_hz'] = session.model.rate_hz
            known['latest'] = session.latest
        return Facts(
            trouble=node.trouble,
            managed=node.settings['managed'],
            active=node.active,
            enabled=node.enabled,
            timeout_s=node.settings['input_timeout_s'],
            **known,
        )

    def judge(self, facts: Facts) -> Judgement:
        """Return how it is."""
        return judge(facts)

    def events(self, fresh: Counter[str]) -> dict[str, str]:
        """Return what happened to the messages."""
        topic = self._node.imu
        return {
            **input_causes(fresh, topic.sensor, topic.name),
            **self._input.events(self._arrivals),
        }

    def head(self) -> dict[str, float | str]:
        """Return the model and what is being swapped."""
        swap = self._node.swap
        if swap is None:
            return {'model': self._node.settings['model']}
        values: dict[str, float | str] = {'model': swap.path, 'swaps': swap.swaps}
        values['swap'] = swap.state
        if swap.trouble:
            values['swap_trouble'] = swap.trouble
        return values

    def tail(self) -> dict[str, float | str]:
        """Return nothing more."""
        return {}

    @property
    def _arrivals(self) -> Arrivals | None:
        return self._node.session.arrivals if self._node.session else None

    def _complain(self) -> dict[str, str]:
        """Return what is odd about the newest message."""
        session = self._node.session
        if session is None or not session.last_raw:
            return {}
        try:
            message = deserialize_message(session.last_raw, Imu)
        # Already counted as malformed.
        except Exception:  # noqa: BLE001 - the middleware raises its own types
            return {}
        return imu_complaints(message, session.model, self._node.imu.name)
