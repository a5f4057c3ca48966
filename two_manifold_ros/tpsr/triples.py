# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a TPSR is learned from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class Triples:
    r"""
    Features of n ticks: of what came before, of the tick, and of what came from it on.

    Parameters
    ----------
    tests : (n, d)
        :math:`\varphi^T_t`, characteristic features: of the future from the tick on.
    next_tests : (n, d)
        :math:`\varphi^T_{t+1}`: of the future from the tick after it on.
    histories : (n, h)
        :math:`\varphi^H_t`, indicative features: of the past before the tick.
    observations : (n, p)
        :math:`\varphi^{AO}_t`, present features: of the observation, or of action and observation.
    importance : (n,)
        :math:`\lambda_t`, one unless actions were chosen by a policy that looks at the past.

    """

    tests: Floats
    next_tests: Floats
    histories: Floats
    observations: Floats
    importance: Floats

    def __len__(self) -> int:
        return len(self.tests)
