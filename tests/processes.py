"""Starts processes that form a group over loopback, and collects what each of them returns."""

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from hosts import inside

TESTS = Path(__file__).resolve().parent
START = "import sys, processes; processes.work(*sys.argv[1:])"


def environment(**more: str) -> dict[str, str]:
    """Loopback only, one thread, and the tests' modules at hand."""
    known = {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(TESTS)}
    return {**os.environ, **known, **more}


def work(function: str, rank: str, count: str, folder: str) -> None:
    """One process: joins the group and calls `function` of `distributed_work`."""
    import torch.distributed as dist

    import distributed_work

    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/group", rank=int(rank), world_size=int(count)
    )
    found = getattr(distributed_work, function)(Path(folder))
    with Path(folder, f"{function}-{rank}.pickle").open("wb") as file:
        pickle.dump(found, file)
    dist.barrier()
    dist.destroy_process_group()


def run_together(
    function: str, count: int, folder: Path, *, hosts: Sequence[str] = (), **more: str
) -> list:
    """What `function` returns in each of `count` processes, each in its host if there are hosts."""
    folder.mkdir(exist_ok=True)
    if hosts:
        more["GLOO_SOCKET_IFNAME"] = "wire"
    where = [inside(host) for host in hosts] or [[]] * count
    commands = [
        [*where[rank], sys.executable, "-c", START, function, str(rank), str(count), str(folder)]
        for rank in range(count)
    ]
    running = [subprocess.Popen(command, env=environment(**more)) for command in commands]
    try:
        codes = [process.wait(timeout=500) for process in running]
    finally:
        for process in running:
            process.kill()
    assert codes == [0] * count
    files = [folder / f"{function}-{rank}.pickle" for rank in range(count)]
    return [pickle.loads(file.read_bytes()) for file in files]
