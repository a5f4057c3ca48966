# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Without numba the filter is slower and says the same."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from filter_runs import feed, stamps
import numpy as np
import pytest

from two_manifold_ros.acceleration import HAVE_NUMBA
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.model.model_file import save_model

if TYPE_CHECKING:
    from pathlib import Path

    from filter_runs import Stream

    from two_manifold_ros.model.model import Model

PROGRAM = """
import sys
import numpy as np
from two_manifold_ros.acceleration import HAVE_NUMBA
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.model.model_file import load_model

assert not HAVE_NUMBA
model, stream, output = sys.argv[1:]
given = np.load(stream)
live = Filter(load_model(model))
found = [
    estimate
    for stamp, sample in zip(given['stamps'].tolist(), given['samples'])
    for estimate in live.push(stamp, sample)
]
np.savez(
    output,
    stamps=[each.stamp_ns for each in found],
    **{
        name: [getattr(each, name) for each in found]
        for name in ('state', 'positions', 'covariances', 'velocity', 'evidence', 'familiarity')
    },
)
"""


@pytest.mark.skipif(not HAVE_NUMBA, reason='numba is not installed: there is nothing to compare')
@pytest.mark.parametrize('kind', ['slot_car_model', 'spectral_model'])
def test_the_same_numbers_without_numba(
    kind: str, stream: Stream, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    model: Model = request.getfixturevalue(kind)
    save_model(model, tmp_path / 'model')
    np.savez(
        tmp_path / 'stream.npz',
        stamps=np.array([stamp for stamp, _ in stream]),
        samples=np.array([sample for _, sample in stream]),
    )
    names = [str(tmp_path / name) for name in ('model', 'stream.npz', 'found.npz')]
    environment = os.environ | {'TWO_MANIFOLD_NUMBA': '0', 'PYTHONPATH': os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, '-c', PROGRAM, *names], env=environment, check=True)
    usual = feed(Filter(model), stream)
    with np.load(tmp_path / 'found.npz') as found:
        assert found['stamps'].tolist() == stamps(usual)
        for name in set(found.files) - {'stamps'}:
            wanted = np.array([getattr(each, name) for each in usual])
            np.testing.assert_allclose(found[name], wanted, rtol=1e-6, atol=1e-8)
