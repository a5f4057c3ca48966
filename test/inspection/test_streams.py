# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rates, gaps, units and dead channels, motion and laps, and positions that lie."""

from dataclasses import replace

from ellipse import drive
import numpy as np
from other_recordings import between_s, with_imu, without_positions
import pytest
from rounds import eight, recording_of

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.inspecting import inspect_recording
from two_manifold_ros.inspection.motion import count_laps, Laps, measure_motion
from two_manifold_ros.inspection.positions import measure_positions, PositionReport, scale_of
from two_manifold_ros.inspection.streams import advancing, measure_timing, Stretch
from two_manifold_ros.recordings.reading import without_frozen
from two_manifold_ros.recordings.recording import acceleration_unit, Recording, usual_gap_ns
from two_manifold_ros.ticks.segments import holes
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model


def driving(gravity: tuple[float, float, float], strength: float) -> np.ndarray:
    """Return samples of a vehicle that turns both ways, in the unit of the arguments."""
    samples = np.random.default_rng(1).normal(scale=strength, size=(5000, 6))
    samples[:, :3] += gravity
    return samples


@pytest.mark.parametrize(
    ('gravity', 'strength', 'verdict'),
    [
        ((0.0, 0.0, 9.8), 2.0, 'metres per second squared'),
        ((9.6, 1.0, 0.3), 2.0, 'metres per second squared'),
        ((0.0, 0.1, 1.0), 0.2, 'g'),
        ((0.0, 0.0, 0.0), 2.0, 'removed'),
        # Turning one way with 1 m/s^2 is not gravity in g: single samples are far from 1.
        ((0.0, 1.0, 0.0), 2.0, 'removed'),
        ((0.0, 0.0, 32.2), 5.0, 'unclear'),
    ],
)
def test_verdicts(gravity, strength, verdict):
    assert acceleration_unit(driving(gravity, strength)) == verdict


@pytest.mark.parametrize('share', [0.0, 0.1, -0.3])
def test_gravity_is_there_without_turning_and_bends_are_not(share):
    """In banked curves gravity follows the gyroscope, too."""
    samples = driving((0.0, 0.0, 0.0), 0.01)
    rate = np.random.default_rng(2).normal(0.5, 0.2, size=len(samples))
    samples[:, 5] = rate
    samples[:, 2] += 1.0 + share * rate
    assert acceleration_unit(samples) == 'g'
    samples[:, :3] *= 9.81
    assert acceleration_unit(samples) == 'metres per second squared'
    # Bends to one side at 2 m/s, gravity taken out.
    samples[:, :3] = driving((0.0, 0.0, 0.0), 0.01)[:, :3]
    samples[:, 1] += 2.0 * rate
    assert acceleration_unit(samples) == 'removed'


MS = 1_000_000
START = 1_700_000_000 * 10**9
EVEN = START + np.arange(300) * 20 * MS


@pytest.mark.parametrize(
    ('steps', 'gaps'),
    [
        # A gap is long in seconds and in intervals.
        ([10, 10, 10, 200, 10, 10, 300, 10], (Stretch(0.25, 0.3),)),
        ([100, 100, 100, 400, 100, 600, 100], (Stretch(0.8, 0.6),)),
        ([20] * 500 + [500] * 100, ()),
        ([20] * 500 + [500] * 100 + [3000, 500], (Stretch(60.0, 3.0),)),
        ([10] * 50 + [5000] + [10] * 50, (Stretch(0.5, 5.0),)),
    ],
)
def test_gaps(steps, gaps):
    stamps = START + np.cumsum(steps) * MS
    timing = measure_timing(stamps, START)
    assert timing.gaps == gaps
    # By the rule of training.
    assert timing.gap_s == usual_gap_ns(stamps) / 1e9
    if steps[0] == 10 and len(steps) > 50:
        assert timing.jitter_std_s == pytest.approx(0.0, abs=1e-12)


def test_interpolated_gaps_are_the_holes_of_training_and_wrong_stamps_make_none():
    steps = np.random.default_rng(0).exponential(400 * MS, size=200).astype(np.int64) + MS
    timing = measure_timing(START + np.append(0, np.cumsum(steps)), START, interpolated=True)
    assert len(timing.gaps) == np.count_nonzero(holes(steps)) > 0
    late = np.arange(300)
    late[::10] += 15
    assert measure_timing(EVEN[np.argsort(late, kind='stable')], START).gaps == ()
    zeros = EVEN.copy()
    zeros[1::2] = 0
    assert measure_timing(zeros, START).gap_s == 0.25
    stamps = np.append(START + np.array([0, 10, 10, 20, 15, 30, 30, 40]) * MS, [0, 0, -5])
    timing = measure_timing(stamps, START)
    assert (timing.duplicates, timing.backward, timing.zero) == (2, 1, 3)


def test_rate_and_jitter_of_a_stream():
    intervals = np.array([10] * 80 + [6] * 10 + [14] * 10) * MS
    stamps = START + np.cumsum(intervals)
    timing = measure_timing(stamps, START - 500 * MS)
    assert (timing.count, timing.start_s, timing.duration_s) == (100, 0.51, 0.99)
    assert timing.rate_hz == pytest.approx(100.0)
    assert timing.jitter_std_s == pytest.approx(intervals[1:].std() / 1e9)
    assert (timing.gaps, timing.duplicates, timing.backward, timing.zero) == ((), 0, 0, 0)
    alone = measure_timing(stamps[:1], START)
    assert (alone.rate_hz, alone.duration_s, alone.gaps) == (0.0, 0.0, ())
    stamps = np.array([0, 5, 5, 4, 6, 0, 7, 5, 8])
    assert stamps[advancing(stamps)].tolist() == [5, 6, 7, 8]


GAP_S = 0.25


def ellipse(seconds: np.ndarray, lap_s: float = 8.0) -> np.ndarray:
    angle = 2 * np.pi * seconds / lap_s
    return np.stack([2 * np.cos(angle), np.sin(angle)], axis=1)


def laps_of(seconds: np.ndarray, positions: np.ndarray) -> Laps | None:
    return count_laps(measure_motion(seconds, positions, GAP_S))


def measured(recording: Recording) -> PositionReport:
    return measure_positions(recording.positions, recording.imu)


def test_motion_of_a_circle_and_that_nothing_is_known_near_a_gap_and_a_jump():
    seconds = np.arange(0, 20, 0.04)
    motion = measure_motion(seconds, 3 * ellipse(seconds, 5.0) * [0.5, 1.0], GAP_S)
    inner = slice(motion.window, -motion.window)
    np.testing.assert_allclose(motion.course_rate[inner], 2 * np.pi / 5, rtol=0.03)
    np.testing.assert_allclose(motion.speed[inner], 6 * np.pi / 5, rtol=0.03)
    seconds = seconds[(seconds < 5) | (seconds > 6)]
    positions = ellipse(seconds)
    positions[seconds > 12] += 3.0
    motion = measure_motion(seconds, positions, GAP_S)
    near = (abs(motion.seconds - 5.5) < 0.5) | (abs(motion.seconds - 12) < 0.04)
    assert not motion.known[near].any()
    assert motion.known[(abs(motion.seconds - 5.5) > 1) & (abs(motion.seconds - 12) > 1)].all()
    assert np.isnan(motion.course_rate[~motion.known]).all()


def test_a_jump_is_found_and_a_move_during_a_gap_or_an_early_stamp_is_none():
    recording = drive()
    recording.positions.positions[600:] += [3.0, 4.0]
    (jump,) = measured(recording).jumps
    assert (jump.at_s, jump.distance_m) == pytest.approx((24.0, 5.0), abs=0.1)
    recording.positions.stamps[100] = recording.positions.stamps[99] + 100_000
    assert measured(without_positions(recording, 23.6, 24.8)).jumps == ()


@pytest.mark.parametrize('wider', [0.0, 0.02])
@pytest.mark.parametrize('lap_s', [4.0, 8.0, 11.0])
def test_laps_are_counted_and_measured(lap_s, wider):
    """Also if from one lap to the next the ellipse is wider."""
    seconds = np.arange(0, 50, 0.04)
    places = (1.0 + wider * np.round(seconds / lap_s)[:, None]) * ellipse(seconds, lap_s)
    laps = laps_of(seconds, places)
    assert laps.time_s == pytest.approx(lap_s, rel=0.02)
    assert laps.apart_m == pytest.approx(1.5 * wider, abs=0.5 * wider + 0.005)
    if not wider:
        assert laps.count == pytest.approx(50 / lap_s, rel=0.03)
        # Perimeter of the ellipse with half axes 2 m and 1 m.
        assert laps.length_m == pytest.approx(9.69, rel=0.03)
    # Of laps of which none is without a second that is not seen.
    seen = seconds % (lap_s - 1.0) < lap_s - 2.0
    assert laps_of(seconds[seen], places[seen]).time_s == pytest.approx(lap_s, rel=0.02)


def test_a_crossing_is_no_lap_and_a_stop_and_a_gap_do_not_spoil_the_lap_time():
    seconds = np.arange(0, 60, 0.04)
    assert laps_of(seconds, eight()(seconds)).time_s == pytest.approx(12.0, rel=0.02)
    # 15 s from the twentieth second on.
    seconds = np.arange(0, 63, 0.04)
    positions = ellipse(np.where(seconds < 20, seconds, np.maximum(seconds - 15, 20)))
    positions += np.random.default_rng(0).normal(scale=0.01, size=positions.shape)
    unseen = (seconds > 45) & (seconds < 55)
    laps = laps_of(seconds[~unseen], positions[~unseen])
    assert laps.time_s == pytest.approx(8.0, rel=0.02)
    # Of the 48 s of driving, 10 s are not seen.
    assert laps.count == pytest.approx(38 / 8, rel=0.05)


@pytest.mark.parametrize('away_s', [500.0, 1e8])
def test_a_long_hole_is_none_of_the_laps(away_s):
    driven = np.arange(0, 48, 0.04)
    seconds = np.where(driven < 20, driven, driven + away_s)
    motion = measure_motion(seconds, ellipse(driven), GAP_S)
    assert motion.seconds[-1] == pytest.approx(48 + away_s, abs=0.1)
    assert motion.known[(motion.seconds > 1) & (motion.seconds < 19)].all()
    assert not motion.known[(motion.seconds > 21) & (motion.seconds < 19 + away_s)].any()
    laps = count_laps(motion)
    assert laps.time_s == pytest.approx(8.0, rel=0.02)
    assert laps.count == pytest.approx(47 / 8, rel=0.03)


@pytest.mark.parametrize('lap_s', [8.0, 9.7])
def test_laps_are_counted_right_or_not_at_all(lap_s):
    rng = np.random.default_rng(0)
    driven = np.arange(0, 300, 0.04)
    resolved = set()
    for every in (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200):
        some = np.sort(rng.choice(driven, len(driven) // every, replace=False))
        for seconds in (driven[::every], some):
            gap_s = 3.0 * float(np.diff(seconds).max())
            motion = measure_motion(seconds, ellipse(seconds, lap_s), gap_s)
            laps = motion and count_laps(motion)
            if laps and laps.resolved:
                assert laps.count == pytest.approx(300 / lap_s, rel=0.05)
                resolved.add(every)
    assert resolved >= {1, 2, 3, 5}


@pytest.mark.parametrize('late_s', [0.0, 0.13, -0.27, 1.004])
@pytest.mark.parametrize(('axis', 'factor'), [(5, 1.0), (5, 57.2958), (5, -1.0), (4, 1.0)])
def test_the_gyroscope_follows_the_course_whatever_its_unit_sign_and_axis(late_s, axis, factor):
    recording = drive(late_s=late_s)
    recording.imu.samples[:, [axis, 5]] = recording.imu.samples[:, [5, axis]]
    recording.imu.samples[:, axis] *= factor
    yaw = measured(recording).yaw
    assert yaw.channel == f'angular_velocity.{"xyz"[axis - 3]}'
    assert abs(yaw.correlation) > 0.98
    assert yaw.slope == pytest.approx(factor, rel=0.1)


@pytest.mark.parametrize('imu_unit', [1.0, 1.0 / 9.80665])
@pytest.mark.parametrize('unit_m', [1e-3, 1e-2, 0.0254, 0.3048, 1e3, 111_195.0, 0.9144, 1.0])
def test_other_units_than_metres_are_named_and_refused(drive, unit_m, imu_unit):
    recording = drive()
    recording.positions.positions[:] = recording.positions.positions / unit_m + [8.0, 47.0]
    recording.imu.samples[:, :3] *= imu_unit
    report = inspect_recording(recording)
    other = not 0.5 < unit_m < 2.0
    assert ('positions_scaled' in {each.code for each in report.findings}) == other
    # All else is measured in metres.
    right = inspect_recording(drive()).positions
    assert report.positions.extent_m == pytest.approx(right.extent_m, rel=0.15)
    assert report.positions.standing == pytest.approx(right.standing, abs=0.01)
    if other:
        assert report.positions.scale == pytest.approx(1.0 / unit_m, rel=0.15)
        with pytest.raises(InputError, match=f'{recording.name}: .* are not in metres'):
            train_model([recording], TrainingSettings())


@pytest.mark.parametrize('factor', [1e-9, 1e-5, 1e-3, 1e3, 1e6])
def test_positions_that_no_model_can_hold_are_refused_before_the_work(drive, factor):
    """Where an IMU whose accelerometer is dead cannot show their unit."""
    recording = drive()
    recording.positions.positions[:] *= factor
    recording.imu.samples[:, :3] = 0.0
    stages: list[str] = []
    with pytest.raises(InputError, match=f'{recording.name}: .* on /pose .* convert to metres'):
        train_model([recording], TrainingSettings(), lambda stage, _: stages.append(stage))
    assert not stages


@pytest.mark.parametrize('imu_unit', [1.0, 1.0 / 9.80665])
@pytest.mark.parametrize('every', [1, 10, 20])
def test_positions_in_metres_are_never_refused(drive, imu_unit, every):
    """Whether the IMU removes gravity, in m/s^2 or g, and however rare the positions are."""
    recording = drive()
    recording.imu.samples[:, 2] -= 9.80665
    recording.imu.samples[:, :3] *= imu_unit
    assert scale_of(recording.positions.select(slice(None, None, every)), recording.imu) is None


def left_out(recording):
    """Return how many positions are left out, and hold that they are those that are said."""
    kept, notes = without_frozen(recording.positions, recording.imu)
    count = len(recording.positions.stamps) - len(kept.stamps)
    assert [each.split(' of ')[0].split()[-1] for each in notes] == [str(count)] * (count > 0)
    return count


@pytest.mark.parametrize('at', [slice(100), slice(1400, 1500), slice(300, 500)])
@pytest.mark.parametrize('place', ['last', [0.0, 0.0], [7.0, 9.0]])
@pytest.mark.parametrize(
    ('off_s', 'used'), [(0.0, slice(6)), (1.0, slice(6)), (0.0, slice(3, 6)), (0.0, slice(1, 2))]
)
def test_positions_that_stand_while_the_imu_drives_are_left_out(drive, at, place, off_s, used):
    """At the beginning, in the middle, at the end, and for a whole lap, by any sensor."""
    recording = drive(seconds=60.0, late_s=off_s)
    recording = with_imu(recording, samples=recording.imu.samples[:, used])
    places = recording.positions.positions
    places[at] = places[at.start or 0] if place == 'last' else place
    assert left_out(recording) == len(places[at])


@pytest.mark.parametrize(('share', 'count'), [(0.0, 0), (0.15, 0), (0.5, 100)])
def test_how_much_of_the_usual_the_imu_changes_tells_a_drive_from_a_stop(drive, share, count):
    """Vibration and slopes change what an IMU shows of a vehicle that stands, too."""
    recording = drive(seconds=60.0)
    recording.positions.positions[500:600] = 7.0
    samples, within = recording.imu.samples, between_s(recording.imu, recording, 20.0, 23.96)
    samples[within] = samples.mean(axis=0) + share * (samples[within] - samples.mean(axis=0))
    assert left_out(recording) == count


def test_vibration_is_no_driving(drive):
    recording = drive(seconds=90.0)
    recording.positions.positions[500:1000] = 7.0
    samples, within = recording.imu.samples, between_s(recording.imu, recording, 20.0, 39.96)
    samples[within] = samples.mean(axis=0)
    samples[within] += np.random.default_rng(1).normal(scale=0.7, size=samples[within].shape)
    assert left_out(recording) == 0


@pytest.mark.parametrize('kind', ['slows', 'brakes', 'turns'])
def test_a_vehicle_that_stops_or_turns_on_the_spot_is_not_lost(kind):
    """For 4 s of each 30 s, the last time at its end, by an odometry that is exact."""
    seconds = np.arange(0.0, 286.5, 0.02)
    ahead = np.clip(np.abs(seconds % 30.0 - 15.0) - 2.0, 0.0, 1.0 if kind == 'slows' else 0.001)
    rate = np.where(ahead > 0, 0.3 * np.sin(1.1 * seconds), np.pi / 8 * (kind == 'turns'))
    speed, course, none = ahead / ahead.max(), np.cumsum(rate) / 50.0, np.zeros(len(rate))
    places = np.cumsum(speed[:, None] * np.stack([np.cos(course), np.sin(course)], 1) / 50.0, 0)
    samples = [np.gradient(speed) * 50.0, speed * rate, none + 9.81, none, none, rate]
    noise = np.random.default_rng(0).normal(scale=0.05, size=(len(speed), 6))
    exact = recording_of(np.stack(samples, axis=1) + noise, places, 50.0)
    seen = exact.positions.select(slice(None, None, 5))
    assert left_out(replace(exact, positions=seen)) == 0
