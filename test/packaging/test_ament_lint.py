# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The linters that ``colcon test`` expects, where ROS 2 has them; ruff says the same elsewhere."""

import pytest

SOURCES = ('two_manifold_ros', 'launch', 'setup.py')


def test_ament_flake8_finds_nothing(checkout):
    flake8 = pytest.importorskip('ament_flake8.main', reason='ament_flake8 is not installed')
    sources = [str(checkout / each) for each in (*SOURCES, 'test', 'benchmarks')]
    code, errors = flake8.main_with_errors(['--config', str(checkout / 'setup.cfg'), *sources])
    assert not code, '\n'.join(errors)


def test_ament_pep257_finds_nothing(checkout):
    pep257 = pytest.importorskip('ament_pep257.main', reason='ament_pep257 is not installed')
    # Numpydoc, as ruff checks it; properties are nouns here, and "methods" may be a parameter.
    given = ['--convention', 'numpy', '--add-ignore', 'D105', 'D107', 'D401', 'D405', 'D407']
    given += ['D410', 'D411', 'D402', 'D103', '--']
    assert not pep257.main(given + [str(checkout / each) for each in SOURCES])
