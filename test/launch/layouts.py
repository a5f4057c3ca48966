# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the layouts in config/ want of the topics: their names, and fields of their messages."""

from collections.abc import Iterable, Iterator
import json
from pathlib import Path
import re
import subprocess
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

CONFIG = Path(__file__).resolve().parents[2] / 'config'
FOXGLOVE, PLOTJUGGLER = 'two_manifold_foxglove.json', 'two_manifold_plotjuggler.xml'
RVIZ = CONFIG / 'two_manifold.rviz'


class Wanted(NamedTuple):
    """
    A topic, and a field of its messages.

    Steps are names of fields, ``[2]`` an entry of an array, ``[:]`` all of them, and
    ``{key==value}`` those with this value.
    """

    topic: str
    steps: tuple[str, ...] = ()
    label: str = ''


def wanted_by_foxglove(layout: dict[str, Any]) -> Iterator[Wanted]:
    """Yield what the panels of a Foxglove layout subscribe to."""
    for panel in layout['configById'].values():
        yield from map(Wanted, panel.get('topics', ()))
        if 'topicToRender' in panel:
            yield Wanted(panel['topicToRender'])
        if 'topicPath' in panel:
            yield _by_path(panel['topicPath'])
        for each in panel.get('paths', ()):
            yield _by_path(each['value'])._replace(label=each['label'])


def _by_path(path: str) -> Wanted:
    topic, *steps = re.findall(r'^[\w/]+|\w+|\[[^]]*\]|\{[^}]*\}', path)
    return Wanted(topic, tuple(steps))


def wanted_by_plotjuggler(root: ET.Element, topics: list[str]) -> Iterator[Wanted]:
    """Yield what a PlotJuggler layout draws of such topics, and what it subscribes to."""
    named = {
        each.attrib['name']: each.findtext('linked_source') or ''
        for each in root.iterfind('customMathEquations/snippet')
    }
    for curve in root.iter('curve'):
        name = curve.attrib['name']
        path = named.get(name, name)
        topic = next((each for each in topics if path.startswith(f'{each}/')), path)
        steps = re.findall(r'\w+|\[\d+\]', path.removeprefix(topic))
        yield Wanted(topic, tuple(steps), name if name in named else '')
    for each in root.iter('selected_topics'):
        yield from map(Wanted, each.attrib['value'].split(';'))


def in_namespace(name: str, folder: Path) -> None:
    """Write the layouts for a namespace into a folder, as docs/integration.md says it."""
    page = (CONFIG.parent / 'docs' / 'integration.md').read_text()
    (line,) = re.findall(r'^ {4}(for \w+ in .*)$', page, re.MULTILINE)
    for layout in (FOXGLOVE, PLOTJUGGLER):
        (folder / layout).write_bytes((CONFIG / layout).read_bytes())
    subprocess.run(['/bin/sh', '-c', line.replace('car1', name)], cwd=folder, check=True)
    for layout in (FOXGLOVE, PLOTJUGGLER):
        (folder / layout.replace('two_manifold', name)).rename(folder / layout)


class Layouts(NamedTuple):
    """The layout of Foxglove, and what it and that of PlotJuggler want."""

    foxglove: dict[str, Any]
    of_foxglove: list[Wanted]
    of_plotjuggler: list[Wanted]


def load(folder: Path, topics: Iterable[str]) -> Layouts:
    """Read the layouts in a folder, of such topics."""
    foxglove = json.loads((folder / FOXGLOVE).read_text())
    root = ET.parse(folder / PLOTJUGGLER).getroot()  # noqa: S314 - a file of ours
    return Layouts(
        foxglove,
        list(wanted_by_foxglove(foxglove)),
        list(wanted_by_plotjuggler(root, list(topics))),
    )
