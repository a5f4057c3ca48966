# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Order and process of the tests under `pytest -n 2 --dist loadfile`: the longest starts first.

Names of tests stay as they are, and the order of a run in one process does, too.
"""

from __future__ import annotations

from typing import Any

import pytest

TOGETHER = ('test/adapting/', 'test/faults/', 'test/promises/', 'test/real/')
"""Folders that one process takes as a whole: what their files share is expensive."""

FIRST = ('test/training/test_time_scales.py', 'test/benchmarks/')
"""What has to start early, or it would be left over at the end, when no other process has work."""


def rank(nodeid: str) -> int:
    """Return which of `FIRST` a test is in; the others follow."""
    for place, begin in enumerate(FIRST):
        if nodeid.startswith(begin):
            return place
    return len(FIRST)


def share_of(nodeid: str) -> str:
    """Return what one process is given at a time: a file, or everything in a folder."""
    folders = (folder for folder in TOGETHER if nodeid.startswith(folder))
    return next(folders, nodeid.split('::', 1)[0])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, 'workerinput'):
        items.sort(key=lambda item: rank(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:  # noqa: ANN401 - xdist's
    if config.getoption('dist') != 'loadfile':
        return None
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415 - it is there by now

    class Sharing(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return share_of(nodeid)

    # Otherwise what has most tests would start.
    config.option.loadscopereorder = False
    return Sharing(config, log)
