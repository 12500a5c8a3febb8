"""One graph held by two processes: elastic message passing gives the bits of one process.

Run it as it is (it starts both processes), or each process through torchrun.
"""

import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from elasticgnn import ElasticPenalty
from elasticgnn.data import block_model
from elasticgnn.distributed import DistributedGraph, elastic_message_passing, partition


def propagate(rank: int, processes: int, meeting: str) -> None:
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=processes)
    task = block_model([60, 60], torch.Generator().manual_seed(0))
    x = torch.randn(120, 4, generator=torch.Generator().manual_seed(1))
    graph = DistributedGraph.from_graph(task.graph, partition(task.graph, 4, method="blocks"))
    out = elastic_message_passing(x[graph.nodes], graph, ElasticPenalty(1.0, 1.0))
    print(f"process {rank} of {processes}: {len(graph.nodes)} nodes, sum {float(out.sum()):.6f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(propagate, args=(2, f"file://{folder}/meeting"), nprocs=2)
