# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter node: an IMU in, positions out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial, partialmethod
from time import monotonic, perf_counter_ns
from typing import TYPE_CHECKING

from rclpy.exceptions import NameValidationException
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.serialization import deserialize_message
from rclpy.validate_topic_name import validate_topic_name
from sensor_msgs.msg import Imu
from std_srvs.srv import SetBool, Trigger

from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.filter import is_compiled
from two_manifold_ros.interface.assessment import assess, imu_complaints, LEAST_CHANCE
from two_manifold_ros.interface.fixes import FixInput, maps_of
from two_manifold_ros.interface.messages import choose_scene, Topics
from two_manifold_ros.interface.parameters import FilterParameters
from two_manifold_ros.interface.session import (
    Arrivals,
    load_session,
    ModelSwap,
    sensor_topics,
    Session,
)
from two_manifold_ros.interface.transforms import OdometryFrame
from two_manifold_ros.laps.live import LiveLaps
from two_manifold_ros.laps.timing import live_timer
from two_manifold_ros.nodes.callbacks import (
    BackgroundNode,
    check_transform,
    EstimatePublishers,
    ImuTopic,
)
from two_manifold_ros.nodes.health import limits_line, startup_lines, StatusPublisher
from two_manifold_ros.nodes.live_input import (
    live_fixes,
    live_marks,
    live_odometry,
    live_positions,
    live_sensor,
    LiveTopic,
    Transforms,
)
from two_manifold_ros.nodes.running import declare, read
from two_manifold_ros.recordings.ros_messages import deserialise

if TYPE_CHECKING:
    from two_manifold_ros.model.model import ModelHead


class FilterNode(BackgroundNode):
    """Subscribe ``imu``, run the filter, publish estimates, and always its own state."""

    def __init__(self) -> None:
        super().__init__('filter_node')
        self._trouble, self._failed = 'not configured: waiting for the lifecycle manager', False
        self._session: Session | None = None
        self._swap: ModelSwap | None = None
        # Inputs beside the IMU.
        self._live: list[LiveTopic] = []
        self._active = False
        self._enabled = True
        self._complaints: dict[str, str] = {}
        self._fixes = FixInput(
            lambda: self._session if self._active and self._enabled else None,
            lambda: self._estimates.scene,
            deserialise,
            Transforms(self).find,
        )
        locked = 'it takes effect only when the node is configured: deactivate and clean up first'
        self._chosen = declare(
            self,
            FilterParameters,
            locked=lambda: locked if self._session or self.is_configuring else '',
        )
        self._imu = ImuTopic(self)
        self._status = StatusPublisher(self, self._imu)
        self._state: object = None
        self.serve(Trigger, 'reset', self._on_reset)
        self.serve(SetBool, 'enable', self._on_enable)
        self.serve(Trigger, 'swap_model', self._on_swap_model)
        self.every(1.0 / self._chosen.status_rate_hz, self._on_status)
        self.every(1.0, self._on_second)
        if not self._chosen.managed:
            self.configure(activate=True)

    def prepare(self) -> Callable[[], ModelSwap]:
        """Return the function that loads the model and compiles the filter."""
        chosen = self._chosen = read(self, FilterParameters)
        places = (
            f'sectors {chosen.sectors!r} are places, and mark_topic moves the line that they '
            'follow: write them as shares of a lap.'
        )
        marked = bool(chosen.mark_topic)
        for words, wrong in {
            'No model is given: start with -p model:=FILE, or set the parameter model.': (
                not chosen.model
            ),
            'odometry_topic needs publish_tf: set that to true, or leave it empty.': (
                chosen.odometry_topic and not chosen.publish_tf
            ),
            'start_line and mark_topic both give the start line: leave one of them empty.': (
                marked and chosen.start_line.strip()
            ),
            places: marked and ',' in chosen.sectors,
        }.items():
            if wrong:
                raise InputError(words)
        if chosen.publish_tf:
            check_transform()
        for name in ('odometry_topic', 'mark_topic', 'fix_topic'):
            topic = getattr(chosen, name)
            try:
                validate_topic_name(topic or 'none')
            except NameValidationException as error:
                raise InputError(f'{name} {topic} is no name of a topic') from error
        self._failed = False
        # Where there is little to compile with, it takes half a minute.
        compiling = '' if is_compiled() else ' and compiling its filter, which takes a while'
        self._trouble = f'configuring: loading {chosen.model}{compiling}'
        clock_ns = (lambda: self.now_ns) if chosen.use_receive_time else None
        return lambda: load_session(chosen, clock_ns)

    def complete(self, made: ModelSwap) -> None:
        """Advertise, then subscribe."""
        chosen, session = self._chosen, made.session
        topics = sensor_topics(session.model, chosen)
        scene = choose_scene(session.model, chosen.track_frame, chosen.child_frame)
        odometry = OdometryFrame(scene.track, scene.child) if chosen.odometry_topic else None
        laps, placed = self._live_laps(session.model), bool(maps_of(scene))
        for name, what, needed in (
            ('mark_topic', ' with laps', laps), ('fix_topic', '', laps or placed)
        ):  # fmt: skip
            if getattr(chosen, name) and not needed:
                raise InputError(
                    f'{name} needs a map of a route{what}, which this model has not: leave it '
                    'empty, or use a model of --method route'
                )
        self._estimates = EstimatePublishers(
            self, scene, transform=chosen.publish_tf, odometry=odometry, laps=laps,
            placed=bool(chosen.fix_topic) and not placed,
        )  # fmt: skip
        self._session, self._swap = session, made
        first = 0
        for topic in topics:
            self._live.append(live_sensor(self, topic, partial(session.hold, first)))
            first += len(topic.fields)
        if odometry is not None:
            self._live.append(live_odometry(self, chosen.odometry_topic, odometry))
        for topic_name, follow in (
            (chosen.mark_topic, live_marks), ('' if placed else chosen.fix_topic, live_fixes)
        ):  # fmt: skip
            if topic_name:
                self._live.append(follow(self, topic_name, lambda: self._estimates.laps))
        if placed:
            initial = Topics.INITIAL_POSE.name
            self._live.append(live_positions(self, initial, self._fixes, clicked=True))
        if placed and chosen.fix_topic:
            self._live.append(live_positions(self, chosen.fix_topic, self._fixes))
        self._imu.listen(self._on_imu)
        self._log_settings(chosen.model, session)
        self._trouble = ''

    def give_up(self, reason: str) -> None:
        """Log and report why the node is not configured, and undo what was completed of it."""
        self._unconfigure('')
        self._failed = True
        self._trouble = (
            f'{reason.rstrip(".")}. The node stays unconfigured until it is restarted, or '
            f'configured (ros2 lifecycle set {self.get_fully_qualified_name()} configure).'
        )
        self.get_logger().error(self._trouble)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start to use the IMU."""
        self._active = True
        self._imu.wait()
        self._restart('activated')
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop publishing estimates."""
        self._active = False
        return super().on_deactivate(state)

    def _unconfigure(self, reason: str, _: object = None) -> TransitionCallbackReturn:
        """Forget the model, so that another one can be configured."""
        self._active = self._failed = False
        self._trouble = reason
        if self._session is not None:
            self._session = self._swap = None
            self._imu.close()
            self._estimates.destroy()
        for each in self._live:
            each.close()
        self._live.clear()
        return TransitionCallbackReturn.SUCCESS

    # Called by the lifecycle.
    on_cleanup = partialmethod(
        _unconfigure, 'not configured: it was cleaned up by a lifecycle transition'
    )
    on_shutdown = partialmethod(
        _unconfigure, 'shut down by a lifecycle transition: restart the node'
    )
    on_error = partialmethod(
        _unconfigure, 'not configured after an error in a lifecycle transition: see the log'
    )

    def _live_laps(self, model: ModelHead) -> dict[str, LiveLaps]:
        """Return what times the laps of each route of a model that has some."""
        chosen = self._chosen
        clock_ns = (lambda: self.now_ns) if chosen.use_receive_time else None
        found: dict[str, LiveLaps] = {}
        for name, each in model.routes.items():
            timer = live_timer(each, chosen.start_line, chosen.sectors)
            if timer is not None and (route := each.route_model) is not None:
                found[name] = LiveLaps(route, timer, clock_ns)
        return found

    def _log_settings(self, path: str, session: Session) -> None:
        topics = {**self._estimates.topics, Topics.STATUS.name: self._status.topic}
        lines = startup_lines(self._estimates.scene, path, self._imu.name, topics)
        for line in (*lines, limits_line(session.filter.limits, self._chosen.input_timeout_s)):
            self.get_logger().info(line)

    def _restart(self, cause: str) -> None:
        if self._session is not None:
            self._session.reset(cause)

    def _on_imu(self, raw: bytes) -> None:
        session = self._session
        if session is None or not (self._active and self._enabled):
            return
        begin_ns = perf_counter_ns()
        estimates = session.take(raw)
        for estimate in estimates or ():
            self._estimates.publish(estimate)
        session.durations.append(perf_counter_ns() - begin_ns)
        if estimates is None:
            return
        if session.successor is not None:
            self._advance_swap()
        state = session.filter.said[:2], session.arrivals.refused
        if state != self._state:
            self._state = state
            self._on_status()

    def _advance_swap(self, *, idle: bool = False) -> None:
        """Finish a swap of models, and publish for the model that took over."""
        if self._session is None or self._swap is None:
            return
        outcome = self._swap.advance(idle=idle)
        if self._swap.trouble:
            if outcome:
                self.get_logger().warning(outcome)
        elif outcome:
            self.get_logger().info(outcome)
            chosen, before = self._chosen, self._estimates.scene
            model, track = self._session.model, chosen.track_frame
            if not before.routes and '' in model.routes:
                # One of the two may have no name for its frame.
                track = before.track
            scene = choose_scene(model, track, chosen.child_frame)
            laps: dict[str, LiveLaps] = {}
            try:
                laps = self._live_laps(self._session.model)
            except InputError as error:
                self.get_logger().warning(f'No laps are timed with this model: {error}')
            self._estimates.go_on_with(scene, laps)
            self._log_settings(self._swap.path, self._session)

    def _on_status(self) -> None:
        self._publish_health(*self._heard())
        if self._session is not None and self._active and self._enabled:
            self._estimates.publish_chances(self._session.latest)

    def _on_second(self) -> None:
        silent = monotonic() - self._imu.received_s > self._chosen.input_timeout_s
        self._advance_swap(idle=silent or not (self._active and self._enabled))
        counts, arrivals = self._heard()
        published = self._estimates.topics if self._session else {}
        _, events = self._status.count(counts, arrivals, published.values())
        session, self._complaints = self._session, {}
        if session is not None and session.last_raw:
            message = None
            # What is malformed was counted; the middleware raises its own types.
            with suppress(Exception):
                message = deserialize_message(session.last_raw, Imu)
            if message is not None:
                running, trained, imu = session.filter.running, session.model.imu_topic, self._imu
                self._complaints = imu_complaints(
                    message, running, trained, imu.name, imu.is_published
                )
        for cause, words in (*(each.complaint for each in self._live), self._fixes.complaint):
            if words:
                # Of several sensors the first one that is wrong.
                self._complaints.setdefault(cause, words)
        self._publish_health(counts, arrivals, events)

    def _heard(self) -> tuple[Counter[str], Arrivals]:
        """Return the counters of the session, which may be behind by a tick, and its arrivals."""
        if self._session is None:
            return Counter(), Arrivals()
        return self._session.counts(at_once=False), self._session.arrivals

    def _publish_health(
        self, counts: Counter[str], arrivals: Arrivals, events: dict[str, str] | None = None
    ) -> None:
        session, swap, chosen = self._session, self._swap, self._chosen
        timeout_s = chosen.input_timeout_s
        health = self._status.input_health(timeout_s, counts, arrivals, self._complaints)
        health.trouble, health.failed = self._trouble, self._failed
        health.configuring = self.is_configuring
        health.managed, health.active, health.enabled = chosen.managed, self._active, self._enabled
        # A node that compares models filters as this node does.
        names = 'model', 'reorder_s', 'ellipse_warn_m', 'ellipse_error_m'
        leading: dict[str, float | str] = {name: getattr(chosen, name) for name in names}
        if session is not None:
            running = session.filter.running
            health = health.with_filter(session.filter, running.rate_hz)
            health.durations = session.durations.microseconds()
            leading['imu_frame'] = running.imu_frame_id
            if session.filter.correction is not None:
                leading |= session.filter.correction.numbers
        latest = health.latest
        if latest is not None and latest.name:
            leading['route'] = latest.name
            likely = {name: each for name, each in latest.chances.items() if each >= LEAST_CHANCE}
            leading |= {f'chance of {name}': each for name, each in likely.items()}
        laps = None if session is None else self._estimates.laps
        if laps is not None:
            leading |= {'marks': laps.marks} if chosen.mark_topic else {}
            leading |= {'fixes': laps.line.fixes} if chosen.fix_topic else {}
        if session is not None:
            leading |= {f'fixes_{name}': count for name, count in session.filter.fixes.items()}
        if trouble := self._complaints.get('fixes', ''):
            leading['fixes_trouble'] = trouble
        if swap is not None:
            leading |= {'model': swap.path, 'swaps': swap.swaps, 'swap': swap.state}
            if swap.trouble:
                leading['swap_trouble'] = swap.trouble
        self._status.publish(health, assess(health), leading, events=events)

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._restart('reset service')
        response.success = self._session is not None
        # What is idle is empty again, but runs no sooner than before.
        waits = '' if self._enabled else ' when the service enable is called with data: true'
        waits = waits if self._active else ' when the node is activated'
        response.message = self._trouble or f'The filter restarts{waits}.'
        return response

    def _on_swap_model(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        path = self.get_parameter('next_model').value
        refusal = self._trouble if self._swap is None else self._swap.start(path)
        # Before the swap is over, because no callback may wait.
        response.success = not refusal
        response.message = refusal or 'Model swap started; see diagnostics.'
        return response

    def _on_enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if request.data and not self._enabled:
            self._restart('enabled again')
        self._enabled = request.data
        response.success = True
        response.message = 'enabled' if self._enabled else 'disabled'
        return response
