"""Joins changelog.d/*.md into CHANGELOG.md under the version of pyproject.toml.

Usage: python scripts/release_notes.py [--check]
--check only says whether every fragment has a known kind and one line.
"""

import argparse
import datetime
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = {"added": "Added", "changed": "Changed", "fixed": "Fixed"}


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    fragments = read_fragments(ROOT / "changelog.d")
    if arguments.check:
        print(f"{sum(map(len, fragments.values()))} fragments")
        return
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    changelog = ROOT / "CHANGELOG.md"
    head, marker, rest = changelog.read_text().partition("<!-- releases -->\n")
    if not marker:
        sys.exit("CHANGELOG.md must contain the line <!-- releases -->")
    changelog.write_text(f"{head}{marker}\n{section(fragments, version)}{rest}")
    for path in (ROOT / "changelog.d").glob("*.md"):
        path.unlink()


if __name__ == "__main__":
    main()
