# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages that were not used, and events on the way, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.outputs.rejections import REJECTIONS, rejections

if TYPE_CHECKING:
    from collections import Counter


def rejection_key(cause: str) -> str:
    """Return under which key `input_causes` tells of messages that were not used."""
    return f'rejected {cause}'


def input_causes(fresh: Counter[str], sensor: str, topic: str) -> dict[str, str]:
    """Return sentences by cause about what happened lately to a sensor's messages on a topic."""
    causes = {
        rejection_key(cause): (
            f'{sensor} samples rejected on {topic}: {cause} ({count}): {REJECTIONS[cause]}'
        )
        for cause, count in rejections(fresh).items()
    }
    events = {
        'restarts': 'The belief contradicted itself and was started again from the last window',
        'estimates_not_finite': 'Estimates that are not finite were withheld, please report it',
    }
    return {**causes, **{event: words for event, words in events.items() if fresh[event]}}
