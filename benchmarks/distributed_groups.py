"""Groups of processes that the distributed benchmark starts and waits for."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

QUIET = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as door:
        return int(door.getsockname()[1])


def start_group(command: list[str], processes: int, **more: Any) -> list[subprocess.Popen[bytes]]:
    """Processes of one thread that form a group over loopback."""
    out = more.pop("stdout", None)
    known = {**QUIET, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    base = {**os.environ, **known, "WORLD_SIZE": str(processes), **more}
    return [
        subprocess.Popen([sys.executable, *command], env={**base, "RANK": str(rank)}, stdout=out)
        for rank in range(processes)
    ]


def run_group(command: list[str], processes: int, **more: str) -> None:
    codes = [process.wait() for process in start_group(command, processes, **more)]
    assert codes == [0] * processes, codes


def output_of_first(command: list[str], processes: int) -> Any:
    """The JSON object that the first process prints."""
    group = start_group(command, processes, stdout=subprocess.PIPE)
    outputs = [process.communicate()[0] for process in group]
    assert not any(process.returncode for process in group), outputs
    return json.loads(outputs[0])


def peak_of(command: list[str]) -> dict[str, object]:
    """Seconds by the clock, and those of the processor and the peak memory of one process."""
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, *command], env={**os.environ, **QUIET})
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, (command, status)
    seconds = time.monotonic() - began
    return {
        "seconds": seconds,
        "cpu": [used.ru_utime + used.ru_stime],
        "peaks": [1024 * used.ru_maxrss],
    }


def torchrun(command: list[str], processes: int, *options: str) -> subprocess.Popen[bytes]:
    """The command as torchrun starts it, in processes of one thread."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(processes)]
    launch += ["--master-port", str(free_port()), *options, *command]
    return subprocess.Popen(launch, env={**os.environ, **QUIET})


def peaks_under_torchrun(command: list[str], processes: int) -> dict[str, object]:
    """The same of each process that torchrun starts, asked for until they end."""
    began, found = time.monotonic(), {}
    group = torchrun(command, processes)
    while group.poll() is None:
        found |= {child: use for child in children(group.pid) if (use := usage(child))}
        time.sleep(0.02)
    assert group.returncode == 0, (command, group.returncode)
    assert len(found) == processes, found
    cpu, peaks = zip(*found.values(), strict=True)
    return {"seconds": time.monotonic() - began, "cpu": cpu, "peaks": peaks, "by": "torchrun"}


def usage(pid: int) -> tuple[float, int] | None:
    """Processor seconds and peak bytes of a process so far; None for one that has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    except OSError:
        return None
    peak = re.search(r"^VmHWM:\s*(\d+) kB", status, re.MULTILINE)
    seconds = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    return (seconds, 1024 * int(peak[1])) if peak else None


def children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in listed.split()]
