# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The methods by name."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.kernels.selection import KERNELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.comparison.method import Method
    from two_manifold_ros.comparison.protocol import SlotCarProtocol

_FOLDER = __package__

_PLACES = {
    'mean': ('mean_position', 'MeanPosition'),
    'previous': ('previous_position', 'PreviousPosition'),
    'imu-only': ('dead_reckoning', 'DeadReckoning'),
    'kalman': ('kalman_filter', 'KalmanFilter'),
    'hmm': ('hidden_markov', 'HiddenMarkov'),
    'nearest': ('nearest_windows', 'NearestWindows'),
    'belief': ('belief_filter', 'BeliefFilter'),
    'gaussian': ('manifold_hmm', 'gaussian_hmm'),
    'paper': ('manifold_hmm', 'paper_hmm'),
    'manifold': ('manifold_hmm', 'manifold_hmm'),
    'default': ('manifold_hmm', 'default'),
}
"""For each name the module of this folder, imported only when asked for, and what makes it."""

NAMES = tuple(_PLACES)
"""What runs unless something else is asked for."""

_KERNEL_PLACE = ('manifold_hmm', 'kernel_hmm')
_KNOWN_AS = {'laplacian-eigenmap': 'manifold'}

GROUPS = {'kernels': tuple(_KNOWN_AS.get(kernel, kernel) for kernel in KERNELS)}
"""Names that stand for several: the spectral filter with every kernel."""

EVERY = tuple(dict.fromkeys((*NAMES, *GROUPS['kernels'])))

OURS = 'default'
"""The one that all others are compared with."""


def methods_named(names: Sequence[str], protocol: SlotCarProtocol | None = None) -> list[Method]:
    """
    Make methods, in the order of ``EVERY``.

    Parameters
    ----------
    names
        Some of ``EVERY`` and ``GROUPS``.
    protocol
        Settles what the opponents otherwise choose for themselves.

    Raises
    ------
    InputError
        If there is no method of a name.

    """
    known = (*EVERY, *GROUPS)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        msg = f'there is no method {", ".join(unknown) or "named"}; choose from {",".join(known)}'
        raise InputError(msg)
    wanted = {each for name in names for each in GROUPS.get(name, (name,))}
    settled = {} if protocol is None else _settled(protocol)
    return [_make(name, settled.get(name, {})) for name in EVERY if name in wanted]


def _settled(protocol: SlotCarProtocol) -> dict[str, dict[str, Any]]:
    """Return what the paper settles of methods that otherwise choose for themselves."""
    return {
        'kalman': {'states': protocol.states, 'block_rows': protocol.window},
        'hmm': {'states': (protocol.states,)},
    }


def _make(name: str, settings: dict[str, Any]) -> Method:
    module, maker = _PLACES.get(name, _KERNEL_PLACE)
    given = settings if name in _PLACES else {'kernel': name}
    method: Method = getattr(import_module(f'{_FOLDER}.{module}'), maker)(**given)
    return method
