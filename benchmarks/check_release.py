# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Run the commands of README.md, word for word, in a fresh clone on a machine with only Python.

Run `./run check-release`: a fresh clone of the newest commit, an empty home, no caches. Every
command of the README is run as it stands there, in its order; `my_bag` is a simulated drive. The
line under a command has to be in its output. What this machine lacks (`ros2`, `rosdep`, `colcon`)
is not run, but the launch files and arguments that such a command names have to exist. Links have
to lead somewhere, options have to be options, and the table of the demo in docs/usage.md has to be
what the demo prints.

With `--figures` figures of docs/ are computed again instead, which takes hours: every
experiment and its picture, on how many of ten sets of draws each claim passes, and what
benchmarks print. Those of gauntlet, adaptation, two_manifold and literal.json, which
take longer, are compared with the pages alone.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CHECKOUT = Path(__file__).resolve().parents[1]
PROGRAMS = (
    './run',
    'two-manifold',
    'pip',
    'ros2',
    'colcon',
    'rosdep',
    'filter_node',
    'updater_node',
)
"""First words of the commands of the README."""
DRIVE = 'two-manifold simulate -o my_bag --laps 55 --seed 1'
"""More than the 300 s that the README trains with."""
NODE_S = 30.0
"""How long a node of the README runs before Ctrl-C: it starts, and a second one finds it."""
PATIENCE_S = 1800.0


FIGURES = (
    './run lint',
    './run bench reproduce',
    './run bench reproduce --sets 10',
    './run bench outputs',
)
"""Commands that fail where a figure on a page is not what is computed."""
FIGURES_PATIENCE_S = 6.0 * 3600.0


class Check:
    """A clone, an empty home, and the defects found."""

    def __init__(self, place: Path) -> None:
        self.clone = place / 'two_manifold_ros'
        self.home = place / 'home'
        self.home.mkdir()
        self.wrong: list[str] = []
        self.patience_s = PATIENCE_S
        self.nodes: list[subprocess.Popen[str]] = []
        kept = ('PATH', 'LANG', 'SSL_CERT_FILE', 'PYTHON')
        self.environment = {name: os.environ[name] for name in kept if name in os.environ}
        # How pip reaches its index, and what older BLAS libraries need on this processor, are of
        # the machine: without the latter the oldest NumPy crashes on some.
        ours = tuple(name for name in os.environ if name.startswith(('PIP_', 'OPENBLAS_')))
        self.environment |= {name: os.environ[name] for name in ours}
        self.environment |= {'HOME': str(self.home), 'ROS_DOMAIN_ID': '94'}
        subprocess.run(['git', 'clone', '--quiet', str(CHECKOUT), str(self.clone)], check=True)
        shared = CHECKOUT.parent / 'shared'
        if shared.is_dir():
            # Tests look for real recordings beside the checkout.
            (place / 'shared').symlink_to(shared)
        self.readme = (self.clone / 'README.md').read_text('utf-8')
        self.usage = (self.clone / 'docs' / 'usage.md').read_text('utf-8')

    def complain(self, what: str) -> None:
        self.wrong.append(what)
        print(f'  WRONG: {what}', flush=True)

    def run(self, command: str, **variables: str) -> str:
        """Run a command in the clone as a shell does, and return what it printed."""
        print(f'$ {command}', flush=True)
        begin = time.monotonic()
        done = subprocess.run(
            ['sh', '-c', command],
            cwd=self.clone, env={**self.environment, **variables}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            timeout=self.patience_s,
        )  # fmt: skip
        print(f'  {time.monotonic() - begin:.0f} s, status {done.returncode}', flush=True)
        if done.returncode:
            self.complain(f'{command!r} ended with {done.returncode}')
            print(done.stdout[-3000:])
        return done.stdout

    def start(self, command: str) -> None:
        """Start a node, which has to be there as long as the check."""
        print(f'$ {command} &', flush=True)
        with (self.home / f'node{len(self.nodes)}.log').open('w') as log:
            node = subprocess.Popen(
                ['sh', '-c', f'exec {command}'],
                cwd=self.clone, env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
        self.nodes.append(node)
        time.sleep(NODE_S)
        if node.poll() is not None:
            self.complain(f'{command!r} ended with {node.returncode}')

    def stop_nodes(self) -> None:
        for number, node in enumerate(self.nodes):
            if node.poll() is not None:
                continue
            node.send_signal(signal.SIGINT)
            try:
                status = node.wait(timeout=30.0)
            except subprocess.TimeoutExpired:
                node.kill()
                status = -9
            said = (self.home / f'node{number}.log').read_text('utf-8')
            if status or 'Traceback' in said:
                self.complain(f'{node.args!r} ended with {status} on Ctrl-C:\n{said[-2000:]}')

    def commands(self) -> list[str]:
        """Return the commands of indented lines, in their order, without comments."""
        lines = re.findall(r'^ {4,}(\S.*)$', self.readme, re.MULTILINE)
        parts = [part for line in lines for part in re.sub(r'\s+#.*', '', line).split(' && ')]
        found = [part.strip() for part in parts if part.split()[0] in PROGRAMS]
        text = ' '.join(self.readme.split())
        inline = re.findall(r'`((?:two-manifold|pip install) [^`]+)`', text)
        asked = [each for each in inline if 'my_bag' in each or '.[' in each]
        if DRIVE not in asked:
            self.complain(f'`{DRIVE}`, of which its output is, is not named')
        return found + [each for each in asked if each != DRIVE]

    def outputs(self) -> dict[str, str]:
        """Return the line of output under each command that has one."""
        found: dict[str, str] = {}
        command = ''
        for line in self.readme.splitlines():
            text = line.strip()
            if not line.startswith('    ') or text.startswith('#'):
                command = ''
            elif text.split()[0] in PROGRAMS:
                command = re.sub(r'\s+#.*', '', text)
            elif command:
                found[command] = text
        return found

    def check_output(self, command: str, printed: str) -> None:
        """Check that a command printed the line that stands under it."""
        line = self.outputs().get(command, '')
        if ' '.join(line.split()) not in ' '.join(printed.split()):
            self.complain(f'{command!r} does not print {line!r}')

    def check_links(self) -> None:
        for link in re.findall(r'\]\(([^)#\s]+)', self.readme):
            if '://' not in link and not (self.clone / link).exists():
                self.complain(f'the link {link} leads nowhere')

    def check_launch(self, command: str) -> None:
        """Check the file and the arguments of `ros2 launch`, and the files that it names."""
        _, _, package, file, *rest = shlex.split(command)
        path = self.clone / 'launch' / file
        if package != 'two_manifold_ros' or not path.is_file():
            self.complain(f'{command!r}: there is no launch/{file}')
            return
        text = path.read_text('utf-8')
        for name in (each.split(':=')[0] for each in rest):
            if f"'{name}'" not in text:
                self.complain(f'{command!r}: {file} has no argument {name}')

    def check_options(self) -> None:
        """Check that each option in the text is one of some command."""
        names = self.run('two-manifold --help')
        commands = re.findall(r'^ {4}(\w+)(?: |$)', names, re.MULTILINE)
        helps = [names, *(self.run(f'two-manifold {command} --help') for command in commands)]
        known = set(re.findall(r'--[a-z][\w-]+', '\n'.join(helps)))
        known |= {'--ros-args', '--from-paths', '--ignore-src'}
        named = set(re.findall(r'--[a-z][\w-]+', self.readme + self.usage))
        for option in sorted(named - known):
            self.complain(f'no command has the option {option}')

    def check_table(self, printed: str) -> None:
        """Check the tables of the demo: every number, up to one in its last digit."""
        row = re.compile(r'^ +(\d+ \([\d.]+ s\) .*?) *$', re.MULTILINE)
        there, made = row.findall(self.usage), row.findall(printed)
        if not there or len(there) != len(made):
            self.complain(f'{len(there)} rows of tables on the page, {len(made)} in the demo')
            return
        for ours, theirs in zip(there, made, strict=True):
            words = ours.split(), theirs.split()
            alike = len(words[0]) == len(words[1])
            if not (alike and all(map(same_number, *words))):
                self.complain(f'{ours!r} on the page, {theirs!r} in the demo')

    def check_size(self) -> None:
        """Check what the README says of the size of the environment, before tools are in it."""
        said = re.search(r'\(([\d.]+) to ([\d.]+) GB unpacked\)', self.readme)
        if said is None:
            self.complain('the size of the environment is not given as (A to B GB unpacked)')
            return
        low, high = said.groups()
        environment = self.clone / '.venv'
        paths = environment.rglob('*')
        files = [path for path in paths if path.is_file() and not path.is_symlink()]
        size = sum(path.stat().st_size for path in files)
        if not float(low) - 0.05 <= size / 1e9 <= float(high) + 0.05:
            self.complain(f'the environment takes {size / 1e9:.2f} GB, not {low} to {high}')

    def check_newest(self, command: str) -> None:
        """Install with pip what is newest today, in an environment of its own, and train."""
        python = self.environment.get('PYTHON', 'python3')
        self.run(f'{python} -m venv newest')
        path = f'{self.clone}/newest/bin:{self.environment["PATH"]}'
        self.run(command, PATH=path)
        self.run('two-manifold train my_bag -o newest.npz --until 60', PATH=path)
        self.run('two-manifold evaluate newest.npz my_bag --from 60 --until 90', PATH=path)

    def compute_figures(self) -> None:
        self.patience_s = FIGURES_PATIENCE_S
        for command in FIGURES:
            print(self.run(command)[-3000:])

    def go_through(self) -> None:
        self.check_links()
        printed = ''
        path = self.environment['PATH']
        for command in dict.fromkeys(self.commands()):
            program = command.split()[0]
            if 'my_bag' in command and not (self.clone / 'my_bag').exists():
                self.run(DRIVE)
            if program == './run':
                self.environment['PATH'] = path
                said = self.run(command)
                if command == './run demo':
                    printed = said
                    self.check_size()
                self.environment['PATH'] = f'{self.clone}/.venv/bin:{path}'
                self.environment['AMENT_PREFIX_PATH'] = f'{self.clone}/.venv'
            elif program in {'filter_node', 'updater_node'} or 'two-manifold view' in command:
                self.start(command.replace('$PWD', str(self.clone)))
            elif command.startswith('ros2 launch'):
                self.check_launch(command)
            elif program == 'two-manifold':
                self.check_output(command, self.run(command))
            elif 'train,ros' not in command and program == 'pip' and '.[' in command:
                self.check_newest(command)
            elif shutil.which(program, path=path) is None or program == 'pip':
                print(f'not run here: {command}')
            else:
                self.run(command)
        self.stop_nodes()
        self.check_options()
        self.check_table(printed)


def same_number(first: str, second: str) -> bool:
    """Return whether two words are the same, or decimals that differ by one in the last digit."""
    if first == second:
        return True
    if '.' not in first:
        return False
    try:
        digits = len(first.partition('.')[2])
        return abs(float(first) - float(second)) < 1.5 * 10.0**-digits
    except ValueError:
        return False


def main() -> int:
    """Return 0 if the README is true, or the figures of docs/."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--figures', action='store_true', help='compute the figures of docs/')
    args = parser.parse_args()
    dirty = subprocess.run(
        ['git', 'status', '--porcelain'],
        cwd=CHECKOUT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    if dirty:
        print('Uncommitted changes are not checked:', *dirty.splitlines(), sep='\n  ')
    with tempfile.TemporaryDirectory() as folder:
        check = Check(Path(folder))
        try:
            if args.figures:
                check.compute_figures()
            else:
                check.go_through()
        finally:
            for node in check.nodes:
                if node.poll() is None:
                    node.kill()
    print(f'{len(check.wrong)} things are not true' if check.wrong else 'All is true')
    for each in check.wrong:
        print(f'  {each}')
    return int(bool(check.wrong))


if __name__ == '__main__':
    sys.exit(main())
