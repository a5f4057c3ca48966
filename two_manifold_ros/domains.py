# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Choose ROS domains without participants, claimed until this process ends."""

from __future__ import annotations

import os
import random
import socket

from two_manifold_ros.errors import InputError

HIGHEST = 101
"""Above it the ports are among those that Linux gives to anybody."""

_claims: list[socket.socket] = []


def free_domains(count: int) -> list[int]:
    """
    Return different domains, at random, in which no robot of this machine is.

    They are claimed: no call returns one again, in this process or in another one on this
    machine, whether it has participants at the moment or not. An ``InputError`` says that there
    are too few.
    """
    found: list[int] = []
    for domain in random.SystemRandom().sample(range(1, HIGHEST + 1), HIGHEST):
        if len(found) == count:
            break
        # A name that Linux gives to one process at a time, and takes back when that ends.
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                # The port of the first participant (RTPS 9.6.1.1).
                probe.bind(('', 7400 + 250 * domain + 10))
                claim.bind(f'\0two_manifold_ros in ROS domain {domain}')
            except OSError:
                claim.close()
                continue
        _claims.append(claim)
        found.append(domain)
    if len(found) < count:
        msg = (
            f'only {len(found)} of {count} ROS domains are free on this machine: end the programs '
            'that use the others'
        )
        raise InputError(msg)
    return found


def isolate() -> None:
    """Keep the topics of this process to this machine and off the domains of others."""
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    os.environ['ROS_DOMAIN_ID'] = str(free_domains(1)[0])
