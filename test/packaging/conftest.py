# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The checkout, what setup.py says, and a copy that may be built in."""

from pathlib import Path
import runpy
import shutil
from typing import Any

import pytest
import setuptools

CHECKOUT = Path(__file__).resolve().parents[2]
LEFT_OUT = ('.git', '.venv', 'build', 'install', 'log', '*.egg-info', '__pycache__', '.*_cache')


@pytest.fixture(scope='session')
def checkout() -> Path:
    return CHECKOUT


@pytest.fixture
def setup_arguments(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what setup.py passes on to setuptools."""
    arguments: dict[str, Any] = {}
    monkeypatch.setattr(setuptools, 'setup', arguments.update)
    monkeypatch.chdir(checkout)
    runpy.run_path('setup.py')
    return arguments


@pytest.fixture(scope='session')
def copied_checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a workspace with a copy of the checkout in it, which builds may litter."""
    copy = tmp_path_factory.mktemp('workspace') / 'src' / 'two_manifold_ros'
    shutil.copytree(CHECKOUT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
    return copy


@pytest.fixture(scope='session')
def data_files() -> list[str]:
    """List what every kind of install has to put below its prefix."""
    share = 'share/two_manifold_ros'
    listed = [*CHECKOUT.glob('launch/*'), *CHECKOUT.glob('config/*')]
    names = [path.relative_to(CHECKOUT) for path in listed if path.is_file()]
    return [
        'share/ament_index/resource_index/packages/two_manifold_ros',
        f'{share}/package.xml',
        *(f'{share}/{name}' for name in names),
    ]
