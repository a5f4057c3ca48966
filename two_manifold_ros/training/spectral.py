# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Train the spectral filter."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.readout import training_targets
from two_manifold_ros.hse_hmm.tables import spectral_radius, transition
from two_manifold_ros.model.model import Model
from two_manifold_ros.training.cross_validation import (
    cross_validate,
    fit_filter,
    training_states,
)
from two_manifold_ros.training.dataset import driving_dataset
from two_manifold_ros.training.embeddings import embed, impute_dataset, novelty_anchors
from two_manifold_ros.training.summary import check_horizons, head_fields, summarise, TWICE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.inspection.positions import PositionReport
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.training.settings import TrainingSettings


def train_spectral(
    recordings: Sequence[Recording],
    settings: TrainingSettings,
    progress: Callable[[str, float], None],
    drives: Sequence[PositionReport],
) -> Model:
    """
    Train the spectral filter.

    Choices not given are made on held-out blocks, on which the covariances are calibrated too;
    then everything is learned from all of the recordings.
    """
    dataset = driving_dataset(recordings, settings)
    candidate, validation = cross_validate(
        dataset, settings, lambda stage, share: progress(stage, 0.5 * share)
    )
    progress('learning from everything', 0.5)
    embeddings = embed(dataset.observations, dataset.window, settings, candidate.neighbours)
    if settings.imputes_positions:
        dataset, embeddings = impute_dataset(dataset, embeddings)
    ticks = embeddings.training.ticks
    targets = training_targets(dataset.tracks, ticks, settings.horizons, dataset.period_s)
    check_horizons(targets, settings)
    # The configuration of the paper, which reads positions by a ridge regression, is left alone.
    pasts = embeddings.training.pasts
    novelty = novelty_anchors(pasts, spliced=settings.readout != 'ridge')
    novelty = replace(novelty, still=max(novelty.still, dataset.still))
    # Mean square differences, in standard deviations, below 1e-9 are rounding.
    numbers = dataset.window * int(np.count_nonzero(dataset.channels.live))
    if not novelty.squared > 1e-9 * numbers:
        raise InputError(TWICE)
    fitted = fit_filter(embeddings, targets, candidate, settings)
    tables, readout = fitted.tables, fitted.readout
    if not isinstance(validation, str):
        readout = readout.calibrated(validation.calibration)
    chosen = asdict(candidate)
    summary = summarise(
        recordings,
        dataset,
        settings,
        embeddings.notes,
        len(ticks),
        fitted.directions.singular_values,
        chosen,
        validation,
        drives,
    )
    radius = spectral_radius(transition(tables.weights, tables.states))
    summary['spectral_radius'] = round(radius, 9)
    progress('learning from everything', 1.0)
    # A state that leaves three times the 99 % quantile of its norm over 2000 ticks of training is
    # of a filter that broke (mathematics, section 6.5): one that works exceeds it by a half now
    # and then.
    states = training_states(embeddings, fitted.belief(), 2_000)
    norms = np.linalg.norm(states[:, 1:], axis=1)
    return Model(
        **head_fields(recordings, dataset, settings),
        summary=summary,
        series=embeddings.series,
        starts=pasts.starts,
        novelty=novelty,
        tables=tables,
        operator=fitted.operator,
        readout=readout,
        warm_start=embeddings.warm_start(fitted.directions),
        # Without guards norms have no bound, and nothing is compared with this one.
        state_bound=3.0 * float(np.quantile(norms, 0.99)) if settings.guarded else 1.0,
        guarded=settings.guarded,
        rest=dataset.rest,
    )
