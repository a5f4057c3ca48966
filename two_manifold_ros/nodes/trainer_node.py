# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The trainer node: a model from bags or from live topics."""

from __future__ import annotations

from two_manifold_ros.nodes.running import run
from two_manifold_ros.threads import one_blas_thread


def main(args: list[str] | None = None) -> int:
    """Train once, and return the exit status."""
    one_blas_thread()
    # NumPy reads the number of threads when it is imported, which this module does.
    from two_manifold_ros.nodes.trainer import TrainerNode  # noqa: PLC0415

    return run(TrainerNode, args)


if __name__ == '__main__':
    raise SystemExit(main())
