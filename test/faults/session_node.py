# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A filter node without ROS: it takes bytes on the clock of a drive, and is assessed as a node."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fault import Look, Published, Sample, Word
import numpy as np
import pytest
from raw_imu import raw_imu

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.interface import input_checks, session
from two_manifold_ros.interface.assessment import assess, Health, InputHealth
from two_manifold_ros.interface.input_checks import imu_complaints, InputMonitor
from two_manifold_ros.interface.model_swap import load_session
from two_manifold_ros.interface.parameters import FilterParameters

SECOND_NS = 10**9


class SessionNode:
    """
    What `trial.play` drives, in this process; see `ServedNode` for the attributes.

    The clock of the session is patched to be that of the drive.
    """

    alive, callback_errors = True, '0'

    def __init__(self, patch: pytest.MonkeyPatch, model: Path, **parameters: Any) -> None:  # noqa: ANN401 - whatever the node takes
        self._chosen = FilterParameters(model=str(model), **parameters)
        self._now_ns = SECOND_NS
        for module in (session, input_checks):
            patch.setattr(module, 'perf_counter_ns', lambda: self._now_ns)
        self._session = load_session(self._chosen).session
        self._monitor = InputMonitor('IMU', '/imu')
        self._begin_ns: int | None = None
        self._second = 0
        self._counted: Counter[str] = self._session.counts()
        self._frame = ''
        self.words: list[Word] = []
        self.looks: list[Look] = []
        self.not_finite = 0
        self._published: list[Published] = []
        self._report(at_once=True)

    @property
    def received(self) -> int:
        """Number of messages received since the start."""
        return self.looks[-1].received

    def published(self, _: list[Sample]) -> list[Published]:
        """Return the positions that were published."""
        return self._published

    def forget(self) -> None:
        """Keep the newest word and look."""

    def send(self, samples: Sequence[Sample], *_: float) -> None:
        """Let it take all, each at its time."""
        for sample in samples:
            if self._begin_ns is None:
                self._begin_ns = sample.at_ns - SECOND_NS
            self._now_ns = max(self._now_ns, sample.at_ns - self._begin_ns)
            self._frame = sample.frame
            raw = sample.raw or raw_imu(sample.stamp_ns, sample.values, sample.frame)
            for estimate in self._session.take(raw) or ():
                self._publish(estimate)
            self._report(at_once=False)

    def settle(self) -> None:
        """Let it take what waits."""
        self._report(at_once=True)

    def _publish(self, estimate: Estimate) -> None:
        parts = estimate.positions, estimate.covariances, estimate.velocity, estimate.state
        self.not_finite += not all(np.isfinite(part).all() for part in parts)
        taken = self._session.counts(at_once=False)['received']
        place, covariance = estimate.positions[0], estimate.covariances[0]
        self._published.append(Published(taken, estimate.stamp_ns, place, covariance))

    def _report(self, *, at_once: bool) -> None:
        live, arrivals = self._session, self._session.arrivals
        counts = live.counts(at_once=at_once)
        now_s = self._now_ns / SECOND_NS
        if int(now_s) > self._second:
            self._second, fresh = int(now_s), counts - self._counted
            self._counted = counts
            clocks = self._now_ns, now_s
            self._monitor.update(fresh, counts, arrivals, now_s, clocks, simulated=False)
        health = Health(
            self._monitor.health(
                InputHealth(timeout_s=self._chosen.input_timeout_s, unused_s=now_s),
                counts,
                arrivals,
                self._now_ns,
                imu_complaints(self._frame, {}, live.model, '/imu'),
            )
        ).with_filter(live.filter, live.model.rate_hz)
        _, status, cause, why = assess(health)
        word = Word(counts['received'], status.value if status else '', cause, why, now_s)
        if not self.words or word[1:4] != self.words[-1][1:4]:
            self.words.append(word)
        self.looks.append(Look(counts['received'], counts))
