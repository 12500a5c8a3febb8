"""Times calls on one graph as it is asked on its input: the other end of bench_wide.py."""

import json
import sys
import time
import warnings
from collections.abc import Callable

import torch
from operator_structures import STRUCTURES
from torch import Tensor

from elasticgnn import ElasticPenalty, Graph, elastic_message_passing

STEPS, PENALTY = 10, ElasticPenalty(3.0, 3.0)


def sparse_matrix(graph: Graph) -> Tensor:
    """The normalised adjacency matrix in CSR."""
    tail, head, scale = graph.tail, graph.head, graph.scale
    index = torch.cat([torch.stack([tail, head]), torch.stack([head, tail])], 1)
    values = (scale[index[0]] * scale[index[1]]).float()
    square = (graph.num_nodes, graph.num_nodes)
    return torch.sparse_coo_tensor(index, values, square).coalesce().to_sparse_csr()


def stream_rate(clock: Callable[[], float]) -> float:
    """Bytes per second of an array far beyond the caches, scaled in place; best of five."""
    array, best = torch.ones(1 << 25), float("inf")
    for _ in range(5):
        begin = clock()
        array.mul_(1.0001)
        best = min(best, clock() - begin)
    return 2 * array.nbytes / best


class Calls:
    """What may be asked for."""

    def __init__(self, structure: str) -> None:
        self.graph = STRUCTURES[structure](torch.Generator().manual_seed(0))
        self.matrix = sparse_matrix(self.graph)
        self.x = torch.empty(0, 0)

    def prepare(self, width: int) -> None:
        if self.x.shape[1] != width:
            generator = torch.Generator().manual_seed(1)
            self.x = torch.randn(self.graph.num_nodes, width, generator=generator)

    def forward(self) -> None:
        with torch.no_grad():
            elastic_message_passing(self.x, self.graph, PENALTY, STEPS)

    def forward_backward(self) -> None:
        rows = self.x.clone().requires_grad_()
        elastic_message_passing(rows, self.graph, PENALTY, STEPS).backward(self.x)

    def products(self) -> None:
        rows = self.x
        for _ in range(STEPS):
            rows = self.matrix @ rows


def main() -> None:
    warnings.simplefilter("ignore")
    calls = Calls(sys.argv[1])
    kinds = {
        "forward": calls.forward,
        "forward+backward": calls.forward_backward,
        "products": calls.products,
    }
    print(json.dumps([calls.graph.num_nodes, calls.graph.num_edges]), flush=True)
    for line in sys.stdin:
        kind, width, threads = line.split()
        torch.set_num_threads(int(threads))
        clock = time.process_time if int(threads) == 1 else time.perf_counter
        if kind == "stream":
            print(json.dumps([1 / stream_rate(clock)]), flush=True)
            continue
        calls.prepare(int(width))
        begin = clock()
        kinds[kind]()
        print(json.dumps([clock() - begin]), flush=True)


if __name__ == "__main__":
    main()
