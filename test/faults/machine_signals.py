# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Signals at the worst moments."""

from pathlib import Path
import signal
from time import monotonic

from machine import Machine, WatchedProcess

INT, TERM, HUP = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
LOADED = 'librmw_fastrtps_cpp'
"""Once this is there the node itself is being made."""


def parameters_of(name: str, machine: Machine) -> dict[str, object]:
    model = machine.model if name == 'filter_node' else machine.folder / 'new.npz'
    return {
        'filter_node': {'model': model},
        'trainer_node': {'model': model},
        'updater_node': {'checkpoint_folder': machine.folder / 'kept'},
        'slot_car_node': {},
    }[name]


def while_starting(machine: Machine) -> tuple[float, ...]:
    """Stop nodes while they import, and while they are made."""
    cases = [
        ('filter_node', INT, ''),
        ('updater_node', TERM, ''),
        ('trainer_node', HUP, ''),
        ('filter_node', TERM, LOADED),
        ('updater_node', INT, LOADED),
        ('slot_car_node', HUP, LOADED),
    ]
    nodes = [machine.node(name, **parameters_of(name, machine)) for name, *_ in cases]
    longest_s = 0.0
    for node, (name, number, library) in zip(nodes, cases, strict=True):
        node.until(lambda node=node: node.hears_signals, f'{name} to hear signals')
        if library:
            node.until(lambda node=node: node.has_loaded(LOADED), f'{name} to load')
        longest_s = max(longest_s, _ends(node, number, _status(name, number)))
    return (longest_s,)


def while_working(machine: Machine) -> tuple[float, ...]:
    """Stop nodes that work, with the second signal before they have ended."""
    cases = [
        ('filter_node', [INT, INT]),
        ('updater_node', [TERM, INT]),
        ('trainer_node', [TERM, TERM]),
        ('slot_car_node', [HUP, TERM]),
    ]
    nodes = [machine.node(name, **parameters_of(name, machine)) for name, _ in cases]
    talk = machine.talk()
    longest_s = 0.0
    for node, (name, numbers) in zip(nodes, cases, strict=True):
        talk.until(lambda name=name: name in talk.node.get_node_names(), name)
        node.process.send_signal(numbers[0])
        # As soon as a hand can press the keys again.
        talk.spin(0.03)
        longest_s = max(longest_s, _ends(node, numbers[1], _status(name, numbers[0])))
    return (longest_s,)


def _status(name: str, number: signal.Signals) -> int:
    """Return the status of a node that a signal ends: a trainer has no model then."""
    return 128 + number if name == 'trainer_node' else 0


def _ends(node: WatchedProcess, number: signal.Signals, status: int) -> float:
    begin_s = monotonic()
    assert node.stop(number) == status, node.said
    assert 'Traceback' not in node.said, node.said
    assert 'rosout' not in node.said, node.said
    return monotonic() - begin_s


def commands_stopped(machine: Machine) -> tuple[float, ...]:
    """Stop commands while they write."""
    folder = machine.folder / 'written'
    folder.mkdir()
    longest_s = 0.0
    for arguments in (
        ('simulate', '-o', folder / 'new', '--laps', 2000),
        ('replay', machine.model, machine.bag, '-o', folder / 'new'),
    ):
        command = machine.command(*arguments)
        command.until(lambda: list(_bags_in(folder)), 'the half-written bag')
        begin_s = monotonic()
        assert command.stop(TERM) == 128 + TERM, command.said
        longest_s = max(longest_s, monotonic() - begin_s)
        assert list(folder.iterdir()) == []
    return (longest_s,)


def _bags_in(folder: Path) -> list[Path]:
    return list(folder.glob('.bag-*/new/*'))
