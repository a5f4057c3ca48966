# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Publish a node's status and diagnostics, and log what changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
import math
from socket import gethostname
from time import monotonic, perf_counter_ns
from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray
from std_msgs.msg import Float64MultiArray

from two_manifold_ros.filtering.status import EllipseLimits, Finding, Status, USABLE
from two_manifold_ros.interface.assessment import (
    Assessment,
    capitalised,
    CODES,
    COUNTS,
    diagnostics_message,
    estimate_numbers,
    format_duration,
    Health,
    InputLimits,
    Level,
    oddities,
    OUTSIDE,
    rejections,
    status_message,
    ThrottledLog,
    WORDS,
)
from two_manifold_ros.interface.messages import Scene, Topics
from two_manifold_ros.nodes.callbacks import find_shared, GuardedNode, ImuTopic, qos
from two_manifold_ros.recordings.ros_messages import to_message

if TYPE_CHECKING:
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
        # The computer and the namespace distinguish one robot from another.
        hardware = f'{gethostname()}{node.get_namespace().rstrip("/")}'
        name = node.get_fully_qualified_name().lstrip('/')
        message = diagnostics_message(node.now_ns, name, level, why, values, hardware)
        publisher.publish(to_message(Topics.DIAGNOSTICS.msgtype, message))

    return publish


class StatusPublisher:
    """
    Publish status, under a ``prefix``, and diagnostics; and log what changed.

    Once a second it gathers the health of the messages and of the clock of the node.
    """

    def __init__(self, node: GuardedNode, topic: ImuTopic, prefix: str = '') -> None:
        self._node, self._input = node, topic
        self._publish_diagnostics = diagnostics_publisher(node)
        self._status = node.create_publisher(
            Float64MultiArray, f'{prefix}{Topics.STATUS.name}', qos(Topics.STATUS)
        )
        self._log = ThrottledLog(node.get_logger().warning, node.get_logger().info)
        self._state: tuple[object, str] | None = None
        self._logged: str | None = None
        self._events: Mapping[str, str] = {}
        self._times: Counter[str] = Counter()
        # In all, in the last second, and when the newest message was used.
        self._counts, self._fresh, self._good = Counter[str](), Counter[str](), Counter[str]()
        self._counted_s = monotonic()
        self._rates: dict[str, float] = {}
        self._shared: dict[str, tuple[str, ...]] = {}
        self._interruption: Finding | None = None
        # When the newest message that was used came, seconds, and its stamp.
        self._newest = math.nan, 0
        self._usable_hz = math.nan
        # What the ROS clock showed a second ago, which follows /clock at any speed if simulated.
        self._shown_ns: int | None = None
        self._clock, self._simulated = '', False

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
        node, topic, now_s = self._node, self._input, monotonic()
        # A new session counts from zero again.
        is_new = counts['received'] < self._counts['received']
        fresh = self._fresh = counts if is_new else counts - self._counts
        passed_s = now_s - self._counted_s
        self._rates = {key: count / passed_s for key, count in fresh.items()}
        self._counts, self._counted_s = counts, now_s
        self._shared = find_shared(node, (*published, self.topic))
        # Over whole intervals between messages, and unknown after a silence. The greater rate by
        # clock and stamps counts: a bag may be played slowly, stamps may jump.
        by_clock = topic.received_s - self._newest[0]
        by_stamps = (arrivals.newest_ns - self._newest[1]) / 1e9
        self._newest = (topic.received_s if fresh['used'] else math.nan), arrivals.newest_ns
        self._usable_hz = math.nan
        if fresh['used'] and not math.isnan(by_clock):
            rates = (fresh['used'] / each for each in (by_clock, by_stamps) if each > 0)
            self._usable_hz = max(rates, default=math.inf)
        now_ns, self._simulated = node.now_ns, bool(node.get_parameter('use_sim_time').value)
        self._clock = ''
        if self._simulated and (not now_ns or self._shown_ns == now_ns):
            self._clock = 'clock_stands' if now_ns else 'no_clock'
        self._shown_ns = now_ns
        happened = {
            f'rejected {cause}': (
                f'IMU samples rejected on {topic.name}: {cause} ({counts[cause]}): {WORDS[cause]}'
            )
            for cause in rejections(fresh)
        }
        happened |= {
            cause: WORDS[cause] for cause in ('restarts', 'estimates_not_finite') if fresh[cause]
        }
        interruption = arrivals.interruption
        if interruption is not None and interruption is not self._interruption:
            happened[interruption.cause] = f'On {topic.name}: {interruption.words}'
        self._interruption = interruption
        return fresh, happened

    def input_health(
        self,
        timeout_s: float,
        counts: Counter[str],
        arrivals: Arrivals,
        complaints: Mapping[str, str] | None = None,
    ) -> Health:
        """Return the health of the input; ``complaints`` are about the content of messages."""
        heard, name, now_ns = self._input.health(timeout_s), self._input.name, self._node.now_ns
        if counts['used'] != self._good['used']:
            self._good = counts
        unused, found = rejections(self._fresh), dict(complaints or {})
        if arrivals.frame != arrivals.newest_frame:
            words = WORDS['frame_changed'].format(
                topic=name, frame=arrivals.frame, newest=arrivals.newest_frame
            )
            found = {'frame_changed': words, **found}
        known = arrivals.newest_ns and now_ns
        heard.stamp_age_s = (now_ns - arrivals.newest_ns) / 1e9 if known else math.nan
        ahead_s = -heard.stamp_age_s
        # A lone wild stamp is not used, and a bag that is played has a clock of its own.
        if not (self._simulated or arrivals.unused) and ahead_s > InputLimits.most_ahead_s:
            span = format_duration(ahead_s)
            found['stamps_ahead'] = WORDS['stamps_ahead'].format(topic=name, span=span)
        heard.unused_s = min((perf_counter_ns() - arrivals.good_ns) / 1e9, heard.unused_s)
        heard.usable_rate_hz, heard.clock = self._usable_hz, self._clock
        heard.rejected = rejections(counts - self._good)
        heard.rejected_share = sum(unused.values()) / max(self._fresh['received'], 1)
        heard.rejected_most = max(unused, key=unused.__getitem__, default='')
        heard.complaints, heard.interruption = found, arrivals.interruption
        heard.shared_outputs, heard.counts = self._shared, counts
        return heard

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
        # During silence, for example, the newest estimate is not about the present.
        is_current = assessment.status in USABLE or assessment.status is health.status
        numbers: dict[str, float] = {
            'status': OUTSIDE if assessment.status is None else CODES[assessment.status],
            'level': assessment.level,
            **estimate_numbers(health.latest if is_current else None),
        }
        if not health.trouble:
            numbers |= {
                'ticks_since_good_sample': int(health.unused_s * health.rate_hz),
                'input_rate_hz': self._rates.get('received', 0.0),
                'estimate_rate_hz': self._rates.get('published', 0.0),
                'stamp_age_s': health.stamp_age_s,
                **{f'processing_{name}_us': each for name, each in health.durations.items()},
                **{name: health.counts[name] for name in COUNTS},
            }
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


def startup_lines(scene: Scene, path: str, imu_topic: str, topics: Mapping[str, str]) -> list[str]:
    """Return the settings in force; ``topics`` that are published by relative and full name."""
    model, routes = scene.model, list(scene.model.routes.values())
    seconds = ', '.join(f'{horizon * model.period_ns / 1e9:g}' for horizon in model.horizons)
    known = [f'{name} in {each.track}' for name, each in scene.routes.items()]
    known += [f'line {name}' for each in routes for name in each.route_names]
    used = dict.fromkeys(channel for each in routes for channel in each.live_channels)
    frame = model.frame_id if model.frame_id not in {'', scene.track} else ''
    trained = f' (parameter track_frame; training had positions in {frame})' if frame else ''
    about = f'{model.rate_hz:g} Hz, windows of {model.window_ns / 1e9:g} s, horizons {seconds} s'
    rate_hz = max(each.rate_hz for each in routes)
    wants = f'which has to bring at least {rate_hz:g} Hz; uses {", ".join(used)}'
    return [
        f'Model {path}: {about}, IMU in {model.imu_frame_id or "an unnamed frame"}',
        *([f'Knows {", ".join(known)}'] if known else ()),
        f'Subscribes {imu_topic} ({Topics.IMU.msgtype}, best effort), {wants}',
        topics_line(topics),
        f'Frames: positions in {scene.track}, velocities in {scene.child}{trained}',
    ]


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
