"""A penalty of one's own, by value and proximal map: Huber's, trained through and certified."""

import torch

from elasticgnn import ElasticPenalty, Graph
from elasticgnn.nn import ElasticGNN
from elasticgnn.operator import elastic_state, explain_route
from elasticgnn.problem import EdgePenalty, certify

WIDTH = 0.2  # differences below it are squared, longer ones cost as much as their length


class Huber(EdgePenalty):
    name = "huber"

    def value(self, difference: torch.Tensor, lambda1: torch.Tensor) -> torch.Tensor:
        length = difference.norm(dim=-1)
        return lambda1 * torch.where(
            length > WIDTH, length - WIDTH / 2, length.square() / (2 * WIDTH)
        )

    def prox(self, point: torch.Tensor, lambda1: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
        square = point.square().sum(-1, keepdim=True)
        far = square > (WIDTH + step * lambda1) ** 2
        length = torch.where(far, square, 1).sqrt()  # never the root of zero: its slope is infinite
        return point * torch.where(
            far, 1 - step * lambda1 / length, WIDTH / (WIDTH + step * lambda1)
        )

    def conjugate(self, dual: torch.Tensor, lambda1: torch.Tensor) -> torch.Tensor:
        radius = torch.as_tensor(lambda1, dtype=dual.dtype).reshape(-1)
        square = dual.square().sum(-1)
        inside = square <= (radius * (1 + 1e-12)) ** 2
        return torch.where(inside, WIDTH * square / (2 * radius), torch.inf)


generator = torch.Generator().manual_seed(0)
ring = Graph.from_edges([(i, (i + 1) % 40) for i in range(40)])
x = torch.where(torch.arange(40) < 20, 1.0, -1.0).double()[:, None]
x = x + 0.3 * torch.randn(40, 1, generator=generator, dtype=torch.float64)
penalty = ElasticPenalty(0.5, 0.0, Huber())
print(explain_route(x, ring, penalty))
state = elastic_state(x, ring, penalty, steps=2000)
certificate = certify(state.signal, state.dual, x, ring, penalty)
print(f"gap {certificate.gap:.1e} of {certificate.primal:.3f}, {certificate.scope}")
assert certificate.gap < 1e-8

labels = (torch.arange(40) >= 20).long()
model = ElasticGNN(1, 8, 2, norm=Huber(), lambda1=0.5, lambda2=0.5, dropout=0.0)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for _ in range(60):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x.float(), ring), labels)
    loss.backward()
    optimizer.step()
print(f"cross entropy {float(loss.detach()):.3f} after 60 steps through it")
