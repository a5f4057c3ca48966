# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the stamps of a stream mean for the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.inspection.finding import info, warning
from two_manifold_ros.inspection.stretch import listed

if TYPE_CHECKING:
    from two_manifold_ros.inspection.finding import Finding
    from two_manifold_ros.inspection.timing import Timing

_UNEVEN = 0.5


def timing_findings(word: str, timing: Timing, in_gaps: str) -> list[Finding]:
    """
    Return what is to be said about the stamps of a stream.

    Parameters
    ----------
    word
        What the stream holds, such as ``IMU``.
    timing
        Of the stream.
    in_gaps
        What gaps in this stream do to training.

    """
    code = word.lower()
    findings = []
    if timing.gaps:
        findings.append(
            warning(
                f'{code}_gaps',
                f'{word} messages have {len(timing.gaps)} gap(s), {listed(timing.gaps)}: '
                f'{in_gaps}; if there are many, look for a slow disk or network.',
            ),
        )
    if timing.backward:
        findings.append(
            warning(
                f'{code}_backward',
                f'{timing.backward} {word} stamps go back in time: late messages are left out, '
                f'and a larger step back begins a new part; check that no clock was set and no '
                f'bag looped while recording.',
            ),
        )
    if timing.zero:
        findings.append(
            warning(
                f'{code}_zero',
                f'{timing.zero} {word} stamps are zero: these messages are left out; have the '
                f'driver stamp them, or try --use-receive-time.',
            ),
        )
    if timing.duplicates:
        findings.append(
            info(
                f'{code}_duplicates',
                f'{timing.duplicates} {word} stamps repeat the one before: the repetitions are '
                f'left out; check the driver if there are many.',
            ),
        )
    if timing.jitter_p99_s * timing.rate_hz > _UNEVEN:
        findings.append(
            info(
                f'{code}_uneven',
                f'{word} stamps are uneven, 1 % of the intervals are off by more than '
                f'{1e3 * timing.jitter_p99_s:.0f} ms: averaging over ticks deals with it; stamp '
                f'in the driver rather than on arrival if you can.',
            ),
        )
    return findings
