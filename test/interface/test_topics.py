# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""docs/topics.md, against the table of topics and the diagnostics."""

from __future__ import annotations

from pathlib import Path
import re

import pytest

from two_manifold_ros.interface.snapshot import REJECTIONS
from two_manifold_ros.interface.topics import ADAPTING, PUBLISHED, Topics

PAGE = (Path(__file__).resolve().parents[2] / 'docs' / 'topics.md').read_text()


NAMED = {topic.name: topic for topic in (Topics.IMU, Topics.IMAGE, *PUBLISHED.values())}
NAMED |= {f'{ADAPTING}{topic.name}': topic for topic in (Topics.LEARNING, Topics.STATUS)}


@pytest.mark.parametrize('name', NAMED)
def test_type_and_quality_of_every_topic(name: str) -> None:
    topic = NAMED[name]
    row = re.search(rf'^\| `{name}`.*$', PAGE, re.MULTILINE)
    assert row is not None
    quality = 'reliable' if topic.reliable else 'best effort'
    latched = ', transient local' if topic.latched else ''
    assert f'| `{topic.msgtype}` | {quality}, depth {topic.depth}{latched} |' in row[0]


def test_every_cause_of_rejection_is_explained() -> None:
    assert all(f'`{cause}`' in PAGE for cause in REJECTIONS)
