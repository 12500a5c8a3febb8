"""make audit reports advisories, and never takes a pin it could not ask about for a clean one."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CONTROL = {"id": "PYSEC-2017-94", "aliases": ["CVE-2013-7459"]}


@pytest.fixture
def audit():
    spec = importlib.util.spec_from_file_location("audit", ROOT / "scripts" / "audit.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def publish(index: Path, place: str, version: str, found: list[dict], yanked: bool = False) -> None:
    """A page of an index in a folder."""
    (index / place).mkdir(parents=True)
    answer = {"info": {"version": version, "yanked": yanked}, "vulnerabilities": found}
    (index / place / "json").write_text(json.dumps(answer))


def run(audit, monkeypatch, index: Path, constraints: str) -> int:
    (index / "constraints.txt").write_text(constraints)
    given = ["--index", index.as_uri(), "--constraints", str(index / "constraints.txt")]
    monkeypatch.setattr("sys.argv", ["audit", *given, "--output", str(index / "audit.json")])
    return audit.main()


def test_advisories_yanked_and_unknown_releases_are_told_apart(audit, monkeypatch, tmp_path):
    publish(tmp_path, "pycrypto", "2.6.1", [CONTROL])
    publish(tmp_path, "clean", "1.0", [])
    publish(tmp_path, "flawed/1.0", "1.0", [{"id": "GHSA-1", "aliases": ["CVE-1"]}])
    publish(tmp_path, "cleared", "1.0", [{"id": "GHSA-2", "withdrawn": "2026-01-01"}])
    publish(tmp_path, "yanked", "1.0", [], yanked=True)
    publish(tmp_path, "newer", "2.0", [])
    names = ("clean", "flawed", "cleared", "yanked", "newer", "absent")
    pins = "# pins\n" + "".join(f"{name}==1.0 # why\n" for name in names)
    assert run(audit, monkeypatch, tmp_path, pins) == 1
    found = json.loads((tmp_path / "audit.json").read_text())
    assert (found["pins"], found["audited"]) == (6, 4)
    assert found["advisories"] == {"flawed==1.0": ["GHSA-1 CVE-1"]}
    assert found["yanked"] == ["yanked==1.0"]
    assert found["not audited"] == ["newer==1.0", "absent==1.0"]


def test_an_index_without_advisories_is_no_good_news(audit, monkeypatch, tmp_path, capsys):
    publish(tmp_path, "pycrypto", "2.6.1", [])
    publish(tmp_path, "clean", "1.0", [])
    assert run(audit, monkeypatch, tmp_path, "clean==1.0\n") == 2
    assert "not audited" in capsys.readouterr().out
    assert not (tmp_path / "audit.json").exists()


def test_the_page_says_what_the_record_says():
    page = " ".join((ROOT / "SECURITY.md").read_text().split())
    found = json.loads((ROOT / "results" / "reliability" / "audit.json").read_text())
    names = ", ".join(pin.partition("==")[0] for pin in found["not audited"])
    for sentence in (
        f"{found['date']}): {found['audited']} of {found['pins']} pins audited",
        f"{len(found['advisories'])} with advisories, {len(found['yanked'])} yanked",
        f"Not audited: {names}.",
    ):
        assert sentence in page
