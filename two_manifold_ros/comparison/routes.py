# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Compare on recordings of several routes: each by itself, and our filter as an atlas of all."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.comparison.comparing import compare, compare_on_workers, try_method
from two_manifold_ros.comparison.method import Predictions, SampledSegment
from two_manifold_ros.comparison.outcome import Failure, grade, Result
from two_manifold_ros.comparison.own_filters import ManifoldHmm, OURS
from two_manifold_ros.comparison.protocol import plan_bags, plan_share, SHARE
from two_manifold_ros.comparison.scales import at_scale
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import naming_along, run_filter
from two_manifold_ros.fleet import spread
from two_manifold_ros.inspection.shared_places import sort_by_route
from two_manifold_ros.model.atlas import atlas_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from two_manifold_ros.comparison.method import Method, TrainSplit
    from two_manifold_ros.comparison.outcome import Comparison
    from two_manifold_ros.comparison.protocol import Plan
    from two_manifold_ros.comparison.scales import Scale
    from two_manifold_ros.evaluation.evaluate import FilterRun
    from two_manifold_ros.model.atlas import AtlasModel
    from two_manifold_ros.model.head import TrainedModel
    from two_manifold_ros.recordings.recording import ImuStream, Recording
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.typing import Ints

ATLAS = 'atlas'
"""The name of our filter with all routes in one model."""


def plan_routes(
    recordings: Sequence[Recording],
    followed: int,
    names: Sequence[str],
    settings: TrainingSettings,
    share: float | None = None,
) -> dict[str, Plan]:
    """
    Return the plan of each route that recordings are of, by its name.

    Parameters
    ----------
    recordings
        Those to learn from, and after them those to follow.
    followed
        So many at the end are to be followed; where none is named, the last one of each route,
        or the last share of its only one.
    names
        Of the route of each recording, see `sort_by_route`.
    settings
        Of all methods.
    share
        See `plan_share`; ``None`` for the default.

    Raises
    ------
    InputError
        If a route has nothing to learn from or nothing to follow, or a plan cannot be made.

    """
    plans = {}
    cut = len(recordings) - followed
    for name, group in sort_by_route(recordings, names).items():
        # In the order in which they were given, which the last one depends on.
        of_route = {id(each.positions) for each in group}
        learned = [each for each in recordings[:cut] if id(each.positions) in of_route]
        tested = [each for each in recordings[cut:] if id(each.positions) in of_route]
        alone = len(learned) == 1 and not followed
        if share is not None and not alone:
            msg = '--share cuts a single bag in two; leave it out, or leave out the other bags'
            raise InputError(msg)
        if alone:
            plans[name] = plan_share(learned[0], settings, SHARE if share is None else share)
            continue
        if not followed:
            learned, tested = learned[:-1], learned[-1:]
        _check_both(learned, tested)
        plans[name] = plan_bags(learned, tested, settings)
    return plans


def _check_both(learned: Sequence[Recording], tested: Sequence[Recording]) -> None:
    """Refuse bags of a route of which nothing is learned from, or nothing is followed."""
    if learned and tested:
        return
    lack, cure = ('followed', 'name one with --test') if learned else ('learned from', 'add one')
    msg = (
        f'{", ".join(each.name for each in (*learned, *tested))}: no bag of this route is {lack}: '
        f'{cure}, or leave these out; bags of one route that share few places go together by '
        '--routes'
    )
    raise InputError(msg)


def compare_routes(
    plans: Mapping[str, Plan],
    methods: Sequence[Method],
    processes: int = 1,
    progress: Callable[[str, float], None] = lambda *_: None,
    client: Any = None,  # noqa: ANN401 - of an extra
) -> dict[str, Comparison]:
    """
    Run methods by the plan of each route, see `compare`; on the workers of a client, if any.

    Where there are several, and our method is among the methods, it takes part as an atlas as
    well: the very models of all routes in one, which is not given the route.
    """
    # The atlas of several comes last, and takes about as long as a route.
    parts = len(plans) + 1 if len(plans) > 1 else 1

    def part(what: str, share: float) -> None:
        progress(what, share * len(plans) / parts)

    if client is not None:
        found = compare_on_workers(plans, methods, client, part)
    else:
        found = _one_by_one(plans, methods, processes, part)
    ours = next((each for each in methods if each.name == OURS), None)
    if len(plans) == 1 or not isinstance(ours, ManifoldHmm):
        return found
    progress(f'{ATLAS} of all routes', len(plans) / parts)
    results = _with_all_routes(plans, found, ours, client)
    return {
        name: replace(
            each,
            results=(*each.results, results[name][0]),
            notes=(*each.notes, *results[name][1]),
        )
        for name, each in found.items()
    }


def _one_by_one(
    plans: Mapping[str, Plan],
    methods: Sequence[Method],
    processes: int,
    progress: Callable[[str, float], None],
) -> dict[str, Comparison]:
    """Compare on one route after the other."""
    found = {}
    for number, (name, plan) in enumerate(plans.items()):
        route = f'{name}: ' if len(plans) > 1 else ''

        def part(what: str, share: float, done: int = number, route: str = route) -> None:
            progress(f'{route}{what}', (done + share) / len(plans))

        found[name] = compare(plan, methods, processes, part)
    return found


_Graded: TypeAlias = 'tuple[Result, tuple[str, ...]]'
"""A result, and notes on it."""


def _with_all_routes(
    plans: Mapping[str, Plan],
    found: Mapping[str, Comparison],
    ours: ManifoldHmm,
    client: Any,  # noqa: ANN401 - of an extra
) -> dict[str, _Graded]:
    """Return what our method does on each route with all of them in one model."""
    title = f'{ours.title}, {ATLAS}'
    own = {
        name: next(result for result in each.results if result.name == OURS)
        for name, each in found.items()
    }
    failed = [name for name, each in own.items() if each.failure is not None]
    if failed:
        reason = f'there is no model of {", ".join(failed)}, where {OURS} failed'
        missing = Result(ATLAS, title, sees_positions=False, failure=reason)
        return dict.fromkeys(plans, (missing, ()))
    scales = {name: each.scale or plans[name].own_scale for name, each in own.items()}
    names = list(plans)
    models = spread(partial(_model, plans, scales, ours), names, client)
    atlas = atlas_of(dict(zip(names, models, strict=True)))
    graded = spread(partial(_follow_route, plans, scales, atlas, title), names, client)
    return dict(zip(names, graded, strict=True))


def _model(
    plans: Mapping[str, Plan], scales: Mapping[str, Scale], ours: ManifoldHmm, name: str
) -> TrainedModel:
    """Train the model that our method has on a route at the scale that it chose."""
    plan, scale = plans[name], scales[name]
    train = plan.train if scale == plan.own_scale else at_scale(plan.train, scale)
    return ours.fit(train).model


def _follow_route(
    plans: Mapping[str, Plan],
    scales: Mapping[str, Scale],
    atlas: AtlasModel,
    title: str,
    name: str,
) -> _Graded:
    """Follow the drives of a route with all routes in one model."""
    plan = plans[name]
    method = _AtlasRuns(title, atlas, name, plan.followed)
    trial = try_method(method, plan, scales[name])
    graded = grade(plan, [method], {ATLAS: trial})
    (result,) = graded.results
    if not isinstance(trial, Failure):
        head = atlas.routes[name]
        naming = naming_along(head, name, plan.followed, [run for _, run in method.runs])
        result = replace(result, naming=naming)
    return result, graded.notes[len(plan.notes) :]


class _AtlasRuns:
    """Our method with all routes in one model on drives of one of them; see ``Method``."""

    name = ATLAS
    sees_positions = False

    def __init__(
        self, title: str, atlas: AtlasModel, route: str, followed: Sequence[Recording]
    ) -> None:
        self.title = title
        self.chosen: dict[str, Any] = {'routes': list(atlas.names)}
        self.runs: list[tuple[ImuStream, FilterRun]] = []
        self._atlas, self._route, self._followed = atlas, route, followed

    def fit(self, train: TrainSplit) -> _AtlasRuns:  # noqa: ARG002 - its models are trained
        """Follow the drives, each as a whole, as the nodes do; return itself."""
        self.runs = [
            (each.imu, run_filter(self._atlas, each, lambda *_: None, self._route))
            for each in self._followed
        ]
        return self

    def predict(self, segment: Segment) -> Predictions:
        """Return what it found at the ticks of a segment; NaN where no tick ended nearby."""
        if not isinstance(segment, SampledSegment):
            msg = 'an atlas filters samples, not ticks'
            raise TypeError(msg)
        (run,) = (run for imu, run in self.runs if imu is segment.imu)
        rows = nearest_rows(run.stamps, segment.stamps, self._atlas.routes[self._route].period_ns)
        there = rows >= 0
        positions = np.full((len(segment), *run.positions.shape[1:]), np.nan)
        positions[there] = run.positions[rows[there]]
        valid = np.zeros(len(segment), dtype=np.bool_)
        valid[there] = run.published[rows[there]]
        return Predictions(positions, valid=valid)


def nearest_rows(stamps: Ints, wanted: Ints, period_ns: int) -> Ints:
    """
    Return the row of ``stamps`` nearest to each that is wanted.

    It is -1 where none is within half a period. The ticks of a filter that woke up on the way, at
    a rate of its own, lie beside those of one that ran from the start.
    """
    if not len(stamps):
        return np.full(len(wanted), -1, dtype=np.int64)
    # A clock may have been set back on the way.
    order = np.argsort(stamps, kind='stable')
    after = np.minimum(np.searchsorted(stamps[order], wanted), len(stamps) - 1)
    one, other = order[np.maximum(after - 1, 0)], order[after]
    rows = np.where(np.abs(stamps[one] - wanted) < np.abs(stamps[other] - wanted), one, other)
    near = 2 * np.abs(stamps[rows] - wanted) <= period_ns
    return np.where(near, rows, -1)
