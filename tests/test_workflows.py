"""Workflow files of the forge: what they name exists, and the wheels are those the docs promise."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def read(path: Path) -> dict[Any, Any]:
    return yaml.safe_load(path.read_text())


def unmet(workflow: dict[Any, Any]) -> list[str]:
    """What the jobs name and is not there, or lack."""
    jobs, found = workflow["jobs"], []
    for name, job in jobs.items():
        needs = job.get("needs", [])
        needed = [needs] if isinstance(needs, str) else needs
        found += [f"{name} needs {other}" for other in needed if other not in jobs]
        if "uses" in job:
            found += [] if (ROOT / job["uses"]).is_file() else [f"{name} uses {job['uses']}"]
            continue
        found += [] if "runs-on" in job else [f"{name} runs nowhere"]
        for step in job["steps"]:
            found += [f"{name}: {missing}" for missing in missing_of(step)]
    return found


def missing_of(step: dict[str, Any]) -> list[str]:
    """A step is either an action with its version, or commands whose files and targets exist."""
    if "uses" in step:
        return [] if re.fullmatch(r"[\w./-]+@[\w./]+", step["uses"]) else [step["uses"]]
    files = re.findall(r"\b(?:scripts|tests|packaging)/[\w/.]+|\bconstraints\.txt", step["run"])
    targets = re.findall(r"\bmake (\w+)", step["run"])
    return [f for f in files if not (ROOT / f).exists()] + sorted(set(targets) - TARGETS)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_what_a_workflow_names_exists(path):
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert True in workflow  # YAML reads the word `on` so
    assert unmet(workflow) == []


def test_what_is_missing_is_found():
    steps = [{"run": "make tests && python scripts/none.py"}, {"uses": "actions/checkout"}]
    jobs = {"a": {"steps": steps, "needs": "b"}, "c": {"uses": "./.github/workflows/none.yml"}}
    assert unmet({"jobs": jobs}) == [
        "a needs b",
        "a runs nowhere",
        "a: scripts/none.py",
        "a: tests",
        "a: actions/checkout",
        "c uses ./.github/workflows/none.yml",
    ]


def test_compiled_wheels_are_built_where_openmp_is_and_one_serves_the_others():
    jobs = read(ROOT / ".github" / "workflows" / "wheels.yml")["jobs"]
    assert all(os.startswith("ubuntu") for os in jobs["wheels"]["strategy"]["matrix"]["os"])
    assert "wheel.cmake=false" in jobs["plain"]["steps"][1]["run"]
