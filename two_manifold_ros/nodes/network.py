# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether there is any network for the middleware to find others by."""

from __future__ import annotations

from fcntl import ioctl
import socket
import struct

_GET_FLAGS, _UP = 0x8913, 0x1
_REQUEST = struct.Struct('16sH')


def network_trouble() -> str:
    """Return why no other process can be found, or an empty string."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            if _flags(asked, name) & _UP:
                return ''
    return (
        'No network interface is up, not even loopback, so that no other node is ever found: set '
        'one up ("ip link set lo up") and start the node anew.'
    )


def _flags(asked: socket.socket, interface: str) -> int:
    try:
        answer = ioctl(asked, _GET_FLAGS, _REQUEST.pack(interface.encode(), 0).ljust(40, b'\0'))
    except OSError:
        # It was taken away a moment ago, as those of containers are.
        return 0
    flags: int = _REQUEST.unpack_from(answer)[1]
    return flags
