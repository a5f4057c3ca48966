# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Take the pictures of a report and of the live page again, by hand, and look at them.

``python benchmarks/draw_pictures.py`` needs Chromium, Playwright and Pillow. The drive is the
drive of the README.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
import re
import shutil
import subprocess
import sys
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from PIL import Image
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

IMAGES = Path(__file__).parents[1] / 'docs' / 'images'
BROWSERS = ('chromium', 'chromium-browser', 'google-chrome')
ARGUMENTS = ('--no-sandbox', '--disable-gpu', '--disable-background-networking')
SIZE: ViewportSize = {'width': 1200, 'height': 850}
FRAMES, FRAME_MS = 24, 250
"""Of the moving picture: six seconds, two thirds of a lap; twice as many are a file of 2 MB."""
COLOURS = 160
"""With half as many blue turns into green."""
PATIENCE_MS = 60_000


def command(*arguments: object) -> list[str]:
    """Return a command of this package."""
    return [sys.executable, '-m', 'two_manifold_ros', *map(str, arguments)]


def take_reports(browser: Browser, folder: Path) -> None:
    """Take the picture of a report."""
    report = folder / 'report.html'
    arguments = ('evaluate', folder / 'model.npz', folder / 'my_bag', '--from', 300)
    subprocess.run(command(*arguments, '--report', report), check=True, stdout=subprocess.DEVNULL)
    page = browser.new_page(viewport=SIZE, color_scheme='light')
    page.goto(report.as_uri())
    page.wait_for_function('window.Bokeh && Bokeh.documents[0]?.is_idle')
    page.evaluate("document.querySelectorAll('h2')[1].scrollIntoView()")
    page.wait_for_timeout(500)
    page.screenshot(path=IMAGES / 'report.png')
    page.close()


def take_live_page(browser: Browser, folder: Path) -> None:
    """Take the moving picture of the live page."""
    bag = ('view', folder / 'model.npz', folder / 'my_bag', '--from', 300, '--until', 400)
    with subprocess.Popen(
        command(*bag, '--port', 0, '--no-browser'), stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            said = server.stdout.readline() if server.stdout else ''
            (address,) = re.findall(r'http://\S+', said)
            page = browser.new_page(viewport=SIZE, color_scheme='light')
            page.goto(address)
            page.get_by_text('tracking').first.wait_for(timeout=PATIENCE_MS)
            page.wait_for_timeout(2000)
            save_moving(page, IMAGES / 'view.gif')
            page.close()
        finally:
            server.terminate()


def save_moving(page: Page, path: Path) -> None:
    """Save frames of a page as a moving picture, two thirds as large, in one set of colours."""
    frames: list[Image.Image] = []
    for _ in range(FRAMES):
        with Image.open(BytesIO(page.screenshot())) as shot:
            small = shot.convert('RGB').resize((SIZE['width'] * 2 // 3, SIZE['height'] * 2 // 3))
        if frames:
            frames.append(small.quantize(palette=frames[0], dither=Image.Dither.NONE))
        else:
            frames.append(small.quantize(COLOURS, Image.Quantize.MEDIANCUT, kmeans=1))
        page.wait_for_timeout(FRAME_MS)
    first, *others = frames
    first.save(path, save_all=True, append_images=others, duration=FRAME_MS, loop=0, optimize=True)


def main() -> None:
    """Drive, train, and take all pictures."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        sys.exit(f'there is none of {", ".join(BROWSERS)}: apt install chromium')
    with TemporaryDirectory() as place, sync_playwright() as playwright:
        folder = Path(place)
        drive = ('simulate', '-o', folder / 'my_bag', '--laps', 55, '--seed', 1)
        train = ('train', folder / 'my_bag', '-o', folder / 'model.npz', '--until', 300)
        for each in (drive, train):
            subprocess.run(command(*each), check=True, stdout=subprocess.DEVNULL)
        browser = playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        take_reports(browser, folder)
        take_live_page(browser, folder)
        browser.close()


if __name__ == '__main__':
    main()
