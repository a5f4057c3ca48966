# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`evaluate`, `replay` and `view` name a wrong IMU as the node names it."""

from collections import Counter

from filter_runs import scaled, WRONG
import numpy as np
from other_recordings import with_imu
import pytest

pytest.importorskip('bokeh', reason='bokeh, which draws pages, is not installed')

from two_manifold_ros.cli.view import filter_into
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.evaluation.replaying import replay
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.interface.assessment import assess, Assessment, Health, REJECTIONS
from two_manifold_ros.model.model import RouteModel
from two_manifold_ros.pages.vehicle import Scene
from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.recordings.recording import Recording

highlevel = pytest.importorskip('rosbags.highlevel')

ABSURD = {'rates x 1e9': scaled(1.0, 1e9), 'accelerations x 1e5': scaled(1e5, 1.0)}


def words_of_the_node(fault: str, model: RouteModel, wrong: Recording) -> str:
    """Return the sentence that a node shows most of the time."""
    if fault in ABSURD:
        return REJECTIONS['out_of_range']
    live, said = Filter(model), Counter[tuple[str, str]]()
    for stamp, sample in zip(wrong.imu.stamps.tolist(), wrong.imu.samples, strict=True):
        live.push(stamp, sample)
        shown = assess(Health().with_filter(live, model.rate_hz))
        if live.finding is not None:
            said[shown.cause, live.finding.words] += 1
    (cause, words), count = said.most_common(1)[0]
    assert cause == fault
    assert count > 0.4 * len(wrong.imu.stamps)
    return words


@pytest.mark.parametrize(
    'fault',
    # Of each kind of cause one is enough to see that the three places say the same.
    [*list(WRONG)[:2], *ABSURD],
)
def test_a_wrong_imu_has_the_sentence_of_the_node(fault, slot_car_model, slot_car_laps, tmp_path):
    """Also where its samples are so large that no window fills, or no tick ends at all."""
    drive = slot_car_laps[1]
    wrong = with_imu(drive, samples=(WRONG | ABSURD)[fault](drive.imu.samples))
    words = words_of_the_node(fault, slot_car_model, wrong)
    try:
        found = evaluate(slot_car_model, [wrong]).describe_withheld()
    except InputError as error:
        found = str(error)
    assert words in found

    ends: list[Assessment] = []
    with BagWriter(tmp_path / 'bag') as bag:
        written = replay(slot_car_model, wrong, bag, ended=ends.append)
    assert words in ends[0].why or 'position' in written
    with highlevel.AnyReader([tmp_path / 'bag']) as reader:
        (reports,) = (each for each in reader.connections if each.topic == '/diagnostics')
        said = [
            reader.deserialize(raw, reports.msgtype).status[0].message
            for _, _, raw in reader.messages([reports])
        ]
    assert sum(words in each for each in said) > 0.4 * len(said)
    assert len(said) >= 0.8 * np.ptp(drive.imu.stamps) * 1e-9

    scene = Scene('')
    filter_into(scene, scene.vehicle('car'), slot_car_model, wrong)
    looks = [scene.vehicle('car').at(float(second)) for second in range(5, 36)]
    assert sum(words in each.why for each in looks if each) > 0.4 * len(looks)
