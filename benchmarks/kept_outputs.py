# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What benchmarks printed, kept in docs/printed.json for the pages that show it.

`python benchmarks/kept_outputs.py kernels` runs a benchmark again and compares what it prints with
what is kept: the status is 1 where a figure is another one. Figures of time and load, which no two
runs have the same, are not compared. With `--write` what is printed is kept, with the commit and
the day. `docs/write_pages.py` puts it onto docs/results.md, and `./run lint` compares the two.
Without a name all that is kept is run, which takes hours: `./run check-release --figures` does so.
"""

from __future__ import annotations

import argparse
from datetime import datetime, timezone
import json
import os
from pathlib import Path
import re
import subprocess
import sys
from typing import Any, TYPE_CHECKING, TypeAlias

from check_release import same_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Kept: TypeAlias = dict[str, Any]
"""Lines that a benchmark printed, the commit that it was run on, and the day."""

CHECKOUT = Path(__file__).resolve().parents[1]
FILE = CHECKOUT / 'docs' / 'printed.json'

NOTHING, ALL = r'(?!)', r'.*'
VARIES = {
    'atlas': r' [\d.]+ +[\d.]+$',  # those of cost are the last columns
    'kernels': r' [\d.]+$',  # seconds are the last column
    'comparison': NOTHING,
    'nees': NOTHING,
    'alarms': NOTHING,
    'off_route': NOTHING,
    'lost_and_found': NOTHING,
    'start': ALL,
    'filter': ALL,
    'training': ALL,
    'features': r'; train .*',
    'fleet': ALL,
    'sensors': NOTHING,
    'laps': NOTHING,
    'loop': NOTHING,
    'node': ALL,
    'online': ALL,
    'robots': ALL,
    'soak': ALL,
    'vehicles': NOTHING,
    'yard': r' [\d.]+$',  # the cost of a tick is the last column
}
"""Benchmarks whose output can be kept, and which part of each line varies from run to run."""


def begin(name: str) -> str:
    """Return the line above the output of a benchmark on a page."""
    return f'<!-- begin of what ./run bench {name} prints -->'


def end(name: str) -> str:
    """Return the line below it."""
    return f'<!-- end of what ./run bench {name} prints -->'


def read() -> dict[str, Kept]:
    """Return what is kept of each benchmark."""
    kept: dict[str, Kept] = json.loads(FILE.read_text())
    return kept


def block(kept: Kept) -> str:
    """Return what stands on the page between the two lines."""
    lines = [f'    {line}'.rstrip() for line in kept['lines']]
    return '\n'.join([*lines, '', f'Printed at commit {kept["commit"]} on {kept["date"]}.'])


def on_page(page: str) -> str:
    """Return a page with the kept output of every benchmark that it has a place for."""
    for name, kept in read().items():
        if begin(name) in page:
            before, _, rest = page.partition(begin(name))
            _, _, after = rest.partition(end(name))
            page = f'{before}{begin(name)}\n\n{block(kept)}\n\n{end(name)}{after}'
    return page


def run(name: str) -> list[str]:
    """Run a benchmark of this checkout; return the lines that it prints."""
    environment = {**os.environ, 'PYTHONPATH': str(CHECKOUT), 'OPENBLAS_NUM_THREADS': '1'}
    script = CHECKOUT / 'benchmarks' / f'bench_{name}.py'
    done = subprocess.run(
        [sys.executable, str(script)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f'{script.name} ended with {done.returncode}')
    return [line.rstrip() for line in done.stdout.strip('\n').splitlines()]


def differences(name: str, kept: Sequence[str], found: Sequence[str]) -> Iterator[str]:
    """Yield lines whose words or figures are not those that are kept."""
    if VARIES[name] == ALL:
        return
    if len(kept) != len(found):
        yield f'{name}: {len(found)} lines, kept are {len(kept)}'
    for old, new in zip(kept, found, strict=False):
        words = [re.sub(VARIES[name], '', line).split() for line in (old, new)]
        alike = len(words[0]) == len(words[1]) and all(map(same_number, *words))
        if not alike:
            yield f'{name}: {new!r}, kept is {old!r}'


def _commit() -> str:
    command = ['git', 'rev-parse', '--short=8', 'HEAD']
    done = subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def main() -> int:
    """Compare or keep what benchmarks print; return 1 if a figure is another one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('names', nargs='*', metavar='NAME', help=f'some of {", ".join(VARIES)}')
    parser.add_argument('--write', action='store_true', help='keep what is printed')
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in VARIES]
    if unknown:
        parser.error(f'no output of {unknown[0]!r} is kept; choose some of {", ".join(VARIES)}')
    wrong = 0
    for name in args.names or read():
        found, kept = run(name), read()
        if args.write:
            today = f'{datetime.now(tz=timezone.utc):%Y-%m-%d}'
            kept[name] = {'commit': _commit(), 'date': today, 'lines': found}
            write({each: kept[each] for each in VARIES if each in kept})
            continue
        lines = list(differences(name, kept.get(name, {}).get('lines', []), found))
        print(f'{name}: {"DIFFERENT" if lines else "the same"}', *lines, sep='\n    ', flush=True)
        wrong += len(lines)
    return int(wrong > 0)


def write(kept: dict[str, Kept]) -> None:
    """Write the file."""
    FILE.write_text(json.dumps(kept, indent=1) + '\n')


if __name__ == '__main__':
    sys.exit(main())
