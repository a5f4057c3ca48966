# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages that were not used, and events on the way, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.nodes.session import REJECTIONS

if TYPE_CHECKING:
    from collections import Counter


def rejections(fresh: Counter[str]) -> dict[str, int]:
    """Return how many messages were not used lately, by cause."""
    return {cause: fresh[cause] for cause in REJECTIONS if fresh[cause]}


def all_rejected(fresh: Counter[str]) -> str:
    """Return the causes if every message that came lately was rejected, or an empty string."""
    if not fresh['received'] or fresh['used']:
        return ''
    return ', '.join(f'{count} {cause}' for cause, count in rejections(fresh).items())


def input_causes(fresh: Counter[str], sensor: str, topic: str) -> dict[str, str]:
    """Return sentences by cause about what happened lately to a sensor's messages on a topic."""
    causes = {
        f'rejected {cause}': f'{sensor} samples rejected on {topic}: {cause} ({count})'
        for cause, count in rejections(fresh).items()
    }
    events = {
        'gaps': f'Gap between the stamps on {topic}',
        'restarts': 'The belief contradicted itself and was started again from the last window',
        'estimates_not_finite': 'Estimates that are not finite were withheld, please report it',
    }
    return {**causes, **{event: words for event, words in events.items() if fresh[event]}}
