# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A node's word about itself, once a second."""

from __future__ import annotations

from collections import Counter
from time import monotonic
from typing import Protocol, TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray

from two_manifold_ros.nodes.notices import Notices
from two_manifold_ros.nodes.quality import quality
from two_manifold_ros.nodes.sentences import capitalised
from two_manifold_ros.nodes.translating import to_message
from two_manifold_ros.outputs.diagnostics import diagnostics_message, Health, Level
from two_manifold_ros.outputs.topics import DIAGNOSTICS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rclpy.node import Node

    from two_manifold_ros.outputs.judging import Judgement

    Values = Mapping[str, float | str]

EXPECTED = frozenset(
    {
        'tracking',
        'filling',
        'waiting',
        'inactive',
        'disabled',
        'warming_up',
        'learning',
        'reading_out',
    }
)
"""Causes that are part of every start, not worth a warning in the log."""


class Describer(Protocol):
    """What one kind of node has to tell about itself."""

    @property
    def hardware(self) -> str:
        """On what it reports: the frame of its sensor."""

    def counts(self) -> Counter[str]:
        """Return all counters; they begin anew where ``received`` goes back."""

    def judge(self, fresh: Counter[str]) -> Judgement:
        """Return how it is, from what was counted since the last time and all else."""

    def causes(self, fresh: Counter[str]) -> dict[str, str]:
        """Return sentences by cause about what happened since the last time."""

    def values(self, counts: Counter[str], rates: Mapping[str, float]) -> Values:
        """Return what diagnostics show, in order; rates are those of the counters, in Hz."""


class Report:
    """
    Publishes diagnostics and logs what changed.

    Parameters
    ----------
    node
        The node reported on.
    describer
        That knows it.

    """

    def __init__(self, node: Node, describer: Describer) -> None:
        self._node = node
        self._describer = describer
        self._publisher = node.create_publisher(
            DiagnosticArray, DIAGNOSTICS.name, quality(DIAGNOSTICS)
        )
        logger = node.get_logger()
        self._notices = Notices(logger.warning, logger.info)
        self._log_state = logger.info
        self._cause = ''
        self._before: Counter[str] = Counter()
        self._before_s = monotonic()

    def publish(self) -> None:
        """Publish one diagnostics message and log reasons that are new or over."""
        now_s = monotonic()
        counts = self._describer.counts()
        # A new session counts from zero again.
        fresh = counts if counts['received'] < self._before['received'] else counts - self._before
        rates = {key: count / (now_s - self._before_s) for key, count in fresh.items()}
        self._before, self._before_s = counts, now_s
        judgement = self._describer.judge(fresh)
        self._log(judgement, self._describer.causes(fresh), now_s)
        health = Health(judgement.level, judgement.why, self._describer.values(counts, rates))
        message = diagnostics_message(
            self._node.get_clock().now().nanoseconds,
            self._node.get_fully_qualified_name().lstrip('/'),
            self._describer.hardware,
            health,
        )
        self._publisher.publish(to_message(DIAGNOSTICS.msgtype, message))

    def _log(self, judgement: Judgement, events: Mapping[str, str], now_s: float) -> None:
        causes = {}
        if judgement.level is not Level.OK and judgement.cause not in EXPECTED:
            causes[judgement.cause] = capitalised(judgement.why)
        elif judgement.cause != self._cause:
            self._log_state(f'State: {judgement.why}')
        self._cause = judgement.cause
        self._notices.update({**causes, **events}, now_s)
