# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the node published, read back from the bag it was recorded into."""

from __future__ import annotations

from collections import Counter
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.evaluation.filter_run import FilterRun
from two_manifold_ros.outputs.topics import POSITION, PREDICTED_PATH
from two_manifold_ros.recordings.bag import Bag

if TYPE_CHECKING:
    from pathlib import Path


def read_run(path: Path, horizons: int) -> FilterRun:
    """
    Read the published estimates.

    Parameters
    ----------
    path
        Bag with ``position`` and ``predicted_path``.
    horizons
        Poses in a path. Only the present position has a covariance on the topics; those of the
        other horizons are NaN.

    """
    stamps, paths, present = [], [], {}
    with Bag(path) as bag:
        wanted = {f'/{POSITION.name}', f'/{PREDICTED_PATH.name}'}
        topics = {each.name: each for each in bag.topics if each.name in wanted}
        for name, _, raw in bag.messages(topics.values()):
            message = bag.decode(raw, topics[name].msgtype)
            if name == f'/{POSITION.name}':
                present[_stamp(message)] = message.pose.covariance.reshape(6, 6)[:2, :2]
            else:
                stamps.append(_stamp(message))
                poses = [each.pose.position for each in message.poses]
                paths.append([(place.x, place.y) for place in poses])
    covariances = np.full((len(stamps), horizons, 2, 2), np.nan)
    for index, stamp in enumerate(stamps):
        covariances[index, 0] = present.get(stamp, np.nan)
    nothing = np.empty(0)
    return FilterRun(
        np.array(stamps, dtype=np.int64),
        np.array(paths).reshape(-1, horizons, 2),
        covariances,
        nothing,
        nothing,
        nothing,
        Counter(),
    )


def _stamp(message: Any) -> int:  # noqa: ANN401 - a message of any type
    return int(message.header.stamp.sec) * 10**9 + int(message.header.stamp.nanosec)
