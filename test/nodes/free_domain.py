# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""ROS domains without participants, claimed until this process ends."""

from __future__ import annotations

import random
import socket

HIGHEST = 101
"""Above it the ports are among those that Linux gives to anybody."""

_claims: list[socket.socket] = []


def free_domains(count: int) -> list[int]:
    """
    Return different domains, at random, so that no other robot is driven by a test.

    They are claimed: no call returns one again, in this process or in another one that runs tests
    on this machine, whether it has participants at the moment or not.
    """
    drawn = random.SystemRandom().sample(range(1, HIGHEST + 1), HIGHEST)
    found: list[int] = []
    for domain in drawn:
        if len(found) == count:
            break
        if is_free(domain) and _claim(domain):
            found.append(domain)
    assert len(found) == count, 'too many ROS domains are in use on this machine'
    return found


def is_free(domain: int) -> bool:
    """Return whether the port of the first participant of a domain is free (RTPS 9.6.1.1)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(('', 7400 + 250 * domain + 10))
        except OSError:
            return False
    return True


def _claim(domain: int) -> bool:
    """Take a name that Linux gives to one process at a time, and back when that ends."""
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claim.bind(f'\0two_manifold_ros tests in ROS domain {domain}')
    except OSError:
        claim.close()
        return False
    _claims.append(claim)
    return True
