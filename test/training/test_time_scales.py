# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rate and window follow the vehicle, where neither is given."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from other_recordings import with_imu
import pytest
from rounds import felt, on_circle, recording_of

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.training import train as module
from two_manifold_ros.training.settings import PaperSettings, SpectralSettings, TrainingSettings


def test_scales_follow_a_slow_vehicle_but_for_those_that_are_given(drive):
    usual = module.with_time_scales([drive(90.0)], TrainingSettings())
    slowly = [drive(540.0, lap_s=48.0)]
    slow = module.with_time_scales(slowly, TrainingSettings())
    assert 5.0 <= slow.rate_hz < usual.rate_hz <= 20.0
    assert slow.window / slow.rate_hz > 1.5 * usual.window / usual.rate_hz
    both = TrainingSettings(rate_hz=17.0, window=33)
    for given in (both, replace(SPECTRAL, rate_hz=2.0), replace(SPECTRAL, window=25)):
        assert module.with_time_scales(slowly, given) == given
    assert module.with_time_scales(slowly, TrainingSettings(rate_hz=17.0)).rate_hz == 17.0
    assert module.with_time_scales(slowly, TrainingSettings(window=33)).window == 33


def shaken(
    vibration: float, shaking_hz: float = 7.3, rate_hz: float = 25.0, *, laps: bool = True
) -> Recording:
    """Drive laps of eight seconds, or so far ahead, on a vehicle that vibrates, m/s^2 (RMS)."""
    rng = np.random.default_rng(1)
    seconds = np.arange(round(160 * rate_hz)) / rate_hz
    angle = np.interp(seconds, np.arange(0, 161, 4), np.cumsum(rng.uniform(2.9, 3.4, 41)))
    samples = 2.0 * felt(angle if laps else np.cumsum(rng.uniform(-0.5, 0.6, len(angle))))
    # The speed of an engine wanders, and each axis has a phase of its own.
    wander = np.cumsum(rng.normal(size=len(seconds))) / np.sqrt(rate_hz)
    phases = 2.0 * np.pi * shaking_hz * seconds + wander
    for axis in (0, 1):
        samples[:, axis] += np.sqrt(2.0) * vibration * np.sin(phases + axis)
    # A sensor that warms up is alike from lap to lap everywhere.
    warm = np.linspace(-0.55, 0.55, len(angle))
    samples[:, 2] = vibration * (rng.normal(size=len(angle)) + warm)
    samples[:, 5] = 0.0
    positions = on_circle(angle, 20.0) if laps else angle[:, None] * [20.0, 0.0]
    return recording_of(samples, positions, rate_hz)


@pytest.mark.parametrize('rate_hz', [25.0, 100.0])
@pytest.mark.parametrize('shaking_hz', [3.1, 7.3, 11.9])
@pytest.mark.parametrize('vibration', [2.0, 4.0])
def test_vibration_does_not_hide_how_long_what_repeats_lasts(vibration, shaking_hz, rate_hz):
    calm = module.with_time_scales([shaken(0.0, shaking_hz, rate_hz)], TrainingSettings())
    found = module.with_time_scales([shaken(vibration, shaking_hz, rate_hz)], TrainingSettings())
    assert calm.rate_hz < 10.0
    assert calm.sharpness is None
    assert found.rate_hz == pytest.approx(calm.rate_hz, rel=0.3)


@pytest.mark.slow
def test_what_vibration_hides_is_known_from_laps_alone():
    for vibration in (0.0, 4.0):
        ahead = [shaken(vibration, laps=False)]
        assert module.with_time_scales(ahead, TrainingSettings()).rate_hz == 25.0
    # A sharpness for that is tried where all is left open, and none where a rate is given.
    whole = module.with_time_scales([shaken(4.0)], TrainingSettings())
    assert whole.sharpness == pytest.approx(0.2 * 25.0 / whole.rate_hz)
    given = TrainingSettings(rate_hz=whole.rate_hz)
    assert module.with_sharpness([shaken(4.0)], given).sharpness == whole.sharpness
    assert module.with_time_scales([shaken(4.0)], TrainingSettings(window=30)).sharpness is None
    tried = module.train_model([shaken(2.0)], TrainingSettings()).summary['validation']['compared']
    usual_hz = tried[0]['rate_hz']
    assert len([row for row in tried if row['rate_hz'] == usual_hz]) == 2


SPECTRAL = TrainingSettings(method='spectral')
TPSR = TrainingSettings(method='tpsr', features=200, horizons=(0, 5, 20))


FOLLOWED_AT: dict[tuple[float, float], list[float]] = {
    (48.0, 2.5): [0.4, 0.4], (24.0, 5.0): [0.25, 0.25], (12.0, 10.0): [0.1, 0.29],
    (24.0, 2.5): [0.35, 0.16],
}  # fmt: skip
"""Of each quarter, by window in seconds and rate: all others cannot be held out."""


@pytest.mark.parametrize(
    ('changes', 'wanted'),
    [
        # Much better at 24 s, hardly at 12 s, and with few ticks alike.
        ({}, (24.0, 2.5)),
        ({(12.0, 10.0): [0.1, 0.27]}, (12.0, 10.0)),
        ({(24.0, 2.5): [0.35, 0.19]}, (24.0, 5.0)),
        ({(48.0, 2.5): []}, (24.0, 2.5)),
        # Where most is lost nothing is chosen, nor where no part can be left out.
        ({(48.0, 2.5): [0.8, 0.8], (24.0, 5.0): [0.9, 0.9]}, None),
        ({key: list[float]() for key in FOLLOWED_AT}, None),
        # Neither half as long is much better than the one before, but both together are.
        ({(24.0, 5.0): [0.32, 0.32], (12.0, 10.0): [0.25, 0.25]}, (12.0, 10.0)),
        ({(24.0, 5.0): []}, (48.0, 2.5)),
    ],
    ids=['few', 'short', 'many', 'first', 'lost', 'none', 'together', 'lone'],
)
def test_what_is_chosen_of_what_was_compared(changes, wanted, drive, monkeypatch):
    known = FOLLOWED_AT | changes

    def followed(_: Sequence[Recording], settings: TrainingSettings) -> list[float]:
        return known.get((settings.window / settings.rate_hz, settings.rate_hz), [])

    monkeypatch.setattr(module, 'errors_in_turn', followed)
    chosen = module.with_time_scales([drive(30.0)], SPECTRAL)
    found = chosen.window and (chosen.window / chosen.rate_hz, chosen.rate_hz)
    assert found == wanted
    assert replace(chosen, window=None, rate_hz=None) == SPECTRAL


@pytest.mark.parametrize(
    ('most_s', 'seconds'),
    [(1000.0, [30.0] * 8), (45.0, [30.0, 15.0]), (110.0, [30.0, 30.0, 30.0, 20.0]), (9.0, [9.0])],
)
def test_a_window_is_tried_on_whole_drives_that_are_evenly_spread(most_s, seconds, drive):
    whole = drive(250.0)
    drives = [whole.between(30.0 * each, 30.0 * each + 30.0) for each in range(8)]
    parts = module.part_to_try(drives, most_s)
    lasting = [1e-9 * np.ptp(each.imu.stamps) for each in parts]
    assert lasting == pytest.approx(seconds, abs=0.2)
    for part, index in ((parts[0], 0), *([(parts[-1], 7)] if len(parts) > 1 else [])):
        assert part.imu.samples[0].tobytes() == drives[index].imu.samples[0].tobytes()
    # One that has no positions shows no error, and a stamp far ahead is no long drive.
    mute = [replace(each, positions=None) for each in drives[:7]]
    assert all(each.positions is not None for each in module.part_to_try([*mute, drives[7]], 60.0))
    stamps = drives[0].imu.stamps.copy()
    stamps[100] += 10**15
    wild = with_imu(drives[0], stamps=stamps)
    assert module.part_to_try([wild, drives[1]], 61.0) == [wild, drives[1]]


@pytest.mark.parametrize(('seconds', 'window'), [(155.0, 150), (145.0, None), (5.0, None)])
def test_the_window_is_that_of_the_paper_where_ten_fit(seconds, window, drive):
    """All else is as the paper has it, but for what is given."""
    asked = PaperSettings(rate_hz=10.0, ridge=0.3)
    assert module.paper_settings(asked, [drive(seconds)]) == SpectralSettings(
        rate_hz=10.0, window=window, states=21, neighbours=50, coupling='gram-product',
        observation='ridge', readout='ridge', bandwidth_factor=1.0, ridge=0.3, clock='time',
        guards='off',
    )  # fmt: skip


def test_scales_follow_the_lap_and_a_slow_sensor(drive):
    whole = drive()
    settings = module.with_time_scales([whole], TPSR)
    # Laps of 8 s.
    assert settings.rate_hz == pytest.approx(10.0, rel=0.02)
    assert settings.window == 40
    slow = module.with_time_scales([drive(seconds=720.0, lap_s=240.0)], TPSR)
    assert (slow.rate_hz, slow.window) == (1.0, 90)
    slow = replace(whole, imu=whole.imu.select(np.arange(len(whole.imu.stamps)) % 20 == 0))
    assert module.with_time_scales([slow], TPSR).rate_hz == pytest.approx(5.0)
    given = module.with_time_scales([whole], replace(TPSR, rate_hz=5.0))
    assert (given.rate_hz, given.window) == (5.0, 20)
    with pytest.raises(InputError, match='met twice'):
        module.with_time_scales([drive(seconds=5.0)], TPSR)
    recording = drive(20.0)
    usual = module.with_time_scales([recording], TPSR)
    for index, days in product((0, 1000, -1), (1, -1)):
        stamps = recording.imu.stamps.copy()
        stamps[index] += days * 86_400 * 10**9
        assert module.with_time_scales([with_imu(recording, stamps=stamps)], TPSR) == usual


def test_at_another_rate_windows_and_horizons_are_as_long_in_seconds():
    usual = TrainingSettings(rate_hz=20.0, window=60, horizons=(0, 5, 20))
    twice = usual.times_the_rate(2.0, 40.0)
    assert twice == replace(usual, rate_hz=40.0, window=120, horizons=(0, 10, 40))
    assert twice.times_the_rate(0.5, 40.0) == usual
    # An IMU of 40 Hz often brings a little less.
    assert usual.times_the_rate(2.0, 38.5) == twice
    assert usual.times_the_rate(2.0, 37.0) is None
    # Half of five ticks is no tick, and half of three is no window.
    assert usual.times_the_rate(0.5, 40.0) is None
    assert replace(usual, window=2, horizons=(0,)).times_the_rate(0.5, 40.0) is None


def test_a_given_rate_keeps_the_sharpness_a_second(drive):
    recording = [drive(60.0)]
    usual_hz = module.with_time_scales(recording, TrainingSettings()).rate_hz
    for times, wanted in ((1.0, 0.2), (0.5, 0.4), (2.5, 0.08), (0.1, 1.0)):
        asked = TrainingSettings(rate_hz=times * usual_hz)
        assert module.with_sharpness(recording, asked).sharpness == pytest.approx(wanted)
        given = replace(asked, sharpness=0.3)
        assert module.with_sharpness(recording, given) == given
    # However long a window of so many ticks would be at the usual rate.
    asked = TrainingSettings(rate_hz=2.5 * usual_hz, window=1000)
    assert module.with_sharpness(recording, asked).sharpness == pytest.approx(0.08)
    # What is left open is chosen elsewhere, and no other method has one.
    for each in (TrainingSettings(), replace(SPECTRAL, rate_hz=7.0), replace(TPSR, rate_hz=7.0)):
        assert module.with_sharpness(recording, each) == each
