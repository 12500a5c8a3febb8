"""Groups of training processes, started one by one without torchrun: each must speak for itself."""

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from elasticgnn.training.model.file import read_model_file
from hosts import ADDRESSES, inside
from ports import free_port
from processes import environment

TRAIN = ["-m", "elasticgnn", "train"]
DYING = ["-m", "dying", "train"]
PATIENCE = 500  # seconds: others may hold the processors
EPOCHS = 6
DEATH = 5  # the epoch in which a process is killed; checkpoints come after two epochs each


def dying(rank: int, folder: Path, moment: str = "epoch") -> dict[str, str]:
    """The environment in which process `rank` is killed, once: in an epoch or in a checkpoint."""
    once = {"DYING_ONCE": str(folder / "killed"), "DYING_IN": moment}
    return {"DYING_RANK": str(rank), "DYING_EPOCH": str(DEATH), **once}


def options(parts: Path, model: Path, epochs: int = EPOCHS) -> list[str]:
    """What `train` is asked: small layers, a checkpoint after two epochs each."""
    sizes = ["--epochs", str(epochs), "--hidden", "8", "--steps", "2"]
    return [str(parts), *sizes, "--checkpoint-every", "2", "-o", str(model)]


def start_group(
    arguments: list[str],
    count: int,
    *,
    present: int | None = None,
    hosts: Sequence[str] = (),
    death: dict[str, str] | None = None,
) -> list[subprocess.Popen[str]]:
    """The first `present` of processes that train together, each in its host if there are any."""
    port = "29500" if hosts else str(free_port())  # a host of its own has all ports free
    address = ADDRESSES[0] if hosts else "127.0.0.1"
    known = {"MASTER_ADDR": address, "MASTER_PORT": port, "WORLD_SIZE": str(count), **(death or {})}
    if hosts:
        known["GLOO_SOCKET_IFNAME"] = "wire"
    group = []
    for rank in range(count if present is None else present):
        where = inside(hosts[rank]) if hosts else []
        command = [*where, sys.executable, *(DYING if death else TRAIN), *arguments]
        about = {"env": environment(RANK=str(rank), **known), "text": True}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        group.append(subprocess.Popen(command, **about, **pipes))
    return group


def end_all(processes: list[subprocess.Popen[str]]) -> None:
    """Nothing that was started stays."""
    for process in processes:
        process.kill()
        process.communicate()


def train_together(parts: Path, model: Path, count: int = 2, *, hosts: Sequence[str] = ()) -> None:
    """An undisturbed run."""
    group = start_group(options(parts, model), count, hosts=hosts)
    try:
        outputs = [process.communicate(timeout=PATIENCE) for process in group]
    finally:
        end_all(group)
    assert [process.returncode for process in group] == [0] * count, outputs


def train_until_one_is_killed(
    parts: Path,
    model: Path,
    victim: int,
    *,
    moment: str = "epoch",
    hosts: Sequence[str] = (),
) -> None:
    """Two processes of which `victim` is killed: the other one says so in one line."""
    death = dying(victim, model.parent, moment)
    group = start_group(options(parts, model), 2, hosts=hosts, death=death)
    survivor = group[1 - victim]
    try:
        _, error = survivor.communicate(timeout=PATIENCE)
        assert group[victim].wait(timeout=PATIENCE) == -signal.SIGKILL
    finally:
        end_all(group)
    assert survivor.returncode == 2
    lines = [line for line in error.splitlines() if line.startswith("error:")]
    assert len(lines) == 1
    assert f"process {1 - victim} of 2 lost contact with process {victim}" in lines[0]
    assert "Traceback" not in error
    assert "frame #" not in error  # torch's own stack
    assert model.with_name(f"{model.name}.checkpoint").exists()
    assert not model.exists()


def assert_same_model(first: Path, second: Path) -> None:
    """Two model files say the same, bit by bit."""
    (about, state), (other_about, other) = read_model_file(first), read_model_file(second)
    assert about == other_about
    assert state.keys() == other.keys()
    assert all(torch.equal(state[name], other[name]) for name in state)
