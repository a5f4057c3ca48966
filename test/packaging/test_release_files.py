# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a release brings beside the package: it parses, and agrees with the package."""

from pathlib import Path
import re

import pytest

yaml = pytest.importorskip('yaml', reason='PyYAML is not installed')

WORKFLOWS = '.github/workflows'


def workflows(checkout: Path) -> list[Path]:
    found = sorted((checkout / WORKFLOWS).iterdir())
    assert found
    return found


def test_workflows_parse_and_run_what_is_there(checkout):
    verbs = re.findall(r'^([a-z-]+)\)$', (checkout / 'run').read_text(), re.MULTILINE)
    for path in workflows(checkout):
        content = yaml.safe_load(path.read_text())
        # YAML 1.1 takes the key 'on' for true.
        assert {'name', True, 'permissions', 'jobs'} <= content.keys()
        for job in content['jobs'].values():
            assert job['timeout-minutes'] <= 90
            for step in job['steps']:
                assert ('uses' in step) != ('run' in step)
                used = re.findall(r'\./run (\S+)', step.get('run', ''))
                assert set(used) <= set(verbs)
                named = re.findall(r'(?<=\s)test/\S+', step.get('run', ''))
                assert [name for name in named if not (checkout / name).exists()] == []


def test_the_citation_is_of_this_version(checkout):
    manifest = (checkout / 'package.xml').read_text()
    content = yaml.safe_load((checkout / 'CITATION.cff').read_text())
    for name, tag in (('version', 'version'), ('license', 'license'), ('title', 'name')):
        assert re.findall(f'<{tag}[^>]*>(.*)</{tag}>', manifest) == [content[name]]
    assert {each['year'] for each in content['references']} == {2011, 2012}
