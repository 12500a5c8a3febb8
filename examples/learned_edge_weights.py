"""Edge weights learned by gradient: the wrong edge of a small graph loses its weight."""

import torch

from elasticgnn import ElasticPenalty, Graph, elastic_message_passing

# Two triangles, and one wrong edge between them.
edges = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)]
graph = Graph.from_edges(edges, normalization="none")
truth = torch.tensor([[1.0], [1.0], [1.0], [-1.0], [-1.0], [-1.0]])
noisy = truth + 0.4 * torch.randn(6, 1, generator=torch.Generator().manual_seed(0))

logits = torch.full((graph.num_edges,), 2.0, requires_grad=True)
optimizer = torch.optim.Adam([logits], lr=0.1)
for _ in range(100):
    optimizer.zero_grad()
    weight = torch.sigmoid(logits)
    smooth = elastic_message_passing(noisy, graph, ElasticPenalty(0.1, 2.0), edge_weight=weight)
    (smooth - truth).square().sum().backward()
    optimizer.step()

weight = torch.sigmoid(logits).detach()
for tail, head, value in zip(graph.tail, graph.head, weight, strict=True):
    print(f"{int(tail)} - {int(head)}: {float(value):.2f}")
wrong = (graph.tail == 2) & (graph.head == 3)
assert weight[wrong].item() == weight.min().item()
