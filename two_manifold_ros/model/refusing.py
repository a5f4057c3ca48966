# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The sentence with which a model, or its file, is refused."""

from __future__ import annotations

from typing import NoReturn

from two_manifold_ros.errors import InputError


class UnfitError(ValueError):
    """What is wrong with a file, as the middle of a sentence."""


def refuse(cause: str) -> NoReturn:
    """Raise the ``InputError`` that names the cause and the cure."""
    msg = f'the model is refused: {cause}; train it anew'
    raise InputError(msg)
