# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The factors of a rehearsal: what they are, and that ellipses then hold their share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from circle_drives import PERIOD_S
import numpy as np
import pytest

from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.localisation.surprise import USUAL_SHARE
from two_manifold_ros.readout.calibration import calibration_factors, tempered
from two_manifold_ros.readout.forecast import ForecastReadout
from two_manifold_ros.simulation.slot_car_bag import run_to_recording
from two_manifold_ros.simulation.slot_car_run import simulate
from two_manifold_ros.simulation.slot_car_settings import SlotCarSettings
from two_manifold_ros.training.rehearsal import (
    INDEPENDENT_S,
    LEAST_SURPRISE,
    Rehearsal,
    Rehearser,
)
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from two_manifold_ros.model.model import Model
    from two_manifold_ros.recordings.recording import Recording


def made_up(ticks: int, scale: float) -> Rehearsal:
    rng = np.random.default_rng(0)
    errors = scale * rng.normal(size=(ticks, 2, 2))
    errors[::3, 1] = np.nan
    return Rehearsal(errors, np.tile(np.eye(2), (ticks, 2, 1, 1)), np.ones(ticks), PERIOD_S)


@pytest.mark.parametrize('scale', [0.3, 3.0])
def test_factors_are_those_of_the_errors(scale: float) -> None:
    """A factor below 1 is believed as far as the errors are of different causes."""
    rehearsal = made_up(2000, scale)
    factors, counts = rehearsal.factors()
    plain, plain_counts = calibration_factors(rehearsal.errors, rehearsal.covariances)
    wanted = tempered(plain, 2000 * PERIOD_S / INDEPENDENT_S)
    np.testing.assert_array_equal(factors, wanted)
    np.testing.assert_array_equal(counts, plain_counts)
    np.testing.assert_array_equal(counts, [2000, 1333])
    if scale > 1.0:
        np.testing.assert_allclose(factors, scale**2, rtol=0.1)
    else:
        assert (factors > 1.3 * scale**2).all()
        assert (factors < 1.0).all()


def test_fewer_errors_shrink_less() -> None:
    factors = [made_up(ticks, 0.3).factors()[0][0] for ticks in (100, 1000, 10_000)]
    assert factors == sorted(factors, reverse=True)


def test_the_model_remembers_its_factors(slot_car_model: Model) -> None:
    remembered = slot_car_model.summary['covariance_factors']
    assert list(remembered) == ['horizon 0', 'horizon 5', 'horizon 20', 'velocity']
    assert isinstance(slot_car_model.readout, ForecastReadout)
    factors = slot_car_model.readout.factors
    assert list(remembered.values()) == pytest.approx(factors.tolist(), abs=1e-4)
    assert not np.allclose(factors, 1.0)


def test_where_nothing_could_be_rehearsed_nothing_is_calibrated(
    slot_car_laps: tuple[Recording, Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = Rehearsal(np.empty((0, 3, 2)), np.empty((0, 3, 2, 2)), np.empty(0), PERIOD_S)
    monkeypatch.setattr(Rehearser, 'run', lambda _: nothing)
    settings = TrainingSettings(window=20, horizons=(0, 5))
    model = train_model([slot_car_laps[0].between(None, 15.0)], settings)
    assert model.summary['covariance_factors'] is None
    assert isinstance(model.readout, ForecastReadout)
    np.testing.assert_array_equal(model.readout.factors, 1.0)


@pytest.mark.long
@pytest.mark.parametrize('seed', [15, 16])
def test_ellipses_of_a_fresh_drive_hold_their_share(seed: int, slot_car_model: Model) -> None:
    fresh = run_to_recording(simulate(SlotCarSettings(seed=seed, rate_hz=10.0), laps=8))
    now, soon, later = (each.model for each in evaluate(slot_car_model, [fresh]).scores)
    for each in (now, soon):
        assert each.coverage68 == pytest.approx(0.7, abs=0.2)
        assert each.coverage95 == pytest.approx(0.925, abs=0.075)
    # The IMU has another bias on every drive: two seconds ahead the ellipses are too small.
    assert later.coverage68 == pytest.approx(0.65, abs=0.25)
    assert later.coverage95 == pytest.approx(0.85, abs=0.15)


def test_the_usual_surprise_is_the_median() -> None:
    surprises = np.array([0.5, 0.8, 1.4, 9.0, 0.7])
    rehearsal = replace(made_up(5, 1.0), surprises=surprises)
    assert rehearsal.usual_surprise == 0.8
    assert replace(rehearsal, surprises=0.0 * surprises).usual_surprise == LEAST_SURPRISE
    assert replace(rehearsal, surprises=np.empty(0)).usual_surprise == 1.0


def test_the_model_remembers_what_is_usual(slot_car_model: Model) -> None:
    route = slot_car_model.route
    assert route is not None
    assert route.surprise != USUAL_SHARE * route.sharpness
    assert 0.3 < route.surprise / route.sharpness < 1.5
