# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sentences for the log; knows nothing of ROS."""

from __future__ import annotations

import re

# A file, a topic or a parameter; or a file with blanks in its name, which a colon follows.
_NAME = re.compile(r'\S*[/\\_]|\S*\.\S*[^\s.,:;]|[^:]*\.[A-Za-z]\w*:')


def capitalised(sentence: str) -> str:
    """Return a sentence with a capital, unless it begins with a name, which stays as it is."""
    if _NAME.match(sentence):
        return sentence
    return f'{sentence[:1].upper()}{sentence[1:]}'
