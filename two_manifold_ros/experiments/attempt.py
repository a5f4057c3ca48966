# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One run of an experiment, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.experiments.claim import Claim
    from two_manifold_ros.experiments.experiment import Experiment


@dataclass(frozen=True)
class Attempt:
    """
    How the run of an experiment ended.

    Parameters
    ----------
    experiment
        What ran.
    seconds
        How long, by the clock on the wall.
    claims
        What it came to; none if it broke off.
    error
        Why it broke off, or nothing.

    """

    experiment: Experiment
    seconds: float
    claims: tuple[Claim, ...] = ()
    error: str = ''

    @property
    def passed(self) -> bool:
        """Whether it came to an end and every claim passes."""
        return not self.error and all(claim.passed for claim in self.claims)

    @property
    def score(self) -> str:
        """How many of the claims pass, or that it broke off."""
        if self.error:
            return 'broke off'
        return f'{sum(claim.passed for claim in self.claims)} of {len(self.claims)}'

    @property
    def picture(self) -> str | None:
        """Name of the file with the picture, if it came that far."""
        return None if self.error else self.experiment.picture

    def to_json(self) -> dict[str, Any]:
        """Return what `two-manifold reproduce --json` says about it."""
        return {
            **self.experiment.to_json(),
            'picture': self.picture,
            'claims': [vars(claim) for claim in self.claims],
            'passed': self.passed,
            'seconds': round(self.seconds, 1),
            'error': self.error or None,
        }
