"""Groups of processes that the distributed benchmark starts and waits for."""

import json
import os
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


def said_by_first(command: list[str], processes: int) -> Any:
    """The JSON object that the first process prints."""
    group = start_group(command, processes, stdout=subprocess.PIPE)
    outputs = [process.communicate()[0] for process in group]
    assert not any(process.returncode for process in group), outputs
    return json.loads(outputs[0])


def peak_of(command: list[str], processes: int) -> dict[str, object]:
    """Seconds by the clock, and those of the processor and the peak memory of each process."""
    began = time.monotonic()
    peaks, cpu = [], []
    for process in start_group(command, processes):
        _, status, used = os.wait4(process.pid, 0)
        assert status == 0, (command, status)
        peaks.append(1024 * used.ru_maxrss)
        cpu.append(used.ru_utime + used.ru_stime)
    return {"seconds": time.monotonic() - began, "cpu": cpu, "peaks": peaks}


def children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in listed.split()]
