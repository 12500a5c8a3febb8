"""Ports for servers that another process opens: nobody else takes one between choice and use."""

import itertools
import os
import socket
from pathlib import Path

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_held: list[socket.socket] = []
_numbers = itertools.count(os.getpid())


def free_port() -> int:
    """A port that no other test process is given, and that the system gives to nobody.

    Below the range from which the system takes ports of its own accord; a socket without a file,
    which lasts as long as this process, tells other tests that the port is taken.
    """
    first = int(_RANGE.read_text().split()[0])
    low = first // 2
    for number in itertools.islice(_numbers, first - low):
        port = low + number % (first - low)
        if _claim(port) and _is_free(port):
            return port
    raise OSError(f"a port between {low} and {first} must be free, got none")


def _claim(port: int) -> bool:
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0elasticgnn-test-port-{port}")
    except OSError:
        claim.close()
        return False
    _held.append(claim)
    return True


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
