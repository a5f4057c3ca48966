# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A learner on the robot adds a route that it does not know to those that it does."""

from collections import Counter

import numpy as np
import pytest

from two_manifold_ros.adapting.stream_learner import StreamLearner
from two_manifold_ros.adapting.training_material import holds_all
from two_manifold_ros.model.atlas import atlas_of
from two_manifold_ros.training.settings import TrainingSettings

PAUSE_NS = 30 * 10**9


def drive_on(learner, recording, begin_ns):
    """Feed a drive with its positions; return the stamp of its end, and its estimates."""
    imu, positions = recording.imu, recording.positions
    shift_ns = begin_ns - imu.first_stamp
    events = [(stamp + shift_ns, 0, index) for index, stamp in enumerate(imu.stamps.tolist())]
    events += [(stamp + shift_ns, 1, row) for row, stamp in enumerate(positions.stamps.tolist())]
    estimates = []
    for stamp_ns, is_position, index in sorted(events):
        if is_position:
            learner.add_reference(stamp_ns, *positions.positions[index].tolist())
        else:
            estimates += learner.push(stamp_ns, imu.samples[index])
    return events[len(imu.stamps) - 1][0], estimates


@pytest.mark.slow
@pytest.mark.parametrize('given', ['hall', 'atlas'])
def test_a_route_is_added_after_few_laps_and_the_known_ones_stay(given, kart_atlas, kart_drives):
    known = {name: kart_atlas.routes[name] for name in ('hall', 'paddock')}
    model = known['hall'] if given == 'hall' else atlas_of(known)
    learner = StreamLearner(model, TrainingSettings(method='route', rate_hz=10.0), at_once=True)
    drives = kart_drives['ring'][0].between(None, 200.0), kart_drives['hall'][1]
    end_ns, found = drive_on(learner, drives[0], 10**18)
    assert learner.models >= 1
    names = list(learner.known.routes)
    assert len(names) == len(model.routes) + 1
    assert holds_all(learner.known, model)
    new = next(name for name, each in learner.known.routes.items()
               if all(each is not other for other in model.routes.values()))  # fmt: skip
    assert found[-1].route == new
    assert np.mean([each.valid for each in found[-500:]]) > 0.5
    # Back on a known route, without learning anything of it.
    _, found = drive_on(learner, drives[1], end_ns + PAUSE_NS)
    named = Counter(each.route for each in found[500:] if each.valid)
    back = 'hall' if given == 'atlas' else 'route 1'
    assert named.most_common(1)[0][0] == back
    assert named[back] > 0.9 * named.total()
