# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters by which a node that filters watches its input and itself."""

from __future__ import annotations

from two_manifold_ros.nodes.parameter import Parameter, Settable


def watching_parameters(settable: Settable) -> tuple[Parameter, ...]:
    """Return them; limits and timeout may be changed as said, the rate only at start."""
    return (
        Parameter(
            name='input_timeout_s',
            default=1.0,
            description='Silence of the sensor after which the status is no data.',
            settable=settable,
            units='s',
            low=0.05,
            high=60.0,
        ),
        Parameter(
            name='reorder_s',
            default=0.0,
            description=(
                'How late a message of the sensor may come and still be used, by its stamp; all '
                'that is published comes as much later. 0 refuses messages that are late.'
            ),
            settable=settable,
            units='s',
            low=0.0,
            high=0.4,
        ),
        Parameter(
            name='ellipse_warn_m',
            default=0.0,
            description=(
                'Half the long axis of the 95 % ellipse above which the status is unsure; 0 for '
                'what fits the model.'
            ),
            settable=settable,
            units='m',
            low=0.0,
            high=1e6,
        ),
        Parameter(
            name='ellipse_error_m',
            default=0.0,
            description=(
                'The same above which it is lost, or still localising, and nothing is published; '
                '0 for what fits the model.'
            ),
            settable=settable,
            units='m',
            low=0.0,
            high=1e6,
        ),
        Parameter(
            name='status_rate_hz',
            default=10.0,
            description='How often the topic status tells how the node is.',
            units='Hz',
            low=1.0,
            high=100.0,
        ),
    )
