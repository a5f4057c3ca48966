# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers that count as settings in the size of the house."""

from bench_house import limits, PACKAGE, settings_of

SOURCE = """
SHARE = 0.2
NAMES = ('a', 'b')
FIRST, EMPTY = 1, 0
LONG_NS = 5 * 10**9
COMPUTED = 2 * other

class Limits:
    LIMITS = 7.0

@dataclass
class Memory:
    laps: float = -3.0
    kind: str = 'x'

    def keep(self, most: int = 100, *, least: int = 1, ticks: float = 2.5) -> None:
        near = 0.5
        for each in self:
            far: float = 4
        return 3 * near
"""


def test_settings_are_names_that_are_given_numbers(tmp_path):
    file = tmp_path / 'source.py'
    file.write_text(SOURCE)
    assert settings_of(file) == [
        'SHARE',
        'LONG_NS',
        'Memory.laps',
        'Memory.keep.most',
        'Memory.keep.ticks',
        'Memory.keep.near',
        'Memory.keep.far',
    ]


def test_every_limit_that_is_named_is_there():
    for file, names in limits().items():
        there = {each.replace(' ', '') for each in settings_of(PACKAGE / file)}
        assert names <= {*there, '*'}, file
