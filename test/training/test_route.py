# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Training of a map: parts that are held out and followed, and what a model keeps."""

from dataclasses import replace
from functools import partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any
from warnings import catch_warnings, simplefilter

from circuit import AT_REST, Circuit, Drive, laid, LAP_TICKS
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from rounds import on_circle
from scipy.special import stdtrit

from two_manifold_ros.errors import InputError
from two_manifold_ros.fleet import LostWorkersError
from two_manifold_ros.hse_hmm.readout import CHI_SQUARE, segment_targets, squared_mahalanobis
from two_manifold_ros.route.belief import RouteBelief
from two_manifold_ros.route.learning import learn_route, Tuning
from two_manifold_ros.route.merging import Places
from two_manifold_ros.route.visits import Passes
from two_manifold_ros.ticks.segments import Segment
from two_manifold_ros.training import following as module
from two_manifold_ros.training import held_out
from two_manifold_ros.training import route as training_route
from two_manifold_ros.training.route import choose_stretches, MOST_TICKS, states_at_places
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model


def segments_of(lengths: list[int]) -> list[Segment]:
    """Return segments whose stamps number the ticks through."""
    begins = np.cumsum([0, *lengths]).tolist()
    return [
        Segment(begin + np.arange(length), np.zeros((length, 6)), np.zeros((length, 2)))
        for begin, length in zip(begins, lengths, strict=False)
    ]


def ticks_of(segments: list[Segment]) -> list[int]:
    return [tick for each in segments for tick in each.stamps.tolist()]


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=8), st.integers(2, 150), st.booleans())
def test_fit_and_held_share_no_tick_and_cross_no_seam(extra, window, in_turn):
    lengths = [2 * window + each for each in extra]
    segments, seams = segments_of(lengths), np.cumsum(lengths)
    every = ticks_of(segments)
    turns = [held_out.hold_out(segments, window)]
    if in_turn:
        turns = held_out.hold_out_in_turn(segments, window)
        assert len(turns) <= 4
    all_held = []
    for fit, held in turns:
        fit_ticks, held_ticks = ticks_of(fit), ticks_of(held)
        assert len(set(fit_ticks) | set(held_ticks)) == len(fit_ticks) + len(held_ticks)
        assert set(fit_ticks) | set(held_ticks) <= set(every)
        assert fit_ticks == sorted(fit_ticks)
        assert all(len(each) >= round(2.5 * window) for each in held)
        assert all(len(each) > 2 * window for each in fit)
        assert len(held_ticks) <= len(every) / 4 + in_turn
        for each in [*fit, *held]:
            assert (np.diff(each.stamps) == 1).all()
            first, last = np.searchsorted(seams, each.stamps[[0, -1]], 'right')
            assert first == last
        all_held += held_ticks
    assert all_held == sorted(set(all_held))


def test_where_blocks_lie():
    """The only one is not cut by a seam; several are spread; in turn they are everything."""
    _, held = held_out.hold_out(segments_of([900, 100]), 100)
    assert ticks_of(held) == list(range(650, 900))
    _, held = held_out.hold_out(segments_of([4000]), 20)
    assert [int(each.stamps[0]) for each in held] == [375, 1375, 2375, 3375]
    assert [len(each) for each in held] == [250] * 4
    turns = held_out.hold_out_in_turn(segments_of([803]), 20)
    assert [tick for _, held in turns for tick in ticks_of(held)] == list(range(803))
    assert all(sorted(ticks_of(fit) + ticks_of(held)) == list(range(803)) for fit, held in turns)
    # Nor is a quarter held out without a position.
    (whole,) = segments_of([800])
    whole.positions[:400] = np.nan
    turns = held_out.hold_out_in_turn([whole], 20)
    assert [int(held[0].stamps[0]) for _, held in turns] == [400, 600]
    whole.positions[600:] = np.nan
    assert [int(held[0].stamps[0]) for _, held in held_out.hold_out_in_turn([whole], 20)] == []


@given(st.integers(2, 48), st.floats(0.0, 0.9), st.sampled_from([0.975, 0.9999]), st.integers(0))
def test_a_gain_is_sure_by_the_formula(count, alike, sure, seed):
    rng = np.random.default_rng(seed)
    old = rng.normal(1.0, 0.3, count)
    gains = rng.uniform(0.0, 0.3) + rng.uniform(0.01, 0.3) * rng.normal(size=count)
    least = stdtrit(count - 1, sure) * gains.std(ddof=1) / np.sqrt(count)
    expected = gains.mean() > least * np.sqrt((1.0 + alike) / (1.0 - alike))
    assert held_out.surely_lower(old - gains, old, sure, alike) == expected


def test_a_gain_without_spread_is_sure_and_no_gain_is_not():
    old = np.ones(8)
    with catch_warnings():
        simplefilter('error')
        assert held_out.surely_lower(old - 0.5, old, 0.9999)
        for others in (old, old - 0.5):
            assert not held_out.surely_lower(old, others, 0.9999)


LEAD = 30


@pytest.fixture(scope='module')
def circuit() -> Drive:
    return Circuit().laps(12)


@pytest.fixture(scope='module')
def passes(circuit: Drive) -> Passes:
    return laid(circuit)


def calibration(
    passes: Passes, drive: Drive, lead: int = LEAD, tuning: Tuning | None = None
) -> held_out.Validation | None:
    found = module.follow_parts(drives_of(passes, drive, lead), [tuning or Tuning(sharpness=0.2)])
    return found[0].validation(np.zeros(2)) if found else None


def drives_of(
    passes: Passes, drive: Drive, lead: int = LEAD, rate_hz: float = 10.0
) -> module.Drives:
    dataset = SimpleNamespace(
        window=lead, observations=[drive.observations], tracks=[drive.track], rate_hz=rate_hz,
        velocity_noise=0.0,
    )  # fmt: skip
    return module.Drives(TrainingSettings(), dataset, passes)


def parts_of(*drives: Drive, most: int = held_out.MOST_FOLLOWED) -> list[Any]:
    observations, tracks = [each.observations for each in drives], [each.track for each in drives]
    return held_out.parts_to_follow(laid(*drives), observations, tracks, LEAD, most)


@pytest.fixture(scope='module')
def calibrated(circuit: Drive, passes: Passes) -> held_out.Validation:
    return calibration(passes, circuit)


@pytest.mark.parametrize('unknown', [slice(0, 0), slice(400, 600)], ids=['all', 'some'])
def test_what_was_followed_is_scored(unknown, circuit, passes, monkeypatch):
    """By the mean error of the positions now, where they are known, cut where it is lost."""
    runs = []

    def remembered(*given: Any) -> held_out.Run:  # noqa: ANN401 - as `follow` has them
        found = held_out.follow(*given)
        runs.append(found.errors[:, 0] + found.truths[:, 0])
        return found

    track = circuit.track.copy()
    track[unknown] = np.nan
    monkeypatch.setattr(module, 'follow', remembered)
    found = calibration(passes, replace(circuit, track=track))
    parts = [each[LEAD:] for each in np.array_split(track, held_out.FOLDS)]
    errors = np.linalg.norm(np.concatenate(runs) - np.concatenate(parts), axis=1)
    known = np.isfinite(np.concatenate(parts)[:, 0])
    np.testing.assert_array_equal(np.isfinite(errors), known)
    assert found.ticks == len(errors) == len(track) - held_out.FOLDS * LEAD
    assert found.score_m == pytest.approx(np.nanmean(np.minimum(errors, found.lost_m)))
    spread_m = np.sqrt(np.nanvar(circuit.track, axis=0).sum())
    assert found.lost_m == pytest.approx(0.25 * spread_m, rel=1e-3)
    # Well all the same, as other laps went there.
    assert 0.05 < found.score_m < 1.0
    assert len(found.calibration.factors) == 4
    assert (found.calibration.factors > 0.0).all()


def test_noise_of_the_references_is_left_out_of_the_velocity_alone(circuit, passes, calibrated):
    drives = drives_of(passes, circuit)
    drives.dataset.velocity_noise = 1e-4
    (found,) = module.follow_parts(drives, [Tuning(sharpness=0.2)])
    usual, factors = calibrated.calibration.factors, found.factors
    np.testing.assert_array_equal(factors[:-1], usual[:-1])
    assert 0.25 * usual[-1] <= factors[-1] < usual[-1]
    drives.dataset.velocity_noise = 1e4
    (found,) = module.follow_parts(drives, [Tuning(sharpness=0.2)])
    np.testing.assert_array_equal(found.factors, usual)


def test_parts_cover_every_tick_once_and_have_no_part_in_their_map(circuit):
    two = [circuit, Circuit().laps(5, seed=1)]
    passes, parts = laid(*two), parts_of(*two)
    followed = np.concatenate([seen for blocks, _ in parts for seen, _ in blocks])
    np.testing.assert_array_equal(followed, np.concatenate([each.observations for each in two]))
    np.testing.assert_array_equal((~np.array([kept for _, kept in parts])).sum(axis=0), 1)
    when = passes.places.times + np.array([0, len(circuit.track)])[passes.places.segments]
    begin = 0
    for blocks, kept in parts:
        end = begin + sum(len(seen) for seen, _ in blocks)
        # Edges lie between two ticks.
        own = (when >= begin + 1) & (when < end - 1)
        assert own.any()
        assert not kept[own].any()
        begin = end


def test_only_the_start_of_each_part_of_a_long_drive_is_followed(circuit):
    parts = parts_of(circuit, most=800)
    edges = np.linspace(0, len(circuit.track), held_out.FOLDS + 1)[:-1].astype(int)
    for edge, (((seen, truth),), _) in zip(edges, parts, strict=True):
        assert len(seen) == 200
        np.testing.assert_array_equal(truth[:, 0], circuit.track[edge : edge + 200])
        np.testing.assert_array_equal(truth[:, 2], circuit.track[edge + 20 : edge + 220])
    for blocks, _ in parts_of(*(Circuit().laps(3, seed=seed) for seed in range(6)), most=800):
        assert 0 < sum(len(seen) for seen, _ in blocks) <= 200


def test_ellipses_are_calibrated_where_it_drives_on_the_route(
    circuit, passes, calibrated, monkeypatch
):
    """An error while the vehicle is believed elsewhere does not count."""

    def blind(*given: Any) -> held_out.Run:  # noqa: ANN401 - as `follow` has them
        run = held_out.follow(*given)
        run.driving[-100:] = False
        run.errors[-100:] += 5.0
        return run

    monkeypatch.setattr(module, 'follow', blind)
    found = calibration(passes, circuit)
    np.testing.assert_allclose(
        found.calibration.factors, calibrated.calibration.factors, rtol=0.25
    )
    assert found.score_m > calibrated.score_m + 0.5


def test_no_rate_is_tried_where_the_time_scales_are_given(slot_car_laps, monkeypatch):
    """Trained up to where a rate is chosen, and for which loads."""
    loads = []

    def choose(_: module.Drives, __: object, most_load: float, **_others: object) -> Any:  # noqa: ANN401
        loads.append(most_load)
        msg = 'far enough'
        raise InputError(msg)

    monkeypatch.setattr(training_route, 'choose_by_parts', choose)
    scales = {'rate_hz': 10.0, 'window': 40, 'sharpness': 0.2, 'persistence': 0.2}
    for name, value in [*scales.items(), ('max_step_load', 0.07)]:
        with pytest.raises(InputError, match='far enough'):
            train_model(slot_car_laps[:1], TrainingSettings(**{name: value}))
    assert loads == [0.0] * 4 + [0.07]


def test_a_rate_that_cannot_be_laid_out_is_passed_over_but_not_one_that_workers_lost(
    circuit, passes
):
    def refuse(_: module.Drives, error: type[Exception] = InputError) -> module.Drives:
        raise error

    usual, shares = drives_of(passes, circuit), []
    chosen, followed, compared = module.choose_by_parts(
        usual, refuse, 0.1, progress=lambda _, share: shares.append(share)
    )
    assert (chosen is usual, followed is None, len(compared)) == (True, False, 1)
    assert shares == sorted(shares)
    with pytest.raises(LostWorkersError):
        module.choose_by_parts(usual, partial(refuse, error=LostWorkersError), 0.1)


@pytest.mark.slow
@pytest.mark.parametrize('most_load', [0.1, 1e-9, 0.0])
def test_twice_the_rate_is_taken_where_it_is_better_and_may_be(most_load, circuit, passes):
    """Worse is one whose positions are noise, at the rate that is usual."""
    noise = np.random.default_rng(0).standard_normal(circuit.observations.shape)
    blind = replace(circuit, observations=circuit.observations + 3.0 * noise)
    usual = drives_of(laid(blind), blind)
    twice = drives_of(passes, circuit, rate_hz=20.0)
    offered = [twice]
    chosen, _, compared = module.choose_by_parts(
        usual, lambda _: offered.pop() if offered else None, most_load
    )
    assert chosen is (twice if most_load == 0.1 else usual)
    # Once with half of the sharpness, so that a second counts for as much, once with all of it.
    sharpnesses = [row['sharpness'] for row in compared]
    assert sharpnesses == pytest.approx([0.2, 0.1, 0.2] if most_load else [0.2])
    offered = [usual]
    chosen, _, _ = module.choose_by_parts(
        twice, lambda _: offered.pop() if offered else None, most_load
    )
    assert chosen is twice


@pytest.mark.parametrize(('sharpness', 'wanted'), [(0.9, [0.9, 0.2]), (0.21, [0.2, 0.21])])
def test_a_sharpness_for_vibration_is_taken_if_much_better(sharpness, wanted, circuit, passes):
    usual = drives_of(passes, circuit)
    usual = usual._replace(settings=replace(usual.settings, sharpness=sharpness))
    for most_load, sharpnesses in ((0.1, wanted), (0.0, [sharpness])):
        _, followed, compared = module.choose_by_parts(usual, lambda _: None, most_load)
        assert followed.tuning.sharpness == sharpnesses[0]
        # What is used comes first.
        assert [row['sharpness'] for row in compared] == sharpnesses


@pytest.mark.parametrize(
    ('excess_m', 'lost', 'more'),
    [
        (-0.1, False, False),
        (0.001, False, False),
        (0.3, False, True),
        # One piece decides: chance is not known.
        (0.001, True, True),
        (-0.1, True, False),
    ],
)
def test_an_error_is_larger_beyond_chance_and_by_any_amount_where_some_is_lost(
    excess_m, lost, more
):
    rng = np.random.default_rng(0)
    errors = 2.0 + 0.1 * rng.normal(size=80)
    others = errors + 0.1 * rng.normal(size=80)
    others += excess_m - (others - errors).mean()
    errors[-1] = others[-1] = 1e3 if lost else 2.0
    places = 50.0 * np.array([[-1.0, 0.0], [1.0, 0.0]])

    def followed(distances: np.ndarray, parts: int = 2) -> module.Followed:
        rows = np.zeros((len(distances), 2, 2))
        rows[:, 0, 0] = distances
        runs = tuple((held_out.Run(*[each] * 6),) for each in np.array_split(rows, parts))
        return module.Followed(runs, Tuning(), places, 0.0)

    usual, faster = followed(errors), followed(others)
    larger = excess_m > 0.0
    assert (faster.score_m > usual.score_m) == larger
    assert faster.errs_more(usual) == more
    # Without pieces of the same road there is no chance to measure.
    assert followed(others, 4).errs_more(usual) == larger


def test_nothing_is_calibrated_without_positions_or_parts(circuit, passes):
    nowhere = replace(circuit, track=np.full_like(circuit.track, np.nan))
    assert calibration(passes, nowhere) is None
    short = Circuit().drive(np.zeros(LAP_TICKS), seed=0)
    assert calibration(laid(short), short, LAP_TICKS // 2) is None


@pytest.mark.slow
def test_factors_make_ellipses_hold_their_share():
    """Of other drives of the same kind; two seconds ahead laps faster than any seen lie out."""
    # Observations are independent here, so each of them counts in full.
    tuning, held = Tuning(sharpness=1.0), []
    for trained in (0, 20):
        drive = Circuit().laps(12, seed=trained)
        passes = laid(drive)
        factors = calibration(passes, drive, tuning=tuning).calibration.factors
        route = learn_route(passes, np.ones(len(passes.settled), dtype=np.bool_), tuning)
        for seed in range(1, 4):
            other = Circuit().laps(6, seed=trained + seed)
            truth = segment_targets(other.track, passes.horizons, passes.period_s)
            run = held_out.follow(
                module.steps_of(RouteBelief(route)), other.observations, truth, LEAD
            )
            known = np.isfinite(run.errors[:, :3]).all(axis=(1, 2))
            wide = run.covariances[known, :3] * factors[:3, None, None]
            squares = squared_mahalanobis(run.errors[known, :3], wide)
            held.append([np.mean(squares < level, axis=0) for level in CHI_SQUARE])
    inner, outer = np.mean(held, axis=0)
    assert (np.abs(inner - 0.68) < [0.1, 0.1, 0.13]).all()
    assert (outer > [0.85, 0.82, 0.75]).all()
    assert (outer < 0.99).all()


def test_of_a_drive_that_is_parked_first_each_part_has_some_driving(circuit):
    ticks = 4 * len(circuit.track)
    parked = replace(
        circuit,
        observations=np.concatenate([np.repeat(AT_REST[None], ticks, 0), circuit.observations]),
        track=np.concatenate([np.repeat(circuit.track[:1], ticks, 0), circuit.track]),
    )
    parts = parts_of(parked)
    assert len(parts) == held_out.FOLDS
    assert all(0.5 < kept.mean() < 0.9 for _, kept in parts)


class Circle(SimpleNamespace):
    def __len__(self) -> int:
        return len(self.positions)


def places_of(lengths: list[int], lap: int) -> Places:
    """Return places that are visited one a tick, so many a lap, over all segments."""
    times = np.concatenate([np.arange(each) for each in lengths]).astype(float)
    return Circle(
        segments=np.repeat(np.arange(len(lengths)), lengths),
        times=times,
        visited=np.arange(len(times)) % lap,
        positions=on_circle(2.0 * np.pi * np.arange(lap) / lap),
    )


@given(st.lists(st.integers(0, 4000), min_size=1, max_size=6), st.integers(10, 700))
def test_they_are_in_order_within_the_drives_and_not_too_long(extra, window):
    lengths = [2 * window + 1 + each for each in extra]
    found = choose_stretches(lengths, places_of(lengths, 500), window)
    most = max(MOST_TICKS, 6 * window)
    assert 0 < sum(end - begin for _, begin, end in found) <= most
    assert found == sorted(found)
    for one, other in pairwise(found):
        assert one.segment < other.segment or one.end < other.begin
    for segment, begin, end in found:
        assert 0 <= begin < end <= lengths[segment]
        assert end - begin > 2 * window
    if sum(lengths) <= most:
        assert found == [
            held_out.Stretch(index, 0, length) for index, length in enumerate(lengths)
        ]


def test_states_are_means_over_visits_and_else_those_of_the_nearest_place():
    stretches = [held_out.Stretch(0, 0, 50), held_out.Stretch(1, 10, 40)]
    states = np.column_stack([np.ones(4), [1.0, 2.0, 5.0, 7.0]])
    found = states_at_places(places_of([50, 60], 20), stretches, np.array([3, 4, 23, 52]), states)
    assert found.shape == (20, 2)
    assert (found[:, 0] == 1.0).all()
    # Tick 3 and tick 23 are the same place; 52 is tick 12 of the second segment.
    assert found[[3, 4, 6, (50 + 12) % 20], 1].tolist() == [3.0, 2.0, 2.0, 7.0]
    assert found[0, 1] in {3.0, 7.0}
