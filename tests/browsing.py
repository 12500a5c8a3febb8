"""Pages opened in a real browser without network."""

import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def chromium():
    """A running Chromium; the test is skipped where there is none."""
    if not Path(CHROMIUM).exists() or shutil.which("chromium") is None:
        pytest.skip("no Chromium (Debian: apt-get install chromium)")
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@contextmanager
def opened(browser, path, size):
    """The page of a file; anything that goes wrong in it or leaves the machine is an error."""
    width, height, scheme = size
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, offline=True
    )
    page = context.new_page()
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
    page.on("request", lambda r: problems.append(r.url) if r.url.startswith("http") else None)
    page.goto(path.as_uri())
    yield page
    assert problems == []
    context.close()
