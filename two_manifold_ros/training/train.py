# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Train a model from recordings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.belief import Belief
from two_manifold_ros.hse_hmm.readout import training_targets
from two_manifold_ros.hse_hmm.tables import spectral_radius, transition
from two_manifold_ros.model.model import Model
from two_manifold_ros.training.assembly import assemble, training_states
from two_manifold_ros.training.dataset import with_lap_scales
from two_manifold_ros.training.driving_clock import driving_dataset, familiar_anchors
from two_manifold_ros.training.holdout import any_position, hold_out, hold_out_in_turn
from two_manifold_ros.training.route_training import train_route
from two_manifold_ros.training.structure import learn_states, Structure, with_completed_positions
from two_manifold_ros.training.summary import (
    check_horizons,
    check_streams,
    head_fields,
    Learned,
    summarise,
)
from two_manifold_ros.training.time_scales import with_spectral_scales
from two_manifold_ros.training.tpsr_structure import TpsrStructure
from two_manifold_ros.training.validation import (
    usual_candidate,
    validate,
    validate_left_out,
    Validation,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.model.head import TrainedModel
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.training.assembly import Assembly
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.training.structure import AnyStructure
    from two_manifold_ros.typing import Floats


STATE_BOUND_FACTOR = 3.0
"""Times the 99 % quantile of the state's norm in a run over training (section 6.5). The state of
a filter that works exceeds that quantile by a half now and then; of one that broke, by orders."""

STATE_BOUND_TICKS = 2_000
"""Ticks of that run."""

SAME = 1e-9
"""Mean square difference of two windows, in standard deviations, that is rounding."""


def _silent(stage: str, share: float) -> None:
    pass


def train_model(
    recordings: Sequence[Recording],
    settings: TrainingSettings,
    progress: Callable[[str, float], None] | None = None,
) -> TrainedModel:
    """
    Train a model of the method that the settings name.

    Parameters
    ----------
    recordings
        With positions, all of one track and one frame.
    settings
        What was chosen by the user.
    progress
        Called with the stage in words and the share done, 0 to 1.

    Raises
    ------
    InputError
        If the recordings cannot be trained on; the message says why.

    """
    train = train_route if settings.method == 'route' else train_spectral
    return train(recordings, settings, progress or _silent)


def train_spectral(
    recordings: Sequence[Recording],
    settings: TrainingSettings,
    tell: Callable[[str, float], None] = _silent,
) -> Model:
    """
    Train the spectral filter, or a TPSR, see `train_model`.

    Blocks are held out first, on which the bandwidth of the observation kernel and, if not given,
    the neighbours and the number of states are chosen in closed loop and the covariances
    calibrated; then everything is learned from all of the recordings. A TPSR is learned first, and
    then followed with the surroundings of each tick left out of its read-out.
    """
    check_streams(recordings)
    tell('averaging samples over ticks', 0.0)
    settings = with_lap_scales(recordings, with_spectral_scales(recordings, settings))
    dataset, rest, still = driving_dataset(recordings, settings)
    validation: Validation | str = ''
    if settings.method != 'tpsr':
        validation = _validate(dataset, settings, lambda stage, share: tell(stage, 0.5 * share))
    tell('learning from everything', 0.5)
    candidate = usual_candidate(settings)
    if isinstance(validation, Validation):
        candidate = validation.candidate
    structure = learn_states(
        [dataset.channels.standardise(segment.values) for segment in dataset.segments],
        dataset.window,
        settings,
        candidate.neighbours,
    )
    if isinstance(structure, Structure):
        dataset, structure = with_completed_positions(dataset, structure, settings)
    targets = _targets(dataset, structure, settings)
    if isinstance(structure, TpsrStructure):
        truths = _targets(dataset, structure, settings, judging=True)
        validation = validate_left_out(structure, targets, truths, dataset, settings)
    wanted, factors = settings.states, None
    if isinstance(validation, Validation):
        candidate, factors = validation.candidate, validation.factors
        wanted = candidate.states
    # The configuration of the paper, which reads positions by a ridge regression, is left alone.
    familiarity = familiar_anchors(structure.training.pasts, spliced=settings.readout != 'ridge')
    familiarity = replace(familiarity, still=max(familiarity.still, still))
    _check_repetition(familiarity.squared, dataset)
    assembly = assemble(structure, targets, candidate, settings.readout)
    if factors is not None:
        assembly = replace(assembly, readout=assembly.readout.scaled(factors))
    tables = assembly.tables
    summary = summarise(
        recordings,
        dataset,
        settings,
        Learned(structure, assembly.directions, candidate.as_json(), wanted, validation, factors),
    )
    summary['spectral_radius'] = round(
        spectral_radius(transition(tables.weights, tables.states)), 9
    )
    tell('learning from everything', 1.0)
    return Model(
        **head_fields(recordings, dataset, settings),
        summary=summary,
        series=structure.series,
        starts=structure.training.pasts.starts,
        familiarity=familiarity,
        tables=tables,
        operator=assembly.operator,
        readout=assembly.readout,
        warm_start=structure.warm_start(assembly.directions),
        state_bound=_state_bound(structure, assembly),
        rest=rest,
    )


def _validate(
    dataset: Dataset, settings: TrainingSettings, tell: Callable[[str, float], None]
) -> Validation | str:
    """Return what held-out blocks say, or why none could be held out."""
    once = [hold_out(dataset.segments, dataset.window)]
    choices = [once]
    # The configuration of the paper is left alone.
    if len(once[0][1]) < 2 and settings.readout != 'ridge':
        # One block is one draw: what happens to suit it need not suit the next lap.
        choices.insert(0, hold_out_in_turn(dataset.segments, dataset.window))
    why = 'no block with positions could be held out; record longer'
    for every in choices:
        turns = [(fit, held) for fit, held in every if any_position(fit) and any_position(held)]
        if not turns:
            continue
        try:
            return validate(turns, dataset, settings, tell)
        except InputError as error:
            # What is left of a short recording without a held-out block may be too short to fit.
            why = f'without the held-out part {error}'
    return why


def _targets(
    dataset: Dataset, structure: AnyStructure, settings: TrainingSettings, *, judging: bool = False
) -> Floats:
    """Return the targets (n, c, 2) of the training ticks; to judge by, without estimates."""
    targets = training_targets(
        [each.truths if judging else each.positions for each in dataset.segments],
        structure.training.ticks,
        settings.horizons,
        dataset.period_ns * 1e-9,
    )
    check_horizons(targets, settings)
    return targets


def _check_repetition(familiar_squared: float, dataset: Dataset) -> None:
    """Refuse a drive that is there twice: whatever is held out of it would not be unseen."""
    numbers = dataset.window * int(np.count_nonzero(dataset.channels.live))
    if not familiar_squared > SAME * numbers:
        msg = (
            'most windows occur twice with the same samples, so nothing can be validated; name '
            'each recording once, and leave out where the vehicle is parked'
        )
        raise InputError(msg)


def _state_bound(structure: AnyStructure, assembly: Assembly) -> float:
    spectral = Belief(assembly.tables, assembly.operator)
    states = training_states(structure, spectral, STATE_BOUND_TICKS)
    norms = np.linalg.norm(states[:, 1:], axis=1)
    return STATE_BOUND_FACTOR * float(np.quantile(norms, 0.99))
