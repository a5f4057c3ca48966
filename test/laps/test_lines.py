# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Start line and sectors as a user names them, on the circuit of a model of any kind."""

from dataclasses import replace
import re

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.laps.timing import circuit_of, lines_in_words, live_timer, make_timer, THIRDS
from two_manifold_ros.names import LAP_FRAME


def test_a_start_line_by_share_and_by_place_are_the_same(slot_car_model):
    circuit = slot_car_model.circuit
    point = circuit.points[len(circuit) // 4]
    by_place = make_timer(slot_car_model, f' {point[0]}, {point[1]} ').circuit
    by_share = make_timer(slot_car_model, str(len(circuit) // 4 / len(circuit))).circuit
    for timed in (by_place, by_share):
        assert timed.points[0] == pytest.approx(point)
        assert timed.lap_s == pytest.approx(circuit.lap_s)


def test_sectors_count_from_the_start_line_that_is_named(slot_car_model):
    timer = make_timer(slot_car_model, '0.5', '0.25;0.5')
    assert timer.sectors == pytest.approx((0.25, 0.5))
    place = timer.circuit.points[round(0.25 * len(timer.circuit))]
    named = make_timer(slot_car_model, '0.5', f'{place[0]},{place[1]} 0.5')
    assert named.sectors == pytest.approx((0.25, 0.5), abs=0.01)


@pytest.mark.parametrize(
    ('start_line', 'sectors', 'words'),
    [
        ('here', '', "start line 'here': write X,Y in metres, or a share of a lap"),
        ('1,2,3', '', "start line '1,2,3': write X,Y"),
        ('nan', '', "start line 'nan': write X,Y"),
        ('1.0', '', "start line '1.0': a share of a lap is at least 0 and below 1"),
        ('900,900', '', 'm beside the route; name a place on it'),
        ('', 'x', "sector 'x': write X,Y in metres"),
        ('', '0.5 0.2', 'in the order driven'),
        ('', '0.5 0.5', 'in the order driven'),
        ('', '0 0.5', 'none on the start line'),
        ('', '0.5 900,900', 'm beside the route'),
        ('', ';', 'name where each sector after the first begins'),
    ],
)
def test_a_line_that_is_none_is_refused_in_a_sentence(slot_car_model, start_line, sectors, words):
    with pytest.raises(InputError, match=re.escape(words)) as caught:
        make_timer(slot_car_model, start_line, sectors)
    assert '\n' not in str(caught.value)


def test_a_model_without_a_lap_has_no_timer(slot_car_model, spectral_model):
    model = replace(slot_car_model, circuit=None)
    assert live_timer(model) is None
    with pytest.raises(InputError, match='never come back to where they were'):
        make_timer(model)
    part = spectral_model.track[: len(spectral_model.track) // 40]
    with pytest.raises(InputError, match='train on whole laps'):
        circuit_of(replace(spectral_model, track=part))
    # Live only a map has laps.
    assert live_timer(spectral_model) is None
    with pytest.raises(InputError, match='a map of the route'):
        live_timer(spectral_model, sectors='0.5')
    assert live_timer(slot_car_model, '0.25', '0.5').sectors == (0.5,)
    usual = live_timer(slot_car_model)
    assert (usual.circuit, usual.sectors) == (slot_car_model.circuit, THIRDS)


def test_the_track_of_a_spectral_model_has_the_lap_of_the_route(slot_car_model, spectral_model):
    circuit = circuit_of(spectral_model)
    assert circuit.length_m == pytest.approx(slot_car_model.circuit.length_m, rel=0.03)
    assert circuit.lap_s == pytest.approx(slot_car_model.circuit.lap_s, rel=0.05)
    assert np.diff(circuit.seconds).argmin() == 0


@pytest.mark.parametrize(('start_line', 'sectors'), [('1.0,2.0', ''), ('', '0.2 3,4')])
def test_a_place_on_a_lap_without_positions_is_refused(slot_car_model, start_line, sectors):
    laps_alone = replace(slot_car_model, frame_id=LAP_FRAME)
    with pytest.raises(InputError, match='no positions: write shares of a lap'):
        make_timer(laps_alone, start_line, sectors)
    assert make_timer(laps_alone, '0.25', '0.2 0.7').sectors == pytest.approx((0.2, 0.7))


def test_the_lines_are_named_in_metres_or_in_shares_where_there_are_none(slot_car_model):
    timer = make_timer(slot_car_model, sectors='0.25 0.5')
    lap_s, (x, y) = timer.circuit.lap_s, timer.circuit.points[0]
    words = lines_in_words(timer, 'map')
    for part in (f'usually {lap_s:.3f} s', f'({x:.2f}, {y:.2f}) m', '0.250, 0.500 and 1'):
        assert part in words
    share = np.arctan2(y, x) / (2.0 * np.pi) % 1.0
    assert f'{share:.3f} of a lap after' in lines_in_words(timer, LAP_FRAME)
