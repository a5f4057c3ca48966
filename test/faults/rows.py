# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""All rows of the fault matrix: of streams, and of the machine around all programs."""

from fault import Fault, TRACKING
from rows_stamps import DRIVER, STAMPS
from rows_values import VALUES, VEHICLE

GOES_ON = (TRACKING, '')
REFUSED = ('ends with status 2', '')


def _row(
    name: str, rule: str, says: tuple[str, str], within_s: float = 0.0, seen: str = ''
) -> Fault:
    return Fault(name, seen, rule, says, within_s, None)


TRIALS = {
    'while_starting': (
        _row(
            'SIGINT, SIGTERM or SIGHUP while a node starts',
            'it ends at once, whatever it is loading',
            ('ends with status 0, a trainer without a model with that of the signal', ''),
            20.0,
        ),
    ),
    'while_working': (
        _row(
            'SIGINT, SIGTERM or SIGHUP, twice, while a node works',
            'it ends after the callback it is in; what comes later changes nothing',
            ('ends with status 0, a trainer without a model with that of the signal', ''),
            20.0,
        ),
    ),
    'filter_killed': (
        _row(
            'SIGKILL and restart of a filter node',
            'the next one tracks after its window, whatever the dead one left in shared memory',
            GOES_ON,
            40.0,
        ),
    ),
    'updater_in_trouble': (
        _row(
            'full disk under the checkpoints of an updater',
            'learning and publishing go on; the next checkpoint is written once there is room',
            ('`checkpoint_trouble`', ''),
            20.0,
        ),
        _row(
            'SIGKILL and restart of an updater',
            'it goes on from its newest whole checkpoint, and clears up the half-written one',
            ('"resumed at"', ''),
            40.0,
        ),
    ),
    'commands_stopped': (
        _row(
            'SIGTERM to `simulate` and `replay`',
            'nothing half-written stays',
            ('ends with status 143', ''),
            20.0,
        ),
    ),
    'on_a_full_disk': (
        _row(
            'full disk under `simulate`, `train`, `replay` and a trainer',
            'nothing half-written stays',
            ('"cannot be written"', ''),
        ),
    ),
    'in_poor_surroundings': (
        _row(
            'no place for log files: full disk',
            'the node works; what the file lacks is on the terminal and on `/rosout`',
            GOES_ON,
        ),
        _row(
            'no place for log files: read-only home, or HOME not set',
            'the node works without a log file and says so',
            ('"No log file is written"', ''),
        ),
        _row(
            'no place for compiled code: read-only home',
            'the node compiles its loops at each start and says so',
            ('"Loops are compiled again"', ''),
        ),
        _row(
            'no network interface but loopback',
            'nodes find each other',
            GOES_ON,
        ),
    ),
}
"""By the name of the trial, which may try several."""

STREAM_FAULTS = (*STAMPS, *VALUES, *DRIVER, *VEHICLE)
"""What the messages of a driver can bring about."""
