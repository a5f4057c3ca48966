# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Promises 2, 3, 4 and 7, of a bag that is played twice to two nodes, and replayed offline.

Validity is published, a jump back of the stamps is one reset, the same bag and model give the
same bytes, and the time of a callback is published.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
import os
from pathlib import Path
from struct import Struct
import subprocess
import sys
from time import monotonic
from typing import NamedTuple, TypeAlias

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('rosbags')

from ros_talk import CHECKOUT, KINDS, NodeProcess, numbers_of, Talk
from rosbags.highlevel import AnyReader
from rosbags.typesys import get_typestore, Stores
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu
from std_msgs.msg import Float64MultiArray

from two_manifold_ros.domains import free_domains
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.interface.status import CODES
from two_manifold_ros.model.model import RouteModel
from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run

RATE_HZ, SECONDS = 50.0, 12
SPEED = 10.0
NODES = ('one', 'two')
REHEARSED = 201
"""Messages played before the first pass, until everybody has found everybody."""

Heard: TypeAlias = 'dict[str, list[bytes]]'


@dataclass
class Pass:
    """Output of one node while the bag was played once."""

    before: dict[str, float]  # numbers of the topic `status` before the first message
    heard: Heard = field(default_factory=dict)  # serialised messages by topic
    after: dict[str, float] = field(default_factory=dict)  # the numbers after the last message


class Player:
    """Two nodes, and one who plays the bag to both and hears them."""

    def __init__(self, model: Path, messages: list[tuple[int, bytes]]) -> None:
        (domain,) = free_domains(1)
        place = f'/promises_{os.getpid()}'
        self._messages = messages
        self._processes = [self._node(domain, place, model, name) for name in NODES]
        self._talk = talk = Talk(domain)
        self._heard: dict[str, Heard] = {name: {topic: [] for topic in KINDS} for name in NODES}
        for name, heard in self._heard.items():
            for topic, kind in KINDS.items():
                talk.node.create_subscription(
                    kind, f'{place}/{name}/{topic}', heard[topic].append, 1000, raw=True
                )
        self._status = {
            name: talk.listen(Float64MultiArray, f'{place}/{name}/status') for name in NODES
        }
        self._clock = talk.node.create_publisher(Clock, '/clock', 10)
        self._imu = talk.publisher(Imu, f'{place}/imu')
        talk.until(lambda: all(self._status.values()), 'the first word of both nodes')
        talk.until(lambda: self._imu.get_subscription_count() == len(NODES), 'both nodes')
        # Until then they are being configured, and have no state of a filter.
        talk.until(lambda: all(self._numbers(name)['status'] >= 0 for name in NODES), 'a state')
        self.first_words = {name: self._numbers(name) for name in NODES}
        self._rehearse()

    def _node(self, domain: int, place: str, model: Path, name: str) -> NodeProcess:
        """Start a filter node that follows ``/clock``, in a namespace of its own."""
        names = ('-r', f'__ns:={place}/{name}', '-r', f'imu:={place}/imu')
        return NodeProcess('filter_node', *names, domain=domain, model=model, use_sim_time='true')

    def close(self) -> None:
        self._talk.close()
        for process in self._processes:
            process.stop()

    def play(self) -> dict[str, Pass]:
        """Play the bag once, with its clock, and return what each node said."""
        passes = {name: Pass(self._numbers(name)) for name in NODES}
        for heard in self._heard.values():
            for messages in heard.values():
                messages.clear()
        first, began = self._messages[0][0], monotonic()
        for stamp, raw in self._messages:
            self._talk.rest((stamp - first) / 1e9 / SPEED - (monotonic() - began))
            self._send(stamp, raw)
        for name, each in passes.items():
            self._await_all(name, each)
        return passes

    def _await_all(self, name: str, played: Pass) -> None:
        """Wait until a node has taken the whole bag, and all that it said of it is here."""
        wanted = played.before['received'] + len(self._messages)
        taken: list[dict[str, float]] = []

        def has_taken() -> bool:
            # Later words say that nothing comes any more, if the machine is slow.
            words = map(numbers_of, self._status[name])
            taken.extend(each for each in words if each['received'] == wanted)
            return bool(taken)

        self._talk.until(has_taken, f'{wanted:.0f} taken by {name}')
        played.after = taken[0]
        said = played.after['published'] - played.before['published']
        heard = self._heard[name]
        for topic in KINDS:
            if topic != 'particles':
                self._talk.until(lambda topic=topic: len(heard[topic]) >= said, topic)
        # Fewer of these come; how many is unknown.
        self._talk.rest(0.2)
        played.heard = {topic: settled(topic, messages) for topic, messages in heard.items()}

    def _rehearse(self) -> None:
        """Play until both nodes were heard on every topic: sides find each other one by one."""
        heard = [messages for node in self._heard.values() for messages in node.values()]
        rows = self._messages[:REHEARSED]

        def once() -> bool:
            for stamp, raw in rows:
                self._send(stamp, raw)
                self._talk.spin(0.0005)
            self._talk.rest(0.3)
            return all(heard)

        self._talk.until(once, 'both nodes on every topic')
        last = Struct('<iI').pack(*divmod(rows[-1][0], 10**9))
        for name in NODES:
            # The last message ends a tick, so whoever has answered it has taken them all.
            positions = self._heard[name]['position']
            self._talk.until(lambda said=positions: said[-1][4:12] == last, f'{name} to be done')
            self._status[name].clear()
            self._talk.until(lambda name=name: len(self._status[name]) > 1, f'the word of {name}')

    def _numbers(self, name: str) -> dict[str, float]:
        return numbers_of(self._status[name][-1])

    def _send(self, stamp: int, raw: bytes) -> None:
        clock = Clock()
        clock.clock.sec, clock.clock.nanosec = divmod(stamp, 10**9)
        self._clock.publish(clock)
        self._imu.publish(raw)


def settled(topic: str, messages: list[bytes]) -> list[bytes]:
    """Return messages with zeros between the fields, where the middleware leaves anything."""
    store, kind = get_typestore(Stores.ROS2_JAZZY), KINDS[topic]
    name = f'{kind.__module__.split(".")[0]}/msg/{kind.__name__}'
    return [bytes(store.serialize_cdr(store.deserialize_cdr(raw, name), name)) for raw in messages]


def replayed(model: Path, bag: Path, output: Path) -> Heard:
    """Return what `two-manifold replay` writes, computed as the nodes do."""
    program = 'from two_manifold_ros.__main__ import main; raise SystemExit(main())'
    arguments = ['replay', str(model), str(bag), '-o', str(output), '--json']
    subprocess.run(
        [sys.executable, '-c', program, *arguments],
        cwd=CHECKOUT, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    found: Heard = {topic: [] for topic in KINDS}
    with AnyReader([output]) as reader:
        for connection, _, raw in reader.messages():
            if connection.topic.strip('/') in found:
                found[connection.topic.strip('/')].append(bytes(raw))
    return {topic: settled(topic, messages) for topic, messages in found.items()}


def bag_messages(bag: Path) -> list[tuple[int, bytes]]:
    """Return stamp and bytes of each IMU message of a bag."""
    with AnyReader([bag]) as reader:
        imu = [each for each in reader.connections if each.msgtype == 'sensor_msgs/msg/Imu']
        return [(stamp, bytes(raw)) for _, stamp, raw in reader.messages(imu)]


class Played(NamedTuple):
    """Outcome of the process."""

    first_words: dict[str, dict[str, float]]  # `status` by node, before anything was played
    passes: list[dict[str, Pass]]  # what each node said, for each time that the bag was played
    replayed: Heard  # what `two-manifold replay` makes of the bag


@pytest.fixture(scope='module')
def played(slot_car_model: RouteModel, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Play a bag twice, as a loop, and replay it offline."""
    folder: Path = tmp_path_factory.mktemp('promises')
    model, bag = folder / 'model.npz', folder / 'bag'
    save_model(slot_car_model, model)
    settings = SlotCarSettings(seed=2, rate_hz=RATE_HZ)
    write_run(simulate(settings, samples=round(SECONDS * RATE_HZ)), bag)
    with ThreadPoolExecutor(1) as beside:
        offline = beside.submit(replayed, model, bag, folder / 'replayed')
        player = Player(model, bag_messages(bag))
        try:
            passes = [player.play(), player.play()]
        finally:
            player.close()
        return Played(player.first_words, passes, offline.result())


@pytest.mark.parametrize('node', ['one', 'two'])
def test_validity_is_published_over_dds(played, node):
    first = played.first_words[node]
    assert (first['valid'], first['status']) == (0.0, CODES[Status.WAITING])
    valid = len(played.replayed['position'])
    for each in played.passes:
        after = each[node].after
        assert (after['valid'], after['status']) == (1.0, CODES[Status.TRACKING])
        assert len(each[node].heard['position']) == valid
        assert after['published'] - each[node].before['published'] == valid


@pytest.mark.parametrize('node', ['one', 'two'])
def test_a_looped_bag_over_dds(played, node):
    first, second = (each[node] for each in played.passes)
    for each in (first, second):
        assert each.after['resets'] == each.before['resets'] + 1
        assert each.after['gaps'] == each.before['gaps']
    assert second.heard == first.heard


def test_two_nodes_say_the_same(played):
    for each in played.passes:
        assert each['one'].heard == each['two'].heard


def test_at_ten_times_real_time_a_node_says_what_replay_writes(played):
    heard = played.passes[0]['one'].heard
    assert len(heard['position']) > 50
    for topic, messages in played.replayed.items():
        assert heard[topic] == messages, topic


@pytest.mark.parametrize('node', ['one', 'two'])
def test_the_time_of_a_callback_is_published(played, node):
    numbers = played.passes[1][node].after
    times = [numbers[f'processing_{name}_us'] for name in ('p50', 'p99', 'max')]
    assert 0.0 < times[0] <= times[1] <= times[2]
