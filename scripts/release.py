"""Checks and makes a release.

Usage: python scripts/release.py fragments   every changelog fragment is well formed
       python scripts/release.py join        fragments into CHANGELOG.md, under the version
       python scripts/release.py check       version, changelog, citation, recipe, docs, dist/ agree
"""

import argparse
import datetime
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = {"added": "Added", "changed": "Changed", "fixed": "Fixed"}
MARKER = "<!-- releases -->\n"
NAMED_IN = {  # files that say the version, and how
    "CITATION.cff": "version: {}\n",
    "packaging/conda/meta.yaml": 'version = "{}"',
    "docs/cite.md": "version = {{{}}}",
    "docs/comparison.md": "| elasticgnn {} |",
}


def project_version() -> str:
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


def read_fragments(folder: Path) -> dict[str, list[str]]:
    """Sentences by kind, in the order of their file names."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for path in sorted(folder.glob("*.md")):
        kind = path.suffixes[-2].removeprefix(".") if len(path.suffixes) > 1 else ""
        text = " ".join(path.read_text().split())
        if kind not in KINDS or not text:
            raise SystemExit(f"{path.name} must be <name>.<{'|'.join(KINDS)}>.md and not empty")
        found[kind].append(text)
    return found


def section(fragments: dict[str, list[str]], version: str) -> str:
    lines = [f"## {version} ({datetime.date.today():%Y-%m-%d})", ""]
    for kind, title in KINDS.items():
        if fragments[kind]:
            lines += [f"### {title}", "", *(f"- {text}" for text in fragments[kind]), ""]
    return "\n".join(lines)


def join() -> None:
    """Moves all fragments into the changelog."""
    folder, changelog = ROOT / "changelog.d", ROOT / "CHANGELOG.md"
    head, marker, rest = changelog.read_text().partition(MARKER)
    if not marker:
        raise SystemExit(f"CHANGELOG.md must contain the line {MARKER.strip()}")
    text = section(read_fragments(folder), project_version())
    changelog.write_text(f"{head}{marker}\n{text}{rest}")
    for path in folder.glob("*.md"):
        path.unlink()


def problems(tag: str | None) -> list[str]:
    """What keeps this tree from being released, in words."""
    version, found = project_version(), []
    if tag is not None and tag != f"v{version}":
        found.append(f"the tag must be v{version}, got {tag}")
    if f"## {version} " not in (ROOT / "CHANGELOG.md").read_text():
        found.append(f"CHANGELOG.md has no section {version}")
    waiting = sum(map(len, read_fragments(ROOT / "changelog.d").values()))
    if waiting:
        found.append(f"{waiting} changelog fragments are not joined")
    for name, words in NAMED_IN.items():
        if words.format(version) not in (ROOT / name).read_text():
            found.append(f"{name} must name version {version}")
    return [*found, *site_problems(version), *wheel_problems(version)]


def site_problems(version: str) -> list[str]:
    """What is wrong with the site in build/site, if it is there."""
    site, docs = ROOT / "build" / "site", ROOT / "docs"
    if not site.is_dir():
        return []
    pages = [page.relative_to(docs).with_suffix(".html") for page in docs.rglob("*.md")]
    pages.append(Path("results.html"))  # the report, which docs/studies.md links to
    missing = [page for page in pages if not (site / page).is_file()]
    found = [f"build/site must have {page}: run make docs" for page in sorted(missing)]
    if not missing and f"elasticgnn {version}" not in (site / "index.html").read_text():
        found.append(f"build/site must be of version {version}: run make docs")
    return found


def wheel_problems(version: str) -> list[str]:
    """What is wrong with the wheels in dist/, if any are there."""
    found = []
    for wheel in (ROOT / "dist").glob("*.whl"):
        names = zipfile.ZipFile(wheel).namelist()
        if not wheel.name.startswith(f"elasticgnn-{version}-"):
            found.append(f"{wheel.name} must be of version {version}")
        compiled = any("_native." in name for name in names)
        if compiled == wheel.name.endswith("-none-any.whl"):  # the one wheel for all other systems
            found.append(f"{wheel.name} {'has' if compiled else 'has no'} compiled loops")
        if "linux_x86_64" in wheel.name and "manylinux" not in wheel.name:
            found.append(f"{wheel.name} must be repaired by auditwheel")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("fragments", "join", "check"))
    parser.add_argument("--tag", help="with check: the tag to be released")
    arguments = parser.parse_args()
    if arguments.action == "join":
        join()
    elif arguments.action == "fragments":
        count = sum(map(len, read_fragments(ROOT / "changelog.d").values()))
        print(f"{count} fragments")
    elif found := problems(arguments.tag):
        raise SystemExit("\n".join(found))
    else:
        print(f"{project_version()} is ready")


if __name__ == "__main__":
    main()
