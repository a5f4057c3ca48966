# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A model that is trained beside a running filter."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from two_manifold_ros.adapting.prequential import Contest
from two_manifold_ros.adapting.training_material import lap_seconds, Trained, Training
from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.successor import Successor
from two_manifold_ros.model.line_learning import carry_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.filtering.filter import Filter
    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.typing import Floats


class Candidate(Successor):
    """
    A model in training, then its filter, until it runs or has lost the contest.

    ``train`` runs the training, and ``make_filter`` makes the filter of the model. There is a
    ``contest`` with the ``running`` model if that was given. With ``at_once`` samples wait.
    """

    def __init__(
        self,
        training: Training,
        train: Callable[[Training], Trained],
        make_filter: Callable[[ModelHead], Filter],
        running: ModelHead | None,
        *,
        is_given: bool,
        at_once: bool,
    ) -> None:
        self.training, self.trained = training, Trained()
        self.contest: Contest | None = None

        def make() -> Filter:
            trained = self.trained = train(training)
            model = trained.model
            if model is None:
                raise InputError(trained.why)
            learned, known = model.route_model, running.route_model if running else None
            if learned and known:
                # Names of lines are not learned while driving.
                model = replace(learned, lines=carry_lines(known, learned))
            lap_s = lap_seconds(model)
            if is_given:
                # For the test of their contest: no sample waits for that.
                import_module('scipy.stats')
                self.contest = Contest(lap_s)
            live, imu = make_filter(model), training.drives[-1].imu
            # It is shown the newest lap.
            span_ns = round(1e9 * max(lap_s, 2e-9 * model.window_ns))
            newest = imu.stamps >= imu.stamps[-1] - span_ns
            for stamp, each in zip(imu.stamps[newest].tolist(), imu.samples[newest], strict=True):
                live.push(stamp, each)
            return live

        super().__init__(make, at_once=at_once)

    def push(
        self, stamp_ns: int, sample: Sequence[float] | Floats, running: Sequence[Estimate]
    ) -> None:
        """Take a sample, and the estimates of the model that runs."""
        own = self.take(stamp_ns, tuple(sample))
        if self.contest is not None and self.prepared and not self.failure:
            self.contest.add(running, own)
