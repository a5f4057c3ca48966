# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the node published, read back from the bag it was recorded into."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.outputs.topics import POSITION, PREDICTED_PATH
from two_manifold_ros.recordings.bag import Bag

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.evaluation.filter_run import FilterRun
    from two_manifold_ros.typing import Floats, Ints

NOT_RECEIVED = 'not_received'
"""Cause for which an estimate counts as withheld that was valid but is not in the bag."""


@dataclass(frozen=True)
class PublishedRun:
    """
    Estimates that were published.

    Parameters
    ----------
    stamps : (P,) int64
        Ends of the ticks, ns.
    positions : (P, H, 2), covariances : (P, H, 2, 2)
        Metres and m^2. Only the present position has a covariance on the topics; those of the
        other horizons are NaN.

    """

    stamps: Ints
    positions: Floats
    covariances: Floats


def read_run(path: Path, horizons: int) -> PublishedRun:
    """
    Read the published estimates.

    Parameters
    ----------
    path
        Bag with ``position`` and ``predicted_path``.
    horizons
        Poses in a path.

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
    positions = np.array(paths).reshape(-1, horizons, 2)
    return PublishedRun(np.array(stamps, dtype=np.int64), positions, covariances)


def with_published(offline: FilterRun, published: PublishedRun) -> FilterRun:
    """
    Return the run that was published, with what was not as the same filter computes it offline.

    Only what was published counts as told.
    """
    absent = ~np.isin(offline.stamps, published.stamps)
    stamps = np.concatenate([published.stamps, offline.stamps[absent]])
    order = np.argsort(stamps, kind='stable')
    missing = int(np.count_nonzero(absent & offline.told))
    return replace(
        offline,
        stamps=stamps[order],
        positions=np.concatenate([published.positions, offline.positions[absent]])[order],
        covariances=np.concatenate([published.covariances, offline.covariances[absent]])[order],
        told=order < len(published.stamps),
        withheld=offline.withheld + Counter({NOT_RECEIVED: missing}),
        reasons={**offline.reasons, NOT_RECEIVED: 'published, but not received'},
    )


def _stamp(message: Any) -> int:  # noqa: ANN401 - a message of any type
    return int(message.header.stamp.sec) * 10**9 + int(message.header.stamp.nanosec)
