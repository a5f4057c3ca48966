# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Something that is wrong with the input, in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """
    Something that is wrong with the input.

    Parameters
    ----------
    cause
        A short key, the same as long as the finding is.
    words
        What is wrong and what helps, one sentence without a full stop.
    refuses
        Whether nothing may be believed as long as it is so; otherwise estimates are unsure.

    """

    cause: str
    words: str
    refuses: bool
