# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`evaluate`, `replay` and `view` name a wrong IMU as the node names it."""

from filter_runs import scaled, WRONG
import numpy as np
from other_recordings import with_imu
import pytest

pytest.importorskip('bokeh', reason='bokeh, which draws pages, is not installed')

from two_manifold_ros.cli.view import filter_into
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.evaluation.replaying import replay
from two_manifold_ros.interface.assessment import Assessment
from two_manifold_ros.pages.vehicle import Scene
from two_manifold_ros.recordings.bag_writer import BagWriter

highlevel = pytest.importorskip('rosbags.highlevel')

ABSURD = {'rates x 1e9': scaled(1.0, 1e9), 'accelerations x 1e5': scaled(1e5, 1.0)}


@pytest.mark.parametrize(
    'fault',
    # Of each kind of cause one is enough to see that the three places say the same.
    [*list(WRONG)[:2], *ABSURD],
)
def test_a_wrong_imu_has_the_sentence_of_the_node(fault, slot_car_model, slot_car_laps, tmp_path):
    """Also where its samples are so large that no window fills, or no tick ends at all."""
    drive = slot_car_laps[1]
    wrong = with_imu(drive, samples=(WRONG | ABSURD)[fault](drive.imu.samples))
    ends: list[Assessment] = []
    with BagWriter(tmp_path / 'bag') as bag:
        written = replay(slot_car_model, wrong, bag, ended=ends.append)
    with highlevel.AnyReader([tmp_path / 'bag']) as reader:
        (reports,) = (each for each in reader.connections if each.topic == '/diagnostics')
        raws = [raw for _, _, raw in reader.messages([reports])]
        shown = [reader.deserialize(raw, reports.msgtype).status[0] for raw in raws]
    causes = [each.values[1].value for each in shown]
    assert causes.count('out_of_range' if fault in ABSURD else fault) > 0.4 * len(shown)
    # Without how many samples were not used.
    words = shown[len(shown) // 2].message.rpartition('): ')[2]
    assert words in ends[0].why or 'position' in written
    try:
        found = evaluate(slot_car_model, [wrong]).describe_withheld()
    except InputError as error:
        found = str(error)
    assert words in found
    assert sum(words in each.message for each in shown) > 0.4 * len(shown)
    assert len(shown) >= 0.8 * np.ptp(drive.imu.stamps) * 1e-9

    scene = Scene('')
    filter_into(scene, scene.vehicle('car'), slot_car_model, wrong)
    looks = [scene.vehicle('car').at(float(second)) for second in range(5, 36)]
    assert sum(words in each.why for each in looks if each) > 0.4 * len(looks)
