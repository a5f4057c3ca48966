# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tables on standard output, and the unit of positions."""

from dataclasses import replace

import pytest

from two_manifold_ros.cli.options import print_table


def test_numbers_are_aligned_to_the_right_and_words_to_the_left(capsys):
    print_table(
        'errors [m]', ['horizon', 'rmse', 'note'], [['0', '0.25', 'a'], ['10', '1.5', 'b']]
    )
    output = capsys.readouterr().out
    assert 'errors [m]' in output
    assert '        0  0.25  a\n' in output
    assert '       10   1.5  b\n' in output


@pytest.mark.parametrize(
    ('words', 'status'),
    [
        ('train {bag} -o {new}', 2), ('evaluate {model} {bag}', 2),
        ('evaluate {model} {bag} --from 20', 2), ('evaluate --fleet {model} {bag}', 2),
        ('learn {bag}', 2), ('compare {bag}', 2), ('laps {model} {bag}', 2),
        ('replay {model} {bag} -o {new} --position-topic /pose', 2), ('inspect {bag}', 0),
        ('train {bag} {again} -o {new} --most-minutes 0.1', 2),
    ],
)  # fmt: skip
def test_every_command_that_takes_positions_names_their_unit(
    words, status, drive, write_bag, model_file, tmp_path, command
):
    """Not in the middle of the work, nor in a model or scores of no meaning."""
    recording = drive()
    places = replace(recording.positions, positions=1e3 * recording.positions.positions)
    scaled = replace(recording, positions=places)
    names = {each: write_bag(tmp_path / each, scaled) for each in ('bag', 'again')}
    names |= {'model': model_file, 'new': tmp_path / 'new.npz'}
    said = command(*words.format(**names).split(), status=status)
    assert 'probably in millimetres' in ' '.join((said.out + said.err).split())
