# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether header stamps or receive times are the time base of a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.recordings.collecting import Collected
    from two_manifold_ros.typing import Ints


def time_base(
    collected: Sequence[Collected],
    use_receive_time: bool,
) -> tuple[list[Ints], list[str]]:
    """
    Return the stamps of each topic in nanoseconds, and what has to be said about them.

    All topics share one base: if one has no header stamps, receive times are taken for all, for
    the clock of another topic's header need not be the recorder's.
    """
    unstamped = [each.topic.name for each in collected if not each.stamps.any()]
    if use_receive_time:
        return [each.received for each in collected], ['Receive times are used, as asked.']
    if unstamped:
        note = (
            f'Receive times are used because all header stamps of {" and ".join(unstamped)} are '
            f'zero: have the driver stamp its messages.'
        )
        return [each.received for each in collected], [note]
    return [each.stamps for each in collected], []
