"""Elastic message passing as a layer, with torch_geometric's conventions."""

import json
import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from elasticgnn.graph import Graph
from elasticgnn.graph.checks import DIRECTED
from elasticgnn.graph.graph import NORMALIZATIONS
from elasticgnn.graph.merge import Edges
from elasticgnn.graph.once import is_compiling
from elasticgnn.nn.checks import check_choice, checked_channels, trained_norm
from elasticgnn.nn.graph_input import as_graph, as_single, merged_values
from elasticgnn.nn.reading import Reading
from elasticgnn.nn.scriptable import ScriptableEMP
from elasticgnn.nn.smoothed import Smoothed
from elasticgnn.nn.traced import (
    has_many_lists,
    incidence_of,
    refuse_untraceable,
    traced_sizes,
    traced_strength,
)
from elasticgnn.operator import elastic_message_passing, elastic_state
from elasticgnn.operator.reference import iterate
from elasticgnn.operator.request import IMPLEMENTATIONS, MEMORY_MODES, is_recorded
from elasticgnn.operator.shapes import with_runs
from elasticgnn.problem import EdgePenalty, ElasticPenalty
from elasticgnn.problem.step_sizes import step_sizes

LEARNABLE = (False, "scalar", "channel")
STRENGTHS = ("lambda1", "lambda2")


class EMP(nn.Module):
    """Smooths node rows (n, d), or a static batch (B, n, d), over a graph by K elastic steps.

    Minimises sum_e w_e (lambda1 |delta_e| + lambda2/2 |delta_e|^2) + 1/2 |F - X|^2 step by step.
    The graph is a `Graph`, an edge_index (2, E) with both directions, or a torch sparse matrix;
    directed="symmetrize" reads an edge that has one direction only as if it had both.
    `norm` is the name of a penalty or an `EdgePenalty` of your own (docs/own_penalty.md), which is
    an nn.Module too if it has Parameters.
    A Parameter as lambda1 or lambda2 is trained as it is; with learnable="scalar" (or True) both
    are trained through their logarithms and stay positive, with learnable="channel" each of
    `channels` channels is a signal of its own with its own two. `dropout` drops edges while
    training, both directions together, without rescaling. float16 and bfloat16 rows are computed
    in float32.
    The state_dict holds the penalty and K, and restores them.

    >>> from elasticgnn.nn import EMP
    >>> layer = EMP(K=3, lambda1=1.0, lambda2=0.0)
    >>> edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])  # both directions of every edge
    >>> layer(torch.randn(3, 4, generator=generator), edge_index).shape
    torch.Size([3, 4])
    """

    def __init__(
        self,
        K: int = 10,
        lambda1: float | Tensor = 3.0,
        lambda2: float | Tensor = 3.0,
        norm: str | EdgePenalty = "l21",
        learnable: bool | str = False,
        dropout: float = 0.0,
        *,
        channels: int | None = None,
        concavity: float | None = None,
        gamma: float | None = None,
        beta: float | None = None,
        normalization: str = "degree",
        directed: str = "error",
        memory: str = "fast",
        implementation: str = "auto",
    ) -> None:
        super().__init__()
        if isinstance(K, bool) or not isinstance(K, int) or K < 0:
            raise ValueError(f"K must be an integer >= 0, got {K!r}")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must lie in [0, 1), got {dropout}")
        check_choice("normalization", normalization, NORMALIZATIONS)
        check_choice("directed", directed, DIRECTED)
        check_choice("memory", memory, MEMORY_MODES)
        check_choice("implementation", implementation, IMPLEMENTATIONS)
        self.K, self.gamma, self.beta = K, gamma, beta
        self.dropout, self.memory, self.implementation = dropout, memory, implementation
        self.reading = Reading(normalization, directed)
        self.learnable = "scalar" if learnable is True else learnable
        check_choice("learnable", self.learnable, LEARNABLE)
        self.channels = checked_channels(channels, self.learnable)
        first = self._own_strength("lambda1", lambda1, learnable)
        second = self._own_strength("lambda2", lambda2, learnable)
        self.initial = ElasticPenalty(first, second, norm, concavity)
        self.trained_norm = trained_norm(norm)  # registered: its Parameters are the layer's
        if learnable:
            shape = (2,) if self.channels is None else (2, self.channels)
            self.log_lambda = nn.Parameter(torch.empty(shape))
        self.reset_parameters()

    def _own_strength(self, name: str, value: float | Tensor, learnable: bool | str) -> float:
        """The number that a strength starts with; a Parameter is registered under its name."""
        if isinstance(value, Tensor):
            if not isinstance(value, nn.Parameter) or value.numel() != 1 or learnable:
                raise ValueError(
                    f"{name} must be a number, or a Parameter with one entry and learnable=False, "
                    f"got {type(value).__name__} {tuple(value.shape)}"
                )
            self.register_parameter(name, value)
            return 0.0 if value.is_meta else float(value.detach())
        if learnable and not 0 < value < math.inf:
            raise ValueError(f"{name} must be > 0 to be learnable, got {value}")
        return value

    def reset_parameters(self) -> None:
        """Learnable strengths back to what the layer was built with."""
        if self.learnable:
            with torch.no_grad():
                start = torch.tensor(self.initial.strengths).log()
                self.log_lambda.copy_(start if self.channels is None else start[:, None])

    def __setattr__(self, name: str, value: Any) -> None:
        if name in STRENGTHS and self.__dict__.get("learnable"):
            raise AttributeError(f"{name} is learned here as exp(log_lambda): set log_lambda")
        super().__setattr__(name, value)

    @property
    def penalty(self) -> ElasticPenalty:
        """The penalty of the next forward pass, with the strengths as trained so far."""
        if self.learnable:
            lambda1, lambda2 = self.log_lambda.exp()
        else:
            # a Parameter, what a parametrization or a replica has in its place, or a number set
            lambda1, lambda2 = (getattr(self, n, getattr(self.initial, n)) for n in STRENGTHS)
            if lambda1 is self.initial.lambda1 and lambda2 is self.initial.lambda2:
                return self.initial
        return ElasticPenalty(lambda1, lambda2, self.initial.norm, self.initial.concavity)

    def forward(
        self,
        x: Tensor,
        edge_index: Graph | Tensor,
        edge_weight: Tensor | None = None,
        *,
        edge_strength: Tensor | None = None,
        return_dual: bool = False,
    ) -> Tensor | Smoothed:
        """x (n, d) smoothed; (B, n, d) holds B signals on one graph, as in torch_geometric.

        `edge_strength` multiplies lambda1 of each edge: a number per column of edge_index, or per
        edge of a Graph. With `return_dual` a record of the signal, the dual and its edges.
        """
        if not isinstance(x, Tensor):
            raise ValueError(
                "x must be one tensor (n, d): elastic message passing smooths over the edges of "
                f"one set of nodes, bipartite relations have two, got {type(x).__name__}"
            )
        rows = x if x.ndim <= 2 else x.flatten(0, -3).transpose(0, 1)
        given = as_single(edge_weight=edge_weight, edge_strength=edge_strength)
        if return_dual:
            return self._with_dual(x, self._runs(rows), edge_index, *given)
        out = self._smooth(self._runs(rows), edge_index, *given).reshape(rows.shape)
        return out if x.ndim <= 2 else out.transpose(0, 1).reshape(x.shape)

    def _runs(self, rows: Tensor) -> Tensor:
        """Rows as the operator reads them: channels with strengths of their own are runs."""
        if self.channels is None:
            return rows
        if rows.shape[-1] != self.channels:
            raise ValueError(f"x must have {self.channels} channels, got {rows.shape[-1]}")
        return rows.flatten(1)[:, :, None]

    def _penalty_of(self, rows: Tensor) -> ElasticPenalty:
        """The penalty; where channels have their own, with one strength per run of `rows`."""
        penalty = self.penalty
        if self.channels is None:
            return penalty
        times = rows.shape[1] // self.channels
        lambda1, lambda2 = (value.repeat(times) for value in self.log_lambda.exp())
        return replace(penalty, lambda1=lambda1, lambda2=lambda2)

    def _read(
        self, rows: Tensor, edge_index: Any, weight: Tensor | None, strength: Tensor | None
    ) -> tuple[Graph, dict[str, Any]]:
        """The graph of a call, after dropout, and the options of its steps."""
        graph = as_graph(edge_index, len(rows), weight, self.reading)
        if self._dropped > 0:
            kept = torch.rand(graph.num_edges, device=rows.device) >= self.dropout
            edges = Edges(graph._tail, graph._head, graph._weight * kept)
            graph = Graph(edges, graph.num_nodes, normalization=graph.normalization)
        if strength is not None:
            strength = merged_values(graph, edge_index, strength, "edge_strength")
        own = {"gamma": self.gamma, "beta": self.beta, "implementation": self.implementation}
        return graph, {**own, "edge_strength": strength}

    def _smooth(self, x: Tensor, edge_index: Graph | Tensor, *given: Tensor | None) -> Tensor:
        """x (n, d) or (n, R, d), as the operator reads it; weights and strengths are given."""
        plainly = isinstance(edge_index, Tensor) or self._dropped > 0 or given[1] is not None
        compiling = plainly and is_compiling()
        if is_recorded() or compiling or has_many_lists(edge_index):
            return self._smooth_traced(x, edge_index, *given)
        graph, options = self._read(x, edge_index, *given)
        penalty = self._penalty_of(x)
        return elastic_message_passing(x, graph, penalty, self.K, memory=self.memory, **options)

    def _smooth_traced(
        self, x: Tensor, edge_index: Any, weight: Tensor | None, strength: Tensor | None
    ) -> Tensor:
        refuse_untraceable(edge_index, weight, strength, self.reading, self._dropped)
        rows = with_runs(x if x.dtype == torch.float64 else x.float())
        incidence = incidence_of(
            edge_index, weight, rows, directed=self.reading.directed, dropout=self._dropped
        )
        penalty = self._penalty_of(rows)
        bound = edge_index.norm_bound if isinstance(edge_index, Graph) else 2.0
        sizes = traced_sizes(penalty, bound, rows, self.gamma, self.beta)
        strength = traced_strength(strength, edge_index, incidence)
        out = iterate(rows, incidence, sizes, penalty.edge_penalty, self.K, strength)[0]
        return out.view(x.shape).to(x.dtype)

    @property
    def _dropped(self) -> float:
        """The share of edges that the next forward pass drops."""
        return self.dropout if self.training else 0.0

    def _with_dual(
        self, x: Tensor, rows: Tensor, edge_index: Graph | Tensor, *given: Tensor | None
    ) -> Smoothed:
        graph, options = self._read(rows, edge_index, *given)
        penalty = self._penalty_of(rows)
        state = elastic_state(rows, graph, penalty, self.K, differentiable=True, **options)

        def shaped(part: Tensor) -> Tensor:
            runs = part.reshape(len(part), -1, x.shape[-1]).transpose(0, 1)
            return runs.reshape(*x.shape[:-2], len(part), x.shape[-1]).to(x.dtype)

        edges = torch.stack([graph.tail, graph.head])
        return Smoothed(shaped(state.signal), shaped(state.dual), edges)

    def _numbers_set(self) -> dict[str, float]:
        """Strengths set on the layer after it was built."""
        own = {name: self.__dict__.get(name) for name in STRENGTHS}
        return {name: value for name, value in own.items() if isinstance(value, int | float)}

    def get_extra_state(self) -> Tensor:
        """K and the penalty as bytes: formats that hold tensors alone can hold them."""
        penalty = self.initial
        strengths = {**dict(zip(STRENGTHS, penalty.strengths, strict=True)), **self._numbers_set()}
        values = [self.K, *strengths.values(), penalty.name, penalty.concavity]
        return torch.tensor(list(json.dumps(values).encode()), dtype=torch.uint8)

    def set_extra_state(self, state: Tensor) -> None:
        """Takes the settings that a state dict carries."""
        K, lambda1, lambda2, norm, concavity = json.loads(bytes(state.tolist()))
        # a penalty of the user's own is code, of which the file has the name
        norm = self.initial.norm if self.initial.name == norm else norm
        for name in self._numbers_set():
            delattr(self, name)
        self.K, self.initial = K, ElasticPenalty(lambda1, lambda2, norm, concavity)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        # a state_dict of before the penalty travelled in it leaves the layer's own
        state_dict.setdefault(f"{prefix}_extra_state", self.get_extra_state())
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def __prepare_scriptable__(self) -> ScriptableEMP:
        """What torch.jit.script compiles in place of this layer."""
        form = self.initial.edge_penalty.form
        fixed = not any(isinstance(getattr(self, name, None), Tensor) for name in STRENGTHS)
        plain = fixed and not self.learnable and self.reading == Reading()
        if not plain or self.dropout > 0 or form not in ("ball", "box"):
            raise NotImplementedError(
                "torch.jit.script takes EMP with fixed strengths, norm 'l21' or 'l1', degree "
                "normalization and no dropout; torch.compile and torch.export take all"
            )
        like = torch.empty(0, dtype=torch.float64)
        sizes = step_sizes(self.penalty, 2.0, like, gamma=self.gamma, beta=self.beta)
        lambda1, gamma, beta, smoothing = sizes.numbers[0]
        return ScriptableEMP(self.K, (lambda1, gamma, beta, smoothing), form)

    def extra_repr(self) -> str:
        """The settings, for the layer's `repr`."""
        several = self.channels is not None or any(p.is_meta for p in self.parameters())
        penalty = self.initial if several else self.penalty
        lambda1, lambda2 = penalty.strengths
        concavity = "" if penalty.concavity is None else f"concavity={penalty.concavity:g}, "
        return (
            f"K={self.K}, lambda1={lambda1:g}, lambda2={lambda2:g}, norm={self.initial.name!r}, "
            f"{concavity}learnable={self.learnable!r}, dropout={self.dropout:g}"
        )
