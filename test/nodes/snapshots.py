# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Health of a node, its fields and those of its input given by name."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from two_manifold_ros.interface.assessment import Health, InputHealth


def snapshot(**known: Any) -> Health:  # noqa: ANN401 - fields of two classes
    names = {each.name for each in fields(InputHealth)} & known.keys()
    return Health(InputHealth(**{name: known.pop(name) for name in names}), **known)
