# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The parameter files, against the tables of parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from two_manifold_ros.interface.parameters import PARAMETERS

yaml = pytest.importorskip('yaml', reason='PyYAML is not installed')

CONFIG = Path(__file__).resolve().parents[2] / 'config'
# Chosen for each run, on the command line or by a launch file.
PER_RUN = {'model', 'bags', 'record_seconds'}


@pytest.mark.parametrize('node', PARAMETERS)
def test_the_file_holds_every_default(node: str) -> None:
    content = yaml.safe_load((CONFIG / f'{node}.yaml').read_text())
    # Any other key would stop to match once the node is in a namespace.
    assert list(content) == ['/**']
    given = content['/**']['ros__parameters']
    table = {
        each.name: each.default for each in PARAMETERS[node].table() if each.name not in PER_RUN
    }
    assert given == table
    for name, value in given.items():
        assert type(value) is type(table[name]), name


def test_there_is_one_file_per_node() -> None:
    assert {path.stem for path in CONFIG.glob('*.yaml')} == set(PARAMETERS)
