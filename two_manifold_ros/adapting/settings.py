# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What can be chosen about a filter that keeps learning."""

from __future__ import annotations

from dataclasses import dataclass
import math

from two_manifold_ros.errors import InputError

_COUNTS = {
    'features': 10,
    'observation_features': 2,
    'states': 2,
    'rank': 2,
    'fold_every': 1,
    'seed': 0,
}
_LENGTHS = ('window_s', 'ridge', 'memory_s', 'reference_memory_s', 'quarantine_s', 'warm_up_s')


@dataclass(frozen=True)
class AdaptingSettings:
    """
    How a filter learns from the stream that it filters.

    Parameters
    ----------
    rate_hz
        Ticks per second.
    window_s
        Seconds in a history, and in a test.
    horizons
        Ticks ahead at which positions are read out, 0 first.
    features, observation_features
        Random Fourier features of a window, and of an observation.
    states
        Dimension of the state.
    rank
        Directions that are kept, at least the states; what goes beyond them is a buffer.
    ridge
        Ridge on the covariance of the observation features, per tick.
    memory_s
        Seconds of driving after which an old tick counts only 1/e for the dynamics.
    reference_memory_s
        The same for the read-out of positions, and how far back it is learned anew.
    fold_every
        Ticks that share one update of the bases.
    quarantine_s
        For how long something unfamiliar has to last before it is taken as the new usual.
    warm_up_s
        Seconds of driving from which scales and bandwidths are taken, where no model gives them.
    seed
        Of the random features.

    Raises
    ------
    InputError
        If a value makes no sense.

    """

    rate_hz: float = 20.0
    window_s: float = 2.0
    horizons: tuple[int, ...] = (0, 10, 20, 50, 100)
    features: int = 1000
    observation_features: int = 50
    states: int = 60
    rank: int = 80
    ridge: float = 0.3
    memory_s: float = 200.0
    reference_memory_s: float = 60.0
    fold_every: int = 32
    quarantine_s: float = 8.0
    warm_up_s: float = 20.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        if not 0.1 <= self.rate_hz <= 1000.0:
            msg = f'a rate of {self.rate_hz} Hz is outside 0.1 to 1000 Hz'
            raise InputError(msg)
        for name in _LENGTHS:
            if not 0.0 < getattr(self, name) < math.inf:
                msg = f'{name} is {getattr(self, name)}, but must be above 0'
                raise InputError(msg)
        least = {**_COUNTS, 'rank': max(self.states, 2)}
        for name, count in least.items():
            if getattr(self, name) < count:
                msg = f'{name} is {getattr(self, name)}, but must be at least {count}'
                raise InputError(msg)
        ahead = self.horizons
        if not ahead or ahead[0] != 0 or list(ahead) != sorted(set(ahead)):
            shown = ','.join(map(str, ahead))
            msg = f'horizons {shown!r} must begin with 0 and increase'
            raise InputError(msg)
        if self.warm_up_s * self.rate_hz < 4 * self.window:
            msg = (
                f'warm_up_s is {self.warm_up_s:g}, but must be at least four windows of '
                f'{self.window_s:g} s'
            )
            raise InputError(msg)

    @property
    def window(self) -> int:
        """Ticks in a window, two at least."""
        return max(2, self.ticks(self.window_s))

    @property
    def period_ns(self) -> int:
        """Length of a tick."""
        return round(1e9 / self.rate_hz)

    def ticks(self, seconds: float) -> int:
        """Return the number of ticks in some seconds, one at least."""
        return max(1, round(seconds * self.rate_hz))
