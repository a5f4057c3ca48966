# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter node: an IMU in, positions out."""

from __future__ import annotations

from collections import Counter
import traceback
from typing import Any, TYPE_CHECKING

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.serialization import deserialize_message
from rclpy.utilities import ok
from sensor_msgs.msg import Imu
from std_srvs.srv import SetBool, Trigger

from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.tick_estimator import limits_of
from two_manifold_ros.interface.assessment import judge, Judgement
from two_manifold_ros.interface.filter_session import check_input, file_version, ModelSwap, Session
from two_manifold_ros.interface.input_checks import imu_complaints
from two_manifold_ros.interface.log import Guard, input_causes
from two_manifold_ros.interface.parameters import FILTER
from two_manifold_ros.interface.snapshot import Facts
from two_manifold_ros.interface.topics import choose_frames, IMU, STATUS
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.nodes.declaring import declare, values
from two_manifold_ros.nodes.health import filter_facts, InputFacts, Report, wiring, word_of
from two_manifold_ros.nodes.publishing import EstimatePublishers
from two_manifold_ros.nodes.running import refuse_impossible
from two_manifold_ros.nodes.subscriptions import SensorTopic
from two_manifold_ros.stopping import Stopping
from two_manifold_ros.threads import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.interface.input_checks import Arrivals
    from two_manifold_ros.model.head import ModelHead


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


SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


class FilterNode(LifecycleNode):
    """Subscribes ``imu``, runs the filter, publishes estimates and always its own state."""

    def __init__(self) -> None:
        super().__init__('filter_node')
        self.exit_status: int | None = None
        self.trouble = 'not configured: waiting for the lifecycle manager'
        self.session: Session | None = None
        self.swap: ModelSwap | None = None
        self.active = False
        self.enabled = True
        self.guard = Guard(self.get_logger().error, ok)
        declare(self, FILTER, locked=self._locked)
        self.settings: dict[str, Any] = values(self, FILTER)
        self.imu = SensorTopic(self, IMU, 'IMU', self.guard(self._on_imu))
        self.create_service(Trigger, 'reset', self.guard(self._on_reset))
        self.create_service(SetBool, 'enable', self.guard(self._on_enable))
        self.create_service(Trigger, 'swap_model', self.guard(self._on_swap_model))
        self.create_service(Trigger, 'take_back_model', self.guard(self._on_take_back_model))
        refuse_impossible(self)
        self._report = Report(
            self, FilterDescriber(self), self.guard, self.settings['status_rate_hz']
        )
        # Not the ROS clock: without /clock the reason for the silence must still be told.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1.0, self.guard(self._on_second), clock=steady)
        if not self.settings['managed'] and self.trigger_configure() == SUCCESS:
            self.trigger_activate()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the model, compile the filter, then subscribe and advertise."""
        self.settings = values(self, FILTER)
        try:
            self._configure()
        except InputError as error:
            self.trouble = f'{str(error).rstrip(".")}. {self._cure()}'
        # rclpy would swallow it, and nobody would ever know.
        except Exception as error:  # noqa: BLE001 - told in log and diagnostics
            self.trouble = f'{type(error).__name__} while configuring, please report it: {error}'
            self.get_logger().error(traceback.format_exc())
        else:
            self.trouble = ''
            return super().on_configure(state)
        self.get_logger().error(self.trouble)
        self._report.logged('unconfigured', self.trouble)
        return FAILURE

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to use the IMU."""
        self.active = True
        self.imu.wait()
        self._restart('activated')
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop publishing estimates."""
        self.active = False
        return super().on_deactivate(state)

    def on_cleanup(self, _: LifecycleState) -> TransitionCallbackReturn:
        """Forget the model, so that another one can be configured."""
        self._unconfigure('not configured: it was cleaned up by a lifecycle transition')
        return SUCCESS

    def on_shutdown(self, _: LifecycleState) -> TransitionCallbackReturn:
        """Stop for good."""
        self._unconfigure('shut down by a lifecycle transition: start the node anew')
        return SUCCESS

    def on_error(self, _: LifecycleState) -> TransitionCallbackReturn:
        """Return to the unconfigured state."""
        self._unconfigure('not configured after an error in a lifecycle transition: see the log')
        return SUCCESS

    def _configure(self) -> None:
        path = self.settings['model']
        if not path:
            msg = 'No model is given: start with -p model:=FILE, or set the parameter model.'
            raise InputError(msg)
        # Where there is little to compile with, nothing would be heard of it for half a minute.
        self.get_logger().info(f'Loading {path} and compiling its filter, which takes a while')
        version = file_version(path)
        model = load_model(path)
        check_input(model, path)
        names = self.settings['track_frame'], self.settings['child_frame']
        self._frames = choose_frames(model, *names)
        clock = self.get_clock() if self.settings['use_receive_time'] else None
        session = Session(
            model, (lambda: clock.now().nanoseconds) if clock else None, self._make_filter
        )
        self._estimates = EstimatePublishers(
            self, model, self._frames, transform=self.settings['publish_tf']
        )
        self.session = session
        logger = self.get_logger()
        self.swap = ModelSwap(
            session,
            path,
            version,
            self._make_filter,
            self._follow,
            logger.info,
            logger.warning,
        )
        self.imu.listen()
        self._log_wiring(path, session)

    def _make_filter(self, model: ModelHead) -> Filter:
        chosen = self.settings
        limits = limits_of(model, chosen['ellipse_warn_m'], chosen['ellipse_error_m'])
        reorder_ns = round(1e9 * chosen['reorder_s'])
        return Filter(model, chosen['particles_rate_hz'], limits=limits, reorder_ns=reorder_ns)

    def _follow(self, path: str, model: ModelHead) -> None:
        """Publish for the model that took over, and say what is in force now."""
        self._estimates.follow(model)
        if self.session is not None:
            self._log_wiring(path, self.session)

    def _log_wiring(self, path: str, session: Session) -> None:
        lines = wiring(
            session.model,
            path,
            session.filter.limits,
            self.imu.name,
            {**self._estimates.topics, STATUS.name: self._report.topic},
            self._frames,
            self.settings['input_timeout_s'],
        )
        for line in lines:
            self.get_logger().info(line)

    def _cure(self) -> str:
        name = self.get_fully_qualified_name()
        return (
            f'A change takes effect once the node is configured (ros2 lifecycle set {name} '
            'configure) or started anew.'
        )

    def _unconfigure(self, reason: str) -> None:
        self.active = False
        self.trouble = reason
        if self.session is not None:
            self.session = self.swap = None
            self.imu.close()
            self._estimates.destroy()

    def _locked(self) -> str:
        if self.session is None:
            return ''
        return 'it takes effect only when the node is configured: deactivate and clean up first'

    def _restart(self, cause: str) -> None:
        if self.session is not None:
            self.session.reset(cause)

    def _on_imu(self, raw: bytes) -> None:
        if not (self.active and self.enabled and self.session and self.swap):
            return
        if self.session.take(raw, self._estimates.publish):
            self.swap.look()
            self._report.heed()

    def _on_second(self) -> None:
        if self.swap is not None:
            silent = self.imu.silence_s > self.settings['input_timeout_s']
            self.swap.look(idle=silent or not (self.active and self.enabled))
        self._report.second()

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._restart('reset service')
        response.success = self.session is not None
        response.message = self.trouble or 'The filter starts anew.'
        return response

    def _on_swap_model(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        path = self.get_parameter('next_model').value
        return self._answer(response, lambda swap: swap.begin(path))

    def _on_take_back_model(
        self, _: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        return self._answer(response, ModelSwap.take_back)

    def _answer(
        self, response: Trigger.Response, begin: Callable[[ModelSwap], str]
    ) -> Trigger.Response:
        """Begin a swap; its outcome is in log and diagnostics, because no callback may wait."""
        refusal = self.trouble if self.swap is None else begin(self.swap)
        response.success = not refusal
        response.message = refusal or 'It is being made ready; diagnostics say when it runs.'
        return response

    def _on_enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if request.data and not self.enabled:
            self._restart('enabled again')
        self.enabled = request.data
        response.success = True
        response.message = 'enabled' if self.enabled else 'disabled'
        return response


def main(args: list[str] | None = None) -> int:
    """Run the filter node until it is stopped, and return the exit status."""
    one_blas_thread()
    # Loading all of it takes a second, in which a signal may come.
    with Stopping() as stop:
        # NumPy reads the number of threads when it is imported, which these modules do.
        from two_manifold_ros.nodes.running import run  # noqa: PLC0415 - as above

        return run(FilterNode, stop, args)
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
