# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pages of the experiments have the figures of docs/reproduce.json, and a run is held to it."""

from __future__ import annotations

from dataclasses import replace
import sys
from typing import Any, TYPE_CHECKING

import bench_reproduce
from bench_reproduce import (
    BEGIN,
    differences,
    END,
    Figure,
    pages,
    picture_differs,
    read,
    RESULTS,
    with_block,
)
import matplotlib.image
import numpy as np
import pytest

from two_manifold_ros.experiments.experiment import at_least, Attempt, EXPERIMENTS

if TYPE_CHECKING:
    from pathlib import Path

CAR = next(each for each in EXPERIMENTS if each.name == 'slot-car')
CLAIM = at_least('R2', 'Fig. 7', 0.91234, 0.5)


def found(*claims: Any, name: str = 'slot-car') -> dict[str, Any]:  # noqa: ANN401 - claims
    entry = Attempt(replace(CAR, name=name), 1.0, claims).to_json()
    return entry | {'processor_s': 2.0}


def test_every_experiment_is_published_in_order_and_passes() -> None:
    kept = read()
    assert [*kept] == [*RESULTS] == [each.name for each in EXPERIMENTS]
    for experiment, entry in zip(EXPERIMENTS, kept.values(), strict=True):
        assert experiment.to_json().items() <= entry.items()
        assert entry['claims']
        assert [each['what'] for each in entry['claims'] if not each['passed']] == []


def test_pages_have_the_figures_of_the_file() -> None:
    expected = pages(read())
    assert len(expected) == len(EXPERIMENTS) + 2
    for path, block in expected.items():
        page = path.read_text()
        assert page.count(BEGIN) == page.count(END) == 1, path
        assert page == with_block(page, block), path


def test_what_is_between_the_lines_is_replaced() -> None:
    page = with_block(f'above {BEGIN}old{END} below', 'new')
    assert page == f'above {BEGIN}\n\nnew\n\n{END} below'
    assert with_block(page, 'new') == page


def test_a_run_like_the_published_one_has_no_differences() -> None:
    close = at_least('R2', 'Fig. 7', 0.91235, 0.5)
    assert list(differences(found(CLAIM), found(close))) == []


@pytest.mark.parametrize(
    ('now', 'words'),
    [
        ([at_least('R2', 'Fig. 7', 0.914, 0.5)], ['0.914, published 0.912']),
        ([at_least('R2', 'Fig. 7', 0.4, 0.5)], ['fails with 0.4', '0.4, published 0.912']),
        ([CLAIM, at_least('other', '', 1.0, 0.5)], ['1 is not published']),
        ([], ['no claim any more']),
        ([at_least('R2', 'Fig. 7', 0.91234, 0.6)], ['is not published', 'no claim any more']),
    ],
)
def test_what_differs_is_named(now: list[Any], words: list[str]) -> None:
    lines = list(differences(found(CLAIM), found(*now)))
    assert len(lines) == len(words)
    assert all(each in line for each, line in zip(words, lines, strict=True))


def test_an_experiment_that_is_not_published_differs() -> None:
    assert len(list(differences(None, found(CLAIM)))) == 1


def test_what_varies_may_differ_but_not_fail() -> None:
    slow, slower = (
        replace(at_least('speed', '', number, 0.5), varies=True) for number in (0.7, 0.4)
    )
    assert list(differences(found(slower), found(slow))) == []
    assert len(list(differences(found(slow), found(slower)))) == 1


def test_claims_about_an_absent_recording_are_passed_over() -> None:
    name, recording = next(iter(bench_reproduce.TAKEN.items()))
    with_it = found(CLAIM, replace(CLAIM, what=f'{recording}: {CLAIM.what}'), name=name)
    assert list(differences(with_it, found(CLAIM, name=name))) == []


@pytest.mark.parametrize(
    ('number', 'spec', 'text'),
    [(0.95312, '', '.953'), (-0.4981, '', '-.498'), (1.0131, '', '1.01'), (0.0789, '%', '7.9 %')],
)
def test_numbers_as_pages_have_them(number: float, spec: str, text: str) -> None:
    assert format(Figure(number), spec) == text


def test_rounding_of_a_colour_is_no_other_picture(tmp_path: Path) -> None:
    colours = np.full((4, 4, 3), 100, dtype=np.uint8)
    for name, change in (('a', 0), ('rounded', 1), ('other', 3)):
        changed = colours.copy()
        changed[1, 2] += change
        matplotlib.image.imsave(tmp_path / f'{name}.png', changed)
    a = tmp_path / 'a.png'
    assert not picture_differs(tmp_path / 'rounded.png', a)
    assert picture_differs(tmp_path / 'other.png', a)
    assert picture_differs(a, tmp_path / 'none.png')


def test_the_status_says_whether_anything_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And what is written is what is published from then on."""
    docs, claims = tmp_path / 'docs', [CLAIM]
    (docs / 'reproduce').mkdir(parents=True)
    (docs / 'pictures').mkdir()
    for path in ('reproduce/slot-car.md', 'reproduce.md', 'results.md'):
        (docs / path).write_text(f'{BEGIN}{END}')
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
    assert '| R2, at least 0.5 | Fig. 7 | 0.912 |' in (docs / 'reproduce/slot-car.md').read_text()
    assert 'R2 .912' in (docs / 'reproduce.md').read_text()
    assert status() == 0
    claims[0] = at_least('R2', 'Fig. 7', 0.8, 0.5)
    assert status() == 1
    assert '0.8, published 0.912' in capsys.readouterr().out
    (docs / 'results.md').write_text(f'{BEGIN}\n\nby hand\n\n{END}')
    assert status() == 1
    assert status('--pages') == 0
    claims[0] = CLAIM
    assert status() == 0
    with pytest.raises(SystemExit):
        status('hamster')
