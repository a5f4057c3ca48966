# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`colcon test` collects every test, also where plugins of ROS import files while they collect."""

from __future__ import annotations

import os
from pathlib import Path
import re
import subprocess
import sys

import pytest

# As of ROS, whose own may be missing here: a file that skips itself skips its folder.
PLUGIN = """
import importlib.util

def pytest_pycollect_makemodule(module_path, parent):
    spec = importlib.util.spec_from_file_location('launch_tried', module_path)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
"""


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    """Return a folder from which Python takes a plugin by the names of those of ROS."""
    folder = tmp_path / 'plugins'
    described = folder / 'launch_double-1.dist-info'
    described.mkdir(parents=True)
    (folder / 'launch_double.py').write_text(PLUGIN)
    names = ''.join(f'{name} = launch_double\n' for name in ('launch_testing', 'launch_ros'))
    (described / 'entry_points.txt').write_text(f'[pytest11]\n{names}')
    (described / 'METADATA').write_text('Metadata-Version: 2.1\nName: launch_double\nVersion: 1\n')
    return folder


def collected(folder: Path, plugins: Path, *options: str) -> tuple[dict[str, int], set[str]]:
    """Return how many tests each file has, and which files skip themselves, as colcon does."""
    environment = os.environ | {
        'PYTHONPATH': os.pathsep.join([str(plugins), os.environ.get('PYTHONPATH', '')]),
        'COLUMNS': '1000',
    }
    command = [sys.executable, '-m', 'pytest', '--tb=short', '--collect-only', '-qq', *options]
    said = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    ).stdout
    counts = {
        name: int(count) for name, count in re.findall(r'^(\S+\.py): (\d+)$', said, re.MULTILINE)
    }
    return counts, set(re.findall(r'^SKIPPED \[\d+\] (\S+\.py):', said, re.MULTILINE))


@pytest.mark.slow
def test_a_file_that_skips_itself_skips_no_other(checkout, plugins, tmp_path):
    folder = tmp_path / 'few'
    (folder / 'test').mkdir(parents=True)
    (folder / 'test' / 'test_a.py').write_text('import pytest\npytest.importorskip("no_such")\n')
    (folder / 'test' / 'test_b.py').write_text('def test_b():\n    pass\n')
    settings = (checkout / 'pyproject.toml').read_text()
    for options, found in ((settings, {'test/test_b.py': 1}), ('', {})):
        (folder / 'pyproject.toml').write_text(options or '[tool.pytest.ini_options]\n')
        # The other plugins of this machine take long to load and have no part in it.
        assert collected(folder, plugins, '-p', 'no:hypothesispytest')[0] == found
