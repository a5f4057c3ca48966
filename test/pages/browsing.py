# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A headless browser for tests of pages, which fails a test on every error in a page."""

from collections.abc import Callable, Iterator
from shutil import which
from typing import Any
from urllib.parse import urlsplit

import pytest

PROGRAMS = ('chromium', 'chromium-browser', 'google-chrome')
ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking']
PATIENCE_MS = 60_000
"""Waiting ends as soon as the condition holds; a busy machine takes long."""

MODEL = '(name) => Bokeh.documents[0].get_model_by_name(name)'
Open = Callable[..., 'Tab']


class Tab:
    """One page in the browser, by the names of its models."""

    def __init__(self, page: Any) -> None:  # noqa: ANN401 - playwright may be missing
        self.page = page

    def columns(self, name: str) -> dict[str, list[Any]]:
        code = f"""(name) => Object.fromEntries(Object.entries(({MODEL})(name).data)
            .map(([key, values]) => [key, Array.from(values)]))"""
        found: dict[str, list[Any]] = self.page.evaluate(code, name)
        return found

    def value(self, name: str, attribute: str) -> Any:  # noqa: ANN401 - of any attribute
        """Return an attribute of a model, such as ``x_range.start``."""
        return self.page.evaluate(f'(name) => ({MODEL})(name).{attribute}', name)

    def until(self, condition: str) -> None:
        """Wait for an expression in which ``model`` finds models by name."""
        self.page.wait_for_function(
            f'() => {{ const model = {MODEL}; return {condition}; }}', timeout=PATIENCE_MS
        )

    def text(self, selector: str) -> str:
        return ' '.join(str(self.page.locator(selector).first.inner_text()).split())


@pytest.fixture(scope='module')
def browser() -> Iterator[Any]:
    """Start a browser for the tests of a file, which takes as long as most of them."""
    pytest.importorskip('bokeh', reason='bokeh, which draws pages, is not installed')
    playing = pytest.importorskip(
        'playwright.sync_api', reason='playwright, which drives a browser, is not installed'
    )
    program = next(filter(None, map(which, PROGRAMS)), None)
    if program is None:
        pytest.skip('there is no Chromium: apt install chromium')
    with playing.sync_playwright() as player:
        browser = player.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def browse(browser: Any) -> Iterator[Open]:  # noqa: ANN401 - playwright may be missing
    """Return a function that opens a page; errors and requests to elsewhere fail the test."""
    complaints: list[str] = []
    contexts: list[Any] = []

    def look(request: Any) -> None:  # noqa: ANN401 - of playwright
        where = urlsplit(request.url)
        if where.scheme in {'http', 'https', 'ws'} and where.hostname != '127.0.0.1':
            complaints.append(f'a request to {request.url}')

    def open_tab(url: str, width: int = 1280, height: int = 800, ready: str = 'map') -> Tab:
        # As another browser: nothing is left of the tests before.
        contexts.append(browser.new_context(viewport={'width': width, 'height': height}))
        page = contexts[-1].new_page()
        page.on('console', lambda said: said.type == 'error' and complaints.append(said.text))
        page.on('pageerror', lambda error: complaints.append(str(error)))
        page.on('request', look)
        page.goto(url)
        tab = Tab(page)
        tab.until(f'window.Bokeh && Bokeh.documents.length && model("{ready}")?.inner_width')
        return tab

    yield open_tab
    for context in contexts:
        context.close()
    assert not complaints
