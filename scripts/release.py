"""Checks and makes a release.

Usage: python scripts/release.py fragments   every changelog fragment is well formed
       python scripts/release.py join        fragments into CHANGELOG.md, under the version
       python scripts/release.py check       version, changelog, citation, recipe and dist/ agree
"""

import argparse
import datetime
import re
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = {"added": "Added", "changed": "Changed", "fixed": "Fixed"}
MARKER = "<!-- releases -->\n"


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
    for name, pattern in (
        ("CITATION.cff", rf"^version: {re.escape(version)}$"),
        ("packaging/conda/meta.yaml", rf'version = "{re.escape(version)}"'),
    ):
        if not re.search(pattern, (ROOT / name).read_text(), flags=re.MULTILINE):
            found.append(f"{name} must name version {version}")
    return [*found, *wheel_problems(version)]


def wheel_problems(version: str) -> list[str]:
    """What is wrong with the wheels in dist/, if any are there."""
    found = []
    for wheel in (ROOT / "dist").glob("*.whl"):
        names = zipfile.ZipFile(wheel).namelist()
        if not wheel.name.startswith(f"elasticgnn-{version}-"):
            found.append(f"{wheel.name} must be of version {version}")
        if not any("_native." in name for name in names):
            found.append(f"{wheel.name} has no compiled loops")
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
