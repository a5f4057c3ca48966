# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Snapshots of a node, their fields given by name."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from two_manifold_ros.interface.assessment import FilterHealth, InputHealth, Snapshot, TopicHealth


def snapshot(**known: Any) -> Snapshot:  # noqa: ANN401 - fields of several classes
    made = {}
    for part, kind in (('topic', TopicHealth), ('input', InputHealth), ('filter', FilterHealth)):
        names = {each.name for each in fields(kind)} & known.keys()
        made[part] = kind(**{name: known.pop(name) for name in names})
    return Snapshot(**made, **known)
