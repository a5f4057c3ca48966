# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The one exception for input that somebody can mend."""


class InputError(ValueError):
    """
    Input that cannot be used.

    The message is one readable sentence naming the file or topic, the cause and the cure. The
    command line prints it and exits with status 2; a node logs it and stays unconfigured.
    """
