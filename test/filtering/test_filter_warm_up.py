# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""After the warm-up nothing is compiled any more, whatever comes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from filter_runs import feed
import numpy as np
import pytest

from two_manifold_ros.acceleration import HAVE_NUMBA
from two_manifold_ros.filtering.filter import Filter

if TYPE_CHECKING:
    from filter_runs import Stream

    from two_manifold_ros.model.head import ModelHead


def compiled() -> dict[tuple[str, str], int]:
    """Return for how many kinds of arguments each loop of the package was compiled."""
    return {
        (module, name): len(value.signatures)
        for module, loaded in list(sys.modules.items())
        if module.startswith('two_manifold_ros.')
        for name, value in vars(loaded).items()
        if hasattr(value, 'signatures')
    }


@pytest.mark.skipif(not HAVE_NUMBA, reason='nothing is compiled without numba')
@pytest.mark.parametrize('kind', ['slot_car_model', 'spectral_model', 'tpsr_model'])
def test_no_sample_waits_for_a_compiler(
    kind: str, request: pytest.FixtureRequest, stream: Stream
) -> None:
    model: ModelHead = request.getfixturevalue(kind)
    live = Filter(model)
    live.warm_up()
    before = compiled()
    feed(live, stream[:80])
    feed(live, stream[90:120])
    feed(live, [(stamp, 3.0 * sample) for stamp, sample in stream[125:200]])
    feed(live, [(stamp, np.zeros(6)) for stamp, _ in stream])
    assert compiled() == before
