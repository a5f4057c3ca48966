# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Check that generated messages are counted and passed over, whatever they hold.

    python benchmarks/fuzz_messages.py --executions 300000

Targets: bytes as an IMU message; a stream of messages to a filter, none of which may make it
publish what is not finite or lose count; and bytes as a reference of every type, which needs ROS.
Needs atheris, see `fuzzing`.
"""

from __future__ import annotations

import math
from pathlib import Path
import struct
import sys
from typing import TYPE_CHECKING

from fuzzing import arguments, expect, instrumented, main, One

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.simulation.slot_car_run import SlotCarRun

TESTS = Path(__file__).resolve().parents[1] / 'test'
sys.path += [str(TESTS), str(TESTS / 'nodes')]


def imu_target() -> tuple[One, Iterable[bytes]]:
    """Bytes of an IMU message."""
    import numpy as np  # noqa: PLC0415
    from raw_imu import raw_imu  # noqa: PLC0415

    with instrumented():
        from two_manifold_ros.errors import InputError  # noqa: PLC0415
        from two_manifold_ros.recordings.ros_messages import ImuDecoder  # noqa: PLC0415

    def one(content: bytes) -> None:
        try:
            stamp, frame, numbers = ImuDecoder()(content)
        except (InputError, struct.error):
            return
        expect(-(2**63) < stamp < 2**63, '-(2**63) < stamp < 2**63')
        expect(len(frame) <= len(content), 'len(frame) <= len(content)')
        expect(len(numbers) == 6, 'len(numbers) == 6')

    return one, [raw_imu(123_456_789_012, np.arange(6.0), 'imu_link'[:n]) for n in range(9)]


def stream_target() -> tuple[One, Iterable[bytes]]:
    """Several IMU messages one after the other to one filter, each behind its length."""
    import numpy as np  # noqa: PLC0415
    from raw_imu import raw_drive  # noqa: PLC0415

    with instrumented():
        from two_manifold_ros.interface.session import Session  # noqa: PLC0415
    model, drive = _model()
    raw = list(raw_drive(drive))[: 3 * model.window]
    session = Session(model)

    def one(content: bytes) -> None:
        session.reset('test')
        before = session.counts()
        sent = 0
        for message in _parts(content):
            for estimate in session.take(message) or ():
                expect(estimate.valid, 'estimate.valid')
                arrays = (estimate.state, estimate.positions, estimate.covariances,
                          estimate.velocity, estimate.velocity_covariance)  # fmt: skip
                expect(all(np.isfinite(each).all() for each in arrays), 'finite')
            sent += 1
        counts = session.counts()
        counts.subtract(before)
        expect(counts['received'] == sent, 'counts[received] == sent')
        reported = {'used', 'published', 'ticks', 'gaps', 'resets', 'restarts', 'received'}
        others = {'rejected_observations', 'estimates_not_finite', 'reordered', 'jumps_back'}
        rejected = {name: count for name, count in counts.items() if name not in reported | others}
        # One may wait for the next to say whether its stamp is wild.
        expect(0 <= sent - counts['used'] - sum(rejected.values()) <= 1, counts)

    def packed(messages: Iterable[bytes]) -> bytes:
        return b''.join(struct.pack('<H', len(each)) + each for each in messages)

    return one, [packed(raw[:20]), packed(raw), packed([*raw[:30], *raw[10:20], *raw[-9:]])]


def _parts(content: bytes) -> Iterator[bytes]:
    begin = 0
    while begin + 2 <= len(content):
        (length,) = struct.unpack_from('<H', content, begin)
        yield content[begin + 2 : begin + 2 + length]
        begin += 2 + length


def _model() -> tuple[ModelHead, SlotCarRun]:
    from two_manifold_ros.simulation.slot_car import SlotCarSettings  # noqa: PLC0415
    from two_manifold_ros.simulation.slot_car_run import (  # noqa: PLC0415
        run_to_recording,
        simulate,
    )
    from two_manifold_ros.training.settings import RouteSettings  # noqa: PLC0415
    from two_manifold_ros.training.train import train_model  # noqa: PLC0415

    run = simulate(SlotCarSettings(seed=1, rate_hz=10.0), laps=4)
    settings = RouteSettings(
        window=4, states=4, dimension=6, horizons=(0, 3), sharpness=0.2, persistence=0.5,
    )  # fmt: skip
    return train_model([run_to_recording(run)], settings), run


def reference_target() -> tuple[One, Iterable[bytes]]:
    """Bytes as a reference of each type, into a session that learns from them."""
    from rclpy.serialization import serialize_message  # noqa: PLC0415
    from updater_feed import small_session  # noqa: PLC0415

    with instrumented():
        from two_manifold_ros.names import POSITION_TYPES  # noqa: PLC0415
        from two_manifold_ros.nodes.live_input import ReferenceInput  # noqa: PLC0415
        from two_manifold_ros.recordings.ros_messages import to_message  # noqa: PLC0415
    inputs = []
    for msgtype in POSITION_TYPES:
        session = small_session()
        session.on_position.append(lambda _, x, y: _check(x, y))
        inputs.append(ReferenceInput(session))
        inputs[-1].start(msgtype)
    received = [0] * len(inputs)

    def one(content: bytes) -> None:
        kind = (content[0] if content else 0) % len(inputs)
        inputs[kind].take(content[1:])
        received[kind] += 1
        counts = inputs[kind].counts()
        expect(sum(counts.values()) - counts['jumps_back'] == received[kind], counts)

    corpus = []
    for kind, msgtype in enumerate(POSITION_TYPES):
        header = {'header': {'stamp': {'sec': 7, 'nanosec': 5}, 'frame_id': 'map'}}
        corpus.append(bytes([kind]) + serialize_message(to_message(msgtype, header)))
    return one, corpus


def _check(x: float, y: float) -> None:
    expect(math.isfinite(x) and math.isfinite(y), f'the position {x}, {y} is taken')


if __name__ == '__main__':
    raise SystemExit(
        main(
            arguments(__doc__),
            {
                'imu': imu_target,
                'stream': stream_target,
                'reference': reference_target,
            },
        )
    )
