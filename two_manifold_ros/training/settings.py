# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of a training."""

from __future__ import annotations

from dataclasses import dataclass, replace
import math

from two_manifold_ros.errors import InputError
from two_manifold_ros.names import (
    CLOCKS,
    COUPLINGS,
    GUARDS,
    HORIZONS,
    KERNELS,
    METHODS,
    OBSERVATIONS,
    READOUTS,
    STEP_LOAD,
)


@dataclass(frozen=True)
class TrainingSettings:
    """
    Settings of a training. ``None`` means that training chooses from the data, or as below.

    Parameters
    ----------
    rate_hz, window
        Ticks per second, and ticks in a past window and in a future window.
    states, dimension
        Dimension k of the state, the constant included, and coordinates of each embedding, m;
        fewer if there are few training ticks. With method ``route`` and 0 states there is no
        embedding, and the state is the constant.
    kernel, neighbours
        Manifold learner, one of ``KERNELS``; neighbours of a window in its graph, if it has one.
    coupling
        Coupling of the two manifolds, one of ``COUPLINGS``.
    observation
        Observation operator, one of ``OBSERVATIONS``. Negative factors can mislead ``ridge``, so
        training does not choose it.
    readout
        Read-out of positions, one of ``READOUTS``. ``mkdr`` estimates the positions of training
        ticks that have none, with method ``route`` too. By default it is used if positions are
        rare, see ``train.with_readout``.
    horizons
        Ticks ahead, increasing, 0 first.
    method
        One of ``METHODS``: a Bayes filter over the places of the route (see ``route``), the
        spectral filter of the papers (see ``hse_hmm``), or a TPSR, whose state comes from an
        incremental SVD of random features (see `RouteTpsr`) and which needs neither
        kernel, neighbours, dimension nor coupling.
    sharpness, persistence
        Likelihood of the route belief, see ``Route``. The default sharpness is the exponent of
        ``route.learning.Tuning`` at the usual rate, scaled at other rates so that a second counts
        as much. The default persistence is one over the ticks in the memory of the observations.
    bandwidth_factor, ridge
        Observation operator of the spectral filter, see ``Candidate``; the ridge is for the
        ``observation`` called ``ridge``.
    clock
        Ticks of the spectral filter, one of ``CLOCKS``: ticks of driving, so that stops are left
        out of its windows, or ticks of time, as in the papers.
    max_step_load
        Share of a core of a small robot. With method ``route``, training tries a faster rate if
        its ticks take no more than this, and if rate, window and likelihood are not given. 0
        tries none.
    features, feature_seed
        Number of random Fourier features of a window, for method ``tpsr``, and the seed of their
        frequencies.
    guards
        One of ``GUARDS``. With ``off`` the spectral filter runs as the papers print it, see
        mathematics, section 15.

    Raises
    ------
    InputError
        If a value is unknown or out of range.

    """

    rate_hz: float | None = None
    window: int | None = None
    states: int | None = None
    kernel: str = KERNELS[0]
    neighbours: int | None = None
    dimension: int = 100
    coupling: str = COUPLINGS[0]
    observation: str = OBSERVATIONS[0]
    readout: str | None = None
    horizons: tuple[int, ...] = HORIZONS
    method: str = METHODS[0]
    sharpness: float | None = None
    persistence: float | None = None
    bandwidth_factor: float | None = None
    ridge: float | None = None
    clock: str = CLOCKS[0]
    guards: str = GUARDS[0]
    max_step_load: float = STEP_LOAD
    features: int = 1000
    feature_seed: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        _check_choice('method', self.method, METHODS)
        if self.method == 'tpsr' and self.readout not in {None, 'sharpened'}:
            msg = f'method tpsr has no readout {self.readout}: leave it out'
            raise InputError(msg)
        _check_choice('kernel', self.kernel, KERNELS)
        _check_choice('coupling', self.coupling, COUPLINGS)
        if self.readout is not None:
            _check_choice('readout', self.readout, READOUTS)
        _check_choice('observation', self.observation, OBSERVATIONS)
        _check_choice('clock', self.clock, CLOCKS)
        _check_choice('guards', self.guards, GUARDS)
        if self.rate_hz is not None and not 0.1 <= self.rate_hz <= 1000.0:
            msg = f'a rate of {self.rate_hz} Hz is outside 0.1 to 1000 Hz'
            raise InputError(msg)
        for name in ('window', 'states', 'neighbours', 'dimension', 'features'):
            count = getattr(self, name)
            # The positions of the map need no state.
            needless = name == 'states' and count == 0 and self.method == 'route'
            if count is not None and count < 2 and not needless:
                msg = f'{name} is {count}, but must be at least 2'
                raise InputError(msg)
        if self.feature_seed < 0:
            msg = f'feature_seed is {self.feature_seed}, but must be at least 0'
            raise InputError(msg)
        for name in ('sharpness', 'persistence', 'bandwidth_factor', 'ridge'):
            number = getattr(self, name)
            if number is not None and not 0.0 < number < math.inf:
                words = name.removesuffix('_factor')
                msg = f'{words} is {number}, but must be above 0'
                raise InputError(msg)
        self._check_load_and_horizons()

    def _check_load_and_horizons(self) -> None:
        if not 0.0 <= self.max_step_load <= 1.0:
            msg = f'max_step_load is {self.max_step_load}, but must be a share of a core, 0 to 1'
            raise InputError(msg)
        ahead = self.horizons
        if not ahead or ahead[0] != 0 or list(ahead) != sorted(set(ahead)):
            shown = ','.join(map(str, ahead))
            msg = f'horizons {shown!r} must start with 0 and increase'
            raise InputError(msg)

    def times_the_rate(self, factor: float, native_hz: float) -> TrainingSettings | None:
        """
        Return complete settings at another rate, window and horizons as long in seconds.

        ``None`` where an IMU of ``native_hz`` is not that fast, a horizon is no whole number of
        ticks, or nothing is left of the window.
        """
        rate_hz = factor * (self.rate_hz or 0.0)
        window = round(factor * (self.window or 0))
        ticks = [factor * horizon for horizon in self.horizons]
        whole = all(tick.is_integer() for tick in ticks)
        # An IMU a little slower than its nominal rate still has it.
        if not (whole and rate_hz <= 1.05 * native_hz and window > 1):
            return None
        return replace(self, rate_hz=rate_hz, window=window, horizons=tuple(map(int, ticks)))

    @property
    def guarded(self) -> bool:
        """True unless the spectral filter runs as the papers print it."""
        return self.guards == 'on'

    @property
    def imputes_positions(self) -> bool:
        """True if positions are estimated where none is known."""
        return self.readout == 'mkdr'


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        msg = f'there is no {name} named {value!r}; choose one of {", ".join(choices)}'
        raise InputError(msg)
