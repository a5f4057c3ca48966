# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""``python -m two_manifold_ros``: the command ``two-manifold`` where its script is on no path."""

from two_manifold_ros.cli.main import main

if __name__ == '__main__':
    raise SystemExit(main())
