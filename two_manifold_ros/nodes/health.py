# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Publish a node's status and diagnostics, and log what changed."""

from __future__ import annotations

from collections import Counter
import math
from time import monotonic
from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray
from std_msgs.msg import Float64MultiArray

from two_manifold_ros.filtering.hypothesis_search import has_gravity
from two_manifold_ros.filtering.status import EllipseLimits, Status, USABLE
from two_manifold_ros.interface.assessment import Assessment, Health, Level, oddities
from two_manifold_ros.interface.input_checks import InputMonitor
from two_manifold_ros.interface.messages import Scene, Topics
from two_manifold_ros.interface.status import (
    capitalised,
    CODES,
    COUNTS,
    diagnostics_message,
    estimate_numbers,
    OUTSIDE,
    status_message,
    ThrottledLog,
)
from two_manifold_ros.nodes.callbacks import find_shared, GuardedNode, qos, SensorTopic
from two_manifold_ros.recordings.ros_messages import to_message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from two_manifold_ros.interface.session import Arrivals


EXPECTED = {
    '', 'configuring', 'disabled', 'filling', 'inactive', 'learning', 'converging', 'waiting',
}  # fmt: skip
"""Causes that are part of a start or of a request by the operator, and need no warning."""


def diagnostics_publisher(
    node: GuardedNode,
) -> Callable[[Level, str, Mapping[str, float | str]], None]:
    """Advertise diagnostics; return what publishes level, reason and values of a node."""
    publisher = node.create_publisher(
        DiagnosticArray, Topics.DIAGNOSTICS.address, qos(Topics.DIAGNOSTICS)
    )

    def publish(level: Level, why: str, values: Mapping[str, float | str]) -> None:
        name = node.get_fully_qualified_name().lstrip('/')
        message = diagnostics_message(node.now_ns, name, level, why, values, node.hardware_id)
        publisher.publish(to_message(Topics.DIAGNOSTICS.msgtype, message))

    return publish


class StatusPublisher:
    """Publish status, under a ``prefix``, and diagnostics; and log what changed."""

    def __init__(self, node: GuardedNode, topic: SensorTopic, prefix: str = '') -> None:
        self._node = node
        self._input = topic
        self._monitor = InputMonitor(topic.sensor, topic.name)
        self._publish_diagnostics = diagnostics_publisher(node)
        self._status = node.create_publisher(
            Float64MultiArray, f'{prefix}{Topics.STATUS.name}', qos(Topics.STATUS)
        )
        logger = node.get_logger()
        self._log = ThrottledLog(logger.warning, logger.info)
        self._state: tuple[object, str] | None = None
        self._logged: str | None = None
        self._events: Mapping[str, str] = {}
        self._times: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._counted_s = monotonic()
        self._rates: dict[str, float] = {}
        self._shared: dict[str, tuple[str, ...]] = {}

    @property
    def topic(self) -> str:
        """Full name of the status' topic."""
        return str(self._status.topic_name)

    def count(
        self, counts: Counter[str], arrivals: Arrivals, published: Iterable[str]
    ) -> tuple[Counter[str], dict[str, str]]:
        """
        Take the last second; return its counts, and what happened to the messages by cause.

        Of the full names that are published it is found which ones other nodes publish too.
        """
        node, now_s = self._node, monotonic()
        # A new session counts from zero again.
        is_new = counts['received'] < self._counts['received']
        fresh = counts if is_new else counts - self._counts
        passed_s = now_s - self._counted_s
        self._rates = {key: count / passed_s for key, count in fresh.items()}
        self._counts, self._counted_s = counts, now_s
        self._shared = find_shared(node, (*published, self.topic))
        simulated = bool(node.get_parameter('use_sim_time').value)
        return fresh, self._monitor.update(
            fresh, counts, arrivals, self._input.received_s, node.now_ns, simulated=simulated
        )

    def input_health(
        self,
        timeout_s: float,
        counts: Counter[str],
        arrivals: Arrivals,
        complaints: Mapping[str, str] | None = None,
    ) -> Health:
        """Return the health of the input; ``complaints`` are about the content of messages."""
        heard = self._input.health(timeout_s)
        heard.shared_outputs, heard.counts = self._shared, counts
        return self._monitor.health(heard, counts, arrivals, self._node.now_ns, complaints or {})

    def publish(
        self,
        health: Health,
        assessment: Assessment,
        leading: Mapping[str, float | str],
        trailing: Mapping[str, float | str] | None = None,
        events: Mapping[str, str] | None = None,
    ) -> None:
        """
        Publish the status, and diagnostics if status or cause changed.

        Diagnostics show ``leading`` first and ``trailing`` last. Once a second there are
        ``events``, sentences by cause about it: only diagnostics are published then.
        """
        numbers = self._numbers(health, assessment)
        if events is not None:
            self._events = events
        elif self._status.get_subscription_count():
            message = status_message(self._node.now_ns, numbers)
            self._status.publish(to_message(Topics.STATUS.msgtype, message))
        state = assessment.status, assessment.cause
        if events is None and state == self._state:
            return
        self._log_changes(health, assessment)
        if assessment.cause and state != self._state:
            self._times[f'times_{assessment.cause}'] += 1
        self._state = state
        values: dict[str, float | str] = {
            **leading,
            'status': assessment.status.value if assessment.status else assessment.cause,
            'cause': assessment.cause,
            **{
                name: str(number).lower() if isinstance(number, bool) else number
                for name, number in numbers.items()
                if name not in {'status', 'level'}
            },
            **health.counts,
            **self._times,
            **(trailing or {}),
            'callback_errors': self._node.errors,
        }
        self._publish_diagnostics(assessment.level, assessment.why, values)

    def _numbers(self, health: Health, assessment: Assessment) -> dict[str, float]:
        """Return the known values of the ``NUMBERS`` of a status."""
        # During silence, for example, the newest estimate is not about the present.
        is_current = assessment.status in USABLE or assessment.status is health.status
        latest = health.latest if is_current else None
        numbers: dict[str, float] = {
            'status': OUTSIDE if assessment.status is None else CODES[assessment.status],
            'level': assessment.level,
            **estimate_numbers(latest),
        }
        if health.trouble:
            return numbers
        return {
            **numbers,
            'ticks_since_good_sample': int(health.unused_s * health.rate_hz),
            'input_rate_hz': self._rates.get('received', 0.0),
            'estimate_rate_hz': self._rates.get('published', 0.0),
            'stamp_age_s': health.stamp_age_s,
            **{f'processing_{name}_us': each for name, each in health.durations.items()},
            **{name: health.counts[name] for name in COUNTS},
        }

    def _log_changes(self, health: Health, assessment: Assessment) -> None:
        odd = {key: capitalised(words) for key, words in oddities(health).items()}
        state, words = assessment.cause, assessment.why
        if assessment.status is Status.TRACKING:
            # What is odd all the same is warned of in its own words: it may outlast the state.
            state, words = '', assessment.status.value
        elif state not in EXPECTED and not health.failed:
            # The node has logged itself why it could not be configured.
            odd[state] = capitalised(words)
        # The report of many unused messages covers the single ones.
        said = {f'rejected {cause}' for cause in odd}
        causes = {key: words for key, words in self._events.items() if key not in said} | odd
        before, self._logged = self._logged, state
        self._log.update(causes, monotonic())
        if state != before and state in EXPECTED:
            self._node.get_logger().info(f'State: {words}')


def startup_lines(
    scene: Scene,
    path: str,
    limits: EllipseLimits,
    imu_topic: str,
    topics: Mapping[str, str],
    timeout_s: float,
) -> list[str]:
    """Return the settings in force; ``topics`` that are published by relative and full name."""
    model = scene.model
    seconds = ', '.join(f'{horizon * model.period_ns / 1e9:g}' for horizon in model.horizons)
    routes = list(model.routes.values())
    rates = sorted({each.rate_hz for each in routes})
    used = {channel for each in routes for channel in each.live_channels}
    order = {name: number for number, name in enumerate(model.channels.names)}
    known = [f'{name} in {each.track}' for name, each in scene.routes.items()]
    known += [f'line {name}' for each in routes for name in each.route_names]
    trained = [f'an IMU in {model.imu_frame_id or "an unnamed frame"}']
    trained += [f'topic {model.imu_topic}'] if model.imu_topic else []
    if all(model.channels.live[:3]):
        trained.append('gravity' if has_gravity(model.channels.mean[:3]) else 'no gravity')
    trained += [f'positions in {model.frame_id}'] if model.frame_id else []
    window_s, most = model.window_ns / 1e9, f', {rates[-1]:g} Hz for all routes'
    subscribed = (
        f'Subscribes {imu_topic} (sensor_msgs/msg/Imu, best effort), which has to bring at least '
        f'{rates[0]:g} Hz{most if len(rates) > 1 else ""}; '
        f'uses {", ".join(sorted(used, key=lambda each: order.get(each, len(order))))}'
    )
    lines = [
        f'Model {path}: {model.rate_hz:g} Hz, windows of {window_s:g} s, horizons {seconds} s',
        *([f'Knows {", ".join(known)}'] if known else ()),
        subscribed,
        topics_line(topics),
        f'Frames: positions in {scene.track}, velocities in {scene.child}',
        f'Training had {", ".join(trained)}',
        limits_line(limits, timeout_s),
    ]
    if model.frame_id and model.frame_id != scene.track:
        lines.append(
            f'Positions were trained in {model.frame_id!r} and are published in {scene.track!r} '
            '(parameter track_frame; empty means the frame of training)'
        )
    return lines


def topics_line(topics: Mapping[str, str]) -> str:
    """Return a line about topics: full names by relative names."""
    names = (name if full == f'/{name}' else f'{name} -> {full}' for name, full in topics.items())
    return f'Publishes {", ".join(names)}'


def limits_line(limits: EllipseLimits, timeout_s: float) -> str:
    """Return a line about when the status becomes worse."""
    silent = f'no data after {timeout_s:g} s of silence'
    if not math.isfinite(limits.error_m):
        return f'Limits: the node takes them from the model, once there is one; {silent}'
    return (
        f'Limits: unsure above {limits.warn_m:.3g} m of half the 95 % ellipse, lost above '
        f'{limits.error_m:.3g} m; {silent}'
    )
