# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Launch files, executed on stand-ins, and files of parameters, against the package."""

from collections.abc import Callable
import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from launch_double import describe, named, parameters, text_of
import pytest

from two_manifold_ros.interface.parameters import PARAMETERS

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / 'launch').iterdir())
ONBOARD = ROOT / 'launch' / 'onboard.launch.py'
GIVEN = {'model': 'm.npz', 'folder': 'learned', 'bag': 'b', 'bags': "['b']", 'robots': 'a b'}
"""Arguments that have no default, of any file."""

TYPES = {'bool': bool, 'double': float, 'integer': int, 'string': str, 'string_array': list[str]}


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.name)
def test_what_a_launch_file_names_is_there_and_described_and_used(path):
    description = describe(path, **GIVEN, rviz='true')
    for argument in named(description, 'DeclareLaunchArgument'):
        assert argument.kwargs['description'].endswith('.'), argument.args
    used = {each.args[0] for each in named(description, 'LaunchConfiguration')}
    used |= description.asked
    assert used == description.declared
    for name, (file, _) in parameters(description).items():
        assert file == f'two_manifold_ros/config/{name}.yaml'
    entry_points = importlib.import_module('two_manifold_ros.nodes.__main__')
    for node in (each.kwargs for each in named(description, 'Node')):
        if node['package'] == 'rviz2':
            continue
        assert node['package'] == 'two_manifold_ros'
        name = node['executable']
        assert callable(getattr(entry_points, name))
        assert (ROOT / 'resource' / 'lib' / name).is_file()
        topics = {'imu'} if name == 'filter_node' else {'imu', 'reference'}
        assert {source for source, _ in node.get('remappings', ())} <= topics
        kinds = {each.name: each.kind for each in PARAMETERS[name].table()}
        kinds['use_sim_time'] = 'bool'
        given = [part for part in node['parameters'] if isinstance(part, dict)]
        for key, value in (each for part in given for each in part.items()):
            # As launch_ros: what is known already is a value, else a substitution with a type.
            if type(value).__name__ == 'ParameterValue':
                assert value.kwargs['value_type'] == TYPES[kinds[key]], key
                assert not isinstance(value.args[0], str) or value.kwargs['value_type'] is str
            else:
                assert type(value) is TYPES[kinds[key]], key
    # Included files exist and know the arguments.
    for include in named(description, 'IncludeLaunchDescription'):
        included = text_of(include.args[0], description.table).rpartition('/')[2]
        known = describe(ROOT / 'launch' / included).declared
        assert {key for key, _ in include.kwargs['launch_arguments']} <= known


def test_rviz_and_a_page_come_on_request_and_what_is_missing_is_only_warned_of(monkeypatch):
    command = ['view', '--live', 'car1/filter_node', '--no-browser', '--port', '5006']
    for wanted, missing, shown in (
        ({}, '', ['filter_node']),
        ({'rviz': 'true'}, '', ['filter_node', 'rviz2']),
        ({'rviz': 'true'}, 'rviz2', ['filter_node']),
        ({'view': 'true'}, '', ['filter_node', *command]),
        ({'view': 'true'}, 'bokeh', ['filter_node']),
    ):
        found = None if missing == 'bokeh' else True
        monkeypatch.setattr('importlib.util.find_spec', lambda _, found=found: found)
        description = describe(ONBOARD, missing, namespace='/car1/', **wanted)
        programs = [each.kwargs['executable'] for each in named(description, 'Node')]
        for each in named(description, 'ExecuteProcess'):
            programs += each.kwargs['cmd'][1:]
        assert (programs, len(description.warnings)) == (shown, bool(missing))


def test_what_is_given_goes_before_the_file_and_nothing_else_does():
    usual = {'model': 'm.npz', 'use_sim_time': 'false'}
    chosen = {'managed': 'true', 'child_frame': 'car', 'track_frame': 'hall', 'publish_tf': 'true'}
    for more in ({}, chosen):
        (_, given) = parameters(describe(ONBOARD, **GIVEN | more))['filter_node']
        assert given == usual | more
    chosen = {'namespace': 'car1', 'respawn': 'true', 'log_level': 'warn', 'rviz': 'true'}
    filter_node, rviz = (each.kwargs for each in named(describe(ONBOARD, **chosen), 'Node'))
    assert filter_node['namespace'] == rviz['namespace'] == 'car1'
    # The layout names topics relatively: rviz finds those of its own namespace.
    assert not rviz.get('remappings')
    assert (filter_node['respawn'], filter_node['ros_arguments'][-1]) == (True, 'warn')


@pytest.mark.parametrize('bags', ['b', "['b']", '/a b/c'])
def test_one_bag_is_a_list_of_one(bags):
    yaml = pytest.importorskip('yaml', reason='PyYAML is not installed')
    path = ROOT / 'launch' / 'train.launch.py'
    _, given = parameters(describe(path, **GIVEN | {'bags': bags}))['trainer_node']
    assert yaml.safe_load(given['bags']) == [bags.strip("[']")]


def test_each_robot_of_a_fleet_has_its_namespace_its_model_and_its_frame():
    # The name of a robot stands for a word alone.
    chosen = {'robots': 'a, b', 'model': '/opt/ROBOTICS/ROBOT.npz', 'respawn': 'true'}
    description = describe(ROOT / 'launch' / 'fleet.launch.py', **chosen)
    included = named(description, 'IncludeLaunchDescription')
    # All else is passed as it is.
    passed = {name: each for name, each in description.table.items() if name != 'robots'}
    for robot, each in zip('ab', included, strict=True):
        own = {'namespace': robot, 'child_frame': f'{robot}/base_link'}
        own |= {'model': f'/opt/ROBOTICS/{robot}.npz'}
        assert dict(each.kwargs['launch_arguments']) == passed | own


# Chosen for each run, on the command line or by a launch file.
PER_RUN = {'model', 'bags', 'record_seconds'}


@pytest.mark.parametrize('node', PARAMETERS)
def test_the_file_holds_every_default(node):
    yaml = pytest.importorskip('yaml', reason='PyYAML is not installed')
    content = yaml.safe_load((ROOT / 'config' / f'{node}.yaml').read_text())
    # Any other key would stop to match once the node is in a namespace.
    assert list(content) == ['/**']
    given = content['/**']['ros__parameters']
    table = {each.name: each.default for each in PARAMETERS[node].table()}
    wanted = {name: (type(each), each) for name, each in table.items() if name not in PER_RUN}
    assert {name: (type(each), each) for name, each in given.items()} == wanted


def handlers(path: Path, **given: str) -> dict[str, Callable[..., list[Any]]]:
    """Return what is done after the end of a program, by the last word of its command or name."""
    description = describe(path, **GIVEN | given)
    return {
        target.kwargs.get('name') or target.kwargs['cmd'][2]: each.kwargs['on_exit']
        for each in named(description, 'OnProcessExit')
        for target in [each.kwargs['target_action']]
    }


LIVE, ENDING = SimpleNamespace(is_shutdown=False), SimpleNamespace(is_shutdown=True)
DONE, FAILED = SimpleNamespace(returncode=0), SimpleNamespace(returncode=1)


def test_what_fails_makes_the_launch_fail_unless_it_is_ended():
    for name, programs in (
        ('train', ['trainer_node']),
        ('demo', ['trainer_node']),
        ('replay', ['a/filter_node', 'play']),
    ):
        ends = handlers(ROOT / 'launch' / f'{name}.launch.py', namespace='a', rviz='false')
        for program in programs:
            with pytest.raises(RuntimeError):
                ends[program](FAILED, LIVE)
            ends[program](FAILED, ENDING)
            ends[program](DONE, LIVE)


def test_a_bag_is_played_after_the_filter_is_active_and_ends_the_launch_unless_it_is_shown():
    path = ROOT / 'launch' / 'replay.launch.py'
    (bag,) = handlers(path)['filter_node'](DONE, LIVE)
    assert bag.kwargs['cmd'][:4] == ['ros2', 'bag', 'play', GIVEN['bag']]
    for rviz, missing, kinds in (
        ('false', '', ['Shutdown']),
        ('true', '', []),
        ('true', 'rviz2', ['Shutdown']),
    ):
        description = describe(path, missing, **GIVEN, rviz=rviz)
        (_, end) = (each.kwargs['on_exit'] for each in named(description, 'OnProcessExit'))
        assert [type(each).__name__ for each in end(DONE, LIVE)] == kinds
    with pytest.raises(RuntimeError, match='install ros-'):
        describe(path, 'ros2bag', **GIVEN)


def test_a_fleet_of_wrong_names_is_refused_before_anything_starts():
    for robots, why in (
        *((each, 'names no robots, or one twice') for each in ('', 'a,/a', '/')),
        *((each, 'is no namespace') for each in ('a b-c', 'a 2car', 'a b//c', 'a ä', 'a b__c')),
    ):
        with pytest.raises(RuntimeError, match=why):
            describe(ROOT / 'launch' / 'fleet.launch.py', **GIVEN | {'robots': robots})
