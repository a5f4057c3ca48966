# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Run the commands of README.md in a fresh clone, on a machine with only Python, with an empty home.

`./run check-readme` runs the demo, each `two-manifold` and each node of the page in their order;
`my_bag` is a simulated drive. A line below a command of `two-manifold` has to be in its output.
Installers, tests and `ros2` are not run, but the launch file of `ros2 launch` and its arguments
have to exist, each link has to lead to a file, and each option has to belong to a command.
"""

from __future__ import annotations

import os
from pathlib import Path
import re
import signal
import subprocess
import sys
import tempfile
import time

CHECKOUT = Path(__file__).resolve().parents[1]
NODES = ('filter_node', 'updater_node', 'slot_car_node')
PROGRAMS = ('./run', 'two-manifold', 'pip', 'ros2', 'colcon', 'rosdep', *NODES)
DRIVE = 'two-manifold simulate -o my_bag --laps 55 --seed 1'  # more than 300 s, to train with
NODE_S, PATIENCE_S = 30.0, 1800.0  # in which a node starts, and a command ends
FOREIGN = {'--ros-args', '--from-paths', '--ignore-src'}  # options of ROS 2


class Check:
    """A clone, an empty home, and the lines of the page that are not true."""

    def __init__(self, place: Path) -> None:
        self.clone, home = place / 'two_manifold_ros', place / 'home'
        home.mkdir()
        self.wrong: list[str] = []
        self.nodes: list[subprocess.Popen[str]] = []
        kept = ('PATH', 'LANG', 'SSL_CERT_FILE', 'PYTHON')
        self.environment = {
            name: value
            for name, value in os.environ.items()
            # How pip reaches its index, and the kernels of BLAS, are of the machine.
            if name in kept or name.startswith(('PIP_', 'OPENBLAS_'))
        } | {'HOME': str(home), 'ROS_DOMAIN_ID': '94'}
        subprocess.run(['git', 'clone', '--quiet', str(CHECKOUT), str(self.clone)], check=True)
        self.page = (self.clone / 'README.md').read_text('utf-8')

    def run(self, command: str) -> str:
        """Run a command in the clone as a shell does, and return what it printed."""
        print(f'$ {command}', flush=True)
        done = subprocess.run(
            ['sh', '-c', command], cwd=self.clone, env=self.environment, text=True, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=PATIENCE_S,
        )  # fmt: skip
        if done.returncode:
            self.wrong.append(f'{command!r} ended with {done.returncode}: {done.stdout[-2000:]}')
        return done.stdout

    def start(self, command: str) -> None:
        """Start a program that runs until Ctrl-C."""
        print(f'$ {command} &', flush=True)
        node = subprocess.Popen(
            ['sh', '-c', f'exec {command}'], cwd=self.clone, env=self.environment, text=True,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        self.nodes.append(node)
        time.sleep(NODE_S)
        if node.poll() is not None:
            self.wrong.append(f'{command!r} ended with {node.returncode}')

    def stop_nodes(self) -> None:
        for node in self.nodes:
            node.send_signal(signal.SIGINT)
            if node.wait(timeout=NODE_S):
                self.wrong.append(f'{node.args!r} ended with {node.returncode} on Ctrl-C')

    def commands(self) -> dict[str, list[str]]:
        """Return the commands of the page in their order, and the lines below each."""
        found: dict[str, list[str]] = {}
        below: list[str] = []
        fenced = False
        for line in self.page.splitlines():
            fenced ^= line.lstrip().startswith('```')
            text = re.sub(r'\s+#.*', '', line).strip().removeprefix('$ ')
            if not (fenced or line.startswith('    ')) or not text or text.startswith(('#', '`')):
                below = []
            elif text.split()[0] in PROGRAMS:
                for part in text.split(' && '):
                    below = found.setdefault(part.strip(), [])
            else:
                below.append(line.strip())
        return found

    def check_links_and_options(self) -> None:
        links = [each for each in re.findall(r'\]\(([^)#\s]+)', self.page) if '://' not in each]
        lost = [each for each in links if not (self.clone / each).exists()]
        self.wrong += [f'the link {each} leads nowhere' for each in lost]
        names = self.run('two-manifold --help')
        commands = re.findall(r'^ {4}([\w-]+)(?: |$)', names, re.MULTILINE)
        helps = [self.run(f'two-manifold {command} --help') for command in commands]
        helps += [names, self.run('./run demo --help')]
        known = FOREIGN | set(re.findall(r'--[a-z][\w-]+', '\n'.join(helps)))
        named = set(re.findall(r'--[a-z][\w-]+', self.page))
        self.wrong += [f'no command has the option {each}' for each in sorted(named - known)]

    def check_launch(self, command: str) -> None:
        _, _, _, file, *rest = command.split()
        path = self.clone / 'launch' / file
        text = path.read_text('utf-8') if path.is_file() else ''
        lost = [each for each in rest if f"'{each.split(':=')[0]}'" not in text]
        self.wrong += [f'{command!r}: no launch/{file} has an argument {each}' for each in lost]

    def go_through(self) -> None:
        path = self.environment['PATH']
        for command, lines in self.commands().items():
            program, printed = command.split()[0], ''
            if 'my_bag' in command and not (self.clone / 'my_bag').exists() and program != 'ros2':
                self.run(DRIVE)
            if program in NODES or command.startswith('two-manifold view'):
                self.start(command)
            elif command.startswith('ros2 launch'):
                self.check_launch(command)
            elif program == 'two-manifold' or command.startswith('./run demo'):
                printed = ' '.join(self.run(command).split())
                self.environment['PATH'] = f'{self.clone}/.venv/bin:{path}'
                self.environment['AMENT_PREFIX_PATH'] = f'{self.clone}/.venv'
                for line in lines:
                    if ' '.join(line.split()) not in printed:
                        self.wrong.append(f'{command!r} does not print {line!r}')
            else:
                print(f'not run here: {command}')
        self.check_links_and_options()


def main() -> int:
    """Return 0 if the page is true."""
    with tempfile.TemporaryDirectory() as folder:
        check = Check(Path(folder))
        try:
            check.go_through()
        finally:
            check.stop_nodes()
    print('\n  '.join([f'{len(check.wrong)} lines of README.md are not true', *check.wrong]))
    return int(bool(check.wrong))


if __name__ == '__main__':
    sys.exit(main())
