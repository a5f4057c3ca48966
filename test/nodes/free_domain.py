# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""ROS domains in which nobody is yet."""

from __future__ import annotations

import random
import socket

HIGHEST = 101
"""Above it the ports are among those that Linux gives to anybody."""


def free_domains(count: int) -> list[int]:
    """Return different domains, at random, so that nobody else's robot is driven by a test."""
    drawn = random.SystemRandom().sample(range(1, HIGHEST + 1), HIGHEST)
    free = [domain for domain in drawn if is_free(domain)]
    assert len(free) >= count, 'too many ROS domains are in use on this machine'
    return free[:count]


def is_free(domain: int) -> bool:
    """Tell whether nobody on this machine has the port of the first in a domain (RTPS 9.6.1.1)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(('', 7400 + 250 * domain + 10))
        except OSError:
            return False
    return True
