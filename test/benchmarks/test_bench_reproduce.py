# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A run of the papers' experiments is compared with docs/reproduce.json."""

from dataclasses import replace
from pathlib import Path
import sys
from typing import Any

import bench_reproduce
from bench_reproduce import BEGIN, differences, END, Figure, picture_differs, read, RESULTS
import matplotlib.image
import numpy as np
import pytest

from two_manifold_ros.experiments.experiment import at_least, Attempt, EXPERIMENTS, Series

CAR = next(each for each in EXPERIMENTS if each.name == 'slot-car')
CLAIM = at_least('R2', 'Fig. 7', 0.91234, 0.5)
VARIES = replace(at_least('speed', '', 0.7, 0.5), varies=True)
ONLINE, RECORDING = next(iter(bench_reproduce.TAKEN.items()))


def found(*claims: Any, name: str = 'slot-car') -> dict[str, Any]:  # noqa: ANN401 - claims
    entry = Attempt(replace(CAR, name=name), 1.0, claims).to_json()
    return entry | {'processor_s': 2.0}


def series(*passed: bool) -> dict[str, Any]:
    claims = [at_least('R2', 'Fig. 7', 0.5 + each, 1.0) for each in passed]
    attempts = tuple(Attempt(CAR, 1.0, (claim,)) for claim in claims)
    return bench_reproduce.sets_of(Series(0, attempts).to_json())


@pytest.mark.parametrize(
    ('kept', 'now', 'words'),
    [
        ([True] * 10, [True] * 10, []),
        ([True] * 10, [True] * 9 + [False], ["'9 of 10'", "published ('10 of 10'"]),
        ([True] * 8 + [False] * 2, [True] * 8 + [False] * 2, ['passes on 8 of 10']),
        (None, [True] * 10, ['published None']),
    ],
)
def test_counts_over_sets_that_differ_or_are_too_few(kept, now, words):
    before = None if kept is None else series(*kept)
    text = '; '.join(bench_reproduce.set_differences('slot-car', before, series(*now)))
    assert all(each in text for each in words)
    assert bool(text) == bool(words)


def test_every_experiment_is_published_in_order_and_passes():
    kept = read()
    assert [*kept] == [*RESULTS] == [each.name for each in EXPERIMENTS]
    for experiment, entry in zip(EXPERIMENTS, kept.values(), strict=True):
        assert experiment.to_json().items() <= entry.items()
        assert entry['claims']
        assert [each['what'] for each in entry['claims'] if not each['passed']] == []


@pytest.mark.parametrize(
    ('before', 'now', 'words'),
    [
        ([CLAIM], [at_least('R2', 'Fig. 7', 0.91235, 0.5)], []),
        ([CLAIM], [at_least('R2', 'Fig. 7', 0.914, 0.5)], ['0.914, published 0.912']),
        (
            [CLAIM],
            [at_least('R2', 'Fig. 7', 0.4, 0.5)],
            ['fails with 0.4', '0.4, published 0.912'],
        ),
        ([CLAIM], [CLAIM, at_least('other', '', 1.0, 0.5)], ['1 is not published']),
        ([CLAIM], [], ['no claim any more']),
        ([CLAIM], [at_least('R2', '', 0.91234, 0.6)], ['is not published', 'no claim any more']),
        ([VARIES], [replace(at_least('speed', '', 0.6, 0.5), varies=True)], []),
        ([VARIES], [replace(at_least('speed', '', 0.4, 0.5), varies=True)], ['fails with 0.4']),
        ([CLAIM, replace(CLAIM, what=f'{RECORDING}: R2')], [CLAIM], []),
        (None, [CLAIM], ['it is not in']),
    ],
)
def test_what_differs_is_named(before, now, words):
    """What varies may differ but not fail; claims about an absent recording are passed over."""
    kept = None if before is None else found(*before, name=ONLINE)
    lines = list(differences(kept, found(*now, name=ONLINE)))
    assert len(lines) == len(words)
    assert all(each in line for each, line in zip(words, lines, strict=True))


@pytest.mark.parametrize(
    ('number', 'spec', 'text'),
    [(0.95312, '', '.953'), (-0.4981, '', '-.498'), (1.0131, '', '1.01'), (0.0789, '%', '7.9 %')],
)
def test_numbers_as_pages_have_them(number, spec, text):
    assert format(Figure(number), spec) == text


def test_rounding_of_a_colour_is_no_other_picture(tmp_path):
    colours = np.full((4, 4, 3), 100, dtype=np.uint8)
    for name, change in (('a', 0), ('rounded', 1), ('other', 3)):
        changed = colours.copy()
        changed[1, 2] += change
        matplotlib.image.imsave(tmp_path / f'{name}.png', changed)
    a = tmp_path / 'a.png'
    assert not picture_differs(tmp_path / 'rounded.png', a)
    assert picture_differs(tmp_path / 'other.png', a)
    assert picture_differs(a, tmp_path / 'none.png')


def test_what_is_written_is_published_from_then_on(tmp_path, monkeypatch, capsys):
    docs, claims = tmp_path / 'docs', [CLAIM]
    (docs / 'reproduce').mkdir(parents=True)
    (docs / 'pictures').mkdir()
    for path in ('reproduce/slot-car.md', 'reproduce.md', 'results.md'):
        (docs / path).write_text(f'above {BEGIN}old{END} below')
    monkeypatch.setattr(bench_reproduce, 'DOCS', docs)
    monkeypatch.setattr(bench_reproduce, 'FILE', docs / 'reproduce.json')
    monkeypatch.setattr(bench_reproduce, 'PICTURES', docs / 'pictures')
    monkeypatch.setattr(bench_reproduce, 'RESULTS', {'slot-car': ('R2 {}', ('R2',))})

    def run(name: str, folder: Path) -> dict[str, Any]:
        matplotlib.image.imsave(folder / f'{name}.png', np.zeros((2, 2, 3), dtype=np.uint8))
        return found(*claims, name=name)

    monkeypatch.setattr(bench_reproduce, 'run', run)

    def status(*arguments: str) -> int:
        monkeypatch.setattr(sys, 'argv', ['bench_reproduce.py', *arguments])
        return bench_reproduce.main()

    assert status() == 1
    assert not (docs / 'reproduce.json').exists()
    assert status('--write', 'slot-car') == 0
    assert (
        '| R2, at least 0.5 | Fig. 7 | 0.912 |  |  |  |'
        in (docs / 'reproduce/slot-car.md').read_text()
    )
    page = (docs / 'reproduce.md').read_text()
    assert 'R2 .912' in page
    assert page.startswith(f'above {BEGIN}\n\n|')
    assert page.endswith(f'|\n\n{END} below')
    assert status() == 0
    monkeypatch.setattr(bench_reproduce, 'run_sets', lambda *_: series(*[True] * 9, False))
    assert status('--sets', '10') == 1
    assert status('--sets', '10', '--write') == 0
    row = '| R2, at least 0.5 | Fig. 7 | 0.912 | | | |'
    assert row.replace('| | | |', '|  |  |  |') in (docs / 'reproduce/slot-car.md').read_text()
    assert status('--sets', '10') == 0
    assert status('--write') == 0
    assert read()['slot-car']['sets']['sets'] == 10
    claims[0] = at_least('R2', 'Fig. 7', 0.8, 0.5)
    assert status() == 1
    assert '0.8, published 0.912' in capsys.readouterr().out
    with pytest.raises(SystemExit):
        status('hamster')
