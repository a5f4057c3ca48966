# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of nodes, and the page made of them."""

import subprocess
import sys

from two_manifold_ros.interface.parameters import PARAMETERS, unknown_parameters
from two_manifold_ros.route.learning import Tuning


def test_every_entry_is_complete():
    for node, kind in PARAMETERS.items():
        table = kind.table()
        assert len({each.name for each in table}) == len(table)
        for each in table:
            assert each.description.endswith('.'), (node, each.name)
            assert (each.low is None) == (each.high is None), (node, each.name)
            assert each.refusal(each.default) == '', (node, each.name)
            if isinstance(each.default, int | float) and not isinstance(each.default, bool):
                assert each.low <= each.default <= each.high, (node, each.name)
    # The sharpness is the one that a training takes.
    tables = [each for kind in PARAMETERS.values() for each in kind.table()]
    (sharpness,) = (each for each in tables if each.name == 'sharpness')
    assert f' 0 means: {Tuning.sharpness:g} at 20 Hz, ' in sharpness.description


def test_names_that_a_node_does_not_have_are_named_with_the_nearest_one():
    known = 'model', 'rate_hz'
    given = 'model', 'use_sim_time', 'qos_overrides./imu.subscription.depth'
    assert unknown_parameters(given, known, 'node') == ''
    sentence = unknown_parameters((*given, 'zzz', 'modle', 'rate-hz'), known, 'my_node')
    assert sentence.startswith('my_node has no parameter modle (')
    parts = sentence.split('modle ')[1].split(', ')
    assert [[name for name in known if name in part] for part in parts] == [
        ['model'], ['rate_hz'], []
    ]  # fmt: skip
    # What two names share says nothing.
    assert 'mean' not in unknown_parameters(['position_topic'], ['fix_topic', 'mark_topic'], 'n')


def test_declaring_parameters_loads_no_training():
    """A node that only declares them starts at once, and needs no library but Python's."""
    program = (
        'import sys; import two_manifold_ros.interface.parameters\n'
        'print(*sorted(each for each in sys.modules if each.startswith("two_manifold_ros.")))'
    )
    command = [sys.executable, '-c', program]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True)
    names = {each.removeprefix('two_manifold_ros.') for each in loaded.stdout.split()}
    assert {each for each in names if each.startswith('training.')} == {'training.settings'}
    assert not {'manifold', 'hse_hmm', 'recordings'} & {each.split('.')[0] for each in names}
