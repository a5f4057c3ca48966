# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Filter nodes, each driven and heard in a ROS domain of its own, and the rows that they serve."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
import math
from pathlib import Path
from time import monotonic
from typing import Any

from checks import judge
from diagnostic_msgs.msg import DiagnosticArray
from fault import HealthyDrive, Look, Outcome, Published, Sample, StreamFault, TICK_NS, Word
from geometry_msgs.msg import PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
from nav_msgs.msg import Path as PathMessage
import numpy as np
from raw_imu import raw_imu
from rclpy.publisher import Publisher
from rclpy.serialization import deserialize_message
from ros_talk import NodeProcess, numbers_of, stamp_of, Talk
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu
from std_msgs.msg import Float64MultiArray
from trial import play

from two_manifold_ros.domains import free_domains, is_free
from two_manifold_ros.interface.status import CODES, OUTSIDE

STATUS_HZ = 100.0
OTHERS = {
    'position': PoseWithCovarianceStamped,
    'predicted_path': PathMessage,
    'latent_state': Float64MultiArray,
}
"""Heard beside odometry, which has all that is judged."""

CLOCK_EVERY = 5
MATCHED_S = 2.0
NEXT_NS = 10 * TICK_NS
PROBE_NS = 1_000_000 * 10**9
"""So far back that the filter starts again after it."""

CODE = {'': OUTSIDE, **{status.value: code for status, code in CODES.items()}}


class ServedNode:
    """
    A node that serves one fault after the other, alone in its domain.

    Attributes
    ----------
    words, looks, estimates
        Everything heard since `forget`, which keeps the newest word and look.
    not_finite
        Messages with a number that is not finite, since `forget`.
    callback_errors
        Exceptions that the node survived.

    """

    def __init__(self, domain: int, model: Path, **parameters: Any) -> None:  # noqa: ANN401 - whatever the node takes
        self._frame = f'car_{domain}'
        self.process = NodeProcess(
            'filter_node',
            domain=domain,
            model=model,
            child_frame=self._frame,
            status_rate_hz=STATUS_HZ,
            **parameters,
        )
        self._talk = Talk(domain)
        self.words: list[Word] = []
        self.looks = [Look(0, {})]
        self.estimates: list[Odometry] = []
        self.not_finite = 0
        self.callback_errors = '0'
        self._sent = self._heard = 0
        node = self._talk.node
        node.create_subscription(DiagnosticArray, 'diagnostics', self._on_diagnostics, 100)
        node.create_subscription(Float64MultiArray, 'status', self._on_status, 100)
        node.create_subscription(Odometry, 'odometry', self._on_odometry, 1000, raw=True)
        for topic, kind in OTHERS.items():
            node.create_subscription(kind, topic, self._check, 1000, raw=True)
        self._publishers: list[Publisher] = []
        self._clock = node.create_publisher(Clock, 'clock', 10)

    def connect(self) -> None:
        """Send until the first message arrives: that our side has matched says nothing of it."""
        self._publishers.append(self._talk.publisher(Imu, 'imu'))
        probe = PROBE_NS

        def heard() -> bool:
            nonlocal probe
            probe += 1_000_000
            self._publishers[0].publish(raw_imu(probe, np.array([0.0, 0.0, 9.81, 0.0, 0.0, 0.0])))
            return self.received > 0

        self._talk.until(lambda: self.words, 'its first word')
        self._talk.until(heard, 'the first IMU message to arrive')
        # Once this last one is counted, none of the others is on its way any more.
        self._publishers[0].publish(b'no message')
        self._talk.until(lambda: self.looks[-1].numbers['malformed'], 'the last one to arrive')
        self._sent = self.received

    @property
    def alive(self) -> bool:
        return self.process.alive

    def close(self) -> None:
        """Stop the node and leave the domain."""
        self.process.stop()
        self._talk.close()

    def forget(self) -> None:
        del self.words[:-1], self.looks[:-1], self.estimates[:]
        self.not_finite = 0

    def send(
        self,
        samples: Sequence[Sample],
        in_flight: int = 40,
        pace_hz: float = 0.0,
        batch: int = 1,
    ) -> None:
        """Send all; so many at once and a second where that is asked for."""
        two = any(sample.source for sample in samples)
        if two:
            self._publishers.append(self._talk.publisher(Imu, 'imu'))
            # Our side has matched; the other may not have, and would lose the first messages.
            self._talk.rest(MATCHED_S)
        begin = monotonic()
        for count, sample in enumerate(samples):
            if pace_hz and count % batch == 0:
                self._talk.rest(begin + count / pace_hz - monotonic())
            self._publish(sample)
            if count % in_flight == in_flight - 1:
                self._wait(in_flight)
        self._wait(0)
        if two:
            self._talk.node.destroy_publisher(self._publishers.pop())

    @property
    def received(self) -> int:
        """Number of messages received since the start."""
        return self.looks[-1].received

    def listen_for(self, status: str, seconds: float) -> None:
        """Only listen until it says a status, or for a while if it does not."""
        end = monotonic() + seconds
        while self.words[-1].status != status and monotonic() < end:
            self._talk.spin(0.05)

    def settle(self) -> None:
        """Wait until it took everything that was sent, and for its word about that."""
        self._talk.until(lambda: self.received == self._sent, 'the node to take everything')
        # Each topic has a way of its own.
        self._talk.until(
            lambda: CODE[self.words[-1].status] == self.looks[-1].numbers['status'],
            'its last word',
        )
        self._talk.until(
            lambda: self._heard == self.looks[-1].numbers['published'], 'all estimates'
        )

    def published(self, sent: list[Sample]) -> list[Published]:
        """
        Return the positions of the odometry.

        They come in the order of what was sent: each is looked for after the one before, because
        stamps may come twice.
        """
        published, after = [], 0
        for message in self.estimates:
            stamp = stamp_of(message)
            # A tick is published with a sample that is as late as its end, or little later.
            later = enumerate(sent[after:], start=after)
            enders = (index for index, each in later if 0 <= each.stamp_ns - stamp < NEXT_NS)
            after = next(enders, len(sent))
            pose = message.pose.pose.position
            covariance = np.array(message.pose.covariance).reshape(6, 6)[:2, :2]
            place = np.array([pose.x, pose.y])
            published.append(Published(after + 1, stamp, place, covariance))
        return published

    def _publish(self, sample: Sample) -> None:
        if self._sent % CLOCK_EVERY == 0 and sample.clock_ns is not None:
            stamp = Clock()
            stamp.clock.sec, stamp.clock.nanosec = divmod(sample.stamp_ns + sample.clock_ns, 10**9)
            self._clock.publish(stamp)
        raw = sample.raw or raw_imu(sample.stamp_ns, sample.values, sample.frame)
        self._publishers[sample.source].publish(raw)
        self._sent += 1

    def _wait(self, in_flight: int) -> None:
        self._talk.spin()
        self._talk.until(lambda: self.received >= self._sent - in_flight, 'the node to follow')

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = {each.key: each.value for each in status.values}
            self.callback_errors = values.get('callback_errors', '0')
            received = int(values.get('received', 0))
            word = values['status'], values['cause'], status.message
            self.words.append(Word(received, *word, monotonic()))

    def _on_status(self, message: Float64MultiArray) -> None:
        numbers = numbers_of(message)
        received = numbers['received']
        self.looks.append(Look(0 if math.isnan(received) else int(received), numbers))

    def _check(self, raw: bytes) -> None:
        """
        Count messages with a number that is not finite, seen as a row of float64.

        All else in them - stamps, lengths and names - is finite when read so.
        """
        numbers = np.frombuffer(raw, '<f8', offset=4, count=(len(raw) - 4) // 8)
        self.not_finite += not np.isfinite(numbers).all()

    def _on_odometry(self, raw: bytes) -> None:
        self._check(raw)
        message = deserialize_message(raw, Odometry)
        assert message.child_frame_id == self._frame, 'another process is in this domain'
        self._heard += 1
        self.estimates.append(message)


LANES: dict[str, dict[str, object]] = {
    'plain': {'input_timeout_s': 60.0},
    'prompt': {'input_timeout_s': 1.0},
    'simulated time': {'input_timeout_s': 60.0, 'use_sim_time': 'true'},
}
"""Parameters of the nodes: trials are faster than real time, so that pauses are none."""

AT_ONCE = 4
"""Nodes that run at once: two cores are kept busy while others only wait."""

SPARE = 3
"""Domains that are looked for, for one that is needed later."""


def run_all(faults: Iterable[StreamFault], drive: HealthyDrive, model: Path) -> dict[str, Outcome]:
    """Return what became of each fault, by name."""
    by_lane: dict[str, list[StreamFault]] = defaultdict(list)
    # What a node says of its last second lingers on: whatever needs real time comes last.
    for fault in sorted(faults, key=lambda fault: -fault.pace_hz or -math.inf):
        by_lane[fault.lane].append(fault)
    domains = free_domains(SPARE * len(by_lane))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        futures = [
            pool.submit(_serve, domains[index :: len(by_lane)], rows, drive, model, LANES[lane])
            for index, (lane, rows) in enumerate(by_lane.items())
        ]
    return {name: outcome for future in futures for name, outcome in future.result().items()}


def _serve(
    domains: Sequence[int],
    faults: Sequence[StreamFault],
    drive: HealthyDrive,
    model: Path,
    parameters: dict[str, object],
) -> dict[str, Outcome]:
    """Let one node serve one fault after the other; the next stands on its recovery."""
    outcomes: dict[str, Outcome] = {}
    # Another process may have come since they were looked for.
    domain = next(filter(is_free, domains))
    node = ServedNode(domain, model, **parameters)
    try:
        node.connect()
        for index, fault in enumerate(faults):
            outcomes[fault.name] = judge(play(fault, drive, node, index))
    except AssertionError as error:
        failed = faults[len(outcomes)].name
        for fault in faults[len(outcomes) :]:
            outcomes[fault.name] = Outcome(fault, complaints=(f'in {failed!r} {error}',))
    finally:
        node.close()
    return outcomes
