# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Claims and how they pass, and what an experiment is called with."""

import math
from pathlib import Path
import re
from types import SimpleNamespace

import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.experiments.experiment import (
    ALL,
    at_least,
    at_most,
    Claim,
    EXPERIMENTS,
    experiments_named,
    panel,
    Runner,
)


@pytest.mark.parametrize(
    ('ours', 'most', 'least'),
    [(0.9, True, False), (1.0, True, True), (1.1, False, True), (math.nan, False, False)],
)
def test_a_claim_states_its_limit_which_is_inside_and_nan_never_is(ours, *, most, least):
    assert at_most('error', '.5', ours, 1.0).passed is most
    assert at_least('R2', '.5', ours, 1.0).passed is least
    claim = at_most('error (m)', '.5', 0.81234, 0.8)
    assert (claim.what, claim.ours) == ('error (m), at most 0.8', '0.812')
    assert (claim.value, claim.limit) == (0.81234, 0.8)
    assert at_most('error (m)', '.5', math.inf, 0.8).value is None


DOCS = Path(__file__).resolve().parents[2] / 'docs'
CLAIMS = {
    'swiss-rolls': 7, 'linear-iv': 6, 'slot-car': 10, 'nlica-square': 7, 'nlica-sphere': 2,
    'slow-manifold': 2, 'mkdr-torus': 6, 'mkdr-sphere': 3, 'mkdr-images': 3, 'rr-hmm': 4,
    'slot-car-online': 4, 'actions': 10, 'video': 7,
}  # fmt: skip

LONG = {'slot-car', 'actions', 'video', 'rr-hmm'}
"""Run once with a seed: another run with it takes many seconds."""


@pytest.mark.parametrize('name', [each.name for each in EXPERIMENTS])
def test_the_quick_form_passes_and_a_seed_settles_its_draws(name, tmp_path):
    for package in ('matplotlib', 'sklearn', 'hmmlearn'):
        pytest.importorskip(package)
    (experiment,) = experiments_named(name)
    shares: list[float] = []

    def run(seed: int) -> tuple[list[Claim], bytes]:
        shares.clear()
        claims = experiment.run(
            tmp_path, lambda _, done: shares.append(done), quick=True, seed=seed
        )
        return claims, (tmp_path / experiment.picture).read_bytes()

    claims, picture = run(0)
    assert not [claim.what for claim in claims if claim.passed is False]
    assert len(claims) == CLAIMS[name]
    assert picture.startswith(b'\x89PNG')
    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert shares[-1] <= 1.0
    if name not in LONG:
        assert run(0) == (claims, picture)
    others, other_picture = run(1)
    assert [claim.value for claim in others] != [claim.value for claim in claims]
    assert other_picture != picture


def test_no_two_sets_of_draws_have_a_seed_in_common():
    pytest.importorskip('matplotlib')
    size, drawn = SimpleNamespace(trials=5), list[int]()
    draws = Runner(
        size, size, lambda _, seed, __: drawn.append(seed), lambda *_: [], lambda _: [panel('')]
    )
    for seed in range(7):
        draws(lambda *_: None, quick=False, seed=seed)
    assert drawn == list(range(35))


def test_by_name_and_all():
    assert experiments_named(ALL) == EXPERIMENTS
    assert [each.name for each in experiments_named('video')] == ['video']
    words = rf'no experiment vidoe .*video.*; choose from {EXPERIMENTS[0].name}, '
    with pytest.raises(InputError, match=words):
        experiments_named('vidoe')


def test_the_page_has_a_row_and_a_picture_of_each_experiment_in_order():
    page = (DOCS / 'reproduce.md').read_text(encoding='utf-8')
    names = [each.name for each in EXPERIMENTS]
    assert re.findall(r'^\| \[([\w-]+)\]\(images/reproduce/\1\.png\)', page, re.MULTILINE) == names
    files = (DOCS / 'images' / 'reproduce').iterdir()
    assert sorted(path.name for path in files) == sorted(f'{name}.png' for name in names)
