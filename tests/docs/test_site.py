"""The documentation site builds without a warning, needs no network, and works in a browser."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import elasticgnn

pytest.importorskip("myst_nb", reason="the site needs elasticgnn[docs]")
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    options = [
        "-W",
        "--keep-going",
        "-q",
        "-D",
        "nb_execution_mode=off",
    ]  # test_tutorials runs them
    command = [sys.executable, "-m", "sphinx", *options, "-b", "html", str(DOCS), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def test_no_page_loads_anything_from_elsewhere(site):
    for page in site.rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|link|img)[^>]+(?:src|href)="(https?://[^"]+)"', page.read_text()
        )
        assert not loaded, f"{page.name} loads {loaded}"


def test_every_public_name_stands_in_the_reference(site):
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        from api_pages import FOLDERS, names_of
    finally:
        sys.path.pop(0)
    for folder in FOLDERS:
        text = (site / "reference" / f"{folder}.html").read_text()
        missing = [n for n in names_of(folder) if f'id="elasticgnn.{folder}.{n}"' not in text]
        assert not missing


def test_every_folder_of_the_package_has_a_page(site):
    inner = {"cli", "demo", "files", "kernels"}  # not for import by users
    package = Path(elasticgnn.__file__).parent
    folders = {path.parent.name for path in package.glob("*/__init__.py")} - inner
    assert folders == {path.stem for path in (site / "reference").glob("*.html")} - {"index"}


def test_the_site_can_be_walked_in_a_browser(site, browser):
    errors: list[str] = []
    page = browser.new_page(viewport={"width": 400, "height": 800})
    page.on(
        "console",
        lambda message: errors.append(message.text) if message.type == "error" else None,
    )
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((site / "index.html").as_uri())
    page.get_by_text("I denoise signals").click(force=True)  # the card itself is the link
    assert "with proof" in page.title()
    wide = "document.documentElement.scrollWidth <= window.innerWidth"
    for name in ("index", "cheatsheets", "reference/solver", "math"):
        page.goto((site / f"{name}.html").as_uri())
        assert page.evaluate(wide), f"{name} is wider than a phone"
    page.close()
    assert not [
        error for error in errors if "file://" not in error
    ]  # fetch of file: is the browser's rule
