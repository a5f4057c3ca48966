# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Lap times of drives whose true times are known, and start lines and sectors by name."""

from dataclasses import replace
import math
import re

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from oval import BEGIN_NS, driven, LAP_S, laps_at, oval, SECOND, vehicle
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.lap_times import time_laps
from two_manifold_ros.laps.timing import circuit_of, LapTimer, live_timer, make_timer, THIRDS
from two_manifold_ros.model.circuit import Circuit
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.recordings.recording import PositionStream
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate

LAPS = [12.0, 11.4, 12.9, 11.7]
EXACT_S = 2e-3
"""What the interpolation between ticks leaves of 0.1 s where the speed varies."""


def times_of(timer: LapTimer) -> list[float]:
    return [lap.time.seconds for lap in timer.laps]


@pytest.mark.parametrize('period_s', [0.02, 0.1, 0.25])
def test_laps_sectors_and_crossings_are_those_of_the_drive(period_s):
    timer, within = LapTimer(oval()), EXACT_S + 0.05 * period_s
    driven(LAPS, period_s=period_s).push(timer)
    assert times_of(timer) == pytest.approx(LAPS, abs=within)
    assert [lap.number for lap in timer.laps] == [1, 2, 3, 4]
    begins = [(lap.begin_ns - BEGIN_NS) / SECOND for lap in timer.laps]
    edges = 0.2 * LAPS[0] + np.cumsum([0.0, *LAPS[:-1]])
    assert begins == pytest.approx(edges, abs=within)
    shares = np.diff(laps_at(np.array([0.0, *THIRDS, 1.0])))
    for lap, lap_s in zip(timer.laps, LAPS, strict=True):
        sectors = [each.seconds for each in lap.sectors]
        assert sectors == pytest.approx(lap_s * shares, abs=within)


def test_a_state_says_where_the_vehicle_is_and_how_long_its_lap_took():
    drive = driven(LAPS)
    edges = 0.2 * LAPS[0] + np.cumsum([0.0, *LAPS])
    for state, share, stamp in zip(
        drive.push(LapTimer(oval())), drive.shares, drive.stamps, strict=True
    ):
        lap, phase = math.floor(share), share % 1.0
        assert state.stamp_ns == stamp
        if min(phase, 1.0 - phase) < 1e-3:
            continue
        assert state.phase == pytest.approx(phase, abs=1e-3)
        assert state.distance_m == pytest.approx(100.0 * phase, abs=0.1)
        assert state.sector == 1 + sum(phase > each for each in THIRDS)
        assert state.distance_deviation_m == pytest.approx(0.1)
        assert state.lap == max(lap + 1, 0)
        since = (stamp - BEGIN_NS) / SECOND - edges[lap] if state.lap else math.nan
        assert state.elapsed.seconds == pytest.approx(since, abs=EXACT_S, nan_ok=True)
        assert math.isnan(state.predicted.seconds) == (not state.lap)
        # Deltas are differences to the same place of the other lap.
        if not 1 <= lap < len(LAPS) or not 0.01 <= phase <= 0.99:
            continue
        usual, last, best = float(laps_at(np.array(phase))), LAPS[lap - 1], min(LAPS[:lap])
        assert state.to_last.seconds == pytest.approx(usual * (LAPS[lap] - last), abs=0.01)
        assert state.to_best.seconds == pytest.approx(usual * (LAPS[lap] - best), abs=0.01)
        assert state.last.seconds == pytest.approx(last, abs=EXACT_S)
        assert state.best.seconds == pytest.approx(best, abs=EXACT_S)
    numbers = state.numbers()
    assert (numbers['best_s'], numbers['best_std_s']) == state.best


def test_the_predicted_time_ends_at_the_time_of_the_lap():
    drive = driven(LAPS)
    states = np.array(drive.push(LapTimer(oval(spreads=np.linspace(1.0, 0.0, 601)))))
    for lap, lap_s in enumerate(LAPS):
        inside = [each.predicted for each in states[np.floor(drive.shares) == lap]]
        assert inside[-1].seconds == pytest.approx(lap_s, abs=0.02)
        # All of the lap is in proportion, of which half is taken to last.
        assert abs(inside[len(inside) // 2].seconds - lap_s) < 0.6
        assert inside[3].deviation_s > inside[-2].deviation_s > 0.0


def test_noise_of_the_positions_makes_errors_as_large_as_the_deviation_says():
    laps = [LAP_S] * 25
    timers = [LapTimer(oval(repeated=each)) for each in (1.0, 0.25)]
    for timer in timers:
        vehicle(driven(laps).shares, noise_m=0.1).push(timer)
    errors = np.array(times_of(timers[0])) - LAP_S
    assert len(errors) == len(laps)
    said = np.sqrt(np.mean([lap.time.deviation_s**2 for lap in timers[0].laps]))
    assert 0.4 < np.sqrt(np.mean(errors**2)) / said < 1.6
    # The share of errors that repeats is in no lap time.
    for whole, part in zip(timers[0].laps, timers[1].laps, strict=True):
        assert part.time.deviation_s == pytest.approx(0.25 * whole.time.deviation_s)
        assert part.sectors == whole.sectors


@pytest.mark.parametrize('where', [0.0, 1 / 3])
def test_a_vehicle_that_stands_on_a_line_passes_it_once(where):
    shares = np.arange(-0.2, 2.3, 0.01)
    on_line = 1.0 + where + 0.0015 * np.random.default_rng(1).normal(size=200)
    timer = LapTimer(oval())
    shares = np.insert(shares, np.searchsorted(shares, 1.0 + where), on_line)
    numbers = [state.lap for state in vehicle(shares).push(timer)]
    assert [lap.number for lap in timer.laps] == [1, 2]
    assert all(math.isfinite(each) for each in times_of(timer))
    whole = sum(each.seconds for each in timer.laps[1].sectors)
    assert whole == pytest.approx(timer.laps[1].time.seconds)
    assert numbers == sorted(numbers)


@pytest.mark.parametrize('gap_s', [0.5, 2.0, 5.0, 7.0])
def test_a_gap_shorter_than_a_lap_is_bridged_at_the_usual_speeds(gap_s):
    drive, timer = driven([LAP_S] * 4), LapTimer(oval())
    since = (drive.stamps - BEGIN_NS) / SECOND - 2.2 * LAP_S
    drive.push(timer, (since < -0.4 * gap_s) | (since > 0.6 * gap_s))
    assert times_of(timer) == pytest.approx([LAP_S] * 4, abs=0.02)


def test_a_vehicle_that_is_found_elsewhere_has_no_lap_time():
    """Half a lap on in one tick: nobody knows which passages were real."""
    drive = driven([LAP_S] * 5)
    half = np.flatnonzero(drive.shares > 1.7)[0]
    timer = LapTimer(oval())
    vehicle(drive.shares + 0.5 * (np.arange(len(drive.shares)) >= half)).push(timer)
    known = [each for each in times_of(timer) if math.isfinite(each)]
    assert known == pytest.approx([LAP_S] * len(known), abs=0.02)
    # Between the second and the third passage is the jump.
    assert len(known) == 3
    sectors = [timed.seconds for lap in timer.laps for timed in lap.sectors]
    assert np.nanmin(sectors) > 0.2 * LAP_S


@pytest.mark.parametrize('gap_s', [1.2 * LAP_S, 3600.0, 1e9, -100.0])
def test_no_lap_is_made_up_in_a_gap_of_a_lap_or_more_or_where_stamps_jump_back(gap_s):
    drive, timer = driven([LAP_S] * 5), LapTimer(oval())
    later = drive.shares > 1.7
    states = replace(drive, stamps=drive.stamps + later * round(gap_s * SECOND)).push(timer)
    # The gap lies in the second lap, and whatever was driven in it is part of that lap.
    expected = [LAP_S, math.nan, LAP_S, LAP_S, LAP_S]
    assert times_of(timer) == pytest.approx(expected, abs=0.02, nan_ok=True)
    after = np.flatnonzero(later)[0]
    assert [lap.begin_ns is None for lap in timer.laps] == [False, True, False, False, False]
    assert states[after].lap == 2
    within = 1e-3 if gap_s > 0.0 else 5e-3  # of a lap; a tick is 8e-3
    assert states[after].phase == pytest.approx(drive.shares[after] % 1.0, abs=within)
    assert math.isnan(states[after].elapsed.seconds)


def test_another_start_line_and_other_sectors_move_the_lines():
    timer = LapTimer(oval().starting_at(40.0), [0.5])
    driven([LAP_S] * 4).push(timer)
    assert times_of(timer) == pytest.approx([LAP_S] * 3, abs=0.02)
    want = LAP_S * np.diff(laps_at(np.array([0.4, 0.9, 1.4])))
    for lap in timer.laps:
        assert [each.seconds for each in lap.sectors] == pytest.approx(want, abs=0.02)


@settings(max_examples=25)
@given(st.lists(st.floats(0.0, 0.02), min_size=50, max_size=200), st.floats(0.0, 1.0))
def test_any_forward_drive_counts_laps_by_its_way(steps, begin):
    """Also one that stands in between, at any speed up to the fastest."""
    shares = begin + np.concatenate([[0.0], np.cumsum(steps)])
    timer = LapTimer(oval(300))
    states = vehicle(shares).push(timer)
    if np.abs(shares[[0, -1]] - np.round(shares[[0, -1]])).min() > 1e-3:
        assert timer.number == math.floor(shares[-1]) - math.floor(shares[0])
    assert all(state is not None for state in states)
    assert all(each > 0.0 for each in times_of(timer))


@pytest.mark.parametrize(
    ('start_line', 'sectors', 'words'),
    [
        ('here', '', "start line 'here': write X,Y in metres, or a share of a lap"),
        ('nan', '', "start line 'nan': write X,Y"),
        ('1.0', '', 'write X,Y in metres, or a share of a lap from 0 to below 1'),
        ('900,900', '', 'm beside the route; name a place on it'),
        ('', 'x', "sector 'x': write X,Y in metres"),
        ('', '0.5 0.5', 'in the order driven'),
        ('', '0 0.5', 'none on the start line'),
        ('', '0.5 900,900', 'm beside the route'),
        ('', ';', 'name where each sector after the first begins'),
    ],
)
def test_a_line_that_is_none_is_refused_in_a_sentence(slot_car_model, start_line, sectors, words):
    with pytest.raises(InputError, match=re.escape(words)):
        make_timer(slot_car_model, start_line, sectors)


def test_a_place_on_a_lap_without_positions_is_refused(slot_car_model):
    laps_alone = replace(slot_car_model, frame_id=LAP_FRAME)
    for lines in (('1.0,2.0', ''), ('', '0.2 3,4')):
        with pytest.raises(InputError, match='no positions: write shares of a lap'):
            make_timer(laps_alone, *lines)
    assert make_timer(laps_alone, '0.25', '0.2 0.7').sectors == pytest.approx((0.2, 0.7))


def test_start_line_and_sectors_by_share_and_by_place_are_the_same(slot_car_model):
    circuit = slot_car_model.circuit
    point = circuit.points[len(circuit) // 4]
    for start_line in (f' {point[0]}, {point[1]} ', str(len(circuit) // 4 / len(circuit))):
        timed = make_timer(slot_car_model, start_line).circuit
        assert timed.points[0] == pytest.approx(point)
        assert timed.lap_s == pytest.approx(circuit.lap_s)
    timer = make_timer(slot_car_model, '0.5', '0.25;0.5')
    assert timer.sectors == pytest.approx((0.25, 0.5))
    place = timer.circuit.points[round(0.25 * len(timer.circuit))]
    named = make_timer(slot_car_model, '0.5', f'{place[0]},{place[1]} 0.5')
    assert named.sectors == pytest.approx((0.25, 0.5), abs=0.01)


def test_a_model_without_a_lap_has_no_timer(slot_car_model, spectral_model):
    model = replace(slot_car_model, circuit=None)
    assert live_timer(model) is None
    with pytest.raises(InputError, match='never come back to where they were'):
        make_timer(model)
    part = spectral_model.track[: len(spectral_model.track) // 40]
    with pytest.raises(InputError, match='train on whole laps'):
        circuit_of(replace(spectral_model, track=part))
    # Live only a map has laps; the track of a spectral model has those of the route.
    assert live_timer(spectral_model) is None
    with pytest.raises(InputError, match='a map of the route'):
        live_timer(spectral_model, sectors='0.5')
    assert live_timer(slot_car_model, '0.25', '0.5').sectors == (0.5,)
    usual = live_timer(slot_car_model)
    assert (usual.circuit, usual.sectors) == (slot_car_model.circuit, THIRDS)
    circuit = circuit_of(spectral_model)
    assert circuit.length_m == pytest.approx(slot_car_model.circuit.length_m, rel=0.03)
    assert circuit.lap_s == pytest.approx(slot_car_model.circuit.lap_s, rel=0.05)
    assert np.diff(circuit.seconds).argmin() == 0


def truths_of(circuit: Circuit, stream: PositionStream) -> np.ndarray:
    """Return the stamps, s, at which positions cross the start line, by a straight line there."""
    along = (stream.positions - circuit.points[0]) @ circuit.headings[0]
    near = np.linalg.norm(stream.positions - circuit.points[0], axis=1) < 0.1 * circuit.length_m
    at = np.flatnonzero(near[1:] & (along[:-1] < 0.0) & (along[1:] >= 0.0))
    share = -along[at] / (along[at + 1] - along[at])
    return (stream.stamps[at] + share * np.diff(stream.stamps)[at]) * 1e-9


def test_lap_times_are_those_of_the_simulated_car_and_those_by_positions_stand_beside(
    slot_car_model,
):
    laps = run_to_recording(simulate(SlotCarSettings(seed=2, rate_hz=10.0), laps=6))
    timed = time_laps(slot_car_model, laps, make_timer(slot_car_model))
    crossed = truths_of(timed.circuit, laps.positions)
    known = [lap for lap in timed.laps if math.isfinite(lap.time.seconds)]
    assert len(known) >= 3
    for lap in known:
        begin = np.argmin(np.abs(crossed - lap.begin_ns * 1e-9))
        error = lap.time.seconds - (crossed[begin + 1] - crossed[begin])
        assert abs(error) < 4.0 * lap.time.deviation_s + 0.02
        assert abs(error) < 0.1 * timed.circuit.lap_s
    by_positions = [each.time.seconds for each in timed.references]
    assert by_positions == pytest.approx(np.diff(crossed)[-len(by_positions) :], abs=0.05)
    errors = [lap.time.seconds - timed.reference_of(lap).time.seconds for lap in known]
    assert timed.errors() == pytest.approx(errors, abs=0.0)
    alone = time_laps(slot_car_model, replace(laps, positions=None), make_timer(slot_car_model))
    assert (alone.references, len(alone.errors())) == ((), 0)
    assert [lap.begin_ns for lap in alone.laps] == [lap.begin_ns for lap in timed.laps]
