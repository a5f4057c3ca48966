# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A bag that is played to two filter nodes at ten times its speed, again and again."""

from __future__ import annotations

from dataclasses import dataclass, field
import os
from struct import Struct
import subprocess
import sys
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias

from ros_talk import CHECKOUT, KINDS, NodeProcess, Talk
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu
from std_msgs.msg import Float64MultiArray

from two_manifold_ros.domains import free_domains

if TYPE_CHECKING:
    from pathlib import Path

SPEED = 10.0
NODES = ('one', 'two')
REHEARSED = 201
"""Messages played before the first pass, until everybody has found everybody."""

Heard: TypeAlias = 'dict[str, list[bytes]]'


@dataclass
class Pass:
    """
    Output of one node while the bag was played once.

    Attributes
    ----------
    heard
        Serialised messages by topic.
    before, after
        Numbers of the topic `status` before the first message and after the last.

    """

    before: dict[str, float]
    heard: Heard = field(default_factory=dict)
    after: dict[str, float] = field(default_factory=dict)


class SimulatedNode(NodeProcess):
    """A filter node that follows ``/clock``, in a domain and a namespace of its own."""

    def __init__(self, domain: int, place: str, model: Path, name: str) -> None:
        self.environment = {
            **os.environ,
            'ROS_DOMAIN_ID': str(domain),
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
        }
        remappings = ('-r', f'__ns:={place}/{name}', '-r', f'imu:={place}/imu')
        super().__init__('filter_node', *remappings, model=model, use_sim_time='true')


class Player:
    """
    Two nodes, and one who plays the bag to both and hears them.

    Attributes
    ----------
    first_words
        Numbers that each node published on `status` before anything was sent.

    """

    def __init__(self, model: Path, messages: list[tuple[int, bytes]]) -> None:
        (domain,) = free_domains(1)
        place = f'/promises_{os.getpid()}'
        self._messages = messages
        self._received = 0
        self._processes = [SimulatedNode(domain, place, model, name) for name in NODES]
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
            while (left := (stamp - first) / 1e9 / SPEED - (monotonic() - began)) > 0:
                self._talk.spin(left)
            self._send(stamp, raw)
        for name, each in passes.items():
            self._await_all(name, each)
        return passes

    def _await_all(self, name: str, played: Pass) -> None:
        """Wait until a node has taken the whole bag, and all that it said of it is here."""
        wanted = played.before['received'] + len(self._messages)
        self._talk.until(
            lambda: self._numbers(name)['received'] == wanted, f'{wanted:.0f} taken by {name}'
        )
        played.after = self._numbers(name)
        said = played.after['published'] - played.before['published']
        heard = self._heard[name]
        for topic in KINDS:
            if topic != 'particles':
                self._talk.until(lambda topic=topic: len(heard[topic]) >= said, topic)
        # Fewer of these come; how many is unknown.
        self._rest(0.2)
        played.heard = {topic: settled(topic, messages) for topic, messages in heard.items()}

    def _rehearse(self) -> None:
        """Play until both nodes were heard on every topic: sides find each other one by one."""
        heard = [messages for node in self._heard.values() for messages in node.values()]
        rows = self._messages[:REHEARSED]

        def once() -> bool:
            for stamp, raw in rows:
                self._send(stamp, raw)
                self._talk.spin(0.0005)
            self._rest(0.3)
            return all(heard)

        self._talk.until(once, 'both nodes on every topic')
        last = Struct('<iI').pack(*divmod(rows[-1][0], 10**9))
        for name in NODES:
            # The last message ends a tick, so whoever has answered it has taken them all.
            positions = self._heard[name]['position']
            self._talk.until(lambda said=positions: said[-1][4:12] == last, f'{name} to be done')
            self._status[name].clear()
            self._talk.until(lambda name=name: len(self._status[name]) > 1, f'the word of {name}')

    def _rest(self, seconds: float) -> None:
        end = monotonic() + seconds
        while (left := end - monotonic()) > 0:
            self._talk.spin(left)

    def _numbers(self, name: str) -> dict[str, float]:
        message = self._status[name][-1]
        return dict(zip(message.layout.dim[0].label.split(','), message.data, strict=True))

    def _send(self, stamp: int, raw: bytes) -> None:
        seconds, nanoseconds = divmod(stamp, 10**9)
        clock = Clock()
        clock.clock.sec, clock.clock.nanosec = seconds, nanoseconds
        self._clock.publish(clock)
        self._imu.publish(raw)


def settled(topic: str, messages: list[bytes]) -> list[bytes]:
    """Return messages with zeros between the fields, where the middleware leaves anything."""
    from rosbags.typesys import get_typestore, Stores  # noqa: PLC0415 - an extra

    store, kind = get_typestore(Stores.ROS2_JAZZY), KINDS[topic]
    name = f'{kind.__module__.split(".")[0]}/msg/{kind.__name__}'
    return [bytes(store.serialize_cdr(store.deserialize_cdr(raw, name), name)) for raw in messages]


def replayed(model: Path, bag: Path, output: Path) -> Heard:
    """Return what `two-manifold replay` writes, computed as the nodes do."""
    from rosbags.highlevel import AnyReader  # noqa: PLC0415 - an extra

    program = 'from two_manifold_ros.cli.main import main; raise SystemExit(main())'
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
    from rosbags.highlevel import AnyReader  # noqa: PLC0415 - an extra

    with AnyReader([bag]) as reader:
        imu = [each for each in reader.connections if each.msgtype == 'sensor_msgs/msg/Imu']
        return [(stamp, bytes(raw)) for _, stamp, raw in reader.messages(imu)]
