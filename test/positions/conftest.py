# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The option by which the page of position faults is written."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption('--positions-page', metavar='FILE', help='write the page of position faults')
