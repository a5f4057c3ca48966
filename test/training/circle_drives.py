# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Drives around a circle and their embeddings: small enough to check everything by hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.structure import learn_structure, Structure

PERIOD_S = 0.1
WINDOW = 10
RADIUS_M = 2.0
LAPS = ((40, 43, 38, 41), (42, 39, 40))
"""Ticks of each lap of each segment."""


@dataclass(frozen=True)
class Drives:
    """Segments: observations (T, 3), positions (T, 2), and what was learned from them."""

    observations: list[np.ndarray]
    positions: list[np.ndarray]
    structure: Structure


def make_drives(seed: int = 0) -> Drives:
    rng = np.random.default_rng(seed)
    observations, positions = [], []
    for laps in LAPS:
        angle = np.concatenate([2.0 * np.pi * np.arange(ticks) / ticks for ticks in laps])
        felt = np.stack([np.cos(angle), np.sin(2.0 * angle), np.cos(3.0 * angle + 1.0)], axis=1)
        observations.append(felt + 0.2 * rng.normal(size=felt.shape))
        positions.append(RADIUS_M * np.stack([np.cos(angle), np.sin(angle)], axis=1))
    structure = learn_structure(observations, WINDOW, TrainingSettings(), 10)
    return Drives(observations, positions, structure)
