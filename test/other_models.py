# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Models that differ from a trained one in one thing, for tests of what is done with them."""

from dataclasses import replace

import numpy as np

from two_manifold_ros.hse_hmm.readout import SharpenedReadout
from two_manifold_ros.model.model import Model, TpsrModel
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model


def tolerant(model: Model) -> Model:
    """Return a model to which nothing is novel, so that it is never silent."""
    novelty = replace(model.novelty, own=0.0, other=0.0, squared=1e6)
    return replace(model, novelty=novelty)


def displaced(model: Model, metres: float) -> Model:
    """Return a tolerant model whose positions are off by so much."""
    readout = model.readout
    assert isinstance(readout, SharpenedReadout)
    aside = np.zeros(readout.targets.shape[1:])
    aside[:-1, 0] = metres
    moved = SharpenedReadout(readout.targets + aside, readout.added, readout.factors)
    return replace(tolerant(model), readout=moved)


def small_tpsr(
    recording: Recording, horizons: tuple[int, ...], rate_hz: float = 10.0, window: int = 20
) -> TpsrModel:
    """Return a TPSR that is trained in a second."""
    settings = TrainingSettings(
        method='tpsr', features=400, rate_hz=rate_hz, window=window, horizons=horizons,
        states=30, bandwidth_factor=1.4,
    )  # fmt: skip
    model = train_model([recording], settings)
    assert isinstance(model, TpsrModel)
    return model
