# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Find the launch and parameter files, however the package was installed."""

from pathlib import Path

from two_manifold_ros.errors import InputError


def share_folder() -> Path:
    """
    Find the folder that holds `config/`, `launch/` and `package.xml`.

    In a checkout, which an editable or symlinked install also runs from, this is the checkout;
    otherwise `share/two_manifold_ros` of the prefix that the package is installed in. ROS is not
    needed for it.

    Returns
    -------
    Path
        Absolute path of the folder.

    Raises
    ------
    InputError
        If the package was installed without its data files.

    """
    package = Path(__file__).resolve().parent
    checkout = package.parent
    candidates = [checkout, *(prefix / 'share' / package.name for prefix in package.parents)]
    for candidate in candidates:
        if (candidate / 'package.xml').is_file():
            return candidate
    msg = (
        f'No package.xml belongs to {package}: the package was installed without its data files; '
        'install it with pip or colcon.'
    )
    raise InputError(msg)
