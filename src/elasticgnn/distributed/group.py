"""The group of processes: joined with names for whoever is missing, left with one clear line."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

import torch.distributed as dist

from elasticgnn.distributed.launch import (
    Launch,
    check_seconds,
    is_launched,
    meeting_seconds,
    read_launch,
)
from elasticgnn.distributed.transport import MOST_LETTERS, PeerFailure, talking
from elasticgnn.files import first_line

c10d: Any = dist  # its stores have no types
PROBE_SECONDS = 5.0
RETRY_SECONDS = 0.1
LAST_BREATH = 0.5  # a killed process loses its connections before its open port


class LostProcess(OSError):
    """Another process of the group ended or cannot be reached any more."""


@contextmanager
def process_group(timeout: float | None = None) -> Iterator[tuple[int, int]]:
    """Rank and number of the processes that torchrun started; alone, (0, 1).

    `timeout` (seconds; $ELASTICGNN_MEETING_SECONDS, else 60) is for the others to appear. Before
    anything is exchanged every process says where it is and is called by all others, so that one
    that is missing or cannot be reached is named.

    >>> from elasticgnn.distributed import process_group
    >>> with process_group() as (rank, count):
    ...     print(f"process {rank} of {count}")
    process 0 of 1
    """
    if timeout is not None:
        check_seconds("timeout", timeout)
    if not is_launched():
        yield 0, 1
        return
    timeout, launch = meeting_seconds() if timeout is None else timeout, read_launch()
    rank, count = launch.rank, launch.processes
    meeting = meet(launch, timeout)
    try:
        with talking():
            dist.init_process_group(
                "gloo",
                store=c10d.PrefixStore("gloo", meeting),
                rank=rank,
                world_size=count,
                timeout=timedelta(seconds=max(timeout, 300.0)),
            )
        yield rank, count
        with talking():
            dist.barrier()
    except (PeerFailure, dist.DistError) as error:
        raise LostProcess(who_is_lost(meeting, launch, error)) from None
    dist.destroy_process_group()


def meet(launch: Launch, timeout: float) -> Any:
    """A store that all processes have reached, after each has called all others."""
    rank, count, address, port, attempt, keeps_store = launch
    limit = timedelta(seconds=timeout)
    try:
        if not keeps_store:  # torch would print its stack
            reach(address, port, timeout)
        store = c10d.TCPStore(address, port, count, keeps_store, limit, wait_for_workers=False)
    except (OSError, RuntimeError) as error:
        raise OSError(
            f"process {rank} of {count} cannot reach the meeting point {address}:{port} "
            f"within {timeout:g} s ({first_line(error, MOST_LETTERS)})"
        ) from None
    meeting = c10d.PrefixStore(f"elasticgnn/{attempt}", store)
    call_everyone(meeting, rank, count, timeout)
    return meeting


def reach(address: str, port: int, timeout: float) -> None:
    """Returns when somebody answers there; the last OSError after so many seconds."""
    end = time.monotonic() + timeout
    while True:
        left = end - time.monotonic()
        try:
            return socket.create_connection((address, port), max(left, RETRY_SECONDS)).close()
        except OSError:
            if left < RETRY_SECONDS:
                raise
        time.sleep(RETRY_SECONDS)


def call_everyone(store: Any, rank: int, count: int, timeout: float) -> None:
    """Refuses a group in which somebody does not appear, or does not answer a call."""
    family, address = own_address()
    with socket.create_server(("", 0), family=family) as server:
        place = f"{address} {server.getsockname()[1]} {socket.gethostname()}"
        store.set(f"where/{rank}", place)
        places = {other: place_of(store, other, count, timeout) for other in range(count)}
        for other, (host, port, name) in places.items():
            try:
                socket.create_connection((host, port), PROBE_SECONDS).close()
            except OSError as error:
                raise OSError(
                    f"process {other} of {count} on {name} ({host}:{port}) cannot be reached "
                    f"from process {rank} on {socket.gethostname()}: {error.strerror or error}"
                ) from None
        store.set(f"called/{rank}", "1")
        for other in range(count):  # its server stays open until all have called
            wait_for(
                store, f"called/{other}", timeout, f"process {other} of {count} left the group"
            )


def place_of(store: Any, other: int, count: int, timeout: float) -> tuple[str, int, str]:
    """Host, port and name of another process; OSError if it does not appear in time."""
    absent = (
        f"process {other} of {count} did not appear within {timeout:g} s: it was not started, "
        "or its host cannot reach the meeting point"
    )
    wait_for(store, f"where/{other}", timeout, absent)
    host, port, name = store.get(f"where/{other}").decode().split()
    return host, int(port), name


def wait_for(store: Any, key: str, timeout: float, otherwise: str) -> None:
    """Returns when the key is there; an OSError that says `otherwise` if it does not come."""
    try:
        store.wait([key], timedelta(seconds=timeout))
    except RuntimeError:
        raise OSError(otherwise) from None


def own_address() -> tuple[socket.AddressFamily, str]:
    """The address of this host on the way to the meeting point, and its kind: IPv4 or IPv6."""
    target = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    family = socket.getaddrinfo(*target, type=socket.SOCK_DGRAM)[0][0]
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect(target)  # no packet is sent: the kernel only chooses the way
        return family, str(probe.getsockname()[0])


def who_is_lost(store: Any, launch: Launch, error: BaseException) -> str:
    """Survivors sign in; whoever has not after a second is named."""
    rank, count = launch.rank, launch.processes
    missing = [0]  # the store went down with the process that held it
    time.sleep(LAST_BREATH)
    if is_meeting_open(launch):  # asked before torch asks: it would print its stack
        with suppress(RuntimeError):
            store.set(f"survived/{rank}", "1")
            time.sleep(1.0)
            missing = [other for other in range(count) if not store.check([f"survived/{other}"])]
    names = ", ".join(str(other) for other in missing) or "unknown"
    why = first_line(error, MOST_LETTERS)
    return f"process {rank} of {count} lost contact with process {names}: {why}"


def is_meeting_open(launch: Launch) -> bool:
    """Whether somebody answers at the meeting point."""
    try:
        socket.create_connection((launch.address, launch.port), PROBE_SECONDS).close()
    except OSError:
        return False
    return True
