# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an updater node has to tell about itself."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from two_manifold_ros.nodes.input_facts import filter_facts, InputFacts, word_of
from two_manifold_ros.nodes.rejections import input_causes
from two_manifold_ros.nodes.updater_settings import learner_name
from two_manifold_ros.nodes.updater_words import judge_keeping, judge_learning, learning_causes
from two_manifold_ros.outputs.facts import Facts
from two_manifold_ros.outputs.judging import judge, Judgement

if TYPE_CHECKING:
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
        self._input = InputFacts(node, node.input)
        self._reference_hz = 0.0

    @property
    def hardware(self) -> str:
        """The frame of the sensor."""
        return self._node.session.head.imu_frame_id

    @property
    def word(self) -> object:
        """Something else as soon as there is something new to tell."""
        return word_of(self._node.session)

    def counts(self) -> Counter[str]:
        """Return the counters of the session, of the positions and of the learning."""
        node = self._node
        positions = {f'reference_{key}': each for key, each in node.positions.counts().items()}
        learned = {f'samples_{key}': each for key, each in node.session.learned().items()}
        return Counter({**node.session.counts(), **positions, **learned})

    def durations(self) -> dict[str, float]:
        """Return how long callbacks took, learning included."""
        return self._node.session.durations.microseconds()

    def look(self, fresh: Counter[str]) -> None:
        """Take notice of the last second."""
        self._reference_hz = float(fresh['reference_used'])
        self._input.look(fresh, self._node.session.arrivals)

    def facts(self, counts: Counter[str]) -> Facts:
        """Return what the node knows now."""
        session = self._node.session
        return Facts(
            timeout_s=self._node.chosen['input_timeout_s'],
            model_rate_hz=session.learner.running.rate_hz,
            latest=session.latest,
            **filter_facts(session.filter),
            **self._input.gather(counts, session.arrivals),
        )

    def judge(self, facts: Facts) -> Judgement:
        """Return how it is."""
        node = self._node
        judgement = judge_learning(judge(facts), node.session, node.reference.topic)
        return judge_keeping(judgement, node.resuming.trouble if node.resuming else '')

    def events(self, fresh: Counter[str]) -> dict[str, str]:
        """Return what happened to messages, learning, positions, checkpoints and handovers."""
        node = self._node
        causes = input_causes(fresh, node.input.sensor, node.input.name)
        causes.update(self._input.events(node.session.arrivals))
        causes.update(learning_causes(fresh, node.session, node.reference.topic))
        if node.positions.silence_s > REFERENCE_GONE_S:
            causes['reference_gone'] = (
                f'No position to use comes on {node.reference.topic} any more: what was '
                'learned stays as it is'
            )
        if node.reference.problem:
            causes['reference_type'] = node.reference.problem
        if node.resuming is not None and node.resuming.trouble:
            causes['checkpoint'] = node.resuming.trouble
        if node.handing_over is not None:
            causes.update(node.handing_over.troubles())
        return causes

    def head(self) -> dict[str, float | str]:
        """Return how the learning goes."""
        return {
            'reference_type': self._node.reference.msgtype or 'unknown',
            'reference_rate_hz': self._reference_hz,
            'learner': learner_name(self._node.chosen),
            **self._node.session.learner.values(),
        }

    def tail(self) -> dict[str, float | str]:
        """Return how checkpoints and handovers stand."""
        node = self._node
        values: dict[str, float | str] = {}
        if node.resuming is not None:
            values.update(node.resuming.values)
        if node.handing_over is not None:
            values.update(node.handing_over.values())
        return values
