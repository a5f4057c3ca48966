# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which settings are tuned, in which order, and what is tried next to a value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TYPE_CHECKING

from two_manifold_ros.kernels.selection import has_neighbours
from two_manifold_ros.route.learning import Tuning as RouteTuning
from two_manifold_ros.training.settings import OBSERVATIONS
from two_manifold_ros.training.validation import usual_candidate
from two_manifold_ros.two_manifold.couplings import COUPLINGS

if TYPE_CHECKING:
    from collections.abc import Collection

    from two_manifold_ros.training.assembly import Candidate
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings

ORDER = {
    'route': ('sharpness', 'persistence', 'rate_hz'),
    'spectral': (
        'bandwidth_factor', 'states', 'window', 'neighbours', 'rate_hz', 'kernel', 'readout',
        'observation', 'ridge', 'coupling', 'dimension',
    ),
    'tpsr': ('bandwidth_factor', 'states', 'window', 'rate_hz', 'observation', 'ridge'),
}  # fmt: skip
"""By method: what tells most comes first, and before it what costs least to try."""

_SCALES: dict[str, tuple[float, ...]] = {
    'sharpness': (0.05, 0.1, 0.2, 0.4, 0.8),
    'persistence': (0.05, 0.1, 0.2, 0.5, 1.0),
    'states': (6, 10, 20, 40, 60, 80),
    'neighbours': (10, 15, 30, 60, 100, 150),
    'dimension': (25, 50, 100, 200),
    'bandwidth_factor': (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0),
    'ridge': (0.3, 1.0, 3.0),
}
_CHOICES: dict[str, tuple[Any, ...]] = {
    'kernel': ('laplacian-eigenmap', 'gaussian', 'locally-linear', 'diffusion-map-beltrami'),
    'coupling': COUPLINGS,
    'readout': ('sharpened', 'ridge'),
    'observation': OBSERVATIONS,
}
"""
Of the kernels one of each family: each more is a trial less for everything else. The read-out
``mkdr`` is that of ``sharpened`` where positions are dense, and where they are not it is scored
on other ticks than the rest, those near a measured position, so that errors do not compare.
"""

_SHORTEST_WINDOW = 10
_NATIVE = 1.05
"""An IMU this much slower than its nominal rate still has it."""


@dataclass(frozen=True)
class Steps:
    """
    The steps that a search may take.

    Parameters
    ----------
    start
        Where it starts, nothing left open.
    given
        Names of settings that stay as they are.
    native_hz
        Rate of the IMU.

    """

    start: TrainingSettings
    given: frozenset[str]
    native_hz: float

    @property
    def names(self) -> tuple[str, ...]:
        """What is tuned, in order."""
        return tuple(name for name in ORDER[self.start.method] if name not in self.given)

    def around(self, name: str, settings: TrainingSettings) -> list[TrainingSettings]:
        """Return the settings one step away along a name."""
        if name == 'rate_hz':
            return self._rates(settings)
        if name == 'window':
            windows = [settings.window // 2, settings.window * 2] if settings.window else []
            return [replace(settings, window=w) for w in windows if w >= _SHORTEST_WINDOW]
        if name == 'neighbours' and not has_neighbours(settings.kernel):
            return []
        if name == 'ridge' and settings.observation != 'ridge':
            return []
        value = getattr(settings, name)
        if name in _CHOICES:
            values = [other for other in _CHOICES[name] if other != value]
        else:
            scale = _SCALES[name]
            below = [other for other in scale if other < value]
            values = below[-1:] + [other for other in scale if other > value][:1]
        return [replace(settings, **{name: other}) for other in values]

    def _rates(self, settings: TrainingSettings) -> list[TrainingSettings]:
        """Return half and twice the rate where the horizons stay at the same times."""
        start_hz, rate_hz = self.start.rate_hz or 0.0, settings.rate_hz or 0.0
        changed = []
        for factor in (0.5, 2.0):
            wanted = rate_hz * factor
            ticks = [horizon * factor for horizon in settings.horizons]
            window = round((settings.window or 0) * factor)
            near = 0.5 * start_hz <= wanted <= 2.0 * start_hz
            whole = all(tick.is_integer() for tick in ticks)
            if near and whole and wanted <= _NATIVE * self.native_hz and window > 1:
                horizons = tuple(map(int, ticks))
                changed.append(replace(settings, rate_hz=wanted, window=window, horizons=horizons))
        return changed


def settle(
    settings: TrainingSettings, dataset: Dataset, chosen: Candidate | RouteTuning
) -> TrainingSettings:
    """
    Return settings that leave nothing open.

    Parameters
    ----------
    settings
        What was asked for.
    dataset
        Gives the rate and the window.
    chosen
        What a validation chose of the rest.

    """
    settled = replace(settings, rate_hz=dataset.rate_hz, window=dataset.window)
    if isinstance(chosen, RouteTuning):
        return replace(settled, sharpness=chosen.sharpness, persistence=chosen.persistence)
    return replace(
        settled,
        states=chosen.states,
        neighbours=chosen.neighbours,
        bandwidth_factor=chosen.bandwidth_factor,
        ridge=chosen.ridge or usual_ridge(settings),
    )


def usual_ridge(settings: TrainingSettings) -> float:
    """Return the ridge with which the observation operator is tried when it gets one."""
    return usual_candidate(replace(settings, observation='ridge')).ridge or 0.0


def given_names(settings: TrainingSettings, named: Collection[str] = ()) -> frozenset[str]:
    """
    Return what stays as it is.

    Parameters
    ----------
    settings
        What they have that could have been left open is given.
    named
        Names of settings without such a default, as far as somebody gave them.

    """
    tuned = ORDER[settings.method]
    known = [name for name in tuned if name not in (*_CHOICES, 'dimension')]
    given = {name for name in known if getattr(settings, name) is not None}
    return frozenset(given | set(named))
