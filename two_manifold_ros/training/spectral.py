# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Train the spectral filter: embed windows, estimate positions, choose on held-out blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
import itertools
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.hmm import (
    Belief,
    build_tables,
    make_ridge_kernel,
    median_observation_distance,
    ObservationOperator,
    RawKernel,
    Recollection,
    shared_directions,
    SharedDirections,
    Tables,
)
from two_manifold_ros.hse_hmm.mkdr import cross_validated, fit_position_map, within_reach
from two_manifold_ros.hse_hmm.readout import (
    fit_ridge,
    Readout,
    segment_targets,
    SharpenedReadout,
    training_targets,
)
from two_manifold_ros.manifold.kernel_pca import LANDMARKS
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.manifold.selection import has_neighbours, make_learner
from two_manifold_ros.model.model import Model
from two_manifold_ros.ticks.rest import longest_stuck
from two_manifold_ros.ticks.sliding import contrast, NoveltyAnchors, SlidingWindow
from two_manifold_ros.ticks.windows import (
    find_training_ticks,
    lay_end_to_end,
    TrainingTicks,
    WindowSet,
)
from two_manifold_ros.training.dataset import any_position, Dataset, driving_dataset
from two_manifold_ros.training.held_out import (
    capped_mean,
    follow,
    hold_out,
    hold_out_in_turn,
    lost_error,
    Run,
    Split,
    Validation,
)
from two_manifold_ros.training.summary import check_horizons, head_fields, TWICE
from two_manifold_ros.typing import Bools, Floats, Ints

if TYPE_CHECKING:
    from two_manifold_ros.inspection.positions import PositionReport
    from two_manifold_ros.manifold.learner import Extension
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.tpsr.parameters import TpsrBelief
    from two_manifold_ros.training.settings import EmbeddedSettings, SpectralSettings


@dataclass(frozen=True)
class Embeddings:
    """
    Two coupled manifolds of windows, from which tables of any number of states follow.

    The series (d, N) are standardised observations end to end, and segments start at ``begins`` (s
    + 1,). Coordinates (n, m) of past, future and shifted windows are centred, the shifted ones
    with the mean of the future ones. If not ``guarded``, growing modes stay as they are.
    """

    series: Floats
    begins: Ints
    training: TrainingTicks
    notes: tuple[str, ...]
    past: Floats
    future: Floats
    shifted: Floats
    past_extension: Extension
    coupling: str
    guarded: bool

    @property
    def observations(self) -> Floats:
        """Observation of each training tick: (n, d)."""
        return np.ascontiguousarray(self.series[:, self.training.ticks].T)

    def directions(self, states: int) -> SharedDirections:
        """Return the directions that both manifolds share for k states; fewer if they end."""
        return shared_directions(self.future, self.past, states - 1, self.coupling)

    def tables(self, directions: SharedDirections) -> Tables:
        """Return the tables of the HMM."""
        return build_tables(self.past, self.shifted, directions, stable=self.guarded)

    def warm_start(self, directions: SharedDirections) -> Extension:
        """Return the map by ridge regression from the past to states, mathematics (6.4)."""
        penalty = 1e-3 * np.square(self.past).mean() * np.eye(self.past.shape[1])
        normal = self.past.T @ self.past / len(self.past) + penalty
        wanted = self.past.T @ (self.future @ directions.future_map) / len(self.past)
        linear = np.linalg.solve(normal, wanted)
        known = self.past_extension
        return replace(known, table=known.table @ linear, offset=known.offset @ linear)


NEIGHBOURS = (30, 100)
"""
Nearest neighbours of a window in a graph: few, and many for many laps that are alike, of which few
follow the speed first. With fewer than ten windows each, many join places far apart.
"""


def embed(observations: Sequence[Floats], window: int, settings: EmbeddedSettings) -> Embeddings:
    """Embed the windows of standardised segments (T, d); ``InputError`` of fewer than 50 ticks."""
    series, begins, training = training_windows(observations, window)
    most = len(training.ticks) // 3
    neighbours = min(settings.neighbours or NEIGHBOURS[0], most)
    learner = make_learner(settings.kernel, min(settings.dimension, most), neighbours)
    past, future = learner.fit(training.pasts), learner.fit(training.futures)
    own = future.coordinates[training.own]
    mean = own.mean(axis=0)
    return Embeddings(
        series,
        begins,
        training,
        tuple(dict.fromkeys(past.notes + future.notes)),
        past.coordinates,
        own - mean,
        future.coordinates[training.shifted] - mean,
        past.extension,
        settings.coupling,
        settings.guarded,
    )


def training_windows(
    observations: Sequence[Floats], window: int
) -> tuple[Floats, Ints, TrainingTicks]:
    """Return the series, its begins and the training ticks of segments; refuse too few ticks."""
    series, begins = lay_end_to_end(observations)
    training = find_training_ticks(series, begins, window)
    count, fewest = len(training.ticks), 50
    if count < fewest:
        raise InputError(
            f'only {count} ticks have a whole window of {window} ticks before and after them; '
            f'at least {fewest} are needed: record longer or shorten --window'
        )
    return series, begins, training


def novelty_anchors(
    windows: WindowSet, still: int = 0, *, spliced: bool = False
) -> NoveltyAnchors:
    """
    Return the novelty that is typical for unseen windows of the route, and of another route.

    Each window of an even sample is compared with those that start at least two windows before or
    after it. The same windows with their halves swapped stand for another route: bends in an order
    that does not occur. ``spliced`` ones, whose second half is of any other window, stand for it
    too, if they are less alike: of nearly a lap swapped halves are the route itself. ``still`` is
    the least that counts as stuck. Refuses windows that recur.
    """
    # More windows change the medians by less than one lap differs from the next.
    count = min(len(windows), 200)
    chosen = np.linspace(0, len(windows) - 1, count).astype(np.int64)
    rows = windows.rows(chosen)
    half = windows.width // 2 * len(windows.series)
    swapped = np.concatenate([rows[:, half:], rows[:, :half]], axis=1)
    squared, own = _nearest_and_contrast(windows, chosen, rows)
    # Mean square differences, in standard deviations, below 1e-9 are rounding.
    if not squared > 1e-9 * windows.width * len(windows.series):
        raise InputError(TWICE)
    _, other = _nearest_and_contrast(windows, chosen, swapped)
    if spliced:
        drawn = np.random.default_rng(0).permutation(count)
        mixed = np.concatenate([rows[:, :half], rows[drawn, half:]], axis=1)
        other = max(other, _nearest_and_contrast(windows, chosen, mixed)[1])
    return NoveltyAnchors(squared, own, other, max(longest_stuck(windows.series), still))


def _nearest_and_contrast(windows: WindowSet, chosen: Ints, rows: Floats) -> tuple[float, float]:
    """Return the medians over the rows, which are made of the chosen windows."""
    distances = windows.distances_from(rows)
    nearest, contrasts = [], []
    for index, row in zip(chosen, distances.T, strict=True):
        away = np.abs(windows.starts - windows.starts[index])
        # Where the drive is too short for two windows, the farthest is all there is.
        kept = row[away >= min(2 * windows.width, int(away.max()))]
        nearest.append(float(kept.min()))
        contrasts.append(contrast(nearest[-1], float(kept.mean())))
    return float(np.median(nearest)), float(np.median(contrasts))


def impute_dataset(dataset: Dataset, embeddings: Embeddings) -> tuple[Dataset, Embeddings]:
    """Return both with positions imputed; the notes of the embeddings say what was estimated."""
    tracks, note = impute_positions(embeddings, dataset.tracks)
    segments = tuple(
        replace(segment, positions=positions)
        for segment, positions in zip(dataset.segments, tracks, strict=True)
    )
    notes = (*embeddings.notes, note) if note else embeddings.notes
    return replace(dataset, segments=segments), replace(embeddings, notes=notes)


def impute_positions(
    embeddings: Embeddings, tracks: Sequence[Floats]
) -> tuple[list[Floats], str | None]:
    """
    Estimate unknown positions of training ticks from the windows around them.

    Past and future together distinguish places that either alone confuses. Of several embeddings
    and penalties those are taken with the least error on known positions left out. Returned are
    the tracks (T, 2), still NaN where an estimate would be a guess, and a sentence.
    """
    every = np.concatenate(tracks)
    ticks = embeddings.training.ticks
    wanted = every[ticks]
    known: Bools = np.asarray(np.isfinite(wanted).all(axis=1))
    if known.all():
        return list(tracks), None
    # With fewer none could be left out to judge the map by.
    if (count := np.count_nonzero(known)) < 10:
        few = f'only {count} training ticks have a position, too few to estimate the others'
        return list(tracks), f'{few}; let the vehicle be seen more often'
    best_m, best, estimates = np.inf, wanted, wanted[~known]
    third = len(ticks) // 3
    # As wide as a past window, and as a past and a future one together.
    for times, neighbours in itertools.product((1, 2), (10, 30)):
        width = times * embeddings.training.pasts.width
        windows = WindowSet(embeddings.series, ticks - width // 2, width)
        embedded = LaplacianEigenmap(min(50, third), min(neighbours, third)).fit(windows)
        # By 1 / lambda of the graph Laplacian: position follows what varies slowly.
        coordinates = embedded.coordinates
        coordinates = coordinates * np.sqrt(np.square(coordinates).mean(axis=0))
        for penalty in (1e-4, 1e-3, 1e-2):
            error_m = cross_validated(coordinates[known], wanted[known], penalty)
            if error_m < best_m:
                best_m, best = error_m, coordinates
                found = fit_position_map(coordinates[known], wanted[known], penalty)
                estimates = found(coordinates[~known])
    inside = within_reach(best[known], best[~known])
    estimates = np.where(inside[:, None], estimates, np.nan)
    every[ticks[~known]] = estimates
    note = (
        f'{len(estimates)} of {len(ticks)} training ticks have no position; it was estimated '
        f'with an error of about {best_m:.2g} m'
    )
    left = np.count_nonzero(np.isnan(estimates[:, 0]))
    if left:
        note += (
            f', but {left} of them are unlike all that have one and stay without: let the '
            'vehicle be seen all along the track'
        )
    ends = np.cumsum([len(segment) for segment in tracks])[:-1]
    return np.split(every, ends), note


BANDWIDTHS = (1.0, 1.4, 2.0, 2.8)
"""
Bandwidths of the observation kernel that are compared, in median distances between observations:
narrower ones reject too many, with wider ones no observation distinguishes two places. The second
is taken if nothing is held out.
"""

MOST_CALIBRATED, MOST_COMPARED = 8_000, 1_500
"""
Ticks on which the best settings are followed, to calibrate covariances, and on which settings are
compared: half as many are few laps of each held-out block.
"""


def usual_choices(settings: SpectralSettings) -> SpectralSettings:
    """Return the settings with the choices made without validation, where they are left open."""
    return replace(
        settings,
        states=settings.states or 40,
        bandwidth_factor=settings.bandwidth_factor or BANDWIDTHS[1],
        ridge=(settings.ridge or 1.0) if settings.observation == 'ridge' else None,
        neighbours=settings.neighbours or NEIGHBOURS[0],
    )


def chosen_of(settings: SpectralSettings) -> dict[str, Any]:
    """Return what is compared of complete settings; no ridge where the kernel is raw."""
    names = ('states', 'bandwidth_factor', 'ridge', 'neighbours')
    return {name: getattr(settings, name) for name in names}


def fit_filter(
    embeddings: Embeddings, targets: Floats, settings: SpectralSettings
) -> tuple[SharedDirections, Tables, ObservationOperator, Readout]:
    """Build the filter of complete settings from the targets (n, c, 2) of the training ticks."""
    chosen, observations = chosen_of(settings), embeddings.observations
    directions = embeddings.directions(chosen['states'])
    bandwidth = chosen['bandwidth_factor'] * median_observation_distance(observations)
    operator: ObservationOperator
    if settings.ridge is None:
        operator = RawKernel(observations, bandwidth)
    elif settings.guarded:
        operator = make_ridge_kernel(observations, bandwidth, settings.ridge)
    else:
        # As the papers print it: every feature is kept.
        operator = make_ridge_kernel(observations, bandwidth, settings.ridge, LANDMARKS, None)
    tables = embeddings.tables(directions)
    if settings.readout != 'ridge':
        return directions, tables, operator, SharpenedReadout(targets)
    belief = Belief(tables, operator, guarded=settings.guarded)
    states = training_states(embeddings, belief)[embeddings.training.ticks]
    return directions, tables, operator, fit_ridge(states, targets)


def filtered_states(
    belief: Belief | TpsrBelief, observations: Floats | Sequence[Floats]
) -> Floats:
    """Return the (T, k) states after each observation of one segment, from the prior."""
    belief.start()
    states = np.empty((len(observations), len(belief.state)))
    for tick, observation in enumerate(observations):
        belief.update(observation)
        states[tick] = belief.state
    return states


def training_states(embeddings: Embeddings, belief: Belief, most: int | None = None) -> Floats:
    """Return the states (N, k) of a run over the first ``most`` ticks, each segment cold."""
    ends = np.minimum(embeddings.begins, most) if most else embeddings.begins
    runs = [
        filtered_states(belief, embeddings.series[:, begin:end].T)
        for begin, end in itertools.pairwise(ends.tolist())
    ]
    return np.concatenate(runs)


class Fold:
    """Embeddings of a part to fit, and held-out blocks to run settings over."""

    def __init__(self, split: Split, dataset: Dataset, settings: SpectralSettings) -> None:
        fit, held = split
        self._settings, self._window = settings, dataset.window
        self._fit = replace(dataset, segments=tuple(fit)).observations
        self._embeddings: dict[int | None, Embeddings] = {}
        embeddings = self._embed(settings.neighbours or NEIGHBOURS[0])
        tracks = [segment.positions for segment in fit]
        self.lost_m = lost_error(tracks)
        if settings.imputes_positions:
            tracks, _ = impute_positions(embeddings, tracks)
        self.windows = len(embeddings.training.ticks)
        horizons, period_s = settings.horizons, dataset.period_s
        self._targets = training_targets(tracks, embeddings.training.ticks, horizons, period_s)
        self._blocks = [
            (
                dataset.channels.standardise(each.values),
                segment_targets(each.positions, horizons, period_s),
            )
            for each in held
        ]

    def _embed(self, neighbours: int | None) -> Embeddings:
        known = self._embeddings
        if neighbours not in known:
            settings = replace(self._settings, neighbours=neighbours)
            known[neighbours] = embed(self._fit, self._window, settings)
        return known[neighbours]

    def score(self, settings: SpectralSettings) -> float:
        """Return the mean error in metres, each error at most ``lost_m``."""
        errors = np.concatenate([run.errors for run in self.run(settings, MOST_COMPARED)])
        score_m = capped_mean(errors[:, :-1], self.lost_m)
        return score_m if np.isfinite(score_m) else self.lost_m

    def run(self, settings: SpectralSettings, most: int) -> list[Run]:
        """Follow ``most`` ticks of all blocks together, with complete settings."""
        embeddings = self._embed(settings.neighbours)
        directions, tables, operator, readout = fit_filter(embeddings, self._targets, settings)
        reminded = settings.guarded and isinstance(readout, SharpenedReadout)
        belief = Belief(tables, operator, guarded=settings.guarded)
        pasts = embeddings.training.pasts
        each = max(most // len(self._blocks), 2 * self._window)

        def followed(seen: Floats, truths: Floats) -> Run:
            newest = SlidingWindow(pasts.series, pasts.starts, pasts.width)
            recollection = None
            if reminded:
                recollection = Recollection(newest, embeddings.warm_start(directions))
            belief.start()

            def step(observation: Floats) -> tuple[Floats, Floats]:
                if recollection is not None:
                    recollection.remind(belief)
                    newest.push(observation)
                belief.update(observation)
                return readout.read(belief.weights, belief.state)

            return follow(step, seen[:each], truths[:each], self._window)

        return [followed(*block) for block in self._blocks]


def validate(
    turns: Sequence[Split],
    dataset: Dataset,
    settings: SpectralSettings,
    progress: Callable[[str, float], None],
) -> tuple[SpectralSettings, Validation]:
    """Compare settings on held-out blocks, then calibrate the best on the same blocks."""
    folds = [Fold(split, dataset, settings) for split in turns]
    table: dict[SpectralSettings, float] = {}

    def score(tried: SpectralSettings) -> float:
        if tried not in table:
            table[tried] = float(np.mean([fold.score(tried) for fold in folds]))
            progress('comparing settings', len(table) / (len(table) + 4))
        return table[tried]

    best = _choose(settings, score, min(fold.windows for fold in folds))
    runs = [run for fold in folds for run in fold.run(best, MOST_CALIBRATED // len(folds))]
    return best, Validation.of_runs(
        runs,
        score(best),
        float(np.mean([fold.lost_m for fold in folds])),
        np.nanmean(np.concatenate(dataset.tracks), axis=0),
        dataset.window,
        tuple(chosen_of(tried) | {'score_m': score_m} for tried, score_m in table.items()),
    )


def _choose(
    settings: SpectralSettings, score: Callable[[SpectralSettings], float], windows: int
) -> SpectralSettings:
    """Search over observation operators and neighbours, then over the number of states."""
    usual, many = usual_choices(settings), NEIGHBOURS[1]
    factors: Sequence[float | None] = BANDWIDTHS
    ridges: Sequence[float | None] = (usual.ridge,)
    if usual.ridge is not None:
        factors = BANDWIDTHS[:2]
        # In units of a unit-diagonal kernel; at 0.1 and below the filter is unstable
        # (mathematics, section 5).
        ridges = (0.3, 1.0) if settings.ridge is None else ridges
    if settings.bandwidth_factor is not None:
        factors = (usual.bandwidth_factor,)
    neighbours = [usual.neighbours]
    if settings.neighbours is None and has_neighbours(settings.kernel) and windows >= 10 * many:
        neighbours.append(many)
    tried = [
        replace(usual, neighbours=each, bandwidth_factor=factor, ridge=ridge)
        for each, factor, ridge in itertools.product(neighbours, factors, ridges)
    ]
    best = _best(tried, score)
    if settings.states is not None:
        return best
    return _best([*tried, *(replace(best, states=states) for states in (20, 60))], score)


def _best(
    tried: Sequence[SpectralSettings], score: Callable[[SpectralSettings], float]
) -> SpectralSettings:
    """Return the narrowest kernel within 5 % of the best score: it corrects the belief soonest."""
    known = {each: score(each) for each in tried}
    limit = 1.05 * min(known.values())
    alike = [each for each in known if known[each] <= limit]
    return min(alike, key=lambda each: (each.bandwidth_factor or 0.0, known[each]))


def train_spectral(
    recordings: Sequence[Recording],
    settings: SpectralSettings,
    progress: Callable[[str, float], None],
    drives: Sequence[PositionReport],
) -> Model:
    """Train the spectral filter, choosing on held-out blocks what is not given."""
    dataset = driving_dataset(recordings, settings)
    once = hold_out(dataset.segments, dataset.window)
    choices = [[once]] if all(map(any_position, once)) else []
    # The configuration of the paper, which reads positions by a ridge regression, is left alone.
    ours = settings.readout != 'ridge'
    if len(once[1]) < 2 and ours:
        # One block is one draw: what happens to suit it need not suit the next lap.
        choices.insert(0, hold_out_in_turn(dataset.segments, dataset.window))
    best = usual_choices(settings)
    validation: Validation | str = 'no block with positions could be held out; record longer'
    for turns in filter(None, choices):
        try:
            best, validation = validate(
                turns, dataset, settings, lambda stage, share: progress(stage, 0.5 * share)
            )
            break
        except InputError as error:
            # What is left of a short recording without a held-out block may be too short to fit.
            validation = f'without the held-out part {error}'
    progress('learning from everything', 0.5)
    embeddings = embed(dataset.observations, dataset.window, best)
    if settings.imputes_positions:
        dataset, embeddings = impute_dataset(dataset, embeddings)
    ticks = embeddings.training.ticks
    targets = training_targets(dataset.tracks, ticks, settings.horizons, dataset.period_s)
    check_horizons(targets, settings)
    pasts = embeddings.training.pasts
    novelty = novelty_anchors(pasts, dataset.still, spliced=ours)
    directions, tables, operator, readout = fit_filter(embeddings, targets, best)
    if not isinstance(validation, str):
        readout = readout.calibrated(validation.calibration)
    found = validation, chosen_of(best), tables.states.shape[1], len(ticks), embeddings.notes
    fields = head_fields(recordings, dataset, settings, drives, *found)
    progress('learning from everything', 1.0)
    # A state that leaves three times the 99 % quantile of its norm over 2000 ticks of training is
    # of a filter that broke (mathematics, section 6.5): one that works exceeds it by a half now
    # and then.
    belief = Belief(tables, operator, guarded=settings.guarded)
    followed = training_states(embeddings, belief, 2_000)
    norms = np.linalg.norm(followed[:, 1:], axis=1)
    return Model(
        **fields,
        series=embeddings.series,
        starts=pasts.starts,
        novelty=novelty,
        tables=tables,
        operator=operator,
        readout=readout,
        warm_start=embeddings.warm_start(directions),
        # Without guards norms have no bound, and nothing is compared with this one.
        state_bound=3.0 * float(np.quantile(norms, 0.99)) if settings.guarded else 1.0,
        guarded=settings.guarded,
        rest=dataset.rest,
    )
