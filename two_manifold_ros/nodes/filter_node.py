# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter node: an IMU in, positions out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
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
from two_manifold_ros.interface.assessment import assess
from two_manifold_ros.interface.input_checks import imu_complaints, trained_beside
from two_manifold_ros.interface.messages import choose_scene, Topics
from two_manifold_ros.interface.model_swap import load_session, ModelSwap, sensor_topics
from two_manifold_ros.interface.parameters import FilterParameters
from two_manifold_ros.interface.session import Arrivals, Session
from two_manifold_ros.interface.status import LEAST_CHANCE
from two_manifold_ros.interface.transforms import OdometryFrame
from two_manifold_ros.laps.live import LiveLaps
from two_manifold_ros.laps.timing import live_timer
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.nodes.callbacks import check_transform, EstimatePublishers, SensorTopic
from two_manifold_ros.nodes.health import startup_lines, StatusPublisher
from two_manifold_ros.nodes.lifecycle import BackgroundNode
from two_manifold_ros.nodes.live_input import (
    live_fixes,
    live_marks,
    live_odometry,
    LiveSensor,
    LiveTopic,
)
from two_manifold_ros.nodes.running import declare, read

if TYPE_CHECKING:
    from collections.abc import Callable

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
        self._chosen = declare(self, FilterParameters, locked=self._locked)
        self._imu = SensorTopic(self, Topics.IMU, 'IMU')
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
        path = chosen.model
        if not path:
            msg = 'No model is given: start with -p model:=FILE, or set the parameter model.'
            raise InputError(msg)
        if chosen.publish_tf:
            check_transform()
        if chosen.odometry_topic and not chosen.publish_tf:
            msg = 'odometry_topic needs publish_tf: set that to true, or leave it empty.'
            raise InputError(msg)
        for name in ('odometry_topic', 'mark_topic', 'fix_topic'):
            topic = getattr(chosen, name)
            try:
                validate_topic_name(topic or 'none')
            except NameValidationException as error:
                msg = f'{name} {topic} is no name of a topic'
                raise InputError(msg) from error
        if chosen.start_line.strip() and chosen.mark_topic:
            msg = 'start_line and mark_topic both give the start line: leave one of them empty.'
            raise InputError(msg)
        if ',' in chosen.sectors and chosen.mark_topic:
            msg = (
                f'sectors {chosen.sectors!r} are places, and mark_topic moves the line that they '
                'follow: write them as shares of a lap.'
            )
            raise InputError(msg)
        self._failed = False
        # Where there is little to compile with, it takes half a minute.
        compiling = '' if is_compiled() else ' and compiling its filter, which takes a while'
        self._trouble = f'configuring: loading {path}{compiling}'
        clock_ns = (lambda: self.now_ns) if chosen.use_receive_time else None
        return lambda: load_session(chosen, clock_ns)

    def complete(self, made: ModelSwap) -> None:
        """Advertise, then subscribe."""
        chosen, session = self._chosen, made.session
        topics = sensor_topics(session.model, chosen)
        scene = choose_scene(session.model, chosen.track_frame, chosen.child_frame)
        odometry = OdometryFrame(scene.track, scene.child) if chosen.odometry_topic else None
        laps = self._live_laps(session.model)
        for name in ('mark_topic', 'fix_topic'):
            if getattr(chosen, name) and not laps:
                msg = (
                    f'{name} is of laps, which live only a map of the route has that knows one: '
                    'leave it empty, or use a model of --method route'
                )
                raise InputError(msg)
        if chosen.fix_topic and session.model.frame_id != LAP_FRAME:
            msg = 'fix_topic is for a model that knows laps and no positions: leave it empty'
            raise InputError(msg)
        self._estimates = EstimatePublishers(
            self,
            scene,
            transform=chosen.publish_tf,
            odometry=odometry,
            laps=laps,
            placed=bool(chosen.fix_topic),
        )
        self._session, self._swap = session, made
        first = 0
        for topic in topics:
            self._live.append(LiveSensor(self, topic, partial(session.hold, first)))
            first += len(topic.fields)
        if odometry is not None:
            self._live.append(live_odometry(self, chosen.odometry_topic, odometry))
        for name, follow in (('mark_topic', live_marks), ('fix_topic', live_fixes)):
            if topic_name := getattr(chosen, name):
                self._live.append(follow(self, topic_name, lambda: self._estimates.laps))
        self._imu.listen(self._on_imu)
        self._log_settings(chosen.model, session)
        self._trouble = ''

    def give_up(self, reason: str) -> None:
        """Log and report why the node is not configured, and undo what was completed of it."""
        self._unconfigure('')
        self._failed = True
        name = self.get_fully_qualified_name()
        self._trouble = (
            f'{reason.rstrip(".")}. The node stays unconfigured until it is restarted, or '
            f'configured (ros2 lifecycle set {name} configure).'
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

    def on_cleanup(self, _: LifecycleState) -> TransitionCallbackReturn:
        """Forget the model, so that another one can be configured."""
        return self._unconfigure('not configured: it was cleaned up by a lifecycle transition')

    def on_shutdown(self, _: LifecycleState) -> TransitionCallbackReturn:
        """Stop for good."""
        return self._unconfigure('shut down by a lifecycle transition: restart the node')

    def on_error(self, _: LifecycleState) -> TransitionCallbackReturn:
        """Return to the unconfigured state."""
        return self._unconfigure(
            'not configured after an error in a lifecycle transition: see the log'
        )

    def _unconfigure(self, reason: str) -> TransitionCallbackReturn:
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
        for line in startup_lines(
            self._estimates.scene,
            path,
            session.filter.limits,
            self._imu.name,
            {**self._estimates.topics, Topics.STATUS.name: self._status.topic},
            self._chosen.input_timeout_s,
        ):
            self.get_logger().info(line)

    def _locked(self) -> str:
        if self._session is None and not self.is_configuring:
            return ''
        return 'it takes effect only when the node is configured: deactivate and clean up first'

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
        self._publish_health(self._counts())
        if self._session is not None and self._active and self._enabled:
            self._estimates.publish_chances(self._session.latest)

    def _on_second(self) -> None:
        silent = monotonic() - self._imu.received_s > self._chosen.input_timeout_s
        self._advance_swap(idle=silent or not (self._active and self._enabled))
        counts, published = self._counts(), self._estimates.topics if self._session else {}
        _, events = self._status.count(counts, self._arrivals, published.values())
        self._complaints = self._find_complaints()
        self._publish_health(counts, events)

    def _counts(self) -> Counter[str]:
        """Return the counters of the session; they may be behind by a tick."""
        return self._session.counts(at_once=False) if self._session else Counter()

    @property
    def _arrivals(self) -> Arrivals:
        return self._session.arrivals if self._session else Arrivals()

    def _find_complaints(self) -> dict[str, str]:
        """Return complaints about the newest message."""
        session = self._session
        others: dict[str, str] = {}
        for each in self._live:
            for cause, sentence in each.complaints.items():
                # Of several sensors the first one that is wrong.
                others.setdefault(cause, sentence)
        if session is None or not session.last_raw:
            return others
        try:
            message = deserialize_message(session.last_raw, Imu)
        # Already counted as malformed.
        except Exception:  # noqa: BLE001 - the middleware raises its own types
            return others
        covariances = {
            'linear_acceleration': message.linear_acceleration_covariance[0],
            'angular_velocity': message.angular_velocity_covariance[0],
        }
        frame = message.header.frame_id
        trained = trained_beside(session.model.imu_topic, self._imu.name)
        beside = trained if self._imu.is_published(trained) else ''
        running, name = session.filter.running, self._imu.name
        return {**imu_complaints(frame, covariances, running, name, beside), **others}

    def _publish_health(self, counts: Counter[str], events: dict[str, str] | None = None) -> None:
        session, swap, chosen = self._session, self._swap, self._chosen
        health = replace(
            self._status.input_health(
                chosen.input_timeout_s, counts, self._arrivals, self._complaints
            ),
            trouble=self._trouble,
            managed=chosen.managed,
            failed=self._failed,
            active=self._active,
            enabled=self._enabled,
            configuring=self.is_configuring,
            durations=session.durations.microseconds() if session else {},
        )
        # A node that compares models filters as this node does.
        leading: dict[str, float | str] = {
            'model': chosen.model,
            'reorder_s': chosen.reorder_s,
            'ellipse_warn_m': chosen.ellipse_warn_m,
            'ellipse_error_m': chosen.ellipse_error_m,
        }
        if session is not None:
            running = session.filter.running
            health = health.with_filter(session.filter, running.rate_hz)
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
