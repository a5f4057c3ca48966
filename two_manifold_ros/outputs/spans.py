# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A span of time in words."""

from __future__ import annotations

_YEAR_S = 31_556_952.0
_UNITS = ((_YEAR_S, 'years'), (86_400.0, 'days'), (3600.0, 'hours'), (60.0, 'minutes'))


def span(seconds: float) -> str:
    """Return a span in the largest unit of which it has two, for example ``'57 years'``."""
    for unit_s, name in _UNITS:
        if seconds >= 2.0 * unit_s:
            count = seconds / unit_s
            return f'{count:.2g} {name}' if count < 10.0 else f'{count:.0f} {name}'
    return f'{seconds:.3g} s'
