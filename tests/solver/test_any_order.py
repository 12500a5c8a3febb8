"""Operator and solver used in any order on graphs that change: always the plain answer."""

import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from elasticgnn import ElasticPenalty, elastic_message_passing
from elasticgnn.problem import primal_value
from elasticgnn.solver import minimise
from strategies import graphs, normal_rows


class AnyOrder(RuleBasedStateMachine):
    """One graph, signal and penalty; each rule changes one of them or asks for an answer."""

    @initialize(graph=graphs(), width=st.integers(1, 3), seed=st.integers(0, 99))
    def begin(self, graph, width, seed):
        self.graph, self.fingerprint = graph, graph.fingerprint
        self.x = normal_rows(graph.num_nodes, width, seed=seed)
        self.penalty, self.start = ElasticPenalty(0.5, 1.0), None

    @rule(graph=graphs(normalizations=("none",)), seed=st.integers(0, 99))
    def other_graph(self, graph, seed):
        self.graph, self.fingerprint = graph, graph.fingerprint
        self.x = normal_rows(graph.num_nodes, self.x.shape[1], seed=seed)
        self.start = None

    @rule(factor=st.sampled_from([1e-3, 1.0, 50.0]))
    def other_weights(self, factor):
        self.graph = self.graph.with_weight(factor * self.graph.weight)
        self.fingerprint, self.start = self.graph.fingerprint, None

    @rule(scale=st.sampled_from([1e-6, 1.0, 1e6]))
    def other_scale(self, scale):
        self.x = scale * self.x

    @rule(lambda1=st.sampled_from([0.0, 0.1, 4.0]), lambda2=st.sampled_from([0.0, 0.3, 20.0]))
    def other_penalty(self, lambda1, lambda2):
        self.penalty = ElasticPenalty(lambda1, lambda2, self.penalty.norm)

    @rule(norm=st.sampled_from(["l1", "l21"]))
    def other_norm(self, norm):
        self.penalty = ElasticPenalty(self.penalty.lambda1, self.penalty.lambda2, norm)
        self.start = None

    @rule(steps=st.integers(0, 12), wide=st.booleans())
    def passes_messages_as_the_plain_version_does(self, steps, wide):
        x = self.x if wide else self.x.float()
        found, plain = (
            elastic_message_passing(x, self.graph, self.penalty, steps, implementation=name)
            for name in ("auto", "reference")
        )
        scale = float(x.abs().max())
        limit = (1e-9 if wide else 1e-4) * scale
        torch.testing.assert_close(found, plain, rtol=1e-4 if not wide else 1e-9, atol=limit)

    @rule(warm=st.booleans())
    def solves_no_worse_than_its_certificate_says(self, warm):
        start = self.start if warm else None
        solution = minimise(self.x, self.graph, self.penalty, start=start, rtol=1e-6)
        assert solution.certified
        self.start = solution
        ours = float(primal_value(solution.value, self.x, self.graph, self.penalty))
        for other in (self.x, solution.value + 1e-3 * float(self.x.abs().max()), 0 * self.x):
            theirs = float(primal_value(other, self.x, self.graph, self.penalty))
            assert ours <= theirs + solution.gap + 1e-9 * abs(theirs)

    @invariant()
    def nothing_changes_the_graph(self):
        if hasattr(self, "graph"):
            assert self.graph.fingerprint == self.fingerprint


AnyOrder.TestCase.settings = settings(max_examples=12, stateful_step_count=12)
TestAnyOrder = AnyOrder.TestCase
