"""Times calls of short rows on one graph as it is asked on its input: see bench_packed.py."""

import json
import sys
import time
import warnings

import torch
from operator_graphs import CASES, load_graph

from elasticgnn import ElasticPenalty, elastic_message_passing

PENALTY = ElasticPenalty(3.0, 3.0)


class Calls:
    """What may be asked for."""

    def __init__(self, name: str) -> None:
        case = next(case for case in CASES if case.name == name)
        self.graph, self.is_real = load_graph(case)
        generator = torch.Generator().manual_seed(0)
        self.x = torch.randn(case.num_nodes, case.width, generator=generator)
        self.runs = torch.randn(case.num_nodes, 16, case.width, generator=generator)

    def forward(self) -> None:
        with torch.no_grad():
            elastic_message_passing(self.x, self.graph, PENALTY, 10)

    def forward_backward(self) -> None:
        rows = self.x.clone().requires_grad_()
        elastic_message_passing(rows, self.graph, PENALTY, 10).backward(self.x)

    def population(self) -> None:
        with torch.no_grad():
            elastic_message_passing(self.runs, self.graph, PENALTY, 10)


def main() -> None:
    warnings.simplefilter("ignore")
    calls = Calls(sys.argv[1])
    kinds = {
        "forward": calls.forward,
        "forward+backward": calls.forward_backward,
        "population": calls.population,
    }
    print(json.dumps([calls.graph.num_nodes, calls.graph.num_edges, calls.is_real]), flush=True)
    for line in sys.stdin:
        kind, times, threads = line.split()
        torch.set_num_threads(int(threads))
        clock = time.process_time if int(threads) == 1 else time.perf_counter
        begin = clock()
        for _ in range(int(times)):
            kinds[kind]()
        print(json.dumps([(clock() - begin) / int(times)]), flush=True)


if __name__ == "__main__":
    main()
