# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Look at recordings before training on them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from two_manifold_ros.cli.options import (
    add_bags,
    add_json,
    add_report,
    add_topics,
    check_report,
    console,
    print_written,
    recordings_of,
)
from two_manifold_ros.inspection.inspecting import inspect_recording
from two_manifold_ros.progress import Progress

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from two_manifold_ros.inspection.inspecting import Report
    from two_manifold_ros.recordings.recording import Recording

HELP = (
    'Print rates, gaps, dead channels, probable unit errors, the time offset between IMU and '
    'positions, and laps, and what to do about what was found.'
)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_bags(parser)
    add_topics(parser)
    add_report(parser, 'findings with cures, the drive, laps, gaps, vibration and lag')
    add_json(parser)


def run(args: Namespace) -> int:
    """Print one report per recording, or all of them as one JSON object."""
    check_report(args)
    recordings = recordings_of(args, need_positions=False)
    reports = []
    with Progress('inspecting') as progress:
        for number, recording in enumerate(recordings):
            progress('inspecting', number / len(recordings))
            reports.append(inspect_recording(recording))
    if args.report:
        _write(args.report, reports, recordings)
    if args.json:
        content = {'recordings': [report.to_json() for report in reports]}
        print(json.dumps(content, indent=2, allow_nan=False))
        return 0
    # Not needed for JSON, and slow to import.
    from two_manifold_ros.inspection.rendering import print_report  # noqa: PLC0415

    for report in reports:
        print_report(report, console())
    print_written(args)
    return 0


def _write(path: str, reports: Sequence[Report], recordings: Sequence[Recording]) -> None:
    from two_manifold_ros.pages.recording_sections import (  # noqa: PLC0415 - an extra
        inspection_sections,
    )
    from two_manifold_ros.pages.report import Report as Page  # noqa: PLC0415 - an extra

    page = Page('What was recorded', ', '.join(each.name for each in recordings))
    inspection_sections(page, reports, recordings)
    page.write(path)
