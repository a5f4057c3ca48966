# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Layouts and examples of other programs against the topics, types and fields of the nodes."""

from collections.abc import Iterator
import json
from pathlib import Path
import re
from shutil import copyfile
import subprocess
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

from filter_runs import estimate_with
from launch_double import describe
import numpy as np
import pytest

from two_manifold_ros.interface.assessment import CODES, Level, NUMBERS, OUTSIDE
from two_manifold_ros.interface.messages import (
    BASE_FRAME,
    markers_message,
    PUBLISHED,
    Scene,
    Topic,
    Topics,
)
from two_manifold_ros.interface.parameters import PARAMETERS
from two_manifold_ros.simulation.slot_car_run import REFERENCE_TYPE, TRACK_FRAME

CONFIG = Path(__file__).resolve().parents[2] / 'config'
FOXGLOVE, PLOTJUGGLER = 'two_manifold_foxglove.json', 'two_manifold_plotjuggler.xml'
PANELS = json.loads((CONFIG / FOXGLOVE).read_text())['configById']
DRAWN = {'MarkerArray', 'Odometry', 'PointCloud2', 'Path', 'Pose', 'PoseWithCovariance'}
ADVERTISED = {**PUBLISHED, 'imu': Topics.IMU, 'reference': Topic('reference', REFERENCE_TYPE)}
LABELS = ('sec', 'nanosec', *NUMBERS)


def drawn_as(topic: Topic) -> str:
    return topic.msgtype.rpartition('/')[2].removesuffix('Stamped')


def wanted_by_foxglove(layout: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield topics, or paths to fields of them, of the panels of a Foxglove layout, and labels."""
    for panel in layout['configById'].values():
        shown = [*panel.get('topics', ()), panel.get('topicToRender'), panel.get('topicPath')]
        yield from ((each, '') for each in shown if each)
        yield from ((each['value'], each['label']) for each in panel.get('paths', ()))


def wanted_by_plotjuggler(root: ET.Element) -> Iterator[tuple[str, str]]:
    """Yield topics, or paths to fields of them, of a PlotJuggler layout, and labels."""
    named = {
        each.attrib['name']: each.findtext('linked_source') or ''
        for each in root.iterfind('customMathEquations/snippet')
    }
    for curve in root.iter('curve'):
        name = curve.attrib['name']
        yield named.get(name, name), name if name in named else ''
    for each in root.iter('selected_topics'):
        yield from ((topic, '') for topic in each.attrib['value'].split(';'))


def test_rviz_shows_all_that_can_be_drawn_as_it_is_advertised():
    yaml = pytest.importorskip('yaml', reason='PyYAML is not installed')
    layout = yaml.safe_load((CONFIG / 'two_manifold.rviz').read_text())
    displays = [each for each in layout['Visualization Manager']['Displays'] if 'Topic' in each]
    for display in displays:
        wanted = display['Topic']
        # A relative name follows the namespace of rviz.
        topic = ADVERTISED[wanted['Value']]
        assert not topic.is_global
        assert display['Class'] == f'rviz_default_plugins/{drawn_as(topic)}'
        assert wanted['Reliability Policy'] == ('Reliable' if topic.reliable else 'Best Effort')
        assert wanted['Durability Policy'] == ('Transient Local' if topic.latched else 'Volatile')
        # A display draws the newest message; more may be kept for who records.
        assert 0 < wanted['Depth'] <= topic.depth
        assert wanted['History Policy'] == 'Keep Last'
    shown = {display['Topic']['Value']: display for display in displays}
    assert set(shown) == {name for name, each in ADVERTISED.items() if drawn_as(each) in DRAWN}
    assert [name for name, each in shown.items() if not each['Enabled']] == ['odometry']
    assert "'Class': 'rviz_default_plugins/TF'" in str(layout)
    # Those of a tick at which the track is drawn as well.
    model: Any = SimpleNamespace(
        track=np.eye(2), rate_hz=10.0, period_ns=10**8, horizons=(0, 5), route_model=None
    )
    drawn = markers_message(estimate_with(), Scene(model, 'map', 'car'))['markers']
    names = sorted({marker['ns'] for marker in drawn})
    assert shown['markers']['Namespaces'] == dict.fromkeys(names, True)
    # The fixed frame is that of the launch file.
    frame = layout['Visualization Manager']['Global Options']['Fixed Frame']
    defaults = describe(CONFIG.parent / 'launch' / 'onboard.launch.py').table
    assert frame == defaults['fixed_frame'] == TRACK_FRAME == PANELS['3D!scene']['followTf']


@pytest.mark.parametrize('name', ['', 'car1'])
def test_every_topic_and_number_of_the_other_layouts_is_there(name, tmp_path):
    """Also in a namespace, into which the command of docs/integration.md puts them."""
    topics = [
        topic.address if topic.is_global else f'/{name}/{topic.name}'.replace('//', '/')
        for topic in ADVERTISED.values()
    ]
    folder, prefix = CONFIG, 'two_manifold'
    if name:
        page = (CONFIG.parent / 'docs' / 'integration.md').read_text()
        (line,) = re.findall(r'^ {4}(for \w+ in .*)$', page, re.MULTILINE)
        for each in (FOXGLOVE, PLOTJUGGLER):
            copyfile(CONFIG / each, tmp_path / each)
        subprocess.run(['/bin/sh', '-c', line.replace('car1', name)], cwd=tmp_path, check=True)
        folder, prefix = tmp_path, name
    files = (folder / each.replace('two_manifold', prefix) for each in (FOXGLOVE, PLOTJUGGLER))
    foxglove = json.loads(next(files).read_text())
    root = ET.parse(next(files)).getroot()  # noqa: S314 - a file of ours
    assert foxglove['globalVariables'] == {'node': f'{name}/filter_node'.lstrip('/')}
    for wanted in (wanted_by_foxglove(foxglove), wanted_by_plotjuggler(root)):
        numbers = 0
        for path, label in wanted:
            assert any(re.fullmatch(rf'{topic}([./\[].*)?', path) for topic in topics), path
            if (number := re.search(r'\bdata\W+(\d+)', path)) is not None:
                shown = {'state': 'status', '': LABELS[int(number[1])]}.get(label, label)
                assert LABELS[int(number[1])] == shown, path
                numbers += 1
        assert numbers > 5


def test_states_and_levels_have_their_names_and_colours_of_their_own():
    state, level = (each['customStates'] for each in PANELS['StateTransitions!state']['paths'][:2])
    assert {int(each['value']): each['label'] for each in state['states']} == {
        OUTSIDE: 'not running',
        **{code: status.value for status, code in CODES.items()},
    }
    assert {int(each['value']): each['label'] for each in level['states']} == {
        int(each): each.name for each in Level
    }
    for states in (state, level):
        colours = [each['color'] for each in states['states']]
        assert len(set(colours)) == len(colours)


def test_examples_are_explained_and_name_what_there_is():
    yaml = pytest.importorskip('yaml', reason='PyYAML is not installed')
    page = (CONFIG.parent / 'docs' / 'integration.md').read_text()
    given = {}
    for path in (CONFIG / 'examples').iterdir():
        assert f'../config/examples/{path.name}' in page
        (section,) = yaml.safe_load(path.read_text()).values()
        given[path.stem] = section['ros__parameters']
    ekf, manager = given['robot_localization'], given['nav2_lifecycle_manager']
    topic = PUBLISHED[ekf['pose0'].removesuffix('_throttle')]
    assert topic.msgtype == 'geometry_msgs/msg/PoseWithCovarianceStamped'
    assert ekf['world_frame'] == ekf['map_frame'] != ekf['odom_frame']
    assert ekf['base_link_frame'] == BASE_FRAME
    assert set(manager['node_names']) <= set(PARAMETERS)
    # Compiling takes half a minute.
    assert manager['service_timeout'] > 30.0
    robots = {name: of for name, of in given['diagnostic_aggregator'].items() if type(of) is dict}
    assert robots
    # Diagnostics come once a second.
    assert all(of['startswith'] == [f'{name}/'] for name, of in robots.items())
    assert all(of['timeout'] > 1.0 for of in robots.values())
