# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The papers' experiments, held to the figures and pictures that their pages publish.

`./run bench reproduce` runs every experiment in full and compares its claims with
docs/reproduce.json and its picture with that of its page. The status is 1 where a claim fails or
differs in a digit that is printed, or where a picture differs by more than rounding. `python
benchmarks/bench_reproduce.py --write` puts what it finds into file, pages and pictures; names of
experiments choose some of them. `./run lint` compares the pages with the file.

With `--sets 10` each experiment runs on ten sets of random draws instead, and what is compared or
written is on how many of them each claim passes, with the mean and spread of its number. The
status is 1 where a claim passes on fewer than nine of ten.

slot-car-online also takes f1tenth_ipz10, which is looked for in `shared/recordings` beside the
checkout. Where it is absent, its claims and the picture are passed over.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from typing import Any, TYPE_CHECKING, TypeAlias

from matplotlib.image import imread
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

Found: TypeAlias = dict[str, Any]
"""An entry of `two-manifold reproduce --json`, with the seconds of processor time it took."""

CHECKOUT = Path(__file__).resolve().parents[1]
DOCS = CHECKOUT / 'docs'
FILE = DOCS / 'reproduce.json'
PICTURES = DOCS / 'images' / 'reproduce'

RECORDINGS = CHECKOUT.parent / 'shared' / 'recordings'
TAKEN = {'slot-car-online': 'f1tenth_ipz10'}
"""The recording that an experiment runs on as well."""

BEGIN = '<!-- begin of what bench_reproduce.py writes -->'
END = '<!-- end of what bench_reproduce.py writes -->'

ROUNDING = 1.5 / 255.0
"""Of a colour: the last digit of a number may turn one of 256 shades into the next."""

PROGRAM = 'import sys; from two_manifold_ros.__main__ import main; sys.exit(main())'

RESULTS: dict[str, tuple[str, tuple[str, ...]]] = {
    'swiss-rolls': (
        'held-out R2 of the sheet {}, of one roll alone {}; at twice the noise {}',
        (
            'noise 1: two, Algorithm 1: R2 on new pairs',
            'noise 1: one manifold: R2 on new pairs',
            'noise 2: two, canonical: R2 on new pairs',
        ),
    ),
    'linear-iv': (
        'angle falls as n^{}, that of PCA stays at {} of its limit',
        (
            'two-subspace PCA: log-log slope of the angle',
            'PCA: angle with most samples, relative to its limit',
        ),
    ),
    'slot-car': (
        'error HSE-HMM / Kalman filter {}; manifold HSE-HMM / HSE-HMM, both read linearly, {}',
        (
            'error of the HSE-HMM / Kalman filter',
            'error of the manifold HSE-HMM / HSE-HMM, both read linearly',
        ),
    ),
    'nlica-square': (
        'spectral lines within {}, correlation {}',
        (
            'spectrum: largest distance of 7 lines from n^2 + m^2, mean of 5 draws',
            'anisotropic: worst correlation with cos(pi x) in 5 draws',
        ),
    ),
    'nlica-sphere': (
        'correlation {}',
        ('anisotropic: worst correlation with cos(pi x) in 5 draws',),
    ),
    'slow-manifold': (
        'rank correlation {}',
        (
            (
                'anisotropic: rank correlation of the first coordinate with the slow variable, '
                'worst draw'
            ),
        ),
    ),
    'mkdr-torus': (
        'correlation {}; noisy {}',
        (
            'grid: correlation of the first central direction with the response',
            'noisy: correlation of the first central direction with the response',
        ),
    ),
    'mkdr-sphere': (
        '{} of the variance; of one that was hidden {}',
        (
            'share explained by linear regression on the central direction',
            'share explained by linear regression on the central direction, where hidden',
        ),
    ),
    'mkdr-images': (
        'correlation with the turn {}',
        ('correlation of the first direction with the turn',),
    ),
    'rr-hmm': (
        'error falls as n^{}, online / batch at most {}',
        (
            'online: slope of the RMS error of eigenvalues in a log-log plot',
            'online: largest ratio to the error in batch',
        ),
    ),
    'slot-car-online': (
        'error online / HSE-HMM {} in the mean, {} at most',
        (
            'simulated slot cars: the same, of the mean over the horizons',
            'simulated slot cars: error online / HSE-HMM, largest of 100 horizons',
        ),
    ),
    'actions': (
        'error with actions and weights / without actions {} 1 s ahead, {} 2 s ahead',
        tuple(
            f'{ahead} s ahead, another driver: actions and weights / without actions, mean error'
            for ahead in (1, 2)
        ),
    ),
    'video': (
        'position R2 {}, direction {:%}, loop closes',
        ('position from the state, R2', 'share of directions right'),
    ),
}
"""Results in the list of all experiments, and the claims whose numbers they have."""


class Figure(float):
    """A measured number as pages print it, or as a percentage."""

    def __format__(self, spec: str) -> str:
        """Return three digits, without the zero before the point; ``%`` has two."""
        if spec == '%':
            return f'{100.0 * self:.2g} %'
        digits = f'{float(self):.3g}'
        return digits.replace('0.', '.', 1) if abs(self) < 1.0 else digits


def run(name: str, folder: Path) -> Found:
    """Run an experiment of this checkout in full; its picture is written into the folder."""
    before = _children_s()
    found = _reproduce(name, folder)
    return {
        **{key: found[key] for key in ('name', 'shows', 'paper', 'claims')},
        'processor_s': round(_children_s() - before, 1),
    }


def run_sets(name: str, folder: Path, count: int) -> Found:
    """Run an experiment on several sets of draws; return how often each claim passes."""
    found = _reproduce(name, folder, '--sets', str(count))
    for number, error in found['errors'].items():
        print(f'{name}: broke off on set {number}: {error}', flush=True)
    return sets_of(found)


def sets_of(found: Found) -> Found:
    """Return what is kept of an entry of `two-manifold reproduce --sets --json`."""
    keys = ('what', 'limit', 'passes', 'mean', 'spread', 'passed')
    claims = [{key: claim[key] for key in keys} for claim in found['claims']]
    return {'first': found['first'], 'sets': found['sets'], 'claims': claims}


def _reproduce(name: str, folder: Path, *options: str) -> Found:
    bag = RECORDINGS / TAKEN.get(name, '')
    bags = [str(bag)] if name in TAKEN and bag.exists() else []
    command = [
        sys.executable,
        '-c',
        PROGRAM,
        'reproduce',
        name,
        *bags,
        '-o',
        str(folder),
        *options,
    ]
    environment = {**os.environ, 'PYTHONPATH': str(CHECKOUT), 'OPENBLAS_NUM_THREADS': '1'}
    done = subprocess.run(
        [*command, '--json'], env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    try:
        (found,) = json.loads(done.stdout)['experiments']
    except ValueError:
        sys.exit(f'{name} ended with {done.returncode}')
    entry: Found = found
    return entry


def _children_s() -> float:
    """Return the processor time of the processes that have ended below this one, s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def differences(kept: Found | None, found: Found) -> Iterator[str]:
    """Yield what was found otherwise than published, and which claims fail."""
    before, now = (
        {claim['what']: claim for claim in each['claims']} for each in (kept or found, found)
    )
    if kept is None:
        yield f'{found["name"]}: it is not in {FILE.name}'
    for what, claim in now.items():
        if not claim['passed']:
            yield f'{found["name"]}: {what}: fails with {claim["ours"]}'
        if what not in before:
            yield f'{found["name"]}: {what}: {claim["ours"]} is not published'
        elif claim['ours'] != before[what]['ours'] and not claim['varies']:
            ours = before[what]['ours']
            yield f'{found["name"]}: {what}: {claim["ours"]}, published {ours}'
    absent = TAKEN.get(found['name'])
    for what in before.keys() - now.keys():
        if absent is None or not what.startswith(f'{absent}: '):
            yield f'{found["name"]}: {what}: is published, and no claim any more'


def set_differences(name: str, kept: Found | None, found: Found) -> Iterator[str]:
    """Yield where claims pass on other sets than published, or on too few of them."""
    for claim in found['claims']:
        if not claim['passed']:
            yield f'{name}: {claim["what"]}: passes on {_sets_cells(found, claim["what"])[0]} sets'
    for what in dict.fromkeys(
        each['what'] for each in [*(kept or found)['claims'], *found['claims']]
    ):
        ours = _sets_cells(found, what)
        published = _sets_cells(kept, what) if kept else None
        if ours != published:
            yield f'{name}: {what}: {ours}, published {published}'


def _sets_cells(sets: Found | None, what: str) -> tuple[str, str, str]:
    """Return on how many sets a claim passes, and the mean and spread of its number."""
    (claim,) = [each for each in (sets or {'claims': []})['claims'] if each['what'] == what] or [
        None
    ]
    if sets is None or claim is None:
        return '', '', ''
    mean, spread = (
        '' if claim[key] is None else f'{claim[key]:.3g}' for key in ('mean', 'spread')
    )
    score = '' if claim['limit'] is None else f'{claim["passes"]} of {sets["sets"]}'
    return score, mean, spread


def claims_table(found: Found) -> str:
    """Return the claims of an experiment as the table of its page."""
    lines = [
        '| claim | paper | set 0 | sets that pass | mean | spread |',
        '| --- | --- | --- | --- | --- | --- |',
    ]
    # A section without its paper would be one of docs/mathematics.md.
    paper = re.match(r'.*? \d{4}(?=,)', found['paper'])
    for claim in found['claims']:
        shown = claim['paper']
        if paper and shown.startswith('section'):
            shown = f'{paper[0]}, {shown}'
        # A time or a memory is that of one process, and has no set.
        sets = None if claim['varies'] else found.get('sets')
        cells = [claim['what'], shown, claim['ours'], *_sets_cells(sets, claim['what'])]
        lines.append(f'| {" | ".join(cells)} |')
    return '\n'.join(lines)


def index_table(kept: dict[str, Found]) -> str:
    """Return the list of all experiments."""
    lines = [
        '| experiment | shows | paper | takes | result | claims that pass on nine of ten sets |',
        '| --- | --- | --- | --- | --- | --- |',
    ]
    for name, each in kept.items():
        result, claims = RESULTS[name]
        # The limit stands at the end of a claim.
        values = {claim['what'].rpartition(', at ')[0]: claim['value'] for claim in each['claims']}
        figures = [Figure(values[claim]) for claim in claims]
        cells = [f'[{name}](reproduce/{name}.md)', each['shows'], each['paper']]
        cells += [f'{each["processor_s"]:.0f} s', result.format(*figures), _held(each)]
        lines.append(f'| {" | ".join(cells)} |')
    whole_s = sum(each['processor_s'] for each in kept.values())
    return '\n'.join([*lines, f'| all | | | {whole_s / 60.0:.1f} min | | |'])


def _held(kept: Found) -> str:
    """Return how many claims pass on enough sets, of those that have a limit and are of a set."""
    varies = {claim['what'] for claim in kept['claims'] if claim['varies']}
    sets = kept.get('sets')
    if sets is None:
        return ''
    claims = [
        each for each in sets['claims'] if each['what'] not in varies and each['limit'] is not None
    ]
    return f'{sum(each["passed"] for each in claims)} of {len(claims)}, on {sets["sets"]} sets'


def results_list(kept: dict[str, Found]) -> str:
    """Return the claims of all experiments for the page of results."""
    lines = []
    for name, each in kept.items():
        lines.append(f'    {name}')
        lines += [f'      {claim["what"]}: {claim["ours"]}' for claim in each['claims']]
    return '\n'.join(lines)


def pages(kept: dict[str, Found]) -> dict[Path, str]:
    """Return what is to stand on each page between the two lines."""
    own = {DOCS / 'reproduce' / f'{name}.md': claims_table(each) for name, each in kept.items()}
    return {
        **own,
        DOCS / 'reproduce.md': index_table(kept),
        DOCS / 'results.md': results_list(kept),
    }


def with_block(page: str, block: str) -> str:
    """Return a page with other text between the two lines."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f'{before}{BEGIN}\n\n{block}\n\n{END}{after}'


def read() -> dict[str, Found]:
    """Return what is published, in the order of the experiments."""
    content = json.loads(FILE.read_text()) if FILE.exists() else {'experiments': []}
    return {each['name']: each for each in content['experiments']}


def write(kept: dict[str, Found]) -> None:
    """Write the file and the pages."""
    ordered = {name: kept[name] for name in RESULTS if name in kept}
    content = {'experiments': list(ordered.values())}
    FILE.write_text(json.dumps(content, indent=1, allow_nan=False) + '\n')
    for path, block in pages(ordered).items():
        path.write_text(with_block(path.read_text(), block))


def picture_differs(drawn: Path, published: Path) -> bool:
    """Return whether one picture is another than the other by more than rounding."""
    if not published.exists():
        return True
    one, other = imread(drawn), imread(published)
    return one.shape != other.shape or bool(np.abs(one - other).max() > ROUNDING)


def examine(found: Found, kept: Found | None, folder: Path) -> list[str]:
    """Return in which lines an experiment differs from what is published, its picture included."""
    name = found['name']
    lines = list(differences(kept, found))
    if is_partial(name):
        print(f'{name}: {TAKEN[name]} is not beside the checkout, so passed over')
    elif picture_differs(folder / f'{name}.png', PICTURES / f'{name}.png'):
        lines.append(f'{name}: the picture is not that of its page')
    same = 'DIFFERENT' if lines else 'the same'
    print(f'{name}: {same}, {found["processor_s"]:.0f} s of processor time', flush=True)
    for line in lines:
        print(f'    {line}', flush=True)
    return lines


def publish(found: Found, folder: Path) -> list[str]:
    """Write what was found into file, pages and pictures; return the claims that fail."""
    name = found['name']
    if is_partial(name):
        sys.exit(f'{name}: nothing is written without {TAKEN[name]} beside the checkout')
    drawn, published = folder / f'{name}.png', PICTURES / f'{name}.png'
    if picture_differs(drawn, published):
        shutil.copyfile(drawn, published)
    kept = read()
    if 'sets' in kept.get(name, {}):
        # They may be of an earlier version: a run with `--sets` says so.
        found = {**found, 'sets': kept[name]['sets']}
    write({**kept, name: found})
    return [f'{name}: {claim["what"]}' for claim in found['claims'] if not claim['passed']]


def examine_sets(name: str, folder: Path, count: int, *, write_them: bool) -> list[str]:
    """Run an experiment on sets of draws; compare with what is published, or publish."""
    if is_partial(name):
        sys.exit(
            f'{name}: its sets are those with {TAKEN[name]}, which is not beside the checkout'
        )
    found = run_sets(name, folder, count)
    kept = read()
    published = kept.get(name, {}).get('sets')
    lines = list(set_differences(name, found if write_them else published, found))
    if write_them:
        write({**kept, name: {**kept[name], 'sets': found}})
    print(f'{name}: {"DIFFERENT" if lines else "the same"} on {count} sets', flush=True)
    for line in lines:
        print(f'    {line}', flush=True)
    return lines


def is_partial(name: str) -> bool:
    """Return whether an experiment lacks the recording that it is published with."""
    return name in TAKEN and not (RECORDINGS / TAKEN[name]).exists()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('names', nargs='*', metavar='NAME', help=f'some of {", ".join(RESULTS)}')
    parser.add_argument('--write', action='store_true', help='publish what is found')
    parser.add_argument(
        '--sets', type=int, metavar='K', help='run on K sets of draws, and count passes'
    )
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in RESULTS]
    if unknown:
        parser.error(f'there is no experiment {unknown[0]!r}; choose some of {", ".join(RESULTS)}')
    wrong = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in args.names or RESULTS:
            if args.sets is not None:
                wrong += examine_sets(name, folder, args.sets, write_them=args.write)
                continue
            found = run(name, folder)
            lines = examine(found, read().get(name), folder)
            wrong += publish(found, folder) if args.write else lines
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
