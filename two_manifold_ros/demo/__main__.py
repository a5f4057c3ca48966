# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The demo: simulate, inspect, train, filter on real topics, score and draw."""

from __future__ import annotations

import sys

from two_manifold_ros.errors import InputError
from two_manifold_ros.stopping import Stopping
from two_manifold_ros.threads import one_blas_thread


def main() -> int:
    """Run the demo; return 0 on success, 2 on bad input, 128 and its number for a signal."""
    one_blas_thread()
    with Stopping() as stop:
        # NumPy reads the number of threads when it is imported, which this module does.
        from two_manifold_ros.demo.tour import run_tour  # noqa: PLC0415

        try:
            run_tour(sys.argv[1] if len(sys.argv) > 1 else 'demo_output')
        except InputError as error:
            print(f'demo: error: {error}', file=sys.stderr)
            return 2
        return 0
    return 128 + stop.signal


if __name__ == '__main__':
    raise SystemExit(main())
