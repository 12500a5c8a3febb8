"""What all processes must have alike: another graph or other settings would give wrong numbers."""

from __future__ import annotations

import hashlib
from typing import Any

import torch
import torch.distributed as dist

from elasticgnn.distributed.transport import talking


def check_same(what: str, content: str, group: Any = None) -> None:
    """Refuses a group in which a process has another `content`; all processes call it together."""
    if not dist.is_initialized():
        return
    digest = hashlib.sha256(content.encode()).digest()
    own = torch.frombuffer(bytearray(digest), dtype=torch.uint8)
    every = [torch.empty_like(own) for _ in range(dist.get_world_size(group))]
    with talking():
        dist.all_gather(every, own, group=group)
    others = [str(rank) for rank, one in enumerate(every) if not torch.equal(one, every[0])]
    if others:
        raise ValueError(
            f"{what} must be the same in every process, got another one in process "
            f"{', '.join(others)} of {len(every)} than in process 0"
        )


def global_rank(rank: int, group: Any) -> int:
    """What torch calls the process of that number in the group."""
    return rank if group is None else dist.get_global_rank(group, rank)
