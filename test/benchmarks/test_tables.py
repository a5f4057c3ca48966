# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tables of benchmarks: sections of the page of results, and learning on the robot."""

from adaptation_trials import (
    ERROR,
    feed,
    FILLED,
    joined,
    laps_until_back,
    longest_run,
    MEAN,
    VALID,
)
from bench_adaptation import ADAPTATION
from bench_laps import LAPS
import bench_results
from changed_streams import poisoned
import numpy as np
import pytest
from tables import table
from worlds.drive import drive
from worlds.table import world_named

from two_manifold_ros.adapting.stream_learner import make_learner
from two_manifold_ros.names import LEARNERS

PAGE = '# Results\n\nFirst.\n\n## Accuracy\n\nold\n\n### Part\n\nold\n\n## Lap times\n\nlaps\n'


@pytest.mark.parametrize(
    ('title', 'expected'),
    [
        ('Accuracy', '# Results\n\nFirst.\n\n## Accuracy\n\nnew\n\n## Lap times\n\nlaps\n'),
        ('Lap times', PAGE.replace('laps\n', 'new\n')),
        ('Other methods', f'{PAGE}\n## Other methods\n\nnew\n'),
    ],
)
def test_a_section_is_written_in_its_place(title, expected):
    page = bench_results.with_section(PAGE, title, 'new')
    assert page == expected
    assert bench_results.with_section(page, title, 'new') == page


def test_every_section_is_on_the_page_with_its_command_and_its_columns():
    page = bench_results.PAGE.read_text()
    for name, (title, _) in bench_results.SECTIONS.items():
        _, _, section = page.partition(f'\n## {title}\n')
        assert f'`./run bench results {name}`' in section.partition('\n## ')[0], name
    for head in (bench_results.ACCURACY, f'case, {ADAPTATION}', LAPS):
        assert table(head, [], aligned=False) in page


def test_laps_until_back_take_two_together():
    for errors, laps in (([0.5, 2.0, 0.9, 0.9], 2), ([0.9, 0.9, 2.0, 2.0], 0), ([2.0] * 4, None)):
        assert laps_until_back(np.array(errors), 1.0) == laps
    assert longest_run([True, False, True, True]) == 2


@pytest.mark.parametrize('name', LEARNERS)
def test_what_is_reported_is_judged_before_positions_are_given(name):
    made = drive(world_named('slot_car'), seconds=8.0).recording
    stream = joined([made, made], 7.0)
    assert (np.diff(stream.laps) > -0.01).all()
    learner = make_learner(name)
    ticks = feed(learner, stream, 0, len(made.imu.stamps))
    learner.close()
    # All but the first three of eight seconds.
    assert ticks[:, FILLED].mean() == pytest.approx(5 / 8, abs=0.02)
    # It knows nothing yet, so that the mean position stands for it.
    assert not ticks[:, VALID].any()
    np.testing.assert_array_equal(ticks[:, ERROR], ticks[:, MEAN])
    assert learner.reference.counters['used'] > 100


def test_a_spoiled_lap_is_spoiled_alone():
    stream = joined([drive(world_named('slot_car'), seconds=8.0).recording], 7.0)
    for name, each in poisoned(stream, 100, 200, 0).items():
        changed = stream.stamps[(each.samples != stream.samples).any(axis=1)]
        assert len(changed) == (0 if name in {'none', 'wrong positions'} else 100)
        moved = stream.fix_stamps[(each.fixes != stream.fixes).any(axis=1)]
        assert moved.any() == (name in {'lifted', 'other route', 'wrong positions'})
        for spoilt in (changed, moved):
            assert ((spoilt >= stream.stamps[100]) & (spoilt < stream.stamps[200])).all()
