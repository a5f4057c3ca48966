# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Measure the live page: seconds to its first picture, and the load of its process.

Of the simulated slot car, in headless Chromium on the same machine: a bag of eight minutes, and a
running filter node. Needs Chromium, Playwright and, for the node, ROS 2.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
import re
import shutil
import subprocess
import sys
from tempfile import TemporaryDirectory
import time
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from two_manifold_ros.demo import running_node
from two_manifold_ros.domains import isolate

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BROWSERS = ('chromium', 'chromium-browser', 'google-chrome')
ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--disable-background-networking']
LOOK_S, CLOSED_S = 20.0, 10.0
"""How long a load is measured, and until a closed page counts for nothing."""
MAP = '() => window.Bokeh?.documents[0]?.get_model_by_name("map")?.inner_width'
PLACE = '() => Bokeh.documents[0].get_model_by_name("ellipse").data.x.length'
COUNT = """() => { window.pictures = 0;
    const watched = Bokeh.documents[0].get_model_by_name('acceleration').x_range;
    watched.properties.end.change.connect(() => window.pictures++); }"""


def command(*arguments: object) -> list[str]:
    return [sys.executable, '-m', 'two_manifold_ros', *map(str, arguments)]


def processor_s(pid: int) -> float:
    """Return the processor time of a process, s; the kernel counts in hundredths."""
    fields = Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100.0


def load(pid: int) -> float:
    """Return the share of a core that a process takes now, per cent."""
    before = processor_s(pid)
    time.sleep(LOOK_S)
    return 100.0 * (processor_s(pid) - before) / LOOK_S


def measure(browser: Browser, name: str, *shown: object) -> None:
    begin = time.monotonic()
    arguments = command('view', *shown, '--port', 0, '--no-browser')
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as server:
        try:
            said = server.stdout.readline() if server.stdout else ''
            (address,) = re.findall(r'http://\S+', said)
            page = browser.new_page()
            page.goto(address)
            page.wait_for_function(MAP)
            picture_s = time.monotonic() - begin
            page.wait_for_function(PLACE, timeout=120_000)
            place_s = time.monotonic() - begin
            # Until the filter has run over the bag.
            time.sleep(LOOK_S)
            page.evaluate(COUNT)
            looking = load(server.pid)
            pictures = page.evaluate('window.pictures') / LOOK_S
            page.close()
            time.sleep(CLOSED_S)
            idle = load(server.pid)
            status = Path(f'/proc/{server.pid}/status').read_text()
            (kilobytes,) = re.findall(r'VmRSS:\s+(\d+)', status)
        finally:
            server.terminate()
    print(
        f'{name:16} {picture_s:7.1f} {place_s:9.1f} {pictures:9.1f} {looking:9.1f} {idle:8.2f} '
        f'{int(kilobytes) / 1024:7.0f}',
        flush=True,
    )


def main() -> None:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        sys.exit(f'there is none of {", ".join(BROWSERS)}: apt install chromium')
    isolate()
    with TemporaryDirectory() as place, sync_playwright() as playwright, ExitStack() as running:
        folder = Path(place)
        bag, model = folder / 'bag', folder / 'model.npz'
        for each in (
            ('simulate', '-o', bag, '--laps', 55, '--seed', 1),
            ('train', bag, '-o', model, '--until', 300),
        ):
            subprocess.run(command(*each), check=True, capture_output=True)
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        print(
            'live page            first picture,  pictures    load, % of a core  memory\n'
            '                 position, s          a second  one page    none      MB'
        )
        measure(browser, 'view MODEL BAG', model, bag)
        for name, parameter in (('filter_node', f'model:={model}'), ('slot_car_node', 'seed:=1')):
            running.enter_context(running_node(name, folder / f'{name}.log', parameter))
        measure(browser, 'view --live', '--live')
        browser.close()


if __name__ == '__main__':
    main()
