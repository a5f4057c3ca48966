# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Places of estimates, novelty of the input, and rejected input."""

from __future__ import annotations

from dataclasses import replace
import sys
from typing import TYPE_CHECKING

from filter_runs import bits, feed, stamps
import numpy as np
import pytest
from scipy.spatial import ConvexHull

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.ticks.novelty import NOVEL
from two_manifold_ros.ticks.segments import positions_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from filter_runs import Stream

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.model.model import Model, RouteModel
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats


WINDOW = 20


def observations(model: Model, stream: Stream) -> np.ndarray:
    """Return the standardised tick means of an even stream of one sample a tick: (T, d)."""
    return model.channels.standardise(np.array([sample for _, sample in stream[:-1]]))


def squared_distances(model: Model, window: np.ndarray) -> np.ndarray:
    """Return the squared distance of a (w, d) window to every training window."""
    width = model.window
    return np.array(
        [np.square(model.series[:, s : s + width].T - window).sum() for s in model.starts]
    )


@pytest.mark.parametrize(('kind', 'columns'), [('slot_car_model', 1), ('spectral_model', 3)])
def test_positions_lie_in_the_hull_of_the_training_positions(
    kind: str, columns: int, stream: Stream, request: pytest.FixtureRequest
) -> None:
    """Free motion may lead a prediction out of it, but never the position now."""
    model: Model = request.getfixturevalue(kind)
    known = model.track[np.isfinite(model.track).all(axis=1)]
    hull = ConvexHull(known).equations
    generator = np.random.default_rng(0)
    noisy = [
        (stamp, sample + generator.normal(scale=model.channels.scale)) for stamp, sample in stream
    ]
    for found in (feed(Filter(model), stream), feed(Filter(model), noisy)):
        points = np.concatenate([each.positions[:columns] for each in found])
        assert (points @ hull[:, :2].T + hull[:, 2] <= 1e-9).all()


def test_horizon_0_is_where_the_car_is_at_the_stamp(
    slot_car_model: RouteModel, stream: Stream, slot_car_laps: tuple[Recording, Recording]
) -> None:
    """A tick earlier or later fits the truth worse."""
    found = [each for each in feed(Filter(slot_car_model), stream) if each.valid]
    positions = np.array([each.positions[0] for each in found])

    def error(ticks: int) -> float:
        moved = np.array(stamps(found)) + ticks * slot_car_model.period_ns
        truth = positions_at(slot_car_laps[1].positions, moved)
        distances = np.linalg.norm(positions - truth, axis=1)
        return float(np.median(distances[np.isfinite(distances)]))

    assert error(0) < 0.1
    assert error(0) < 0.5 * min(error(-1), error(1))


def test_the_velocity_is_that_of_the_car(
    slot_car_model: RouteModel, stream: Stream, slot_car_laps: tuple[Recording, Recording]
) -> None:
    found = [each for each in feed(Filter(slot_car_model), stream) if each.valid]
    step = slot_car_model.period_ns
    after, before = (
        positions_at(slot_car_laps[1].positions, np.array(stamps(found)) + sign * step)
        for sign in (1, -1)
    )
    truth = (after - before) / (2e-9 * step)
    errors = np.linalg.norm(np.array([each.velocity for each in found]) - truth, axis=1)
    assert float(np.nanmedian(errors)) < 0.1 * float(np.nanmedian(np.linalg.norm(truth, axis=1)))


def test_novelty_is_the_mean_contrast_of_the_last_windows(
    spectral_model: Model, stream: Stream
) -> None:
    width, anchors = spectral_model.window, spectral_model.novelty
    seen = observations(spectral_model, stream)
    found = feed(Filter(spectral_model), stream)
    contrasts = np.full(len(found), np.nan)
    for tick in range(width - 1, len(found)):
        squared = squared_distances(spectral_model, seen[tick - width + 1 : tick + 1])
        contrasts[tick] = np.log(squared.min() / squared.mean())
    for tick in (width - 1, width, width + 57, len(found) - 1):
        last = contrasts[max(tick - width + 1, width - 1) : tick + 1]
        wanted = 2.0 ** ((last.mean() - anchors.own) / (anchors.other - anchors.own))
        np.testing.assert_allclose(found[tick].novelty, wanted, rtol=1e-9)


def test_estimates_never_look_ahead(slot_car_model: RouteModel, stream: Stream) -> None:
    usual = feed(Filter(slot_car_model), stream)
    changed = [*stream[:120], *[(stamp, -sample) for stamp, sample in stream[120:]]]
    other = feed(Filter(slot_car_model), changed)
    assert bits(other[:120]) == bits(usual[:120])
    assert bits(other[120:121]) != bits(usual[120:121])


def test_estimates_do_not_change_after_they_are_given(
    slot_car_model: RouteModel, stream: Stream
) -> None:
    live = Filter(slot_car_model)
    early = feed(live, stream[:60])
    before = bits(early)
    feed(live, stream[60:])
    assert bits(early) == before


def test_warming_up_in_the_middle_leaves_no_trace(
    slot_car_model: RouteModel, stream: Stream
) -> None:
    live = Filter(slot_car_model)
    found = feed(live, stream[:100])
    live.warm_up()
    found += feed(live, stream[100:])
    assert bits(found) == bits(feed(Filter(slot_car_model), stream))


@pytest.mark.long
def test_filters_that_share_a_model_do_not_disturb_each_other(
    slot_car_model: RouteModel, stream: Stream
) -> None:
    first, second = Filter(slot_car_model), Filter(slot_car_model)
    found, other = [], []
    for stamp, sample in stream:
        found += first.push(stamp, sample)
        other += second.push(stamp, -sample)
    assert bits(found) == bits(feed(Filter(slot_car_model), stream))
    assert bits(other) != bits(found)


G = 9.81


UNTOLD = {Status.LOST, Status.REFUSED}


FAULTS: dict[str, Callable[[Floats], Floats]] = {
    'accelerations in g': lambda samples: samples / [G, G, G, 1, 1, 1],
    'no gravity': lambda samples: samples - [0, 0, G, 0, 0, 0],
    'frozen at zero': np.zeros_like,
    'frozen at the mean': lambda samples: np.tile(samples.mean(axis=0), (len(samples), 1)),
    'rates in degrees': lambda samples: samples * [1, 1, 1, 57.3, 57.3, 57.3],
    'yaw the wrong way': lambda samples: samples * [1, 1, 1, 1, 1, -1],
    'driven backwards in time': lambda samples: samples[::-1],
}


def changed(stream: Stream, fault: Callable[[Floats], Floats]) -> Stream:
    samples = fault(np.array([sample for _, sample in stream]))
    return [(stamp, sample) for (stamp, _), sample in zip(stream, samples, strict=True)]


def after_two_windows(estimates: list[Estimate]) -> list[Estimate]:
    """Return the estimates from when the mean over the contrasts is full."""
    return estimates[2 * WINDOW :]


@pytest.mark.long
@pytest.mark.parametrize('fault', FAULTS)
def test_faults_are_refused(fault: str, slot_car_model: RouteModel, stream: Stream) -> None:
    found = after_two_windows(feed(Filter(slot_car_model), changed(stream, FAULTS[fault])))
    assert found
    assert not any(each.valid for each in found)


def test_a_fault_on_the_way_is_seen_within_two_windows(
    slot_car_model: RouteModel, stream: Stream
) -> None:
    wrong = changed(stream, FAULTS['yaw the wrong way'])
    found = feed(Filter(slot_car_model), [*stream[:100], *wrong[100:]])
    assert all(each.valid for each in found[WINDOW:100])
    first = next(i for i, each in enumerate(found) if each.status in UNTOLD)
    assert 100 <= first < 100 + 2 * WINDOW
    assert all(each.status in UNTOLD for each in found[100 + 2 * WINDOW :])


@pytest.mark.long
def test_a_driver_that_repeats_its_message_is_refused_where_training_was_parked(
    slot_car_model: RouteModel, stream: Stream
) -> None:
    """A window that is like training in everything but that it never changes."""
    parked = replace(slot_car_model, most_still=7)
    repeated = [(stamp, parked.channels.mean) for stamp, _ in stream]
    found = feed(Filter(parked), repeated)
    refused = [each.novelty > NOVEL for each in found]
    assert refused.index(True) == WINDOW + 7 + 1
    assert all(refused[WINDOW + 8 :])
    assert all(each.status in UNTOLD for each in found[WINDOW + 8 :])
    noise = np.random.default_rng(0).normal(scale=1e-6, size=(len(stream), 6))
    alive = [(stamp, sample + each) for (stamp, sample), each in zip(repeated, noise, strict=True)]
    # Of novelty alone: the map of this model knows no place where the car was parked.
    assert all(each.novelty <= NOVEL for each in feed(Filter(parked), alive)[WINDOW:])


def compiled() -> dict[tuple[str, str], int]:
    """Return for how many kinds of arguments each loop of the package was compiled."""
    return {
        (module, name): len(value.signatures)
        for module, loaded in list(sys.modules.items())
        if module.startswith('two_manifold_ros.')
        for name, value in vars(loaded).items()
        if hasattr(value, 'signatures')
    }


@pytest.mark.parametrize('kind', ['slot_car_model', 'spectral_model', 'tpsr_model'])
def test_no_sample_waits_for_a_compiler(
    kind: str, request: pytest.FixtureRequest, stream: Stream
) -> None:
    model: ModelHead = request.getfixturevalue(kind)
    live = Filter(model)
    live.warm_up()
    before = compiled()
    feed(live, stream[:80])
    feed(live, stream[90:120])
    feed(live, [(stamp, 3.0 * sample) for stamp, sample in stream[125:200]])
    feed(live, [(stamp, np.zeros(6)) for stamp, _ in stream])
    assert compiled() == before
