# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter node: an IMU in, positions out."""

from __future__ import annotations

from two_manifold_ros.stopping import Stopping
from two_manifold_ros.threads import one_blas_thread


def main(args: list[str] | None = None) -> int:
    """Run the filter node until it is stopped, and return the exit status."""
    one_blas_thread()
    # Loading all of it takes a second, in which a signal may come.
    with Stopping() as stop:
        # NumPy reads the number of threads when it is imported, which these modules do.
        from two_manifold_ros.nodes.filter_lifecycle import FilterNode  # noqa: PLC0415
        from two_manifold_ros.nodes.running import run  # noqa: PLC0415 - as above

        return run(FilterNode, stop, args)
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
