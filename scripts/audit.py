"""make audit: which pins of constraints.txt have known vulnerabilities, and which were not asked.

The package index publishes the advisories of a release (of the Python Packaging Advisory Database
and of OSV) beside its files. Some mirrors do so for the newest release of a package alone; a pin
of another one is then reported as not audited, never as clean. So that an index without
advisories is not taken for good news, one package with known ones must be reported first.
"""

from __future__ import annotations

import argparse
import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from pip._internal.models.index import PyPI  # pip's own default; mirrors rarely have advisories

ROOT = Path(__file__).parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
RECORD = ROOT / "results" / "reliability" / "audit.json"
CONTROL = ("pycrypto", "2.6.1")  # abandoned with CVE-2013-7459 and CVE-2018-6594


def pins(text: str) -> list[tuple[str, str]]:
    """Name and version of every pin."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [(name, version) for name, version in re.findall(r"(\S+)==(\S+)", "\n".join(lines))]


def release(name: str, version: str, index: str) -> dict[str, Any] | None:
    """What the index says of that very release, None if it says nothing."""
    for address in (f"{index}/{name}/{version}/json", f"{index}/{name}/json"):
        try:
            with urlopen(address, timeout=60) as answer:
                found: dict[str, Any] = json.load(answer)
        except (URLError, TimeoutError, ValueError):
            continue
        if found["info"]["version"] == version and "vulnerabilities" in found:
            return found
    return None


def advisories(found: dict[str, Any]) -> list[str]:
    """Names of the advisories that were not withdrawn, each with its CVE number if it has one."""
    valid = [each for each in found["vulnerabilities"] if not each.get("withdrawn")]
    return sorted(" ".join([each["id"], *sorted(each.get("aliases", []))]) for each in valid)


def audit(wanted: list[tuple[str, str]], index: str) -> dict[str, Any]:
    """Advisories by pin, yanked pins, and those that could not be audited."""
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda pin: release(*pin, index), wanted))
    by_pin = {"==".join(pin): found for pin, found in zip(wanted, answers, strict=True)}
    asked = {pin: found for pin, found in by_pin.items() if found is not None}
    return {
        "pins": len(by_pin),
        "audited": len(asked),
        "advisories": {pin: names for pin, found in asked.items() if (names := advisories(found))},
        "yanked": [pin for pin, found in asked.items() if found["info"].get("yanked")],
        "not audited": [pin for pin, found in by_pin.items() if found is None],
    }


def main() -> int:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--index", default=PyPI.pypi_url)
    given.add_argument("--constraints", type=Path, default=CONSTRAINTS)
    given.add_argument("--output", type=Path, default=RECORD)
    options = given.parse_args()
    control = release(*CONTROL, options.index)
    if control is None or not advisories(control):
        print(f"not audited: {options.index} tells no advisories ({CONTROL[0]} must have some)")
        return 2
    found = audit(pins(options.constraints.read_text()), options.index)
    found = {"date": datetime.now(UTC).date().isoformat(), **found}
    options.output.write_text(json.dumps(found, indent=1) + "\n")
    print(
        f"{found['audited']} of {found['pins']} pins audited, {len(found['advisories'])} with "
        f"advisories, {len(found['yanked'])} yanked"
    )
    for pin, names in found["advisories"].items():
        print(f"  {pin}: {'; '.join(names)}")
    for pin in found["not audited"]:
        print(f"  not audited: {pin} (the index tells of another release only)")
    return 1 if found["advisories"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
