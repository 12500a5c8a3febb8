"""requirements.lock holds exactly the pins of constraints.txt, each with its digests."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_every_pin_but_torch_is_locked_with_digests():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = {line.strip() for line in lines if line and not line.startswith("#")}
    locked = re.findall(
        r"^(\S+==\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$",
        (ROOT / "requirements.lock").read_text(),
        re.MULTILINE,
    )
    without = {pin for pin in pins if pin.startswith("torch==")}
    assert len(without) == 1
    assert {pin for pin, _ in locked} == pins - without, "run `make lock`"
