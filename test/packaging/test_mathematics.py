# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""References to equations and sections of docs/mathematics.md lead to one."""

import re

LIST = r'(?:(?:,| and|, and| to| or) {0})*'
TAG, NUMBER = r'\([1-9]\d?\.\d{1,2}\)', r'\d{1,2}(?:\.\d{1,2})*'
EQUATIONS = re.compile(rf'\b[Mm]athematics(?:\]\([\w/.]*\))? ({TAG}{LIST.format(TAG)})')
SECTIONS = re.compile(
    rf'\b[Mm]athematics(?:\]\([\w/.]*\))?, sections? ({NUMBER}{LIST.format(NUMBER)})'
)


def test_every_reference_leads_to_an_equation_or_a_section(checkout):
    note = (checkout / 'docs' / 'mathematics.md').read_text(encoding='utf-8')
    tags = re.findall(r'\\tag\{(\d+\.\d+)\}', note)
    assert len(tags) == len(set(tags)), 'two equations have the same number'
    sections = re.findall(r'^#+ (\d+(?:\.\d+)?)\.? ', note, re.MULTILINE)
    folders = [checkout / name for name in ('two_manifold_ros', 'test', 'benchmarks', 'docs')]
    lost, found = [], 0
    for path in (path for each in folders for path in (*each.rglob('*.py'), *each.rglob('*.md'))):
        text = ' '.join(path.read_text(encoding='utf-8').replace('#', ' ').split())
        for pattern, known in ((EQUATIONS, tags), (SECTIONS, sections)):
            numbers = set(re.findall(r'[\d.]*\d', ' '.join(pattern.findall(text))))
            found += len(numbers)
            lost += [f'{path.name}: {each}' for each in numbers - set(known)]
    assert not lost
    assert found > 20, 'the pattern of references finds next to none'
