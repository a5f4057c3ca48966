# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Settings that make no sense are refused before anything is read."""

from __future__ import annotations

from typing import Any

import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.training.settings import TrainingSettings


@pytest.mark.parametrize(
    ('values', 'words'),
    [
        ({'method': 'magic'}, "no method named 'magic'; choose one of route, spectral"),
        ({'kernel': 'cosine'}, "no kernel named 'cosine'; choose one of laplacian-eigenmap, "),
        ({'coupling': 'none'}, "no coupling named 'none'; choose one of cross-covariance, gram"),
        ({'readout': 'mean'}, "no readout named 'mean'; choose one of sharpened, ridge"),
        ({'method': 'tpsr', 'readout': 'ridge'}, 'method tpsr has no readout ridge'),
        ({'clock': 'sundial'}, "no clock named 'sundial'; choose one of driving, time"),
        ({'observation': 'lasso'}, "no observation named 'lasso'; choose one of raw, ridge"),
        ({'rate_hz': 0.0}, 'a rate of 0.0 Hz is outside 0.1 to 1000 Hz'),
        ({'rate_hz': float('nan')}, 'outside 0.1 to 1000 Hz'),
        ({'window': 1}, 'window is 1, but must be at least 2'),
        ({'neighbours': 0}, 'neighbours is 0, but must be at least 2'),
        ({'persistence': -1.0}, 'persistence is -1.0, but must be above 0'),
        ({'sharpness': 0.0}, 'sharpness is 0.0, but must be above 0'),
        ({'bandwidth_factor': float('nan')}, 'bandwidth_factor is nan, but must be above 0'),
        ({'ridge': float('inf')}, 'ridge is inf, but must be above 0'),
        ({'horizons': ()}, 'must start with 0 and increase'),
        ({'horizons': (1, 2)}, "horizons '1,2' must start with 0 and increase"),
        ({'horizons': (0, 5, 5)}, 'must start with 0 and increase'),
    ],
)
def test_nonsense_is_refused(values: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        TrainingSettings(**values)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    'values',
    [
        {'rate_hz': 0.1},
        {'rate_hz': 1000.0},
        {'window': 2, 'states': 2, 'neighbours': 2, 'dimension': 2},
        {'horizons': (0,)},
        {'persistence': 1e-3, 'sharpness': 1e-3, 'bandwidth_factor': 1e-3, 'ridge': 1e-3},
    ],
)
def test_the_ends_of_the_ranges_are_allowed(values: dict[str, Any]) -> None:
    settings = TrainingSettings(**values)
    assert {name: getattr(settings, name) for name in values} == values
