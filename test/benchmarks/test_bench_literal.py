# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The tables about the literal filter are of the filter that `train --method paper` makes."""

from dataclasses import replace

import bench_literal
import numpy as np
import pytest

from two_manifold_ros.comparison.comparing import compare
from two_manifold_ros.comparison.own_filters import methods_named

SMALL = replace(bench_literal.LITERAL, learned_ticks=600, window=40, neighbours=20, directions=6)


@pytest.mark.parametrize(
    ('name', 'column'), [('paper', 'manifold'), ('paper-gaussian', 'gaussian')]
)
def test_the_letter_is_the_method_paper(name, column):
    plan = bench_literal.plan_for(0, SMALL)
    settings = replace(plan.train.settings, window=SMALL.window, horizons=(0, 1, 30, 100))
    changes = {'window': SMALL.window, 'neighbours': 20, 'states': 7}
    tests = tuple(
        replace(each, truth=each.truth[:, list(settings.horizons)],
                directions=each.directions[:, list(settings.horizons)])
        for each in plan.tests
    )  # fmt: skip
    short = replace(plan, train=replace(plan.train, settings=settings), tests=tests)
    (result,) = compare(short, methods_named([name], changes=changes)).results
    assert result.scores is not None
    wanted = [each.all.rmse_m for each in result.scores]
    kernel = bench_literal.KERNELS[column]
    errors, _ = bench_literal.run(0, kernel, SMALL)
    np.testing.assert_allclose(errors[list(settings.horizons)], wanted, rtol=1e-4)


def test_every_table_of_the_page_is_measured():
    kept = bench_literal.read()
    for name, rows in bench_literal.GROUPS.items():
        assert set(kept[name]) == set(rows), name
        assert len({tuple(sorted(cars)) for cars in kept[name].values()}) == 1, name
