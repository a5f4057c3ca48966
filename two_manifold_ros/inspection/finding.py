# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One thing that the user should know about a recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal['info', 'warning']


@dataclass(frozen=True)
class Finding:
    """
    One thing that the user should know.

    Parameters
    ----------
    severity
        A warning can spoil a model; an info cannot.
    code
        Stable name for machines.
    sentence
        What was found and what to do about it.

    """

    severity: Severity
    code: str
    sentence: str


def info(code: str, sentence: str) -> Finding:
    """Return a finding that cannot spoil a model."""
    return Finding('info', code, sentence)


def warning(code: str, sentence: str) -> Finding:
    """Return a finding that can spoil a model."""
    return Finding('warning', code, sentence)
