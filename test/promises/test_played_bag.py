# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Promises 2, 3, 4 and 7, of a bag that is played twice to a node, and replayed offline.

Validity is published, a jump back of the stamps is one reset, the same bag and model give the
same bytes, and the time of a callback is published.
"""

from pathlib import Path
from typing import TypeAlias

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('rosbags')

from imu_feed import connect
from ros_talk import Health, KINDS, NodeProcess, numbers_of, Talk
from rosbags.highlevel import AnyReader
from rosbags.typesys import get_typestore, Stores
from std_msgs.msg import Float64MultiArray

from two_manifold_ros.__main__ import main
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.interface.assessment import CODES
from two_manifold_ros.model.model import RouteModel
from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.processes import free_domains
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run

RATE_HZ, SECONDS = 50.0, 12
IN_FLIGHT = 40
"""Messages that may be on their way: their ticks are fewer than what publishers keep."""

Heard: TypeAlias = 'dict[str, list[bytes]]'


Played: TypeAlias = 'tuple[dict[str, float], Heard, dict[str, float]]'
"""While a bag was played once: what was heard between the numbers of ``status`` around it."""


def played_twice(model: Path, messages: list[bytes]) -> list[Played]:
    """Play a bag to a node as quickly as it takes the messages, and again."""
    (domain,) = free_domains(1)
    # With best effort the middleware loses samples on a busy machine.
    given = {'input_timeout_s': 60.0, 'qos_overrides./imu.subscription.reliability': 'reliable'}
    node = NodeProcess('filter_node', domain=domain, model=model, **given)
    talk = Talk(domain)
    try:
        heard: Heard = {topic: [] for topic in KINDS}
        for topic, kind in KINDS.items():
            talk.node.create_subscription(kind, topic, heard[topic].append, 1000, raw=True)
        said = talk.listen(Float64MultiArray, 'status')
        imu = connect(talk, Health(talk))
        talk.until(lambda: all(map(talk.node.count_publishers, KINDS)), 'all topics')
        passes = []
        for _ in range(2):
            said.clear()
            # Probes of `connect` may still be on their way: wait for the same count five times.
            talk.until(lambda: len(said) > 4 and len({*map(received, said[-5:])}) == 1, 'a rest')
            before = numbers_of(said[-1])
            for count, raw in enumerate(messages, 1):
                imu.publish(raw)
                wanted = before['received'] + count
                if count % IN_FLIGHT == 0 or count == len(messages):
                    talk.until(lambda: received(said[-1]) == wanted, f'{wanted}')  # noqa: B023
            after = numbers_of(said[-1])
            count = after['published'] - before['published']
            for topic in KINDS.keys() - {'particles', 'laps'}:
                talk.until(lambda: len(heard[topic]) >= count, topic)  # noqa: B023
            # Fewer particles and laps come; how many is unknown.
            talk.rest(0.2)
            kept = {topic: settled(topic, heard[topic]) for topic in KINDS}
            passes.append((before, kept, after))
            for each in heard.values():
                each.clear()
        return passes
    finally:
        talk.close()
        node.stop()


def received(message: Float64MultiArray) -> float:
    return numbers_of(message)['received']


def settled(topic: str, messages: list[bytes]) -> list[bytes]:
    """Return messages with zeros between the fields, where the middleware leaves anything."""
    store, kind = get_typestore(Stores.ROS2_JAZZY), KINDS[topic]
    name = f'{kind.__module__.split(".")[0]}/msg/{kind.__name__}'
    return [bytes(store.serialize_cdr(store.deserialize_cdr(raw, name), name)) for raw in messages]


def messages_in(bag: Path) -> Heard:
    """Return the serialised messages of a bag by topic."""
    found: Heard = {}
    with AnyReader([bag]) as reader:
        for connection, _, raw in reader.messages():
            found.setdefault(connection.topic.strip('/'), []).append(bytes(raw))
    return found


def test_a_node_over_dds_says_what_replay_writes_each_time(
    slot_car_model: RouteModel, tmp_path: Path
) -> None:
    model, bag = tmp_path / 'model.npz', tmp_path / 'bag'
    save_model(slot_car_model, model)
    settings = SlotCarSettings(seed=2, rate_hz=RATE_HZ)
    write_run(simulate(settings, samples=round(SECONDS * RATE_HZ)), bag)
    assert main(['replay', str(model), str(bag), '-o', str(tmp_path / 'replayed')]) == 0
    replayed = messages_in(tmp_path / 'replayed')
    assert len(replayed['position']) > 50
    for again, played in enumerate(played_twice(model, messages_in(bag)['imu'])):
        before, heard, after = played
        # The second time laps are counted on.
        for topic in KINDS.keys() - ({'laps'} if again else set()):
            assert heard[topic] == settled(topic, replayed[topic]), topic
        assert (after['valid'], after['status']) == (1.0, CODES[Status.TRACKING])
        assert after['published'] - before['published'] == len(heard['position'])
        assert after['resets'] == before['resets'] + 1
        # The probes before the first pass are of long ago: the stamps step ahead, then back.
        assert after['gaps'] == before['gaps'] + (not again)
        times = [after[f'processing_{name}_us'] for name in ('p50', 'p99', 'max')]
        assert 0.0 < times[0] <= times[1] <= times[2]
