"""Torch modules as others may write them, most with a fault: EDGES stands before them."""

CLASSES = """
import torch
from torch import nn
from elasticgnn.defence import GNNGuard
from elasticgnn.nn import GCN, MLP

class Good(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x, graph):
        return self.linear(x)

class Short(Good):
    def forward(self, x, graph):
        return self.linear(x)[:5]

class NotANumber(Good):
    def forward(self, x, graph):
        return self.linear(x) * float("nan")

class Whole(Good):
    def forward(self, x, graph):
        return self.linear(x).long()

class Pair(Good):
    def forward(self, x, graph):
        return self.linear(x), None

class Raises(Good):
    def forward(self, x, graph):
        raise RuntimeError("out of ideas")

class Leaves(Good):
    def forward(self, x, graph):
        raise SystemExit(0)

class Diverges(Good):
    def forward(self, x, graph):
        return self.linear(x) if not self.training else self.linear(x) * float("inf")

class Cached(Good):
    mean = None

    def forward(self, x, graph):
        if self.mean is None:
            self.mean = graph.weight.sum() + graph.num_edges
        return self.linear(x) * self.mean

class Random(Good):
    def forward(self, x, graph):
        return self.linear(x) + torch.rand(len(x), 1)

class InPlace(Good):
    def forward(self, x, graph):
        return self.linear(x.mul_(0.5))

class Lazy(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.LazyLinear(outputs)

    def forward(self, x, graph):
        return self.linear(x) * graph.num_edges

class Steep(Good):
    def forward(self, x, edge_index, edge_weight):
        lost = torch.sqrt(edge_weight.sum() - edge_weight.sum())  # 0, whose derivative is NaN
        return self.linear(x) + lost

class WritesEdges(Good):
    def forward(self, x, edge_index):
        edge_index[0] = 0
        return self.linear(x)

class WritesData(Good):
    def forward(self, x, graph):
        x.data.mul_(0.5)  # of which torch keeps no count
        return self.linear(x)

class Elsewhere(Good):
    def forward(self, x, graph):
        return self.linear(x).to("meta")

class SparseLogits(Good):
    def forward(self, x, graph):
        return self.linear(x).to_sparse()

class NoTraining(Good):
    def forward(self, x, graph):
        if self.training:
            raise RuntimeError("no training today")
        return self.linear(x)

class LeavesTraining(Good):
    def forward(self, x, graph):
        if self.training:
            raise SystemExit(0)
        return self.linear(x)

class CutOff(Good):
    def forward(self, x, graph):
        return self.linear(x).detach()

class NoWeights(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.outputs = outputs

    def forward(self, x, graph):
        return x[:, : self.outputs] * 1.0

class KeepsTrainingGraph(Good):
    edges = None

    def forward(self, x, graph):
        if self.training:
            self.edges = graph.num_edges
        return self.linear(x) * (graph.num_edges if self.edges is None else self.edges)

class NoOtherGraph(Good):
    def forward(self, x, graph):
        if graph.num_edges > EDGES:
            raise IndexError("too many edges")
        return self.linear(x)

class LosesNumbers(Good):
    def forward(self, x, graph):
        return self.linear(x) * (1.0 if graph.num_edges <= EDGES else float("nan"))

class Talks(Good):
    def forward(self, x, graph):
        print("hello")
        return self.linear(x)

class NoFeatureGradient(Good):
    def forward(self, x, graph):
        return self.linear(x.detach())

class NoWayBack(torch.autograd.Function):
    @staticmethod
    def forward(context, weight):
        return weight.clone()

    @staticmethod
    def backward(context, gradient):
        raise RuntimeError("no way back")

class BadBackward(Good):
    def forward(self, x, edge_index, edge_weight):
        if edge_weight.requires_grad:
            edge_weight = NoWayBack.apply(edge_weight)
        return self.linear(x) * edge_weight.sum()

class FromMLP(MLP):
    def __init__(self, inputs, outputs):
        super().__init__(inputs, 8, outputs)

    def forward(self, x, graph, noise=None):
        return graph.num_edges * super().forward(x, noise=noise)

class FromGCN(GCN):
    def __init__(self, inputs, outputs):
        super().__init__(inputs, 8, outputs)

    def forward(self, x, graph, noise=None):
        return -super().forward(x, graph, noise=noise)

class FromDefence(GNNGuard):
    def __init__(self, inputs, outputs):
        super().__init__(inputs, 8, outputs)

    def forward(self, x, graph, noise=None):
        return -super().forward(x, graph, noise=noise)

class InScript(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor):
        return self.linear(x) * edge_index.shape[1]

def scripted(inputs, outputs):
    return torch.jit.script(InScript(inputs, outputs))

class NoSizes(nn.Module):
    def __init__(self):
        super().__init__()

def number(inputs, outputs):
    return 3
"""
