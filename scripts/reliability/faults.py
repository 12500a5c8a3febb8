"""make faults: commands killed or interrupted at any moment, full disks, closed folders.

Every command runs undisturbed first. Then it is killed (SIGKILL) at moments drawn over its whole
running time, half of them from its last fifth, where files are written: afterwards its output must
be the old file or the one of the undisturbed run, with nothing left beside it. What can go on (a
study, a partition, a download) goes on after each kill and must end as if undisturbed. Ctrl-C
(SIGINT) at such moments must end a command with 130, one word and nothing lost, within half a
second of the processor. A stopped database server and a database on a full disk are tests:
tests/experiment/test_storage_faults.py.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from commands import FETCHED, Command, clear, commands, content, prepare, put_old
from forked import (
    OUTSIDE,
    Ended,
    full_disk,
    heed_interrupts,
    run,
    run_together,
    warm_up,
    without_rights,
)
from mirror import mirror

from elasticgnn.data.files import data_folder
from elasticgnn.files import write_whole

RECORD = Path(__file__).parents[2] / "results" / "reliability" / "faults.json"
WAY_OUT = 0.5  # processor seconds between Ctrl-C and the end


def moment(seconds: float, number: int, draw: random.Random) -> float:
    """When to kill: over the whole run, and as often in its last fifth."""
    return seconds * draw.uniform(*((0.05, 1.0), (0.8, 1.0))[number % 2])


def killed(command: Command, kills: int, folder: Path, draw: random.Random) -> dict[str, Any]:
    """Kills at many moments; counts what was found afterwards."""
    output = folder / command.output
    put_old(command, folder)
    undisturbed = run(list(command.arguments), folder)
    whole, before = content(output), names(folder)
    found = {"kills": 0, "finished": 0, "old": 0, "new": 0, "broken": 0, "leftovers": 0}
    found["broken"] += int(undisturbed.code != 0)
    seconds = undisturbed.seconds  # of the shortest run so far: other work may slow one down
    for number in range(kills):
        old = put_old(command, folder)
        ended = run(list(command.arguments), folder, moment(seconds, number, draw))
        found["kills" if ended.code is None else "finished"] += 1
        found["broken"] += int(ended.code not in (None, 0))
        seconds = seconds if ended.code is None else min(seconds, ended.seconds)
        if command.goes_on and run(list(command.arguments), folder).code != 0:
            found["broken"] += 1
        found[state(content(output), old, whole)] += 1
        found["leftovers"] += len(names(folder) - before) + hidden(output)
    return found


def interrupted(command: Command, count: int, folder: Path, draw: random.Random) -> dict[str, Any]:
    """Ctrl-C at many moments; counts how the command left, and the longest way out."""
    output = folder / command.output
    put_old(command, folder)
    undisturbed = run(list(command.arguments), folder, before=heed_interrupts)
    whole, before = content(output), names(folder)
    found = {"interrupts": 0, "finished": 0, "old": 0, "new": 0, "broken": 0, "leftovers": 0}
    messages, slowest, seconds = Counter[str](), 0.0, undisturbed.seconds
    while found["interrupts"] + found["finished"] < count:
        old = put_old(command, folder)
        when = seconds * draw.uniform(0.02, 1.0)
        ended = run(list(command.arguments), folder, when, heed_interrupts, signal.SIGINT)
        if ended.code == OUTSIDE:
            continue
        found["finished" if ended.code == 0 else "interrupts"] += 1
        if ended.code == 0:
            seconds = min(seconds, ended.seconds)
        else:
            slowest = max(slowest, ended.processor_seconds)
            errors = ended.errors.strip().replace(str(folder), "FOLDER")
            messages[f"{ended.code}: {errors[-200:]}"] += 1
            found["broken"] += int(not left_well(ended))
        if command.goes_on and run(list(command.arguments), folder).code != 0:
            found["broken"] += 1
        found[state(content(output), old, whole)] += 1
        found["leftovers"] += len(names(folder) - before) + hidden(output)
    return {**found, "messages": dict(messages), "processor_seconds": round(slowest, 3)}


def left_well(ended: Ended) -> bool:
    """Exit code 130, the word at the end of at most some progress, and at once."""
    lines = ended.errors.strip().splitlines()
    plain = lines[-1:] == ["interrupted"] and "Traceback" not in ended.errors
    return ended.code == 130 and plain and ended.processor_seconds <= WAY_OUT


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def hidden(output: Path) -> int:
    """Temporary files within a folder that was written."""
    return len(list(output.rglob(".elasticgnn-*"))) if output.is_dir() else 0


def state(found: str, old: str, whole: str) -> str:
    return "new" if found == whole else "old" if found == old and old else "broken"


def refused(ended: Ended, output: Path, before: str) -> dict[str, Any]:
    """A refusal: one line with exit code 2 that names the place, and what was there is kept."""
    named = output.name in ended.errors or str(output.parent) in ended.errors
    kept = content(output) == before
    message = ended.errors.strip().replace(str(output.parent), "FOLDER")[:200]
    return {"refused": ended.is_one_line and named, "kept": kept, "message": message}


def on_full_disk(command: Command, folder: Path) -> dict[str, Any]:
    output = folder / command.output
    before = put_old(command, folder)
    ended = run(list(command.arguments), folder, before=full_disk)
    if command.goes_on:  # what is half done must be finished by the next call
        again = run(list(command.arguments), folder)
        return {"refused": ended.is_refused_after_progress, "kept": again.code == 0}
    return refused(ended, output, before)


@contextmanager
def read_only_disk(folder: Path) -> Iterator[Path]:
    """A file system that may only be read; PermissionError where one may not mount it."""
    closed = folder / "closed"
    closed.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k,ro", "tmpfs", str(closed)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        raise PermissionError("no right to mount a read-only file system")
    try:
        yield closed
    finally:
        subprocess.run(["umount", str(closed)], check=True)


def on_closed_disk(command: Command, folder: Path) -> dict[str, Any]:
    try:
        with read_only_disk(folder) as closed:
            ended = run(command.writing_to(closed), folder)
            return refused(ended, closed / command.output, "")
    except PermissionError as error:
        return {"not tried": str(error)}


def in_closed_folder(command: Command, folder: Path) -> dict[str, Any]:
    """As a user who may read everything and write nothing."""
    if os.geteuid() != 0:
        return {"not tried": "only root can become another user"}
    closed = folder / "of-root"
    closed.mkdir(mode=0o755, exist_ok=True)
    ended = run(command.writing_to(closed), folder, before=without_rights)
    return refused(ended, closed / command.output, "")


def two_writers(command: Command, folder: Path) -> dict[str, Any]:
    """Two processes with one output, three times: both succeed, and the file is whole."""
    output = folder / command.output
    clear(output)
    run(list(command.arguments), folder)
    whole, broken = content(output), 0
    for _ in range(3):
        clear(output)
        codes = run_together(list(command.arguments), folder, 2)
        broken += int(any(codes) or content(output) != whole)
    return {"pairs": 3, "broken": broken}


def cut_network(command: Command, folder: Path, address: str) -> dict[str, Any]:
    """A download from a closed port, and one that breaks off half way; nothing is kept."""
    closed = [word if word != address else "http://127.0.0.1:1" for word in command.arguments]
    clear(folder / command.output)
    first = run(closed, folder)
    with mirror(data_folder(None), share=0.5, seconds=0.1) as half:
        second = run([word if word != address else half for word in command.arguments], folder)
    kept = not any(path.is_file() for path in (folder / command.output).rglob("*"))
    return {"refused": first.is_one_line and second.is_one_line, "kept": kept}


def jobs(
    folder: Path, kills: int, interrupts: int, address: str
) -> dict[str, Callable[[], dict[str, Any]]]:
    """Every part of the campaign by its key in the record."""
    draw = random.Random(0)
    known = commands(address)
    if not (data_folder(None) / FETCHED).exists():
        del known["data fetch"]  # nothing to serve
    found: dict[str, Callable[[], dict[str, Any]]] = {}
    for name, each in known.items():
        found[f"killed: {name}"] = lambda each=each: killed(each, kills, folder, draw)
    for name, each in known.items():
        found[f"interrupted: {name}"] = lambda each=each: interrupted(
            each, interrupts, folder, draw
        )
    for name, each in known.items():
        found[f"full disk: {name}"] = lambda each=each: on_full_disk(each, folder)
        if each.before:
            continue  # it reads what it would write
        found[f"read-only disk: {name}"] = lambda each=each: on_closed_disk(each, folder)
        found[f"no permission: {name}"] = lambda each=each: in_closed_folder(each, folder)
    for name in ("denoise", "attack", "train", "study"):
        found[f"two writers: {name}"] = lambda name=name: two_writers(known[name], folder)
    if "data fetch" in known:
        fetch = known["data fetch"]
        found["network cut: data fetch"] = lambda: cut_network(fetch, folder, address)
    return found


def campaign(kills: int, interrupts: int, output: Path, end: float) -> dict[str, Any]:
    """Everything that the record does not have yet, until the time is up."""
    record = json.loads(output.read_text()) if output.exists() else {}
    warm_up()
    with tempfile.TemporaryDirectory() as name, mirror(data_folder(None)) as address:
        folder = Path(name)
        prepare(folder, commands(address)["train"])
        for key, job in jobs(folder, kills, interrupts, address).items():
            if key not in record and time.monotonic() < end:
                record[key] = job()
                write_whole(output, json.dumps(record, indent=1) + "\n", make_folder=True)
    return record


def is_bad(part: dict[str, Any]) -> bool:
    """Something was lost, or a refusal was not one line with exit code 2."""
    lost = part.get("broken", 0) or part.get("leftovers", 0)
    return bool(lost) or not part.get("refused", True) or not part.get("kept", True)


def main() -> int:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--kills", type=int, default=8, help="of each command")
    given.add_argument("--interrupts", type=int, default=5, help="of each command")
    given.add_argument("--minutes", type=float, default=60.0)
    given.add_argument("--output", type=Path, default=RECORD)
    options = given.parse_args()
    end = time.monotonic() + 60 * options.minutes
    record = campaign(options.kills, options.interrupts, options.output, end)
    kills, interrupts = (
        sum(part.get(name, 0) for part in record.values()) for name in ("kills", "interrupts")
    )
    print(json.dumps(record, indent=1))
    bad = [key for key, part in record.items() if is_bad(part)]
    print(f"{kills} kills, {interrupts} interrupts; " + ("\n".join(bad) or "nothing lost"))
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
