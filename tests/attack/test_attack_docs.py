"""The tables of docs/attacks.md are what their records say."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


WHATS = ("schedule", "scale", "eva", "certify", "rung", "rung_causes", "rung_gamma", "harmless")


@pytest.mark.parametrize(
    "what", [*WHATS, "worst", "by_attack", "costs", "inductive", "poisoning", "local", "adaptive"]
)
def test_table_is_made_from_its_record(what):
    script = ROOT / "studies" / "attack_tables.py"
    done = subprocess.run(
        [sys.executable, script, what], capture_output=True, text=True, check=True
    )
    assert len(done.stdout.splitlines()) > 2
    assert done.stdout.strip() in (ROOT / "docs" / "attacks.md").read_text()
