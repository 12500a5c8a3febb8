"""make fuzz MINUTES=5: damaged files of every format; each is read or refused, nothing else.

Mutant k of a format is the same on every machine. The record counts what happened and says where
the next run goes on. Every reader is loaded once; each batch is a fork of that process, which
keeps its files in memory (/dev/shm), so that time goes into reading. A mutant fails if it runs
code or reaches outside, crashes, ends in anything but ValueError or OSError, takes ten seconds of
the processor (others may be at work) or two minutes, or more memory than ten times the file or
200 MB.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from seed import Format
from seeds import formats

from elasticgnn.files import write_whole

RECORD = Path(__file__).parents[2] / "results" / "reliability" / "fuzz.json"
BATCH = 1000
MEMORY = Path("/dev/shm")  # a file system that costs no disk
SECONDS = 10.0  # of the processor
PATIENCE = 12  # times as long on the clock
ROOM = 200 << 20
OUTSIDE = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect")
PIECES = (b"\x00", b"\xff" * 4, b"[" * 50, b"-1", b"1e999", b"nan", b"2147483648", b"../", b"\n")
FAILURES = ("code", "crash", "traceback", "slow", "large")


def mutant(content: bytes, kind: str, number: int) -> bytes:
    """The content with a few bytes changed, cut out, repeated or put in."""
    draw = random.Random(f"{kind} {number}")
    data = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(data) + 1)
        length = draw.choice((0, 1, 1, 2, 4, 8, 32))
        how = draw.randrange(5)
        if how == 0 and place < len(data):
            data[place] ^= 1 << draw.randrange(8)
        elif how == 1:
            del data[place : place + length]
        elif how == 2:
            data[place : place + length] = draw.randbytes(length)
        elif how == 3:
            data[place:place] = draw.choice(PIECES)
        else:
            start = draw.randrange(len(data) + 1)
            data[place:place] = data[start : start + length]
    return bytes(data)


def scratch() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)


def warm_up(made: Iterable[Format]) -> None:
    """Reads every good file once, so that no batch pays for imports."""
    for number, each in enumerate(made):
        with scratch() as folder:
            path = Path(folder) / each.name
            path.write_bytes(each.content)
            if each.read(path) is None:
                raise ValueError(f"format {number} must be read, got None")


def read_batch(kind: str, made: Format, first: int, count: int, answer: Any) -> None:
    """Reads mutants in a process of its own; sends the outcome of each."""
    torch.set_num_threads(1)  # the parent's threads are not here: a loop would wait for them
    events: list[str] = []
    sys.addaudithook(lambda event, _: events.append(event) if event in OUTSIDE else None)
    for limit in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(limit, out_of_time)
    with scratch() as folder:
        for number in range(first, first + count):
            content = mutant(made.content, kind, number)
            ended = outcome(made, content, folder, events)
            if ended == "slow":  # by the clock perhaps, while the machine stood still
                ended = outcome(made, content, folder, events)
            answer.send((number, ended))
    answer.send(None)


def out_of_time(*_: object) -> None:
    raise TimeoutError("ten seconds")


def limit_time(seconds: float) -> None:
    """`out_of_time` after that long on the processor or a multiple on the clock; 0: never."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE * seconds)


def forget_peak() -> None:
    """Lets the peak memory of this process count from now on: imports had one of their own."""
    Path("/proc/self/clear_refs").write_text("5")


def peak() -> int:
    """Bytes of the peak since `forget_peak`; getrusage's peak starts at that of the parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def outcome(made: Format, content: bytes, folder: str, events: list[str]) -> str:
    """read, refused, or what went wrong."""
    path = Path(folder) / made.name
    path.write_bytes(content)
    forget_peak()
    before = peak()
    del events[:]
    limit_time(SECONDS)
    try:
        made.read(path)
        ended = "read"
    except TimeoutError:
        ended = "slow"
    except (ValueError, OSError):
        ended = "refused"
    except BaseException as error:  # whatever it is, it is a finding
        ended = f"traceback {type(error).__name__}: {str(error)[:100]}"
    finally:
        limit_time(0.0)
    grown = peak() - before
    if events:
        return f"code {events[0]}"
    return "large" if grown > max(ROOM, 10 * len(content)) else ended


def run_batch(kind: str, made: Format, first: int, count: int) -> tuple[Counter[str], list[str]]:
    """The outcomes of `count` mutants; a process that dies is a crash of the mutant it read."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=read_batch, args=(kind, made, first, count, theirs))
    process.start()
    theirs.close()
    counts, failures, last = Counter[str](), list[str](), first - 1
    try:
        while (got := ours.recv()) is not None:
            last, ended = got
            counts[ended.split()[0]] += 1
            if ended.split()[0] in FAILURES:
                failures.append(f"{kind} {last}: {ended}")
    except EOFError:
        counts["crash"] += 1
        failures.append(f"{kind} {last + 1}: crash")
    process.join()
    return counts, failures


def empty_record() -> dict[str, Any]:
    return {"formats": {}, "failures": [], "mutants": 0, "seconds": 0.0}


def fuzz(
    seconds: float, record: dict[str, Any], kinds: dict[str, Format], batch: int = BATCH
) -> None:
    """Goes on from `record` for that long, always with the format tried least."""
    began, spent = time.monotonic(), record["seconds"]
    done = record["formats"]
    while time.monotonic() - began < seconds:
        kind = min(kinds, key=lambda kind: sum(done.get(kind, {}).values()))
        counts = Counter(done.get(kind, {}))
        found, failures = run_batch(kind, kinds[kind], sum(counts.values()), batch)
        done[kind] = dict(sorted((counts + found).items()))
        record["failures"] += failures
        record["mutants"] = sum(sum(counts.values()) for counts in done.values())
        record["seconds"] = round(spent + time.monotonic() - began, 1)


def main() -> int:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--minutes", type=float, default=1.0)
    given.add_argument("--output", type=Path, default=RECORD)
    options = given.parse_args()
    record = json.loads(options.output.read_text()) if options.output.exists() else empty_record()
    kinds = formats()
    warm_up(kinds.values())
    end = time.monotonic() + 60 * options.minutes
    while time.monotonic() < end:
        fuzz(min(60.0, end - time.monotonic()), record, kinds)
        write_whole(options.output, json.dumps(record, indent=1) + "\n", make_folder=True)
    print(f"{record['mutants']} mutants in all, {len(record['failures'])} failures")
    print("\n".join(record["failures"][-20:]))
    return 1 if record["failures"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
