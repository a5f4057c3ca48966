# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Run the filter over a recording, and write into a bag what the filter node would publish."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import check_fit, estimates_along
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.interface.assessment import (
    as_the_node,
    assess_offline,
    Assessment,
    CODES,
    COUNTS,
    diagnostics_message,
    estimate_numbers,
    LEVELS,
    routes_message,
    status_message,
)
from two_manifold_ros.interface.messages import (
    choose_scene,
    labelled_array,
    Message,
    messages_of,
    Topic,
    Topics,
)
from two_manifold_ros.interface.parameters import FilterParameters
from two_manifold_ros.laps.timing import live_timer

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.recordings.bag_writer import BagWriter
    from two_manifold_ros.recordings.recording import Recording


def replay(
    model: ModelHead,
    recording: Recording,
    bag: BagWriter,
    progress: Callable[[str, float], None] = lambda *_: None,
    ended: Callable[[Assessment], None] = lambda _: None,
    fixes_s: float | None = None,
) -> dict[str, int]:
    """
    Filter a recording into an open bag, each message at the stamp of its estimate.

    The status comes at the default rate of the node and diagnostics once a second, by the clock
    of the recording and without the times that the computer took, so that the same recording and
    model give the same bytes; where nothing is published they state the cause. Returned are the
    messages per topic; ``ended`` is called with how it ended. For ``fixes_s`` see `fixes_along`.
    Raises `InputError` if the recording does not fit the model, or is shorter than a tick.
    """
    check_fit(model, recording)
    live = Filter(model, FilterParameters.particles_rate_hz)
    scene = choose_scene(model)
    written: dict[str, int] = {}
    status_ns = round(1e9 / FilterParameters.status_rate_hz)
    reports: list[tuple[Topic, int, Callable[[Filter, Estimate], Message]]] = [
        (Topics.STATUS, status_ns, _status),
        (Topics.DIAGNOSTICS, 10**9, _health),
    ]
    if model.route_names:
        reports.append((Topics.ROUTES, status_ns, lambda _, estimate: routes_message(estimate)))
    due_ns = {report: 0 for report, *_ in reports}

    def write(topic: str, msgtype: str, stamp_ns: int, message: dict[str, object]) -> None:
        bag.write(f'/{topic}', msgtype, stamp_ns, message)
        written[topic] = written.get(topic, 0) + 1

    def report_silence(stamp_ns: int, shown: Assessment) -> None:
        due_ns[Topics.DIAGNOSTICS] = stamp_ns + 10**9
        message = _diagnostics(live, stamp_ns, shown)
        write(Topics.DIAGNOSTICS.name, Topics.DIAGNOSTICS.msgtype, stamp_ns, message)

    timers = {name: live_timer(each) for name, each in model.routes.items()}
    for own, _ in estimates_along(live, recording, progress, report_silence, fixes_s):
        estimate = as_the_node(live, own)
        stamp_ns = estimate.stamp_ns
        for topic, msgtype, message in messages_of(estimate, scene):
            write(topic, msgtype, stamp_ns, message)
        timer = timers[estimate.route]
        lap = None if timer is None else timer.push(estimate)
        if lap is not None:
            message = labelled_array(lap.stamp_ns, lap.numbers())
            write(Topics.LAPS.name, Topics.LAPS.msgtype, stamp_ns, message)
        for report, period_ns, build in reports:
            # A recording may jump back, after which the next report would be far away.
            if not due_ns[report] - period_ns <= stamp_ns < due_ns[report]:
                due_ns[report] = stamp_ns + period_ns
                write(report.name, report.msgtype, stamp_ns, build(live, estimate))
    if not written:
        raise InputError(
            f'{recording.name}: no tick ends in it, so there is nothing to write; give more than '
            f'one window of {model.window / model.rate_hz:.1f} s'
        )
    ended(assess_offline(live, recording.imu.topic, recording.imu.span_ns))
    return written


def _status(live: Filter, estimate: Estimate) -> dict[str, object]:
    """Return the status of a tick; rates and times that only a node has are unknown."""
    numbers: dict[str, float] = {
        'status': CODES[estimate.status],
        'level': LEVELS[estimate.status],
        **estimate_numbers(estimate),
        **{name: live.counters[name] for name in COUNTS if name in live.counters},
    }
    return status_message(estimate.stamp_ns, numbers)


def _health(live: Filter, estimate: Estimate) -> dict[str, object]:
    """Return the diagnostics of a tick, without the times that the computer took."""
    shown = Assessment(LEVELS[estimate.status], estimate.status, estimate.cause, estimate.why)
    values = {name: getattr(estimate, name) for name in ('evidence', 'novelty', 'ellipse_m')}
    values |= {'route': estimate.name} if estimate.name else {}
    return _diagnostics(live, estimate.stamp_ns, shown, **values)


def _diagnostics(
    live: Filter, stamp_ns: int, shown: Assessment, **values: float | str
) -> dict[str, object]:
    status = '' if shown.status is None else shown.status.value
    counts = dict(sorted(live.counters.items()))
    values = {'status': status, 'cause': shown.cause, **counts, **values}
    return diagnostics_message(stamp_ns, 'replay', shown.level, shown.why, values)
