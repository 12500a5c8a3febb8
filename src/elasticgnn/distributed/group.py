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

c10d: Any = dist  # its stores have no types
PROBE_SECONDS = 5.0
MEETING_VARIABLE = "ELASTICGNN_MEETING_SECONDS"  # how long to wait for the other processes


class LostProcess(OSError):
    """Another process of the group ended or cannot be reached any more."""


def is_launched() -> bool:
    """Whether torchrun (or something like it) started this process as one of several."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


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
    if not is_launched():
        yield 0, 1
        return
    if timeout is None:
        timeout = float(os.environ.get(MEETING_VARIABLE, "60"))
    rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    meeting = meet(rank, count, timeout)
    dist.init_process_group(
        "gloo",
        store=c10d.PrefixStore("gloo", meeting),
        rank=rank,
        world_size=count,
        timeout=timedelta(seconds=max(timeout, 300.0)),
    )
    try:
        yield rank, count
    except RuntimeError as error:
        if not is_about_peers(error):
            raise
        raise LostProcess(who_is_lost(meeting, rank, count, error)) from None
    dist.barrier()
    dist.destroy_process_group()


def meet(rank: int, count: int, timeout: float) -> Any:
    """A store that all processes have reached, after each has called all others."""
    address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    own_store = rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    limit = timedelta(seconds=timeout)
    try:
        store = c10d.TCPStore(address, port, count, own_store, limit, wait_for_workers=False)
    except (RuntimeError, dist.DistError) as error:
        raise OSError(
            f"process {rank} of {count} cannot reach the meeting point {address}:{port} "
            f"within {timeout:g} s ({first_line(error)})"
        ) from None
    meeting = c10d.PrefixStore(f"elasticgnn/{attempt}", store)
    call_everyone(meeting, rank, count, timeout)
    return meeting


def call_everyone(store: Any, rank: int, count: int, timeout: float) -> None:
    """Refuses a group in which somebody does not appear, or does not answer a call."""
    with socket.create_server(("", 0)) as door:
        place = f"{own_address()} {door.getsockname()[1]} {socket.gethostname()}"
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
        store.wait([f"called/{other}" for other in range(count)], timedelta(seconds=timeout))


def place_of(store: Any, other: int, count: int, timeout: float) -> tuple[str, int, str]:
    """Host, port and name of another process; OSError if it does not appear in time."""
    try:
        store.wait([f"where/{other}"], timedelta(seconds=timeout))
    except RuntimeError:
        raise OSError(
            f"process {other} of {count} did not appear within {timeout:g} s: it was not started, "
            "or its host cannot reach the meeting point"
        ) from None
    host, port, name = store.get(f"where/{other}").decode().split()
    return host, int(port), name


def own_address() -> str:
    """The address of this host on the way to the meeting point."""
    target = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    family = socket.getaddrinfo(*target, type=socket.SOCK_DGRAM)[0][0]
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect(target)  # no packet is sent: the kernel only chooses the way
        return str(probe.getsockname()[0])


def who_is_lost(store: Any, rank: int, count: int, error: BaseException) -> str:
    """Survivors sign in; whoever has not after a second is named."""
    missing = [0]  # the store went down with the process that held it
    if is_meeting_open():  # asked before torch asks: it would print its stack
        with suppress(RuntimeError):
            store.set(f"survived/{rank}", "1")
            time.sleep(1.0)
            missing = [other for other in range(count) if not store.check([f"survived/{other}"])]
    names = ", ".join(str(other) for other in missing) or "unknown"
    return f"process {rank} of {count} lost contact with process {names}: {first_line(error)}"


def is_meeting_open() -> bool:
    """Whether somebody answers at the meeting point."""
    place = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    try:
        socket.create_connection(place, PROBE_SECONDS).close()
    except OSError:
        return False
    return True


def is_about_peers(error: RuntimeError) -> bool:
    """Whether the transport says it, and not a computation."""
    words = ("gloo", "connection", "peer", "timed out", "socket")
    return isinstance(error, dist.DistError) or any(word in str(error).lower() for word in words)


def first_line(error: BaseException) -> str:
    """The first line of an error's message, at most 200 letters."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
