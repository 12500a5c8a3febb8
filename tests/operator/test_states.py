"""A graph changed again and again: after every change both ways to propagate agree."""

import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from elasticgnn import ElasticPenalty, Graph, elastic_message_passing
from elasticgnn.solver import minimise

NODES = 7


class ChangingGraph(RuleBasedStateMachine):
    """Flips, weights, normalisations and orders of one graph, in any sequence."""

    @initialize(seed=st.integers(0, 99))
    def start(self, seed):
        self.draw = torch.Generator().manual_seed(seed)
        index = torch.randint(NODES, (2, 9), generator=self.draw)
        index = torch.stack([index.min(0).values, index.max(0).values])
        self.graph = Graph.from_edge_index(index, NODES, undirected=True)
        self.x = torch.randn(NODES, 3, dtype=torch.float64, generator=self.draw)

    @rule(i=st.integers(0, NODES - 2), step=st.integers(1, NODES - 1))
    def flip(self, i, step):
        pair = torch.tensor([[i, min(i + step, NODES - 1)]])
        self.graph = self.graph.with_edges_flipped(pair)

    @rule()
    def weigh(self):
        weight = torch.rand(self.graph.num_edges, generator=self.draw, dtype=torch.float64)
        self.graph = self.graph.with_weight(weight)
        weight.zero_()

    @rule(name=st.sampled_from(["degree", "none"]))
    def normalise(self, name):
        self.graph = self.graph.with_normalization(name)

    @rule()
    def reorder(self):
        order = torch.randperm(NODES, generator=self.draw)
        self.graph, self.x = self.graph.permute(order), self.x[order]

    @rule()
    def write_into_what_is_handed_out(self):
        self.graph.tail.fill_(0)
        self.graph.weight.mul_(9)

    @rule(lambda1=st.sampled_from([0.1, 2.0]), lambda2=st.sampled_from([0.0, 1.0]))
    def solve(self, lambda1, lambda2):
        solution = minimise(self.x, self.graph, ElasticPenalty(lambda1, lambda2), rtol=1e-6)
        assert solution.certified
        assert solution.relative_gap <= 1e-6

    @invariant()
    def both_ways_agree(self):
        if not hasattr(self, "graph"):
            return
        penalty = ElasticPenalty(0.5, 1.0)
        fused, plain = (
            elastic_message_passing(self.x, self.graph, penalty, 6, implementation=way)
            for way in ("auto", "reference")
        )
        torch.testing.assert_close(fused, plain, rtol=1e-9, atol=1e-9)


TestChangingGraph = ChangingGraph.TestCase
TestChangingGraph.settings = settings(max_examples=12, stateful_step_count=8, deadline=None)
