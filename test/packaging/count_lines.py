# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Refuse a repository with more lines of programs and pages than ``[lines]`` of pyproject.toml says.

It is the sum that costs whoever reads, so a file has no bar. Lower the numbers when the sums fall.
"""

from pathlib import Path
import subprocess
import sys

import tomllib

CHECKOUT = Path(__file__).resolve().parents[2]

most = tomllib.loads((CHECKOUT / 'pyproject.toml').read_text())['lines']
for folder, lines in most.items():
    listing = ['git', 'ls-files', '--cached', '--others', '--exclude-standard', '--', folder]
    names = subprocess.check_output(listing, cwd=CHECKOUT, text=True).splitlines()
    read = [CHECKOUT / each for each in names if each.endswith(('.py', '.md', '.rst'))]
    count = sum(len(each.read_text().splitlines()) for each in read if each.exists())
    if count > lines:
        sys.exit(f'{folder} has {count} lines, and pyproject.toml allows {lines}: delete some')
