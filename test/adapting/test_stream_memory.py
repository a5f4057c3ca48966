# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Memory of a stream, and recordings made from it."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.adapting.stream_memory import make_head, SEAM_NS, STEP_NS, StreamMemory
from two_manifold_ros.recordings.recording import GeodeticOrigin

STEP = 10_000_000
HEAD = replace(
    make_head(imu_topic='/imu'), position_topic='/fix', frame_id='map',
    origin=GeodeticOrigin(50.0, 10.0, 3.0),
)  # fmt: skip


def sample(value: float) -> list[float]:
    return [value, 1.0, 2.0, 3.0, 4.0, 5.0]


def filled(count: int, most: int = 1000) -> StreamMemory:
    memory = StreamMemory(most)
    for index in range(count):
        memory.add(STEP * (index + 1), sample(index))
        if index % 4 == 0:
            memory.add_position(STEP * (index + 1), index, -index)
    return memory


def test_it_gives_back_what_it_was_given_but_for_what_is_late_double_or_not_finite():
    memory = filled(100)
    (recording,) = memory.recordings(HEAD)
    # A recording stays as it was while the stream goes on.
    memory.add(STEP * 101, sample(101.0))
    for stamp, value in ((STEP * 101, 1.0), (STEP * 3, 1.0), (STEP * 102, np.nan), (0, np.inf)):
        memory.add(stamp, sample(value))
    # Nor can numbers too large for a sum have a mean.
    memory.add(STEP * 102, [1e308] * 6)
    assert len(memory) == 101
    assert recording.imu.stamps.tolist() == [STEP * each for each in range(1, 101)]
    assert recording.imu.samples.tolist() == [sample(each) for each in range(100)]
    assert recording.positions.stamps.tolist() == [STEP * each for each in range(1, 101, 4)]
    assert recording.positions.positions.tolist() == [[each, -each] for each in range(0, 100, 4)]
    assert (recording.imu.topic, recording.positions.topic) == ('/imu', '/fix')
    assert (recording.positions.frame_id, recording.positions.origin) == ('map', HEAD.origin)


def test_it_gives_back_what_came_since_a_stamp_of_the_newest_clock():
    """A drive, the clock set back, and a drive on after a pause."""
    memory = filled(100)
    (whole,) = memory.recordings(HEAD)
    for since_ns in (0, 1, STEP * 50, STEP * 50 + 1):
        imu, fixes = whole.imu.stamps >= since_ns, whole.positions.stamps >= since_ns
        (part,) = memory.recordings(HEAD, since_ns)
        assert part.imu.stamps.tolist() == whole.imu.stamps[imu].tolist()
        assert part.imu.samples.tolist() == whole.imu.samples[imu].tolist()
        assert part.positions.stamps.tolist() == whole.positions.stamps[fixes].tolist()
        assert part.positions.positions.tolist() == whole.positions.positions[fixes].tolist()
    # Between two positions at least something is known.
    assert memory.recordings(HEAD, STEP * 97) == []
    begins = [STEP - 2 * SEAM_NS, STEP]
    for begin in begins:
        for index in range(20):
            memory.add(begin + STEP * index, sample(index))
            memory.add_position(begin + STEP * index, 1.0, 2.0)
    assert len(memory.recordings(HEAD)) == 3
    found = memory.recordings(HEAD, begins[0] + 1)
    assert [each.imu.stamps[0] for each in found] == [begins[0] + STEP, begins[1]]


@pytest.mark.parametrize('jump_ns', [SEAM_NS + STEP, -2 * SEAM_NS])
def test_a_new_drive_starts_where_the_clock_jumps_and_the_oldest_goes_first(jump_ns):
    memory = filled(50, most=70)
    for index in range(40):
        stamp = STEP * (50 + index) + jump_ns
        memory.add(stamp, sample(index))
        memory.add_position(stamp, 0.0, index)
    first, second = memory.recordings(HEAD)
    assert 60 <= len(first.imu.stamps) + len(second.imu.stamps) == len(memory) <= 70
    assert first.imu.stamps[-1] == STEP * 50
    assert STEP < first.imu.stamps[0] <= first.positions.stamps[0]
    assert len(second.imu.stamps) == 40
    for index in range(60):
        memory.add(STEP * (90 + index) + jump_ns, sample(index))
    assert len(memory.recordings(HEAD)) == 1


@given(st.lists(st.integers(1, 3 * STEP_NS // 2), min_size=1, max_size=60))
def test_samples_close_together_are_kept_as_their_mean(steps):
    memory = StreamMemory()
    stamps = np.cumsum([STEP, *steps])
    values = np.random.default_rng(len(steps)).normal(size=(len(stamps), 6))
    for stamp, value in zip(stamps.tolist(), values, strict=True):
        memory.add(stamp, value)
    groups: list[list[int]] = []
    for index, stamp in enumerate(stamps):
        if groups and stamp - stamps[groups[-1][0]] < STEP_NS:
            groups[-1].append(index)
        else:
            groups.append([index])
    assert memory.add_position(int(stamps[0]), 0.0, 0.0)
    assert memory.add_position(int(stamps[0]) + STEP_NS, 0.0, 0.0)
    (recording,) = memory.recordings(HEAD)
    assert recording.imu.stamps.tolist() == [stamps[each[0]] for each in groups]
    np.testing.assert_allclose(
        recording.imu.samples, [values[each].mean(axis=0) for each in groups], atol=1e-12
    )


def test_what_was_saved_is_restored_and_goes_on():
    memory = filled(60)
    memory.add(STEP * 100 + 2 * SEAM_NS, sample(0.0))
    lengths, arrays = memory.saved()
    again = StreamMemory(1000)
    again.restore(lengths, arrays)
    assert again.saved()[0] == lengths == [[60, 15], [1, 0]]
    for name, array in again.saved()[1].items():
        assert (array == arrays[name]).all()
    assert len(again) == 61
    assert again.seconds == pytest.approx(0.59)
    again.add(STEP * 200 + 2 * SEAM_NS, sample(1.0))
    again.add_position(STEP * 200 + 2 * SEAM_NS, 0.0, 0.0)
    assert again.saved()[0] == [[60, 15], [2, 1]]
    for name in ('stamps', 'samples', 'fixes', 'places'):
        with pytest.raises(ValueError, match='does not fit'):
            again.restore(lengths, {**arrays, name: arrays[name][:-1]})
        assert len(again) == 62


def test_positions_that_no_training_could_use_are_not_kept():
    memory = StreamMemory()
    assert memory.seconds == 0.0
    assert not memory.add_position(STEP, 0.0, 0.0)
    for index in range(1, 5):
        memory.add(STEP * index, sample(index))
    assert memory.recordings(HEAD) == []
    assert memory.add_position(STEP, 0.0, 0.0)
    assert memory.recordings(HEAD) == []
    # Far ahead, back, the same again; one just after another is of use, but is not kept.
    for stamp in (STEP + 2 * SEAM_NS, STEP - 5, STEP):
        assert not memory.add_position(stamp, 0.0, 0.0)
    assert memory.add_position(STEP + 1, 0.0, 0.0)
    assert memory.add_position(2 * STEP, 1.0, 0.0)
    (recording,) = memory.recordings(HEAD)
    assert recording.positions.stamps.tolist() == [STEP, 2 * STEP]


@pytest.mark.parametrize('epoch', [0, 45, 65, 200])
def test_what_is_older_than_a_stamp_is_forgotten_whatever_the_clock_said_then(epoch):
    memory, before, later = StreamMemory(), 5 * SEAM_NS, 2 * SEAM_NS
    for index in range(160):
        stamp = (later if index >= 80 else before) + STEP * index
        memory.add(stamp, sample(index))
        memory.add_position(stamp, 0.0, index)
    later += 60 * STEP
    # The second drive is of later, though its stamps are of earlier.
    memory.forget_before(later + STEP * epoch if epoch else 0)
    found = memory.recordings(HEAD)
    if not epoch:
        assert len(found) == 2
    elif epoch < 100:
        (recording,) = found
        assert recording.imu.stamps[0] == later + STEP * epoch
        assert len(memory) == 100 - epoch
    else:
        assert len(memory) == 0
