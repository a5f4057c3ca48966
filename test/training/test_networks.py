# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Drives of a network of look-alike roads are followed by turns and distances, others are not."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

from filter_runs import feed
import numpy as np
from other_recordings import with_positions, without_imu
import pytest
from worlds.network import travel, Yard, yard_network

from two_manifold_ros.evaluation.evaluate import estimates_along
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.fixes import Fix
from two_manifold_ros.filtering.successor import Successor
from two_manifold_ros.model.model import atlas_of, RouteModel
from two_manifold_ros.model.model_file import load_model, save_model
from two_manifold_ros.names import NOVEL
from two_manifold_ros.network.belief import NetworkBelief, shakes_of
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.route.learning import learn_route, Tuning
from two_manifold_ros.ticks.segments import cut_segments
from two_manifold_ros.training.following import choose_network, steps_of, where_drives_begin
from two_manifold_ros.training.held_out import follow
from two_manifold_ros.training.route import lay_out_recordings
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

YARD = Yard(columns=3, rows=3)
SETTINGS = TrainingSettings(max_step_load=0.0)
STANDS_S = 3.0
SLOW = (0.6,) * 50


@pytest.fixture(scope='module')
def yard_model(tmp_path_factory) -> RouteModel:
    network = yard_network()
    drives = [travel(network, YARD.errands(14, seed), seed=seed).recording for seed in range(4)]
    model = train_model(drives, SETTINGS)
    path = tmp_path_factory.mktemp('yard') / 'model.npz'
    save_model(model, path)
    loaded = load_model(path)
    assert isinstance(loaded, RouteModel)
    return loaded


@pytest.fixture(scope='module')
def short_drives() -> list[Recording]:
    network = yard_network()
    return [travel(network, YARD.errands(6, seed), seed=seed).recording for seed in range(3)]


def chosen(recordings: list[Recording]) -> tuple[Any, Any, list[str]] | None:
    """Choose whether drives that a route map does not follow are those of a network."""
    drives = lay_out_recordings(recordings, SETTINGS)
    # A network is taken however it is followed, if only it can be.
    lost = SimpleNamespace(score_m=1e9, lost_m=2e9, tuning=Tuning())
    return choose_network(drives, lost, recordings, lambda: None)


def shown(live: object, recording: Recording) -> list[Any]:
    return [each for each, _ in estimates_along(live, recording, lambda *_: None)]


@pytest.fixture(scope='module')
def errands() -> tuple[Recording, np.ndarray]:
    made = travel(yard_network(), YARD.errands(10, 100), day=1, seed=50)
    return replace(made.recording, positions=None), made.truth


def test_errands_that_were_never_driven_as_a_whole_are_followed(yard_model, errands):
    assert yard_model.network is not None
    assert any('network' in each for each in yard_model.summary['notes'])
    *routes, network = yard_model.summary['validation']['compared']
    assert network['network']
    assert not any(each['network'] for each in routes)
    assert network['score_m'] < 0.5 * min(each['score_m'] for each in routes)
    recording, truth = errands
    rows = [
        (each.stamp_ns, *each.positions[0], each.valid, each.off_route)
        for each in shown(Filter(yard_model), recording)
    ]
    stamps, x, y, valid, off = np.array(rows).T
    seconds = (stamps - recording.imu.first_stamp) * 1e-9
    sampled = (recording.imu.stamps - recording.imu.first_stamp) * 1e-9
    true = [np.interp(seconds, sampled, column) for column in truth.T]
    after = seconds > STANDS_S + yard_model.window / yard_model.rate_hz
    errors = np.hypot(x - true[0], y - true[1])[after]
    assert np.mean(errors < 2.0) > 0.9
    assert np.mean(valid[after]) > 0.5
    assert np.mean(off[after]) < 0.1


def test_a_filter_that_starts_on_the_way_is_off_the_network_until_it_is_reset(yard_model, errands):
    recording, _ = errands
    live = Filter(yard_model)
    after = shown(live, recording.between(60.0, None))[4 * yard_model.window :]
    assert not any(each.valid for each in after)
    assert {each.cause for each in after} == {'off_network'}
    live.reset('back at the depot')
    begun = shown(live, recording.between(0.0, 60.0))
    assert all(each.valid for each in begun[2 * yard_model.window :])


@pytest.mark.parametrize('begins_s', [0.0, 60.0])
def test_slow_drivers_are_published_from_the_depot_and_not_from_on_the_way(yard_model, begins_s):
    published = []
    for seed in (50, 51, 53):
        made = travel(yard_network(), YARD.errands(10, 100), day=1, seed=seed, lap_ratios=SLOW)
        drive = made.recording.between(begins_s, begins_s + 240.0)
        published += [
            each.valid for each in shown(Filter(yard_model), drive)[4 * yard_model.window :]
        ]
    share = np.mean(published)
    assert share < 0.3 if begins_s else share > 0.9


def test_long_stops_in_aisles_and_bends_are_no_sign_of_another_road(yard_model):
    halts = [(0.2 * count, 60.0) for count in range(1, 8)]
    made = travel(yard_network(), YARD.errands(10, 150), day=3, seed=50, halts=halts)
    after = shown(Filter(yard_model), made.recording)[4 * yard_model.window :]
    assert np.mean([each.valid for each in after]) > 0.98


def test_a_fix_that_agrees_ends_that_bends_disagree(yard_model):
    made = travel(yard_network(), YARD.errands(10, 100), day=1, seed=50, lap_ratios=SLOW)
    imu, live, told = made.recording.between(60.0, None).imu, Filter(yard_model), []
    for stamp, sample in zip(imu.stamps.tolist(), imu.samples, strict=True):
        told += [each.cause for each in live.push(stamp, sample)]
        if 'disagrees' in told and not live.fixes:
            place = live.latest.positions[0]
            live.fix(Fix(stamp, place, 4.0 * np.eye(2), frame_id=yard_model.frame_id))
            told = ['disagrees']
        elif live.fixes and len(told) > 2:
            break
    assert live.fixes['agreeing'] == 1
    assert told[2] != 'disagrees'


def test_after_a_long_gap_it_is_off_the_network_even_where_it_stands(yard_model, errands):
    recording, _ = errands
    live, imu = Filter(yard_model), recording.imu
    far_ns = 10 * yard_model.window * yard_model.period_ns
    for stamp, sample in zip(imu.stamps[: 50 * 40], imu.samples, strict=False):
        live.push(int(stamp), sample)
    assert live.latest.valid
    later = int(imu.stamps[50 * 40]) + far_ns + 20_000_000 * np.arange(50 * 20)
    seen = zip(later.tolist(), np.tile(imu.samples[:50], (20, 1)), strict=True)
    causes = [each.cause for each in feed(live, seen)]
    assert causes[-1] == 'off_network'
    assert set(causes) <= {'filling', 'off_network'}


def test_a_filter_that_takes_over_on_the_way_does_not_begin_at_the_depot(
    yard_model, errands, kart_atlas
):
    imu = errands[0].imu
    # A cart that stands, at its depot or in an aisle.
    past = [
        (int(imu.stamps[0]) + 20_000_000 * count, imu.samples[count % 50]) for count in range(1500)
    ]
    # Of no road that is driven here, at the same ticks.
    head = {name: getattr(yard_model, name) for name in ('rate_hz', 'period_ns', 'horizons')}
    ring = replace(kart_atlas.routes['ring'], **head)
    for model in (yard_model, atlas_of({'yard': yard_model, 'ring': ring})):
        for seen, valid in ((past, False), ([], True)):
            taken = Successor(partial(Filter, model), seen, at_once=True)
            for sample in [] if seen else past:
                taken.take(*sample)
            assert not taken.failure
            assert taken.tracks == valid


def test_samples_one_by_one_give_what_ticks_of_a_recording_do(yard_model, errands):
    recording, _ = errands
    live = [each.positions[0] for each in shown(Filter(yard_model), recording)]
    channels, period_ns = yard_model.channels, yard_model.period_ns
    (segment, *_), _ = cut_segments(recording, period_ns, yard_model.max_gap_ns, spreads=True)
    shakes = shakes_of(segment.spreads[:, channels.live] / channels.scale[channels.live])
    belief = NetworkBelief(yard_model.route, yard_model.network, period_ns * 1e-9)
    nowhere = np.zeros((len(segment), len(yard_model.horizons) + 1, 2))
    seen = channels.standardise(segment.values)
    run = follow(steps_of(belief, shakes), seen, nowhere, 0)
    count = len(segment) - 1
    assert np.allclose(np.array(live)[: count - 1], run.errors[: count - 1, 0], atol=1e-6)


def test_aisles_that_come_in_another_order_are_no_route_driven_the_other_way_round(yard_model):
    made = travel(yard_network(), YARD.errands(14, 104), day=4, seed=4)
    drive = replace(made.recording, positions=None)
    found = shown(Filter(yard_model), drive)
    assert 'wrong_way' not in {each.cause for each in found}
    assert np.mean([each.valid for each in found]) > 0.9


def test_a_vehicle_that_shakes_as_none_of_the_training_is_not_believed(yard_model, errands):
    recording, _ = errands
    imu, channels = recording.imu, yard_model.channels
    shaken = imu.samples + channels.scale * np.random.default_rng(0).normal(size=imu.samples.shape)
    jolted = imu.samples.copy()
    # One in ten seconds hits a stone.
    jolted[500::500] += 4.0 * channels.scale
    found = []
    for samples in (imu.samples, jolted, shaken):
        drive = replace(recording, imu=replace(imu, samples=samples))
        later = shown(Filter(yard_model), drive)[2 * yard_model.window :]
        found.append(np.median([each.novelty for each in later]))
        novel = np.mean([each.cause == 'novelty' for each in later])
        assert novel == pytest.approx(float(samples is shaken), abs=0.01)
    assert found[:2] == [1.0, 1.0]
    assert found[2] > NOVEL


def test_drives_are_a_network_where_three_recordings_show_where_they_begin(short_drives):
    roads = chosen(short_drives)
    assert roads is not None
    assert any('3 of 3 drives begin at' in each for each in roads[2])
    assert chosen(short_drives[:2]) is None
    # Nor where too few have positions, or move.
    first, *others = short_drives
    assert chosen([first, *(replace(each, positions=None) for each in others)]) is None
    stand = [with_positions(each, positions=0.0 * each.positions.positions) for each in others]
    assert chosen([first, *stand]) is None


@pytest.mark.slow
@pytest.mark.parametrize(('begin_s', 'end_s', 'stretches'), [(0.5, 1.5, 3), (40.0, 60.0, 4)])
def test_behind_a_hole_in_a_recording_no_drive_begins(short_drives, begin_s, end_s, stretches):
    *others, last = short_drives
    roads = chosen([*others, without_imu(last, begin_s, end_s)])
    assert roads is not None
    network, followed, _ = roads
    assert len(followed.parts) == 3
    passes = network.passes
    # A driver that starts with a few samples and a gap still shows where a drive begins.
    assert passes.begins.tolist()[:stretches] == [True] * 3 + [False] * (stretches - 3)
    every = np.ones(len(passes.places.visited), dtype=bool)
    begun = learn_route(passes, every, Tuning()).switching.beginnings.sum(axis=0)
    depot = last.positions.positions[0]
    away_m = np.linalg.norm(passes.places.positions - depot, axis=1)
    assert away_m[begun > 1.01 * np.median(begun)].max() < 2.0


def test_where_drives_begin_is_said(short_drives):
    first, *others = (
        replace(each, name=name) for each, name in zip(short_drives, 'abc', strict=True)
    )
    late = first.between(40.0, None)
    alone, together = where_drives_begin([late, *others], 2.0)
    x, y = late.positions.positions[0]
    assert f'a alone begins at ({x:.1f}, {y:.1f})' in alone
    x, y = others[0].positions.positions[0]
    assert f'2 of 3 drives begin at ({x:.1f}, {y:.1f})' in together
    # A start beside the others is none of its own, and who has no positions shows none.
    assert len(where_drives_begin(short_drives, 2.0)) == 1
    assert where_drives_begin([replace(first, positions=None)], 2.0) == []
