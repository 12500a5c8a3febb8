"""Two hosts on this machine: network namespaces with addresses of their own and a line between."""

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ADDRESSES = ("10.99.0.1", "10.99.0.2")
LINE = Path(__file__).with_name("slow_line.py")


def inside(host: str) -> list[str]:
    """The beginning of a command that runs in a host."""
    return ["ip", "netns", "exec", host]


def reason_against_hosts(slow: bool) -> str | None:
    """Why there can be no hosts here; None if there can."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return "needs root and iproute2"
    if slow and not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "needs /dev/net/tun for a line with a delay"
    name = f"egnn-probe-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode
    works = not made and not subprocess.run([*inside(name), "true"], capture_output=True).returncode
    subprocess.run(["ip", "netns", "del", name], capture_output=True)
    return None if works else "needs network namespaces"


@contextmanager
def two_hosts(slow: bool) -> Iterator[list[str]]:
    """The names of two hosts; nothing but the other one is reachable from each."""
    pair = secrets.token_hex(4)  # other hosts may be up in this very process
    names = [f"egnn-{pair}-{k}" for k in range(2)]
    line = None
    try:
        for name in names:
            call("ip", "netns", "add", name)
        if slow:
            line = start_line(names)
        else:
            ends = [["name", "wire", "netns", name] for name in names]
            call("ip", "link", "add", *ends[0], "type", "veth", "peer", *ends[1])
        for name, address in zip(names, ADDRESSES, strict=True):
            call("ip", "-n", name, "addr", "add", f"{address}/24", "dev", "wire")
            for device in ("lo", "wire"):
                call("ip", "-n", name, "link", "set", device, "up")
        yield names
    finally:
        if line is not None:
            line.communicate("")
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def start_line(names: list[str]) -> subprocess.Popen[str]:
    """The process through which all packets between the hosts go."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    line = subprocess.Popen([sys.executable, str(LINE), *names], text=True, **pipes)
    assert line.stdout is not None
    assert line.stdout.readline() == "ready\n"
    return line


def call(*command: str) -> None:
    """Runs a command that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stderr)
