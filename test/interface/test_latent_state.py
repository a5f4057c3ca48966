# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The latent state as published."""

from two_manifold_ros.interface.estimates import latent_state_message

from two_manifold_ros.filtering.estimate import Estimate


def test_stamp_and_state_survive_without_loss(estimate: Estimate) -> None:
    message = latent_state_message(estimate)
    seconds, nanoseconds, *state = message['data']
    assert int(seconds) * 10**9 + int(nanoseconds) == estimate.stamp_ns
    assert state == estimate.state.tolist()


def test_every_entry_has_a_label(estimate: Estimate) -> None:
    message = latent_state_message(estimate)
    (dimension,) = message['layout']['dim']
    assert dimension['label'] == 'sec,nanosec,state_0,state_1,state_2'
    assert dimension['size'] == dimension['stride'] == len(message['data'])
