# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Write what the filter node would publish for a recording into a bag."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import check_fit, estimates_along
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.interface.assessment import LEVELS
from two_manifold_ros.interface.messages import messages_of
from two_manifold_ros.interface.parameters import FilterParameters
from two_manifold_ros.interface.status import diagnostics_message
from two_manifold_ros.interface.topics import choose_frames, Topics

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.interface.topics import Frames
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.recordings.bag_writer import BagWriter
    from two_manifold_ros.recordings.recording import Recording


def replay(
    model: ModelHead,
    recording: Recording,
    bag: BagWriter,
    progress: Callable[[str, float], None] = lambda *_: None,
) -> dict[str, int]:
    """
    Filter a recording into an open bag, each message at the stamp of its estimate.

    Diagnostics come once a second of the recording, without the times that the computer took, so
    that the same recording and model give the same bytes.

    Returns
    -------
    dict
        How many messages were written to each topic.

    Raises
    ------
    InputError
        If the recording does not fit the model, or no estimate of it is valid.

    """
    check_fit(model, recording)
    live = Filter(model, FilterParameters.particles_rate_hz)
    frames = choose_frames(model)
    written: dict[str, int] = {}
    next_report, second_ns = 0, 1_000_000_000

    def write(topic: str, msgtype: str, stamp_ns: int, message: dict[str, object]) -> None:
        bag.write(f'/{topic}', msgtype, stamp_ns, message)
        written[topic] = written.get(topic, 0) + 1

    for estimate, _ in estimates_along(live, recording, progress):
        for topic, msgtype, message in messages_of(estimate, model, frames):
            write(topic, msgtype, estimate.stamp_ns, message)
        # A recording may jump back, after which the next report would be far away.
        if not next_report - second_ns <= estimate.stamp_ns < next_report:
            next_report = estimate.stamp_ns + second_ns
            report = _health(live, estimate, frames)
            write(Topics.DIAGNOSTICS.name, Topics.DIAGNOSTICS.msgtype, estimate.stamp_ns, report)
    if Topics.POSITION.name not in written:
        msg = (
            f'{recording.name}: there is nothing to write, the filter ended {live.why}; give more '
            f'than one window of {model.window / model.rate_hz:.1f} s'
        )
        raise InputError(msg)
    return written


def _health(live: Filter, estimate: Estimate, frames: Frames) -> dict[str, object]:
    values: dict[str, float | str] = dict(sorted(live.counters.items()))
    values['evidence'] = estimate.evidence
    values['familiarity'] = estimate.familiarity
    values['ellipse_m'] = estimate.ellipse_m
    words = {'status': estimate.status.value, 'cause': estimate.cause}
    return diagnostics_message(
        estimate.stamp_ns,
        'replay',
        LEVELS[estimate.status],
        estimate.why,
        {**words, **values},
        frames.child,
    )
